"""Tests of segments in pandas, polars, pyarrow and DuckDB: the same rows as in ``export --to parquet``."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import dxt
from conftest import DARSHAN

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LOG = DARSHAN / "gen-mpi8-rt3.5.0.darshan"


def plain(table: Any) -> Any:
    """Converts dictionaries, whose order may differ, to strings, and drops Parquet's metadata."""
    text = pyarrow.types.is_dictionary
    fields = [pyarrow.field(f.name, f.type.value_type if text(f.type) else f.type, f.nullable) for f in table.schema]
    return table.cast(pyarrow.schema(fields))


def of_parquet(place: Path, table: str) -> Any:
    parts = sorted(place.glob(f"{table}/job=*/*.parquet"))
    return plain(pyarrow.concat_tables([parquet.ParquetFile(part).read() for part in parts]))


SELECTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"ranks": [0, 2, 3]}, ["--ranks", "0,2:3"]),
    ({"ranks": range(4)}, ["--ranks", ":3"]),
    ({"ranks": 5}, ["--ranks", "5"]),
    ({"layer": "mpiio"}, ["--layer", "mpiio"]),
    ({"layer": ["POSIX", "stdio"]}, ["--layer", "posix", "--layer", "stdio"]),
    ({"time": (0.01, None)}, ["--time", "0.01:"]),
    ({"time": "0:0.05", "ranks": "1:"}, ["--time", "0:0.05", "--ranks", "1:"]),
    ({"files": "*a*"}, ["--files", "*a*"]),
    ({"files": ["*.no", "/*"]}, ["--files", "*.no", "--files", "/*"]),
]


@pytest.mark.parametrize(("arguments", "options"), SELECTIONS)
def test_segments_are_those_of_parquet(
    exported: Callable[..., Path], arguments: dict[str, Any], options: list[str]
) -> None:
    ours = plain(pyarrow.table(dxt.open(LOG).segments(**arguments)))
    theirs = of_parquet(exported(LOG, *options), "segments")
    assert ours.schema.equals(theirs.schema)
    assert ours.equals(theirs)
    assert ours.num_rows > 0 or arguments == {"files": ["*.no", "/*"]}


def test_a_traced_programs_segments(traced: dxt.Tracing, exported: Callable[..., Path]) -> None:
    recording = traced.open()
    ours = plain(pyarrow.table(recording.segments()))
    assert ours.equals(of_parquet(exported(traced.output), "segments"))
    rows = [row for row in ours.to_pylist() if row["kind"] == "write" and row["file"].endswith("/written.dat")]
    assert [(row["offset"], row["length"]) for row in rows] == [(offset, 1000) for offset in range(0, 100_000, 1000)]


def test_each_library_reads_the_same(traced: dxt.Tracing) -> None:
    segments = traced.open().segments(files="written.dat")
    expected = plain(pyarrow.table(segments)).to_pylist()
    assert len(expected) > 120
    of_polars = polars.DataFrame(segments)
    assert of_polars.height == len(expected)
    assert of_polars["file"].dtype == polars.Categorical
    for name in ("rank", "file", "op", "offset", "length", "start_ns", "osts", "failed"):
        assert of_polars[name].to_list() == [row[name] for row in expected], name
    of_pandas = pandas.DataFrame.from_arrow(segments)
    assert of_pandas["length"].tolist() == [row["length"] for row in expected]
    assert of_pandas["file"].astype(str).tolist() == [row["file"] for row in expected]
    assert str(of_pandas["start_unix_ns"].dtype) == "datetime64[ns, UTC]"
    of_duckdb = duckdb.sql("SELECT op, count(*), sum(length) FROM segments WHERE kind = 'write' GROUP BY op").fetchall()
    assert of_duckdb == [("write", 100, 100_000)]


def test_tables_are_those_of_parquet(exported: Callable[..., Path]) -> None:
    place, recording = exported(LOG), dxt.open(LOG)
    for name in ("files", "ranks", "findings"):
        ours = recording.table(name)
        assert plain(pyarrow.table(ours)).equals(of_parquet(place, name)), name
        assert len(ours) == len(ours.rows()) > 0
        assert ours.columns == list(ours.rows()[0])
        assert polars.DataFrame(ours).height == len(ours)
    with pytest.raises(ValueError, match="no table 'jobs'"):
        recording.table("jobs")


def test_call_sites(traced: dxt.Tracing, exported: Callable[..., Path]) -> None:
    recording = traced.open()
    sites = recording.sites()
    assert plain(pyarrow.table(sites)).equals(of_parquet(exported(traced.output), "sites"))
    assert recording.table("sites").rows() == sites.rows()
    places = {row["site"]: row["place"] for row in sites.rows()}
    rows = pyarrow.table(recording.segments(columns=["site", "place"])).to_pylist()
    assert all(row["place"] == places[row["site"]] for row in rows if row["site"] is not None)
    assert sum(row["calls"] for row in sites.rows()) == sum(row["site"] is not None for row in rows)


def test_columns_are_chosen_in_order(traced: dxt.Tracing) -> None:
    recording = traced.open()
    segments = recording.segments(columns=["length", "file"])
    assert segments.columns == ["length", "file"] == pyarrow.table(segments).column_names
    assert pyarrow.schema(segments).names == ["length", "file"]
    whole = pyarrow.table(recording.segments())
    assert pyarrow.table(segments)["length"].equals(whole["length"])
    for wrong, words in ([["rank", "size"], "no column 'size'.*rank, node"], [["rank", "rank"], "chosen twice"]):
        with pytest.raises(ValueError, match=words):
            recording.segments(columns=wrong)
    with pytest.raises(TypeError):
        recording.segments(columns="rank")


def test_without_columns_rows_are_counted(traced: dxt.Tracing) -> None:
    recording = traced.open()
    none = pyarrow.RecordBatchReader.from_stream(recording.segments(columns=[]))
    assert sum(batch.num_rows for batch in none) == recording.summary()["segments"]


def test_what_matches_nothing_is_an_empty_table_with_all_columns(traced: dxt.Tracing) -> None:
    recording = traced.open()
    segments = recording.segments(files="no such file")
    table = pyarrow.table(segments)
    assert table.num_rows == 0
    assert table.schema.equals(pyarrow.table(recording.segments()).schema)
    assert polars.DataFrame(segments).shape == (0, 24)
    assert pandas.DataFrame.from_arrow(segments).shape == (0, 24)
    assert duckdb.sql("SELECT count(*) FROM segments").fetchall() == [(0,)]


def test_polars_and_duckdb_need_no_pyarrow(traced: dxt.Tracing) -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import dxt, duckdb, polars
segments = dxt.open(sys.argv[1]).segments(files="written.dat")
print(polars.DataFrame(segments).height, duckdb.sql("SELECT count(*) FROM segments").fetchall()[0][0])
"""
    rows = pyarrow.table(traced.open().segments(files="written.dat")).num_rows
    done = subprocess.run([sys.executable, "-c", code, traced.output], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{rows} {rows}\n"), done.stderr
