"""Worker processes as data loaders use them: made by fork, spawn and forkserver, as a pool and one by one, ended by
themselves, by a sentinel in a queue, or by terminate(). Each reads parts of a shared file and writes one of its own.
Usage: workers.py DIRECTORY. Provenance: written for this project."""

import multiprocessing
import os
import sys

PARTS, BYTES = 40, 1000


def load(directory, name, number):
    """Reads every third part of the shared file and writes what it read to a file of its own."""
    source = os.open(os.path.join(directory, "data"), os.O_RDONLY)
    target = os.open(os.path.join(directory, name), os.O_CREAT | os.O_WRONLY, 0o644)
    for part in range(PARTS):
        block = os.pread(source, BYTES, (3 * part + number) * BYTES)
        assert len(block) == BYTES and block[0] == (3 * part + number) % 256
        os.write(target, block)
    os.close(source)
    os.close(target)
    return name


def serve(directory, method, number, tasks, done):
    """A loader that waits for work until it is terminated."""
    while True:
        task = tasks.get()
        done.put(load(directory, f"{method}.loader{number}.{task}", number))


def main():
    directory = sys.argv[1]
    with open(os.path.join(directory, "data"), "wb", buffering=0) as data:
        for part in range(3 * PARTS):
            data.write(bytes([part % 256]) * BYTES)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(3) as pool:
            names = pool.starmap(load, [(directory, f"{method}.pool{i}", i % 3) for i in range(6)])
        assert names == [f"{method}.pool{i}" for i in range(6)]
        tasks, done = context.Queue(), context.Queue()
        loaders = [context.Process(target=serve, args=(directory, method, i, tasks, done), daemon=True) for i in range(3)]
        for loader in loaders:
            loader.start()
        for task in range(6):
            tasks.put(task)
        assert len([done.get() for _ in range(6)]) == 6
        for loader in loaders:
            loader.terminate()
            loader.join()
            assert loader.exitcode == -15
    print("done")


if __name__ == "__main__":
    main()
