"""Tests of tracing started programs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dxt
from conftest import PROJECT
from dxt import _tracing, run
from dxt._tools import find

DOCS = PROJECT / "docs" / "configuration.md"


def moved(recording: dxt.Recording) -> tuple[int, int]:
    """Returns the bytes written to written.dat and read from it."""
    (file,) = [file for file in recording.files if file["file"].endswith("/written.dat")]
    return file["bytes_written"], file["bytes_read"]


ALL = (100_000, 100_000)


def test_the_context_traces_what_is_started_and_leaves_nothing(program: Path, tmp_path: Path) -> None:
    before = dict(os.environ)
    with dxt.trace(tmp_path / "traces") as tracing:
        assert tracing.env["LD_PRELOAD"].endswith("libdxt_tracer.so")
        subprocess.run([sys.executable, program, tmp_path], check=True)
        spools = Path(os.environ["DXT_SPOOL"])
        with pytest.raises(RuntimeError):
            tracing.__enter__()
    assert dict(os.environ) == before
    assert not spools.exists()
    assert moved(tracing.open()) == ALL
    with pytest.raises(RuntimeError):
        tracing.env


def test_settings_reach_the_tracer(program: Path, tmp_path: Path) -> None:
    with dxt.trace(tmp_path / "traces", counters=True, include=[str(tmp_path), "/nowhere"], job_id="mine") as tracing:
        subprocess.run([sys.executable, program, tmp_path], env=tracing.env, check=True)
    recording = tracing.open()
    assert recording.job["key"] == "mine"
    assert recording.summary()["segments"] == 0 and moved(recording) == ALL
    assert all(file["file"].startswith(str(tmp_path)) for file in recording.files)


def test_settings_are_those_of_the_tracer(tmp_path: Path) -> None:
    known = set(re.findall(r"^\| `DXT_([A-Z_]+)` \|", DOCS.read_text(), re.MULTILINE))
    own = {"ENABLE", "ENABLE_IO_TRACE", "OUTPUT_DIR"}
    assert {name.upper() for name in _tracing.SETTINGS} == known - own
    with pytest.raises(TypeError, match="no setting 'inklude'"):
        dxt.trace("traces", inklude="x")
    # Settings that the tracer would refuse raise an error before any program runs untraced.
    with pytest.raises(ValueError, match="DXT_BUFFER_MAX=banana is invalid"), dxt.trace(tmp_path, buffer_max="banana"):
        pytest.fail("it was entered")
    assert "DXT_ENABLE" not in os.environ


def test_whoever_may_read_traces_gets_to_them(program: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with dxt.trace(tmp_path / "new" / "traces", trace_mode="0640") as tracing:
            subprocess.run([sys.executable, program, tmp_path], check=True)
    finally:
        os.umask(before)
    assert [place.stat().st_mode & 0o777 for place in (tracing.output.parent, tracing.output)] == [0o750, 0o750]
    assert {trace.stat().st_mode & 0o777 for trace in tracing.output.iterdir()} == {0o640}


def test_a_killed_program_is_recovered(tmp_path: Path) -> None:
    code = "import os; f = open('written.dat', 'wb', buffering=0); [f.write(b'x') for _ in range(7)]; os.kill(os.getpid(), 9)"
    with dxt.trace(tmp_path / "traces") as tracing:
        assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == -9
        spools = Path(os.environ["DXT_SPOOL"])
    assert not spools.exists()
    assert moved(tracing.open()) == (7, 0)


def test_nothing_traced_is_an_error(tmp_path: Path) -> None:
    with dxt.trace(tmp_path / "traces") as tracing:
        pass
    with pytest.raises(FileNotFoundError, match="no trace was written"):
        tracing.open()


def test_run_goes_by_dxt_run(program: Path, tmp_path: Path) -> None:
    with dxt.trace(tmp_path / "traces") as tracing:
        done = tracing.run([sys.executable, program, tmp_path, "7"], capture_output=True, text=True)
    assert done.returncode == 7 and "dxt-run: wrote" in done.stderr
    recording = tracing.open()
    assert moved(recording) == ALL and len(recording.ranks) == 1


def test_python_m_dxt_run(program: Path, tmp_path: Path) -> None:
    def module(*words: object) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "dxt.run", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True)

    done = module("-o", tmp_path / "traces", program, tmp_path, "7")
    assert done.returncode == 7, done.stderr
    assert moved(dxt.open(tmp_path / "traces")) == ALL
    assert module("-o", tmp_path / "other", "-c", "print(open('/proc/self/comm').read())").stdout
    assert module("-o", tmp_path / "other", "-m", "this").stdout.startswith("The Zen")
    assert "dxt-run" in module("--help").stdout
    assert [module(word).stdout.split()[0] for word in ("-V", "--version")] == ["dxt-run", "dxt-run"]
    assert module("--print-preload").stdout.endswith("/libdxt_tracer.so\n")
    assert (module().returncode, module("--bad", program).returncode) == (2, 2)


def test_options_are_those_of_dxt_run() -> None:
    usage = subprocess.run([find("dxt-run"), "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^ +(?:(-\w), )?(?: +)?(--[a-z-]+)( <[A-Z]+>)?", usage, re.MULTILINE)
    with_value = {name for short, long, value in options if value for name in (short, long) if name}
    assert with_value == run.WITH_VALUE
    assert run.split(["-o", "d", "-v", "-c", "x", "-y"]) == (["-o", "d", "-v"], ["-c", "x", "-y"])
    assert run.split(["--counters", "--", "s.py", "-o"]) == (["--counters"], ["s.py", "-o"])
    assert run.split(["-v", "--link-flags", "-lz", "mpicc", "-c"]) == (["-v", "--link-flags", "-lz", "mpicc", "-c"], [])


def test_the_package_carries_its_programs(program: Path, tmp_path: Path) -> None:
    assert subprocess.run([find("dxt-analyze"), "--help"], capture_output=True).returncode == 0
    # Installed, dxt-run finds the library by itself.
    command = [find("dxt-run"), "-o", tmp_path / "traces", sys.executable, program, tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    assert moved(dxt.open(tmp_path / "traces")) == ALL


RANKS = """
import sys
from mpi4py import MPI
file = MPI.File.Open(MPI.COMM_WORLD, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_WRONLY)
file.Write_at_all(MPI.COMM_WORLD.rank * 1000, bytes(1000))
file.Close()
"""


def test_ranks_of_mpirun(tmp_path: Path) -> None:
    # Debian's mpi4py is built for Open MPI, and for Debian's Python.
    python = "/usr/bin/python3"
    has = shutil.which("mpirun.openmpi") and subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0
    if not has:
        pytest.skip("there is no mpirun.openmpi with mpi4py")
    allowed = {name: "1" for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")}
    command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", python, "-c", RANKS, tmp_path / "written.dat"]
    with dxt.trace(tmp_path / "traces") as tracing:
        done = tracing.run(command, env={**os.environ, **allowed}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    recording = tracing.open()
    assert len(tracing.traces) == 1 and [rank["rank"] for rank in recording.ranks] == [0, 1]
    assert moved(recording) == (2000, 0) and recording.job["mpi"] == "Open MPI"
