"""Traces a program's I/O, and reads traces and Darshan logs as data frames.

``dxt.open`` opens traces and logs, ``dxt.corpus`` reads many jobs, ``dxt.trace`` traces programs, and ``python -m dxt.run`` traces a
script. Examples: docs/python.md. Columns: docs/interop.md.
"""

from ._corpus import corpus
from ._dxt import DxtError, Segments, Table, __version__
from ._recording import IncompleteWarning, Recording, open
from ._select import Files, Layers, Ranks, Time
from ._tracing import Tracing, trace

__all__ = [
    "DxtError",
    "Files",
    "IncompleteWarning",
    "Layers",
    "Ranks",
    "Recording",
    "Segments",
    "Table",
    "Time",
    "Tracing",
    "__version__",
    "corpus",
    "open",
    "trace",
]
