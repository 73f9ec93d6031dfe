"""``python -m dxt.run [OPTION...] SCRIPT [ARGUMENT...]``: runs a script under the tracer, in a Python of its own.

Also ``-m MODULE`` and ``-c CODE``, as Python takes them. Options are those of ``dxt-run`` (``-o DIR`` says where traces go); the exit status
is the script's. For ranks of MPI it is the other way round: ``dxt-run mpirun -n 4 python script.py``.
"""

import os
import sys
from collections.abc import Sequence
from typing import Optional

from ._tools import find

#: Options of dxt-run that have a value.
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

#: Options that have dxt-run print something and end; what follows --link-flags is its own.
ENDS = frozenset({"-V", "--version", "--print-preload", "--link-flags"})


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options of ``dxt-run``, and what is for Python."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--", "-m", "-c"):
        if words[at] == "--link-flags":
            return list(words), []
        at += 2 if words[at] in WITH_VALUE else 1
    behind = at + 1 if words[at : at + 1] == ["--"] else at
    return list(words[:at]), list(words[behind:])


def main(words: Optional[Sequence[str]] = None) -> int:
    """Becomes dxt-run; returns only where there is nothing to run."""
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
