"""Selection of a part of a job: converts arguments to the command line's ``--ranks``, ``--files``, ``--layer`` and ``--time``."""

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    from ._dxt import _Choice

#: A rank, several, or ranges as on the command line (``"0,4:7,12:"``, including both ends).
Ranks = Union[int, str, Iterable[int]]
#: A pattern of paths, or several; patterns without a slash match the last part of a path.
Files = Union[str, Iterable[str]]
#: ``posix``, ``stdio``, ``mpiio``, ``hdf5`` or ``pnetcdf``, or several of them.
Layers = Union[str, Iterable[str]]
#: Start and end, in seconds since the job's start, ``None`` for an open end; or as on the command line, ``"1.5:3"``.
Time = Union[str, tuple[Optional[float], Optional[float]]]


def choice(ranks: Optional[Ranks], files: Optional[Files], layer: Optional[Layers], time: Optional[Time]) -> "_Choice":
    """Converts the selection for the compiled module."""
    return {
        "ranks": None if ranks is None else _ranks(ranks),
        "files": _words("files", files),
        "layer": _words("layer", layer),
        "time": None if time is None else _time(time),
    }


def _ranks(ranks: Ranks) -> str:
    if isinstance(ranks, str):
        return ranks
    if isinstance(ranks, range) and ranks.step == 1 and len(ranks) > 0:
        numbers = [ranks.start, ranks.stop - 1]
        joined = f"{numbers[0]}:{numbers[1]}"
    else:
        # NumPy integers are not int, but have __index__.
        numbers = [ranks.__index__()] if hasattr(ranks, "__index__") else [rank.__index__() for rank in ranks]
        joined = ",".join(map(str, numbers))
    if not numbers:
        raise ValueError("ranks is empty; leave it out for all ranks")
    if min(numbers) < 0:
        raise ValueError(f"ranks: there is no rank {min(numbers)}")
    return joined


def _words(name: str, words: Union[None, str, Iterable[str]]) -> list[str]:
    if words is None:
        return []
    given = [words] if isinstance(words, str) else list(words)
    if not given:
        raise ValueError(f"{name} is empty; leave it out for all")
    return given


def _time(time: Time) -> str:
    if isinstance(time, str):
        return time
    start, until = time
    return f"{_seconds(start)}:{_seconds(until)}"


def _seconds(seconds: Optional[float]) -> str:
    """Formats seconds with nine decimals, without an exponent."""
    if seconds is None:
        return ""
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"time: {seconds} is no time since the job's start")
    return f"{Decimal(str(seconds)):.9f}"
