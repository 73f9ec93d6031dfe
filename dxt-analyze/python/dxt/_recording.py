"""What was recorded of a job."""

import json
import os
import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Optional, Union

from ._dxt import Job, Segments, Table
from ._select import Files, Layers, Ranks, Time, choice

Path = Union[str, "os.PathLike[str]"]


class IncompleteWarning(UserWarning):
    """Something is missing from what was opened: all numbers are lower bounds. The commands say the same and end with 3."""


def open(
    *traces: Union[Path, Iterable[Path]],
    job: Optional[str] = None,
    layout: Optional[Path] = None,
    thresholds: Optional[Path] = None,
) -> "Recording":
    """Opens the traces of a job: files, or directories with its ``*.dxt`` files; or its Darshan log.

    Only tables are read; segments are read when they are asked for.

    :param job: the key of a job, if the traces are of several.
    :param layout: a file with stripe layouts, as the commands' ``--layout``.
    :param thresholds: a file with other thresholds for findings, as ``--thresholds``.
    :raises DxtError: if nothing can be read.
    :raises OSError: if a file cannot be opened.
    :raises ValueError: if what is named makes no sense, for instance traces of two jobs.
    """
    paths: list[str] = []
    for named in traces:
        some = [named] if isinstance(named, (str, os.PathLike)) else named
        paths.extend(os.fspath(path) for path in some)
    rules, limits = (None if path is None else os.fspath(path) for path in (layout, thresholds))
    opened = Job(paths, job, rules, limits)
    complete, remarks = opened.remarks()
    if not complete:
        warnings.warn("\n".join(remarks), IncompleteWarning, stacklevel=2)
    return Recording(opened, paths)


class Recording:
    """A job that is open; made by :func:`dxt.open`.

    The first of ``job``, ``ranks``, ``files`` and ``summary()`` reads all segments once. Methods take the commands' selection: ``ranks``,
    ``files``, ``layer`` and ``time`` (seconds since the job's start); what is left out chooses everything.
    """

    def __init__(self, opened: Job, paths: list[str]) -> None:
        self._opened = opened
        self._paths = paths

    def __repr__(self) -> str:
        return f"<dxt.Recording of {', '.join(self._paths)}>"

    def _part(
        self, ranks: Optional[Ranks], files: Optional[Files], layer: Optional[Layers], time: Optional[Time]
    ) -> Job:
        if ranks is None and files is None and layer is None and time is None:
            return self._opened
        return self._opened.part(choice(ranks, files, layer, time))

    @property
    def complete(self) -> bool:
        """Whether nothing was known to be missing when it was opened."""
        return self._opened.remarks()[0]

    @property
    def remarks(self) -> list[str]:
        """What there is to say of what is missing, a sentence each."""
        return self._opened.remarks()[1]

    @cached_property
    def job(self) -> dict[str, Any]:
        """The job: key, program, arguments, start, run time, MPI, settings. As ``job`` of ``summary --format json``."""
        job: dict[str, Any] = self.summary()["job"]
        return job

    @cached_property
    def ranks(self) -> list[dict[str, Any]]:
        """A dict for each process, with the columns of the table *ranks* of docs/interop.md; ``job["mpi_ranks"]`` is how many ranks there were.

        Rank -1 is a process without MPI, or what a Darshan log counts of all ranks together.
        """
        return self._opened.ranks().rows()

    @cached_property
    def files(self) -> list[dict[str, Any]]:
        """A dict for each file that was used, with the columns of the table *files* of docs/interop.md."""
        return self._opened.files().rows()

    @cached_property
    def layouts(self) -> list[dict[str, Any]]:
        """Stripe layouts, where they are known: ``file``, ``origin`` and ``components``, each with first and last byte (``end`` is one past
        it, or None), ``stripe_size``, ``stripe_count``, ``osts``, ``pool``, ``mirror``, ``on_metadata`` and ``active``."""
        layouts: list[dict[str, Any]] = json.loads(self._opened.layouts())
        return layouts

    def segments(
        self,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
        columns: Optional[Iterable[str]] = None,
        strict: bool = True,
    ) -> Segments:
        """The segments, for whatever takes an Arrow stream (``__arrow_c_stream__``): polars, pandas, pyarrow, DuckDB.

        A row for each call on record, by process, thread and the order in which calls were recorded; nothing is read before it is taken.

        :param columns: names of columns, in the order wanted; what is not named is not made.
        :param strict: whether segments that cannot be read are an error. Otherwise they are left out, and ``lost`` counts them.
        """
        if isinstance(columns, str):
            raise TypeError("columns: give a list of names")
        names = None if columns is None else list(columns)
        return self._part(ranks, files, layer, time).segments(names, strict)

    def summary(
        self,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
        top: int = 10,
        profiles: bool = False,
    ) -> dict[str, Any]:
        """What ``dxt-analyze summary --format json`` says, with ``top`` files; ``profiles``: sizes and strides also of a full trace."""
        summary: dict[str, Any] = json.loads(self._part(ranks, files, layer, time).summary(top, profiles))
        return summary

    def findings(
        self,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
    ) -> list[dict[str, Any]]:
        """The findings of ``dxt-analyze report --format json``, the most severe first."""
        findings: list[dict[str, Any]] = json.loads(self._part(ranks, files, layer, time).findings())
        return findings

    def table(
        self,
        name: str,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
    ) -> Table:
        """One of the small tables of docs/interop.md, ``files``, ``ranks`` or ``findings``, for whatever takes Arrow."""
        part = self._part(ranks, files, layer, time)
        if name == "files":
            return part.files()
        if name == "ranks":
            return part.ranks()
        if name == "findings":
            return part.findings_table()
        raise ValueError(f"there is no table '{name}'; there are files, ranks and findings (and segments())")
