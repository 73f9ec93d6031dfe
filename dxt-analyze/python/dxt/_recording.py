"""The recording of a job: its traces or its Darshan log."""

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
    """Data are missing from the recording, so all numbers are lower bounds. The commands report the same with exit code 3."""


def open(
    *traces: Union[Path, Iterable[Path]],
    job: Optional[str] = None,
    layout: Optional[Path] = None,
    thresholds: Optional[Path] = None,
    debug_dirs: Iterable[Path] = (),
) -> "Recording":
    """Opens the traces of a job (files, or directories with its ``*.dxt`` files), or its Darshan log.

    Reads only tables; segments are read on demand.

    :param job: key of a job, if the traces are of several jobs.
    :param layout: file with stripe layouts, as the commands' ``--layout``.
    :param thresholds: file with other thresholds for findings, as ``--thresholds``.
    :param debug_dirs: directories with debug information for call sites, as ``--debug-dir``.
    :raises DxtError: if nothing can be read.
    :raises OSError: if a file cannot be opened.
    :raises ValueError: if an argument is invalid, for instance if traces are of two jobs.
    """
    paths: list[str] = []
    for named in traces:
        some = [named] if isinstance(named, (str, os.PathLike)) else named
        paths.extend(os.fspath(path) for path in some)
    rules, limits = (None if path is None else os.fspath(path) for path in (layout, thresholds))
    dirs = [os.fspath(path) for path in debug_dirs]
    opened = Job(paths, job, rules, limits, dirs)
    complete, remarks = opened.remarks()
    if not complete:
        warnings.warn("\n".join(remarks), IncompleteWarning, stacklevel=2)
    return Recording(opened, paths)


class Recording:
    """An open job; made by :func:`dxt.open`.

    The first use of ``job``, ``ranks``, ``files`` or ``summary()`` reads all segments once. Methods take the selection of the commands:
    ``ranks``, ``files``, ``layer`` and ``time`` (seconds since the job's start); by default everything is selected.
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
        """True if nothing was known to be missing when the job was opened."""
        return self._opened.remarks()[0]

    @property
    def remarks(self) -> list[str]:
        """Missing data, one sentence each."""
        return self._opened.remarks()[1]

    @cached_property
    def job(self) -> dict[str, Any]:
        """The job: key, program, arguments, start, run time, MPI, settings. As ``job`` of ``summary --format json``."""
        job: dict[str, Any] = self.summary()["job"]
        return job

    @cached_property
    def ranks(self) -> list[dict[str, Any]]:
        """One dict per process, with the columns of the table *ranks* of docs/interop.md; ``job["mpi_ranks"]`` is the number of ranks.

        Rank -1 is a process without MPI, or the records of a Darshan log that stand for all ranks together.
        """
        return self._opened.ranks().rows()

    @cached_property
    def files(self) -> list[dict[str, Any]]:
        """One dict per file used, with the columns of the table *files* of docs/interop.md."""
        return self._opened.files().rows()

    @cached_property
    def layouts(self) -> list[dict[str, Any]]:
        """Known stripe layouts: ``file``, ``origin`` and ``components``, each with its range of bytes (``end`` is exclusive,
        or None), ``stripe_size``, ``stripe_count``, ``osts``, ``pool``, ``mirror``, ``on_metadata`` and ``active``."""
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
        """Returns the segments, for libraries that take an Arrow stream (``__arrow_c_stream__``): polars, pandas, pyarrow, DuckDB.

        One row per recorded call, ordered by process, thread and recording order. The trace is read as the stream is consumed.

        :param columns: names of the columns wanted, in this order; others are not computed.
        :param strict: if True, unreadable segments are an error; otherwise they are left out, and ``lost`` counts them.
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
        """Returns the content of ``dxt-analyze summary --format json``.

        :param top: number of files.
        :param profiles: compute sizes and strides of a full trace, too.
        """
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
        """Returns the findings of ``dxt-analyze report --format json``, the most severe first."""
        findings: list[dict[str, Any]] = json.loads(self._part(ranks, files, layer, time).findings())
        return findings

    def sites(
        self,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
    ) -> Table:
        """Returns the table *sites* of docs/interop.md: places in the program that make calls; ``site`` is the number in segments."""
        return self._part(ranks, files, layer, time).sites()

    def table(
        self,
        name: str,
        *,
        ranks: Optional[Ranks] = None,
        files: Optional[Files] = None,
        layer: Optional[Layers] = None,
        time: Optional[Time] = None,
    ) -> Table:
        """Returns a small table of docs/interop.md (``files``, ``ranks``, ``findings`` or ``sites``), for libraries that take Arrow data."""
        part = self._part(ranks, files, layer, time)
        if name == "files":
            return part.files()
        if name == "ranks":
            return part.ranks()
        if name == "findings":
            return part.findings_table()
        if name == "sites":
            return part.sites()
        raise ValueError(f"there is no table '{name}'; there are files, ranks, findings and sites (and segments())")
