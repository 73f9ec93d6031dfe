"""``python -m dxt.run [OPTION...] SCRIPT [ARGUMENT...]``: runs a script under the tracer, in a new Python process.

Also takes ``-m MODULE`` and ``-c CODE``, as Python does. Options are those of ``dxt-run`` (``-o DIR``: directory of the traces). The exit
status is the script's. For MPI, use dxt-run instead: ``dxt-run mpirun -n 4 python script.py``.
"""

import os
import sys
from collections.abc import Sequence
from typing import Optional

from ._tools import find

#: Options of dxt-run that take a value.
WITH_VALUE = frozenset(
    {
        "-o",
        "--output",
        "--buffer-max",
        "--flush",
        "--config",
        "--hints",
        "--lib",
        "--live-to",
        "--live-launch",
    }
)

#: Options with which dxt-run prints something and ends; all words after --link-flags belong to it.
ENDS = frozenset({"-V", "--version", "--print-preload", "--link-flags"})


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits words into options of ``dxt-run`` and arguments of Python."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--", "-m", "-c"):
        if words[at] == "--link-flags":
            return list(words), []
        at += 2 if words[at] in WITH_VALUE else 1
    behind = at + 1 if words[at : at + 1] == ["--"] else at
    return list(words[:at]), list(words[behind:])


def main(words: Optional[Sequence[str]] = None) -> int:
    """Becomes dxt-run; returns only if there is nothing to run."""
    options, rest = split(sys.argv[1:] if words is None else words)
    if "-h" in options or "--help" in options:
        print(__doc__)
        options, rest = ["--help"], []
    elif not rest and ENDS.isdisjoint(options):
        print("usage: python -m dxt.run [OPTION...] SCRIPT [ARGUMENT...]; see --help", file=sys.stderr)
        return 2
    run = str(find("dxt-run"))
    library = [] if "--lib" in options else ["--lib", str(find("libdxt_tracer.so"))]
    program = ["--", sys.executable, *rest] if rest else []
    sys.stdout.flush()
    os.execv(run, [run, *library, *options, *program])


if __name__ == "__main__":
    sys.exit(main())
