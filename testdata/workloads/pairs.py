"""I/O that is done in a slow way, or in a fast one, with the same result; scripts/pairs.sh runs both.

Usage: /usr/bin/python3 pairs.py DIR NAME slow|fast, with mpirun for the names that need ranks (strided, collective, names).
Provenance: written for this project; the pairs are those of the papers that scripts/pairs.py names.
"""

import os
import sys

MIB = 1 << 20


def transfer(path, slow):
    """Requests of 4 KiB, or of 1 MiB."""
    size = 4096 if slow else MIB
    data = bytes(size)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for at in range(0, 4 * MIB, size):
        os.pwrite(fd, data, at)
    for at in range(0, 4 * MIB, size):
        os.pread(fd, size, at)
    os.close(fd)


def strided(path, slow):
    """Ranks write alternating records of 4 KiB, or each a contiguous part, in large requests."""
    from mpi4py import MPI

    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    for record in range(256 if slow else 1):
        size = 4096 if slow else MIB
        os.pwrite(fd, bytes(size), (record * ranks + rank) * size)
    os.close(fd)
    MPI.COMM_WORLD.Barrier()


def collective(path, slow):
    """Ranks write alternating records of 4 KiB through MPI-IO: independently, or collectively through a view."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    records, size = 256, 4096
    if slow:
        for record in range(records):
            file.Write_at((record * comm.size + comm.rank) * size, bytes(size))
    else:
        kind = MPI.BYTE.Create_vector(records, size, size * comm.size).Commit()
        file.Set_view(comm.rank * size, MPI.BYTE, kind)
        file.Write_all(bytes(records * size))
    file.Close()


def files(path, slow):
    """Many small files, or one."""
    for number in range(400 if slow else 1):
        fd = os.open(f"{path}.{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, bytes(4096 * (1 if slow else 400)))
        os.close(fd)
    for number in range(400 if slow else 1):
        fd = os.open(f"{path}.{number}", os.O_RDONLY)
        os.read(fd, 4096 * 400)
        os.close(fd)


def syncs(path, slow):
    """A sync after each record, or at the end."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for record in range(200):
        os.write(fd, bytes(65536))
        if slow or record == 199:
            os.fsync(fd)
    os.close(fd)


def names(path, slow):
    """Each rank opens 20 files 20 times, or one rank does so once and tells the others."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        for number in range(20):
            os.close(os.open(f"{path}.{number}", os.O_WRONLY | os.O_CREAT))
    comm.Barrier()
    found = None
    if slow or comm.rank == 0:
        found = []
        for number in range(400 if slow else 20):
            fd = os.open(f"{path}.{number % 20}", os.O_RDONLY)
            found.append(os.fstat(fd).st_size)
            os.close(fd)
    comm.bcast(found)


def chunks(path, slow):
    """Rows of a data set in chunks, with a chunk cache that holds one of the chunks of a row, or all."""
    import h5py
    import numpy

    with h5py.File(path, "w", rdcc_nbytes=128 * 1024 if slow else 64 * MIB) as out:
        grid = out.create_dataset("grid", (64, 4096), "f8", chunks=(32, 512))
        for row in range(64):
            grid[row] = numpy.full(4096, float(row))


def again(path, slow):
    """A file read again in each of 20 steps, or once."""
    with open(path, "wb", buffering=0) as out:
        out.write(bytes(8 * MIB))
    for _ in range(20 if slow else 1):
        fd = os.open(path, os.O_RDONLY)
        while os.read(fd, MIB):
            pass
        os.close(fd)


folder, name, way = sys.argv[1:]
globals()[name](os.path.join(folder, name), way == "slow")
