"""Python's own file I/O, without MPI: buffered and raw files, os.pread and os.pwrite, two threads, a
multiprocessing child (fork). Checks its data; prints how many bytes it moved per file.

Usage: plain.py DIRECTORY. Provenance: written for this project.
"""

import hashlib
import multiprocessing
import os
import sys
import threading


def buffered(path):
    lines = "".join(f"{i} {i * i}\n" for i in range(20000))
    with open(path, "w", encoding="ascii") as out:
        for line in lines.splitlines(keepends=True):
            out.write(line)
    with open(path, encoding="ascii") as back:
        assert back.read() == lines


def raw(path):
    block = hashlib.sha256(path.encode()).digest() * 128
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    for i in range(100):
        assert os.pwrite(fd, block, i * len(block)) == len(block)
    for i in reversed(range(100)):
        assert os.pread(fd, len(block), i * len(block)) == block
    os.lseek(fd, 10, os.SEEK_SET)
    assert os.read(fd, 22) == block[10:32]
    os.fsync(fd)
    os.close(fd)


def child(path):
    with open(path, "wb", buffering=0) as out:
        for i in range(50):
            out.write(bytes([i]) * 1000)


def main():
    directory = sys.argv[1]
    buffered(os.path.join(directory, "buffered"))
    raw(os.path.join(directory, "raw"))
    threads = [threading.Thread(target=raw, args=(os.path.join(directory, f"thread{i}"),)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process = multiprocessing.get_context("fork").Process(target=child, args=(os.path.join(directory, "child"),))
    process.start()
    process.join()
    assert process.exitcode == 0
    for name in ("buffered", "raw", "thread0", "thread1", "child"):
        print(name, os.path.getsize(os.path.join(directory, name)))


main()
