"""Writes or reads a chunked data set row by row. With a small chunk cache, each row loads all chunks that it crosses again.

Usage: /usr/bin/python3 h5py_chunks.py FILE write|read ROWS WIDTH CHUNK_ROWS CHUNK_WIDTH CACHE_BYTES
Provenance: written for this project.
"""

import sys

import h5py
import numpy


def main(path, way, rows, width, chunk_rows, chunk_width, cache_bytes):
    row = numpy.arange(width, dtype="f8")
    with h5py.File(path, "w", rdcc_nbytes=cache_bytes if way == "write" else width * rows * 8) as out:
        grid = out.create_dataset("grid", (rows, width), "f8", chunks=(chunk_rows, chunk_width))
        for at in range(rows):
            grid[at] = row + at
    if way == "read":
        with h5py.File(path, "r", rdcc_nbytes=cache_bytes) as back:
            grid = back["grid"]
            for at in range(rows):
                assert grid[at][1] == 1.0 + at


main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
