"""Reads, writes, syncs and opens more often than it must, and says by how much: a line `name value` for each number, on standard
output. All by unbuffered calls, so that the numbers are those of the system calls.

Usage: traffic.py DIRECTORY. Provenance: written for this project.
"""

import os
import sys

PIECE = 64 << 10
folder = sys.argv[1]


def write_file(path, pieces, times=1):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    for _ in range(times):
        os.lseek(fd, 0, os.SEEK_SET)
        for i in range(pieces):
            assert os.write(fd, bytes([i % 251]) * PIECE) == PIECE
    os.close(fd)


def read_file(path, pieces, times):
    fd = os.open(path, os.O_RDONLY)
    for _ in range(times):
        for i in range(pieces):
            assert os.pread(fd, PIECE, i * PIECE) == bytes([i % 251]) * PIECE
    os.close(fd)


def main():
    data, log = os.path.join(folder, "data"), os.path.join(folder, "log")
    # Written three times over, read back once, then twice again; half of it once more from the middle of a piece on.
    write_file(data, 100, 3)
    read_file(data, 100, 3)
    fd = os.open(data, os.O_RDONLY)
    assert len(os.pread(fd, 50 * PIECE, 1000)) == 50 * PIECE
    os.close(fd)
    # A line, a sync, a line, a sync; the file opened for each.
    for i in range(150):
        fd = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        os.write(fd, b"%09d\n" % i)
        os.fsync(fd)
        os.close(fd)
    print("written", 300 * PIECE + 1500)
    print("overwritten", 200 * PIECE)
    print("read", 350 * PIECE)
    print("read_back", 100 * PIECE)
    print("read_again", 250 * PIECE)
    print("log_opens", 150)
    print("log_syncs", 150)


main()
