"""Recurses through generators and compiled strings, so that the interpreter maps and unmaps its stack of frames, while a C handler on an
alternate stack writes to a file.

Usage: handlers.py LIBRARY DIR, with handlers.c as LIBRARY. Provenance: written for this project.
"""

import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])
library.handled.restype = ctypes.c_long


def recurse(depth):
    return recurse(depth - 1) + sum(one for one in range(3)) if depth > 0 else 0


assert library.interrupt(os.path.join(sys.argv[2], "handled").encode(), 1) == 0
number = 0
while library.handled() < 20_000:
    for depth in (1, 5, 60, 400):
        recurse(depth)
    number += 1
    exec(compile("def g(x):\n  return [i for i in range(x)]\ng(5)", f"cell{number % 50}", "exec"))
library.interrupt(b"", 0)
print("done")
