"""Programs that are started are traced."""

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

#: What :func:`trace` takes beside its own arguments: ``DXT_`` and the name in capitals is a variable of docs/configuration.md.
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
    """A context in which programs that this process starts are traced; their traces go to the directory ``output``.

    This process is not: the tracer is loaded when a program starts. Nor are children that are forked and start no program, such as those of
    ``multiprocessing`` by ``fork``; those by ``spawn`` and ``forkserver`` are. Inside of the context the tracer's variables are in
    ``os.environ``, for all threads.

    :param counters: keep exact counters instead of segments (docs/counters.md).
    :param settings: further variables of docs/configuration.md, ``include="/scratch/*"`` for ``DXT_INCLUDE``. Of several words a list is made.
    :raises TypeError: if there is no such setting.
    :raises ValueError: when it is entered, if a setting makes no sense.
    :raises FileNotFoundError: if the tracer did not come with the package.
    """
    unknown = sorted(set(settings) - SETTINGS)
    if unknown:
        raise TypeError(f"trace() has no setting '{unknown[0]}'; there are: {', '.join(sorted(SETTINGS))}")
    return Tracing(Path(output), counters, {f"DXT_{name.upper()}": _text(value) for name, value in settings.items()})


def _text(value: Setting) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, bool):
        return str(int(value))
    return str(value) if isinstance(value, (int, float)) else ",".join(value)


class Tracing:
    """Programs that are started are traced; made by :func:`dxt.trace`, to be used in ``with``."""

    def __init__(self, output: Path, counters: bool, settings: dict[str, str]) -> None:
        self._library = find("libdxt_tracer.so")
        if any(character.isspace() or character == ":" for character in str(self._library)):
            raise ValueError(f"the library's path has a space or a colon, which LD_PRELOAD cannot hold: {self._library}")
        #: Where traces go.
        self.output = output.absolute()
        self._counters = counters
        self._settings = settings
        self._spools: Optional[str] = None
        self._before: Optional[dict[str, Optional[str]]] = None
        self._there: set[Path] = set()
        self._set: dict[str, str] = {}

    def __enter__(self) -> "Tracing":
        if self._before is not None:
            raise RuntimeError("this context is entered already")
        self._make_output()
        self._there = set(self.output.glob("*.dxt"))
        own = {
            "DXT_ENABLE": "counters" if self._counters else "trace",
            # A percent sign would begin a pattern.
            "DXT_OUTPUT_DIR": str(self.output).replace("%", "%%"),
            "DXT_JOB_ID": os.environ.get("DXT_JOB_ID") or f"{platform.node()}.{os.getpid()}.{time.time_ns()}",
        }
        self._check({**own, **self._settings})
        if not ("DXT_SPOOL" in self._settings or os.environ.get("DXT_SPOOL")):
            # What processes that are killed leave there, is made a trace of in the end.
            self._spools = tempfile.mkdtemp(prefix="dxt-trace.")
            own["DXT_SPOOL"] = self._spools
        self._set = {**own, **self._settings}
        preloaded = os.environ.get("LD_PRELOAD")
        # Ours first: a library before us would keep its calls from us.
        preload = f"{self._library}:{preloaded}" if preloaded else str(self._library)
        changed = {**self._set, "LD_PRELOAD": preload}
        self._before = {name: os.environ.get(name) for name in changed}
        os.environ.update(changed)
        return self

    def _make_output(self) -> None:
        """Whoever may read traces may enter the directories that are made for them, whatever the umask."""
        made = [place for place in (self.output, *self.output.parents) if not place.exists()]
        self.output.mkdir(parents=True, exist_ok=True)
        mode = self._settings.get("DXT_TRACE_MODE") or os.environ.get("DXT_TRACE_MODE") or ""
        # Of anything else the tracer says that it makes no sense.
        if re.fullmatch("0*6[0246]{2}", mode):
            rights = int(mode, 8)
            for place in made:
                place.chmod(rights | (rights & 0o444) >> 2)

    def _check(self, settings: dict[str, str]) -> None:
        """Lets the tracer say what makes no sense: with that, programs would run untraced."""
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
        """Makes traces of what processes that were killed have left."""
        spools, self._spools = self._spools, None
        if spools is None:
            return
        for done in Path(spools).glob("*.done"):
            done.unlink()
        if any(Path(spools).glob("*.spool")):
            command = [str(find("dxt-analyze")), "recover", "--remove", "--output", str(self.output), spools]
            done_so = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if done_so.returncode not in (0, 3):
                print(f"dxt.trace: not everything could be recovered from {spools}", file=sys.stderr)
        if any(Path(spools).iterdir()):
            print(f"dxt.trace: {spools} still holds spools, of processes that run on", file=sys.stderr)
        else:
            shutil.rmtree(spools, ignore_errors=True)

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program that is to be traced, for ``subprocess.run(..., env=t.env)``: inside of the context it is that of
        this process, so that it need not be named."""
        self._entered()
        return dict(os.environ)

    def run(self, command: Sequence[Union[str, "os.PathLike[str]"]], **how: Any) -> "subprocess.CompletedProcess[Any]":
        """Runs a command under ``dxt-run``, which also hands the tracer on to the ranks of ``mpirun``, ``mpiexec`` and ``srun``, and says on
        standard error what cannot be traced. ``how`` goes to ``subprocess.run``."""
        before = self._entered()
        env = dict(how.pop("env", None) or os.environ)
        env.update(self._set)
        # dxt-run itself is not to be traced; it sets it for what it runs.
        if before["LD_PRELOAD"] is None:
            env.pop("LD_PRELOAD", None)
        else:
            env["LD_PRELOAD"] = before["LD_PRELOAD"]
        words = [str(find("dxt-run")), "--lib", str(self._library), "--output", str(self.output)]
        words += ["--counters"] if self._counters else []
        return subprocess.run([*words, "--", *(os.fspath(word) for word in command)], env=env, **how)

    def _entered(self) -> dict[str, Optional[str]]:
        if self._before is None:
            raise RuntimeError("use it in `with dxt.trace(...) as t:`")
        return self._before

    @property
    def traces(self) -> list[Path]:
        """Traces that have been written since the context began."""
        return sorted(set(self.output.glob("*.dxt")) - self._there)

    def open(self) -> Recording:
        """Opens :attr:`traces`, when the context is left: then also those of processes that were killed are there.

        :raises FileNotFoundError: if there is none.
        """
        traces = self.traces
        if not traces:
            raise FileNotFoundError(
                f"no trace was written in {self.output}: what was started did no I/O on files that are traced, or is linked statically"
            )
        return open(*traces)
