"""Traces programs that this process starts."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, Union

from ._recording import Recording, open
from ._tools import find

#: Settings of :func:`trace`: each name in capitals, after ``DXT_``, is a variable of docs/configuration.md.
SETTINGS = frozenset(
    {
        "anonymize",
        "apps",
        "buffer_max",
        "config",
        "counters_files",
        "exclude",
        "flush",
        "include",
        "job_bytes",
        "job_id",
        "kill_switch",
        "layers",
        "live",
        "mem_align",
        "min_calls",
        "min_io",
        "min_run_time",
        "min_size",
        "mpi_buffer_max",
        "overflow",
        "processes",
        "ranks",
        "sample",
        "seccomp",
        "sites",
        "small_io_size",
        "small_io_trigger",
        "spool",
        "timing",
        "trace_mode",
        "unaligned_io_trigger",
        "verbose",
    }
)

Setting = Union[str, int, float, "os.PathLike[str]", Iterable[str]]


def trace(output: Union[str, "os.PathLike[str]"] = ".", *, counters: bool = False, **settings: Setting) -> "Tracing":
    """Returns a context in which programs that this process starts are traced, with traces in the directory ``output``.

    This process itself is not traced, as the tracer is loaded when a program starts. Forked children that start no program are not
    traced either (``multiprocessing`` with ``fork``; with ``spawn`` and ``forkserver`` they are). Within the context the tracer's
    variables are set in ``os.environ``, for all threads.

    :param counters: keep exact counters instead of segments (docs/counters.md).
    :param settings: further variables of docs/configuration.md, such as ``include="/scratch/*"`` for ``DXT_INCLUDE``. Several words become a list.
    :raises TypeError: if there is no such setting.
    :raises ValueError: on entering the context, if a setting is invalid.
    :raises FileNotFoundError: if the package was installed without the tracer.
    """
    unknown = sorted(set(settings) - SETTINGS)
    if unknown:
        raise TypeError(f"trace() has no setting '{unknown[0]}'; settings: {', '.join(sorted(SETTINGS))}")
    return Tracing(Path(output), counters, {f"DXT_{name.upper()}": _text(value) for name, value in settings.items()})


def _text(value: Setting) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) else ",".join(value)


class Tracing:
    """Context in which started programs are traced; made by :func:`dxt.trace`, used by ``with``."""

    def __init__(self, output: Path, counters: bool, settings: dict[str, str]) -> None:
        self._library = find("libdxt_tracer.so")
        if any(character.isspace() or character == ":" for character in str(self._library)):
            raise ValueError(f"LD_PRELOAD allows no space or colon in the path of the library: {self._library}")
        #: Directory of the traces.
        self.output = output.absolute()
        self._counters = counters
        self._settings = settings
        self._spools: Optional[str] = None
        self._before: Optional[dict[str, Optional[str]]] = None
        self._there: set[Path] = set()
        self._set: dict[str, str] = {}

    def __enter__(self) -> "Tracing":
        if self._before is not None:
            raise RuntimeError("dxt.trace(): this context is already entered; make another one for each `with`")
        self._make_output()
        self._there = set(self.output.glob("*.dxt"))
        own = {
            "DXT_ENABLE": "counters" if self._counters else "trace",
            # An unescaped percent sign would begin a pattern.
            "DXT_OUTPUT_DIR": str(self.output).replace("%", "%%"),
            "DXT_JOB_ID": os.environ.get("DXT_JOB_ID") or f"{platform.node()}.{os.getpid()}.{time.time_ns()}",
        }
        self._check({**own, **self._settings})
        if not ("DXT_SPOOL" in self._settings or os.environ.get("DXT_SPOOL")):
            # Spools that killed processes leave here become traces at the end.
            self._spools = tempfile.mkdtemp(prefix="dxt-trace.")
            own["DXT_SPOOL"] = self._spools
        self._set = {**own, **self._settings}
        preloaded = os.environ.get("LD_PRELOAD")
        # The tracer comes first: calls of libraries before it would not reach it.
        preload = f"{self._library}:{preloaded}" if preloaded else str(self._library)
        changed = {**self._set, "LD_PRELOAD": preload}
        self._before = {name: os.environ.get(name) for name in changed}
        os.environ.update(changed)
        return self

    def _make_output(self) -> None:
        """Makes the output directory. All users who may read the traces may enter new directories, regardless of the umask."""
        made = [place for place in (self.output, *self.output.parents) if not place.exists()]
        self.output.mkdir(parents=True, exist_ok=True)
        mode = self._settings.get("DXT_TRACE_MODE") or os.environ.get("DXT_TRACE_MODE") or ""
        # The tracer itself reports invalid modes.
        if re.fullmatch("0*6[0246]{2}", mode):
            rights = int(mode, 8)
            for place in made:
                place.chmod(rights | (rights & 0o444) >> 2)

    def _check(self, settings: dict[str, str]) -> None:
        """Raises the tracer's message on an invalid setting, with which programs would run untraced."""
        check = {"DXT_ENABLE": f"check:{settings['DXT_ENABLE']}", "LD_PRELOAD": str(self._library)}
        try:
            done = subprocess.run(["true"], env={**os.environ, **settings, **check}, capture_output=True, text=True, check=False)
        except OSError:
            return
        for line in done.stderr.splitlines():
            if line.startswith("dxt: ") and line.endswith(": not tracing"):
                raise ValueError(line.removeprefix("dxt: ").removesuffix(": not tracing"))

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        raised: Optional[BaseException],
        where: Optional[TracebackType],
    ) -> None:
        for name, value in (self._before or {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = None
        self._recover()

    def _recover(self) -> None:
        """Recovers traces of killed processes from their spools."""
        spools, self._spools = self._spools, None
        if spools is None:
            return
        for done in Path(spools).glob("*.done"):
            done.unlink()
        if any(Path(spools).glob("*.spool")):
            command = [str(find("dxt-analyze")), "recover", "--remove", "--output", str(self.output), spools]
            done_so = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if done_so.returncode not in (0, 3):
                print(f"dxt.trace: some data could not be recovered from {spools}", file=sys.stderr)
        if any(Path(spools).iterdir()):
            print(f"dxt.trace: {spools} still holds spools of running processes", file=sys.stderr)
        else:
            shutil.rmtree(spools, ignore_errors=True)

    @property
    def env(self) -> dict[str, str]:
        """Environment of a program to trace, for ``subprocess.run(..., env=t.env)``. Within the context this is the environment of this
        process, so it need not be passed."""
        self._entered()
        return dict(os.environ)

    def run(self, command: Sequence[Union[str, "os.PathLike[str]"]], **how: Any) -> "subprocess.CompletedProcess[Any]":
        """Runs a command under ``dxt-run``, which passes the tracer on to the ranks of ``mpirun``, ``mpiexec`` and ``srun``, and reports on
        standard error what cannot be traced. ``how`` is passed to ``subprocess.run``."""
        before = self._entered()
        env = dict(how.pop("env", None) or os.environ)
        env.update(self._set)
        # dxt-run itself is not traced; it sets LD_PRELOAD for the command.
        if before["LD_PRELOAD"] is None:
            env.pop("LD_PRELOAD", None)
        else:
            env["LD_PRELOAD"] = before["LD_PRELOAD"]
        words = [str(find("dxt-run")), "--lib", str(self._library), "--output", str(self.output)]
        words += ["--counters"] if self._counters else []
        return subprocess.run([*words, "--", *(os.fspath(word) for word in command)], env=env, **how)

    def _entered(self) -> dict[str, Optional[str]]:
        if self._before is None:
            raise RuntimeError("use this call inside `with dxt.trace(...) as t:`")
        return self._before

    @property
    def traces(self) -> list[Path]:
        """Traces that have been written since the context began."""
        return sorted(set(self.output.glob("*.dxt")) - self._there)

    def open(self) -> Recording:
        """Opens :attr:`traces`. Call it after the context: traces of killed processes exist only then.

        :raises FileNotFoundError: if there is no trace.
        """
        traces = self.traces
        if not traces:
            raise FileNotFoundError(
                f"no trace was written in {self.output}: the program did no I/O on traced files, or is linked statically"
            )
        return open(*traces)
