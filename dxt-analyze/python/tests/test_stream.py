"""Tests of the stream: ended early, interrupted, with unreadable parts, and in a forked process."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import dxt
from conftest import DARSHAN

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Path:
    """A trace with many more batches than the stream prepares ahead."""
    synth = os.environ.get("DXT_SYNTH")
    if not synth:
        pytest.skip("DXT_SYNTH does not name dxt-synth, which makes long traces")
    trace = tmp_path_factory.mktemp("long") / "long.dxt"
    words = [synth, "ior-strided", "-n", "8", "--segments", "250000", "--transfer", "64K", "-o", trace]
    subprocess.run(words, check=True, capture_output=True)
    return trace


def threads() -> set[str]:
    """Names of this process's threads as the kernel knows them."""
    out = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            out.add((task / "comm").read_text().strip())
        except OSError:
            pass
    return out


def gone() -> bool:
    """Waits until no thread reads segments; False after 30 s."""
    for _ in range(600):
        if "dxt-segments" not in threads():
            return True
        time.sleep(0.05)
    return False


def test_batches_are_bounded_and_in_order(long: Path) -> None:
    reader = pyarrow.RecordBatchReader.from_stream(dxt.open(long).segments(columns=["rank", "start_ns"]))
    last, rows = -1, 0
    for batch in reader:
        assert 0 < batch.num_rows <= 1 << 16
        ranks = batch["rank"].to_pylist()
        assert ranks[0] >= last and ranks == sorted(ranks)
        last, rows = ranks[-1], rows + batch.num_rows
    assert rows == dxt.open(long).summary()["segments"]


def test_a_stream_that_is_dropped_ends_its_thread(long: Path) -> None:
    reader = pyarrow.RecordBatchReader.from_stream(dxt.open(long).segments())
    assert reader.read_next_batch().num_rows > 0
    assert "dxt-segments" in threads()
    del reader
    gc.collect()
    assert gone()


def test_a_stream_that_nobody_takes_ends_its_thread(long: Path) -> None:
    capsule = dxt.open(long).segments().__arrow_c_stream__()
    # The new thread sets its name itself, so it may take a moment.
    while "dxt-segments" not in threads():
        time.sleep(0.001)
    del capsule
    assert gone()


def test_a_query_that_has_enough_ends_the_thread(long: Path) -> None:
    segments = dxt.open(long).segments(columns=["rank", "file", "offset"])
    assert len(duckdb.sql("SELECT * FROM segments LIMIT 5").fetchall()) == 5
    gc.collect()
    assert gone()


