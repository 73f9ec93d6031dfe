"""Writes and reads data sets with h5py, without MPI, in the ways that h5py has, and logs each transfer.

    OP <pid> <tid> HDF5 <read or write> - -1 <bytes> <path>
    SELECTED <pid> <operation> - <kind> <elements> <element bytes> <extent> <data set>

as testdata/workloads/h5log.h; h5py loads HDF5 with an extension module, out of reach of the global scope.

Usage: /usr/bin/python3 h5py_all.py FILE
Provenance: written for this project.
"""

import os
import sys
import threading

import h5py
import numpy

LINES = []
ALL, REGULAR, POINTS = 1, 2, 4


def log(operation, kind, data_set, elements):
    """One transfer of the data set."""
    size, path = data_set.dtype.itemsize, data_set.file.filename
    LINES.append(f"OP {os.getpid()} {threading.get_native_id()} HDF5 {operation} - -1 {elements * size} {path}")
    extent = "x".join(str(length) for length in data_set.shape) or "-"
    LINES.append(f"SELECTED {os.getpid()} {operation} - {kind} {elements} {size} {extent} {data_set.name}")


def main(path):
    with h5py.File(path, "w") as out:
        grid = out.create_dataset("group/grid", (30, 40), "f8")
        values = numpy.arange(1200, dtype="f8").reshape(30, 40)
        grid[3:9, ::2] = values[3:9, ::2]
        log("write", REGULAR, grid, 6 * 20)
        mask = values % 97 == 5
        grid[mask] = 1.0
        log("write", POINTS, grid, int(mask.sum()))
        packed = out.create_dataset("packed", (100,), "i4", chunks=(10,), compression="gzip", maxshape=(None,))
        packed[10:20] = 7
        log("write", REGULAR, packed, 10)
        packed.resize((200,))
        packed[150] = 8
        log("write", REGULAR, packed, 1)
        out.create_dataset("scalar", data=numpy.float32(2.5))
        log("write", ALL, out["scalar"], 1)
    with h5py.File(path, "r") as back:
        grid = back["group"]["grid"]
        part = grid[3:9, ::2]
        log("read", REGULAR, grid, 6 * 20)
        assert (part[0, 1:5] == values[3, 2:10:2]).all()
        whole = numpy.empty(200, "i4")
        back["packed"].read_direct(whole)
        log("read", ALL, back["packed"], 200)
        assert whole[150] == 8 and (whole[10:20] == 7).all()
    with open(f"{os.environ['OPLOG']}.{os.getpid()}", "w", encoding="utf-8") as out:
        out.write("\n".join(LINES) + "\n")
    print(f"h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version}")


main(sys.argv[1])
