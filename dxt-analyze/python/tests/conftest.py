"""Fixtures: a program that is traced, and runs of dxt-analyze's commands and exports."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import dxt
from dxt._tools import find

PROJECT = Path(__file__).resolve().parents[3]
DARSHAN = PROJECT / "testdata" / "darshan"

PROGRAM = """
import os, sys
folder = sys.argv[1]
block = bytes(1000)
with open(os.path.join(folder, "written.dat"), "wb", buffering=0) as file:
    for _ in range(100):
        file.write(block)
with open(os.path.join(folder, "written.dat"), "rb", buffering=0) as file:
    while file.read(4096):
        pass
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports skipped tests in the project's format, which scripts/test.sh reads."""
    for report in terminalreporter.stats.get("skipped", []):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        print(f"skipped: {report.nodeid}: {why}", file=sys.stderr)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Script that writes 100 times 1000 bytes to written.dat, and reads them in pieces of 4096 bytes."""
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory, program: Path) -> dxt.Tracing:
    """The program's trace; written.dat is beside it."""
    folder = tmp_path_factory.mktemp("traced")
    with dxt.trace(folder / "traces") as tracing:
        subprocess.run([sys.executable, program, folder], check=True)
    return tracing


@pytest.fixture(scope="session")
def commands() -> Callable[..., Any]:
    """Runs a command of dxt-analyze and returns its JSON output."""

    def run(*words: object) -> Any:
        done = subprocess.run([find("dxt-analyze"), *map(str, words), "--format", "json"], capture_output=True)
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes a directory of Parquet files by ``export --to parquet``."""

    def export(trace: Path, *words: object) -> Path:
        place = tmp_path_factory.mktemp("exported")
        command = [find("dxt-analyze"), "export", "--to", "parquet", "-o", place, trace, *map(str, words)]
        assert subprocess.run(command, capture_output=True).returncode in (0, 3)
        return place

    return export