def test_it_can_be_taken_again_and_at_once(long: Path) -> None:
    segments = dxt.open(long).segments(ranks=0, columns=["offset"])
    tables: list[object] = []
    takers = [threading.Thread(target=lambda: tables.append(pyarrow.table(segments))) for _ in range(4)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert len(tables) == 4 and all(table == tables[0] for table in tables)


INTERRUPTED = """
import os, signal, sys, threading, time
import dxt, polars, pyarrow, duckdb
segments = dxt.open(sys.argv[1]).segments()
def name(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read().strip()
    except OSError:
        return "one that has ended meanwhile"
begun = threading.Event()
def interrupt():
    begun.wait()
    while sys.argv[2] not in map(name, os.listdir("/proc/self/task")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
interrupter = threading.Thread(target=interrupt)
interrupter.start()
try:
    try:
        begun.set()
        TAKEN
    except Exception as error:
        # The library's own error; the KeyboardInterrupt comes next.
        for _ in range(600):
            time.sleep(0.1)
except KeyboardInterrupt:
    interrupter.join()
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("taken", "thread"),
    [
        ("polars.DataFrame(segments)", "dxt-segments"),
        ("pyarrow.table(segments)", "dxt-segments"),
        ("dxt.open(sys.argv[1]).summary()", "dxt"),
    ],
)
def test_the_keyboard_interrupts(long: Path, taken: str, thread: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED.replace("TAKEN", taken), long, thread]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_other_threads_of_python_run_meanwhile(long: Path) -> None:
    done, turns = threading.Event(), []

    def count() -> None:
        while not done.is_set():
            turns.append(1)
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    dxt.open(long).summary()
    done.set()
    counter.join()
    assert len(turns) > 10


def test_a_forked_process_has_threads_of_its_own(traced: dxt.Tracing) -> None:
    recording = traced.open()
    rows = recording.summary()["segments"]
    places = pyarrow.table(recording.sites()).num_rows
    begun = pyarrow.RecordBatchReader.from_stream(recording.segments())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # Not by pyarrow: its threads do not exist in the forked process.
            capsule = recording.segments().__arrow_c_stream__()
            del capsule
            own = dxt.open(traced.output)
            own.sites()
            if recording.summary()["segments"] == rows == own.summary()["segments"] and places > 0:
                status = 0
        finally:
            os._exit(status)
    for _ in range(1200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process waits for ever")
    assert os.waitstatus_to_exitcode(status) == 0
    assert begun.read_all().num_rows == rows


def damaged(trace: Path, place: Path) -> Path:
    """Copies a trace and changes a byte in the middle, among the segments."""
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 0xFF
    place.write_bytes(data)
    return place


def test_a_block_that_cannot_be_read(long: Path, tmp_path: Path) -> None:
    file = damaged(long, tmp_path / "damaged.dxt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dxt.IncompleteWarning)
        recording = dxt.open(file)
    for take in (pyarrow.table, polars.DataFrame):
        with pytest.raises(Exception, match=r"damaged.dxt at byte \d+: .*strict=False"):
            take(recording.segments(columns=["length"]))
    assert gone()
    segments = recording.segments(columns=["length"], strict=False)
    rows = pyarrow.table(segments).num_rows
    lost = segments.lost
    assert lost["blocks"] == len(lost["problems"]) == 1 and lost["segments"] > 0
    assert lost["problems"][0]["file"] == str(file)
    summary = recording.summary()
    assert rows == summary["segments"] and lost["segments"] == summary["missing"]["lost_segments"]


def test_a_cut_trace_warns(traced: dxt.Tracing, tmp_path: Path) -> None:
    data = traced.traces[0].read_bytes()
    cut = tmp_path / "cut.dxt"
    cut.write_bytes(data[: len(data) * 2 // 3])
    try:
        with pytest.warns(dxt.IncompleteWarning):
            recording = dxt.open(cut)
        assert not recording.complete and recording.remarks
    except dxt.DxtError as error:
        assert "cut.dxt" in str(error)


def test_what_cannot_be_opened(tmp_path: Path, traced: dxt.Tracing) -> None:
    with pytest.raises(FileNotFoundError, match="absent.dxt"):
        dxt.open(tmp_path / "absent.dxt")
    (tmp_path / "text.dxt").write_text("no trace at all, but longer than a header has to be " * 10)
    with pytest.raises(dxt.DxtError, match="text.dxt"):
        dxt.open(tmp_path / "text.dxt")
    os.mkfifo(tmp_path / "pipe.dxt")
    with pytest.raises((OSError, dxt.DxtError), match="FIFO"):
        dxt.open(tmp_path / "pipe.dxt")
    with pytest.raises(ValueError, match="no trace is named"):
        dxt.open()
    with pytest.raises(ValueError, match="jobs"):
        dxt.open(traced.traces[0], DARSHAN / "x86_64-3.0.0.darshan")
    recording = dxt.open([*traced.traces])
    for arguments, words in [
        ({"ranks": "5:4"}, "^ranks 5:4"),
        ({"ranks": -1}, "no rank -1"),
        ({"ranks": []}, "ranks is empty"),
        ({"files": []}, "files is empty"),
        ({"files": "["}, "^files \\["),
        ({"layer": "nfs"}, "'nfs' is none of posix, stdio"),
        ({"time": "3"}, "^time 3"),
        ({"time": (3, 2)}, "^time 3"),
        ({"time": (-1, 2)}, "no time since"),
    ]:
        with pytest.raises(ValueError, match=words):
            recording.segments(**arguments)  # type: ignore[arg-type]
