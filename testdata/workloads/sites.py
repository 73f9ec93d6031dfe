"""Writes to files in the directory that is its argument; a comment names the function of each line that does. A second argument: ends by SIGKILL."""

import asyncio
import os
import signal
import sys
import threading

directory = sys.argv[1]
fd = os.open(directory + "/file", os.O_CREAT | os.O_RDWR)


def helper():
    os.write(fd, b"x")  # at: helper


def two_callers():
    for _ in range(40):
        helper()  # first
    for _ in range(30):
        helper()  # second


class Writer:
    def buffered(self):
        with open(directory + "/buffered", "wb", buffering=8192) as file:
            for _ in range(10):
                file.write(b"y" * 5000)  # at: Writer.buffered
            file.flush()  # at: Writer.buffered


def in_thread():
    for _ in range(25):
        os.write(fd, b"t")  # at: in_thread


def generator():
    for number in range(7):
        os.write(fd, b"g")  # at: generator
        yield number


async def coroutine():
    await asyncio.sleep(0)
    os.write(
        fd,
        b"c",
    )
    os.write(fd, b"d")  # at: coroutine


def recursive(depth):
    if depth > 0:
        return recursive(depth - 1)
    return os.write(fd, b"r")  # at: recursive


def outer():
    def ɪnner():
        os.write(fd, b"n")  # at: outer.<locals>.ɪnner

    ɪnner()


class Opened:
    def __init__(self):
        os.write(fd, b"o")  # at: Opened.__init__


def construct():
    for _ in range(60):
        Opened()


def hot():
    for _ in range(5000):
        os.pwrite(fd, b"h", 0)  # at: hot


two_callers()
Writer().buffered()
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
for _ in generator():
    pass
asyncio.run(coroutine())
recursive(100)
outer()
construct()
hot()
(lambda: os.write(fd, b"l"))()  # at: <lambda>
exec("one = 1\nos.write(fd, b'e')\n")
# Cells of a notebook: the code of each lies where that of the last one was.
for cell in range(20):
    exec(compile("\n" * cell + "os.write(fd, b'c')\n", f"cell{cell}", "exec"))
print(os.fstat(fd).st_size)
sys.stdout.flush()
if len(sys.argv) > 2:
    os.kill(os.getpid(), signal.SIGKILL)
