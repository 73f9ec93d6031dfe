"""All ranks write and read one shared HDF5 file with h5py on MPI-IO, and check what they read.

A small simulation output: per step a 2-d temperature field (collective writes, by rows), a particle list (independent
writes of uneven size) and a table of 40-byte records, one per rank, of the kind that makes shared files slow. Then
every rank reads its neighbour's part.

Debian: python3-mpi4py is built for Open MPI; `import h5py` takes the MPI build (python3-h5py-mpi) by itself in a process
that mpirun started (it looks for OMPI_COMM_WORLD_SIZE), else H5PY_ALWAYS_USE_MPI=1 asks for it.

Usage: mpirun -n 4 /usr/bin/python3 h5py_shared.py FILE [STEPS [ROWS [COLUMNS]]]
Provenance: written for this project.
"""

import os
import sys

os.environ.setdefault("H5PY_ALWAYS_USE_MPI", "1")

import h5py  # noqa: E402
import numpy  # noqa: E402
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
RECORD = numpy.dtype([("rank", "i4"), ("step", "i4"), ("time", "f8"), ("energy", "f8"), ("center", "f8", 2)])


def field(rank, step, rows, columns):
    return numpy.arange(rows * columns, dtype="f8").reshape(rows, columns) + rank * 1e6 + step * 1e9


def particles_of(rank):
    return 1000 + 317 * rank


def write(path, steps, rows, columns):
    rank, ranks = COMM.rank, COMM.size
    first = sum(particles_of(other) for other in range(rank))
    total = sum(particles_of(other) for other in range(ranks))
    with h5py.File(path, "w", driver="mpio", comm=COMM) as out:
        out.attrs["ranks"] = ranks
        for step in range(steps):
            group = out.create_group(f"step{step:03}")
            temperature = group.create_dataset("temperature", (ranks * rows, columns), "f8")
            with temperature.collective:
                temperature[rank * rows : (rank + 1) * rows, :] = field(rank, step, rows, columns)
            particles = group.create_dataset("particles", (total, 3), "f4")
            particles[first : first + particles_of(rank), :] = numpy.full((particles_of(rank), 3), rank + step, "f4")
            records = group.create_dataset("records", (ranks,), RECORD)
            records[rank] = (rank, step, step * 0.5, rank * 2.0, (1.0, 2.0))


def read(path, steps, rows, columns):
    rank, ranks = COMM.rank, COMM.size
    other = (rank + 1) % ranks
    first = sum(particles_of(before) for before in range(other))
    with h5py.File(path, "r", driver="mpio", comm=COMM) as back:
        assert back.attrs["ranks"] == ranks
        for step in range(steps):
            group = back[f"step{step:03}"]
            temperature = group["temperature"]
            # read_direct, since h5py's quick way of reading a slice forgets that the transfer is collective.
            part = numpy.empty((rows, columns), "f8")
            with temperature.collective:
                temperature.read_direct(part, numpy.s_[other * rows : (other + 1) * rows, :])
            assert numpy.array_equal(part, field(other, step, rows, columns))
            part = group["particles"][first : first + particles_of(other), :]
            assert (part == other + step).all()
            record = group["records"][other]
            assert record["rank"] == other and record["step"] == step


def main():
    path = sys.argv[1]
    steps, rows, columns = (int(text) for text in (sys.argv[2:5] + ["4", "256", "512"][len(sys.argv) - 2 :]))
    assert h5py.get_config().mpi, "this h5py is built without MPI: install python3-h5py-mpi"
    write(path, steps, rows, columns)
    COMM.Barrier()
    read(path, steps, rows, columns)
    if COMM.rank == 0:
        size = os.path.getsize(path)
        print(f"{COMM.size} ranks wrote and read {steps} steps, {size} bytes, in {path}: data verified")


main()
