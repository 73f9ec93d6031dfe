"""Tests of the examples of docs/python.md, and of the package's types and docstrings."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dxt
from conftest import PROJECT

DOCS = PROJECT / "docs" / "python.md"


def test_examples(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the examples in order, in one namespace, in a directory with a script. A text block after an example is its output."""
    for module in ("duckdb", "pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    (tmp_path / "script.py").write_text(program.read_text())
    (tmp_path / "job.darshan").write_bytes((PROJECT / "testdata/darshan/gen-mpi8-rt3.5.0.darshan").read_bytes())
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert sum(kind == "python" for kind, _ in blocks) >= 8
    names: dict[str, object] = {}
    said = ""
    for kind, text in blocks:
        if kind == "text":
            assert said == text
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, str(DOCS), "exec"), names)
        said = out.getvalue()


def test_types() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "-p", "dxt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_everything_public_is_documented() -> None:
    for name in dxt.__all__:
        thing = getattr(dxt, name)
        if callable(thing) and isinstance(thing, type) or name in ("open", "trace", "corpus"):
            assert thing.__doc__, name
            for method, of in vars(thing).items() if isinstance(thing, type) else ():
                if not method.startswith("_"):
                    assert of.__doc__, f"{name}.{method}"
