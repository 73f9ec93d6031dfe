"""Reads many jobs at once."""

import json
import os
import subprocess
from collections.abc import Iterable
from typing import Any, Optional, Union

from ._dxt import DxtError
from ._tools import find

Path = Union[str, "os.PathLike[str]"]


def corpus(
    *places: Union[Path, Iterable[Path]],
    findings: bool = True,
    limit: Optional[int] = None,
    sort: Optional[str] = None,
    output: Optional[Path] = None,
    force: bool = False,
    thresholds: Optional[Path] = None,
) -> dict[str, Any]:
    """Reads all jobs below directories; returns the content of ``dxt-analyze corpus --format json``.

    ``jobs`` is a list of dicts, from which any data frame can be made; the other entries are totals over jobs. Runs ``dxt-analyze``, so
    that an unreadable log is only left out. ``left_out`` lists what could not be read.

    :param findings: look for findings, too; without, long traces are read many times faster.
    :param limit: maximum number of jobs to list, all if None.
    :param sort: order of the jobs, as the command's ``--sort``.
    :param output: directory for tables in Parquet (``jobs``, ``job_files``, ``job_findings``); ``force`` replaces existing tables.
    :raises DxtError: if there is nothing to read.
    :raises ValueError: if an argument is invalid.
    """
    paths: list[str] = []
    for named in places:
        some = [named] if isinstance(named, (str, os.PathLike)) else named
        paths.extend(os.fspath(path) for path in some)
    command = [os.fspath(find("dxt-analyze")), "corpus", "--format", "json"]
    command += [] if findings else ["--no-findings"]
    command += [] if limit is None else ["--limit", str(limit)]
    command += [] if sort is None else ["--sort", sort]
    command += [] if output is None else ["--output", os.fspath(output)]
    command += ["--force"] if force else []
    command += [] if thresholds is None else ["--thresholds", os.fspath(thresholds)]
    done = subprocess.run([*command, "--", *paths], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    # 3: data are missing from a job; its row says so.
    if done.returncode in (0, 3):
        result: dict[str, Any] = json.loads(done.stdout)
        return result
    said = done.stderr.decode(errors="replace").strip().removeprefix("dxt-analyze: ")
    if done.returncode == 2:
        raise ValueError(said)
    raise DxtError(said or f"dxt-analyze corpus ended with {done.returncode}")
