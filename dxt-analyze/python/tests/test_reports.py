"""Tests of dicts: the same content as the commands' JSON output."""

import warnings
from pathlib import Path
from typing import Any, Callable

import pytest

import dxt
from conftest import DARSHAN

LOG = DARSHAN / "gen-mpi8-rt3.5.0.darshan"
LOGS = sorted(DARSHAN.glob("*.darshan"))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_of_a_log(log: Path, commands: Callable[..., Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recording = dxt.open(log)
    complete = commands("summary", log)["missing"]["complete"]
    assert [warning.category for warning in caught] == ([] if complete else [dxt.IncompleteWarning])
    assert recording.summary() == commands("summary", log)
    assert recording.job == recording.summary()["job"]
    assert recording.findings() == commands("report", log)["findings"]


def test_what_a_log_counts_of_all_ranks_is_no_rank() -> None:
    recording = dxt.open(LOG)
    assert recording.job["mpi_ranks"] == 8
    assert [rank["rank"] for rank in recording.ranks] == [-1, *range(8)]


def test_of_a_part(commands: Callable[..., Any]) -> None:
    recording = dxt.open(LOG)
    part = recording.summary(ranks=[0, 1], layer="posix", top=3)
    assert part == commands("summary", LOG, "--ranks", "0,1", "--layer", "posix", "--top", 3)
    # The selection does not change the whole recording.
    assert recording.summary() == commands("summary", LOG)
    assert recording.findings(ranks=3) == commands("report", LOG, "--ranks", 3)["findings"]


def test_sums_of_a_traced_program(traced: dxt.Tracing, commands: Callable[..., Any]) -> None:
    recording, summary = traced.open(), commands("summary", traced.output)
    assert recording.summary() == summary
    assert sum(rank["bytes_written"] for rank in recording.ranks) == summary["bytes_written"] == 100_000
    assert sum(file["bytes_read"] for file in recording.files) == summary["bytes_read"]
    written = [file for file in recording.files if file["file"].endswith("/written.dat")]
    assert [(file["bytes_written"], file["bytes_read"], file["processes"]) for file in written] == [(100_000, 100_000, 1)]
    assert recording.complete
    assert recording.layouts == []


def test_layouts() -> None:
    layouts = dxt.open(DARSHAN / "synth-pfl-a.darshan").layouts
    assert layouts and all(layout["origin"] == "lustre" for layout in layouts)
    components = [component for layout in layouts for component in layout["components"]]
    assert len(components) > len(layouts)
    assert all(component["stripe_size"] > 0 and component["stripe_count"] > 0 for component in components)
    assert any(component["end"] is None for component in components)


def test_layouts_that_are_given(traced: dxt.Tracing, tmp_path: Path) -> None:
    rules = tmp_path / "layouts"
    rules.write_text("*/written.dat size=64K count=2\n")
    recording = dxt.open(*traced.traces, layout=rules)
    (layout,) = recording.layouts
    assert layout["file"].endswith("written.dat") and layout["origin"] == "given"
    pyarrow = pytest.importorskip("pyarrow")
    stripes = pyarrow.table(recording.segments(files="written.dat", columns=["stripe"]))["stripe"].to_pylist()
    assert {stripe for stripe in stripes if stripe is not None} == {0, 1}


def test_a_corpus(commands: Callable[..., Any], tmp_path: Path) -> None:
    corpus = dxt.corpus(DARSHAN, findings=False)
    assert corpus == commands("corpus", "--no-findings", DARSHAN)
    assert len(corpus["jobs"]) == len(LOGS)
    assert len(dxt.corpus([DARSHAN], findings=False, limit=2, sort="bytes", output=tmp_path / "out")["jobs"]) == 2
    assert (tmp_path / "out" / "jobs.parquet").exists() or list((tmp_path / "out").rglob("*.parquet"))
    with pytest.raises(ValueError, match="no \\*.dxt or \\*.darshan"):
        (tmp_path / "empty").mkdir()
        dxt.corpus(tmp_path / "empty")
    with pytest.raises(dxt.DxtError, match="failed to find"):
        dxt.corpus(tmp_path / "absent")
