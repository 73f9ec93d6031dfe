//! Tests of `ledger` (division of the processes' run time) on traces in which every call is known: each part is as expected, and the parts
//! add up to the total time of all processes.

use crate::common::{Builder, job, json, op, process, put, trace};
use serde_json::Value;
use trace_format::meta::{CpuSample, ThreadDef, ThreadTimes, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};

const SYNC: u16 = 20;
const LOCK: u16 = 21;
const IWRITE: u16 = 23;
const WAIT: u16 = 24;
const NESTED: u8 = stream_flags::NESTED;
const FILE: &str = "/scratch/shared";
const MS: u64 = 1_000_000;

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn ledger(mut processes: Vec<Builder>, run_ms: u64) -> Value {
    let ranks: std::collections::BTreeSet<i32> = processes.iter().map(|process| process.process.info.rank).collect();
    let mut job = job("ledger", ranks.len() as u32);
    let def = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    job.ops.extend([
        def(SYNC, Layer::Posix, OpClass::Sync, OpMode::Plain, "fsync"),
        def(LOCK, Layer::Posix, OpClass::Lock, OpMode::Plain, "lock"),
        def(IWRITE, Layer::Mpiio, OpClass::Write, OpMode::Nonblocking, "write"),
        def(WAIT, Layer::Mpiio, OpClass::Wait, OpMode::Plain, "wait"),
    ]);
    processes.iter_mut().for_each(|process| process.process.info.end_ns = run_ms * MS);
    let folder = tempfile::tempdir().unwrap();
    let found = json(&["ledger", "--format", "json", &put(folder.path(), "a.dxt", &trace(&job, processes))], 0);
    for row in found["rows"].as_array().unwrap().iter().chain([&found["job"]]) {
        let parts = row.as_object().unwrap().iter().filter(|(name, _)| PARTS.contains(&name.as_str()));
        let sum: u64 = parts.map(|(_, ns)| ns.as_u64().unwrap()).sum();
        let whole = row["run_ns"].as_u64().unwrap_or(run_ms * MS * found["processes"].as_u64().unwrap());
        assert_eq!(sum, whole, "{row}");
    }
    found
}

const PARTS: [&str; 11] = [
    "cpu_wait_ns",
    "no_io_ns",
    "read_ns",
    "write_ns",
    "metadata_ns",
    "sync_ns",
    "lock_ns",
    "asynchronous_ns",
    "waiting_ns",
    "system_ns",
    "library_ns",
];

/// Returns the non-zero parts of a ledger row: name and time in ms.
fn parts(row: &Value) -> Vec<(&str, u64)> {
    let part = |name: &&'static str| (*name, row[*name].as_u64().unwrap_or_default() / MS);
    PARTS.iter().map(part).filter(|(_, ms)| *ms > 0).collect()
}

fn row(found: &Value, rank: i64) -> &Value {
    static NONE: Value = Value::Null;
    found["rows"].as_array().and_then(|rows| rows.iter().find(|row| row["rank"] == rank)).unwrap_or(&NONE)
}

#[test]
fn each_call_of_the_program_is_in_one_part() {
    let mut one = process(0, "n");
    one.add(FILE, op::POSIX_OPEN, 0, -1, 0, MS, 3 * MS);
    one.add(FILE, op::POSIX_READ, 0, 0, 100, 10 * MS, 15 * MS);
    one.add(FILE, op::POSIX_WRITE, 0, 0, 100, 20 * MS, 30 * MS);
    one.add(FILE, SYNC, 0, -1, 0, 30 * MS, 50 * MS);
    one.add(FILE, LOCK, 0, 0, 1, 60 * MS, 61 * MS);
    let found = ledger(vec![one], 100);
    let expected =
        [("no_io_ns", 62), ("read_ns", 5), ("write_ns", 10), ("metadata_ns", 2), ("sync_ns", 20), ("lock_ns", 1)];
    assert_eq!(parts(row(&found, 0)), expected);
    assert_eq!(parts(&found["job"]), expected);
    assert_eq!(found["io_share"], 0.38);
}

#[test]
fn a_collective_call_is_waiting_then_system_calls_then_the_rest() {
    let ranks = (0..4_u64).map(|rank| {
        let mut one = process(rank as i32, "n");
        // The last rank arrives 40 ms after the first; rank 0 writes for all.
        let start = 10 + if rank == 3 { 40 } else { 0 };
        if rank == 0 {
            one.add(FILE, op::POSIX_WRITE, NESTED, 0, 400, 52 * MS, 72 * MS);
        }
        one.add(FILE, op::MPIIO_WRITE_ALL, 0, 0, 100, start * MS, 80 * MS);
        one
    });
    let found = ledger(ranks.collect(), 100);
    assert_eq!(parts(row(&found, 0)), [("no_io_ns", 30), ("waiting_ns", 40), ("system_ns", 20), ("library_ns", 10)]);
    assert_eq!(parts(row(&found, 1)), [("no_io_ns", 30), ("waiting_ns", 40), ("library_ns", 30)]);
    assert_eq!(parts(row(&found, 3)), [("no_io_ns", 70), ("library_ns", 30)]);
    assert_eq!(parts(&found["job"]), [("no_io_ns", 160), ("waiting_ns", 120), ("system_ns", 20), ("library_ns", 100)]);
}

#[test]
fn threads_that_read_at_once_take_the_time_once() {
    let mut one = process(0, "n");
    one.add(FILE, op::POSIX_READ, 0, 0, 100, 0, 40 * MS);
    let stream = StreamId(one.stream(FILE, op::POSIX_READ, 0));
    one.process.threads.push(ThreadDef { index: 1, tid: 77 });
    one.threads.push((1, vec![Segment::new(stream, 0, 100, 20 * MS, 60 * MS)]));
    let found = ledger(vec![one], 100);
    assert_eq!(parts(row(&found, 0)), [("no_io_ns", 40), ("read_ns", 60)]);
}

#[test]
fn what_goes_on_in_the_background_is_in_no_part() {
    let mut one = process(0, "n");
    one.add(FILE, IWRITE, 0, 0, 100, 10 * MS, 90 * MS);
    one.add(FILE, op::POSIX_WRITE, 0, 0, 100, 91 * MS, 93 * MS);
    let found = ledger(vec![one], 100);
    assert_eq!(parts(row(&found, 0)), [("no_io_ns", 98), ("write_ns", 2)]);
    assert_eq!(found["background_ns"], 80 * MS);
    assert_eq!((&found["knows_waits"], &found["in_flight_ns"]), (&false.into(), &(80 * MS).into()));
}

#[test]
fn waiting_for_it_is_divided_as_calls_of_its_layer_are() {
    let mut one = process(0, "n");
    for turn in 0..2 {
        // Two operations are in flight for 30 ms; the library makes its own calls while the program waits for both.
        let from = turn * 50 * MS;
        one.add(FILE, IWRITE, 0, 0, 100, from, from + 30 * MS);
        one.add(FILE, op::POSIX_WRITE, NESTED, 0, 100, from + 12 * MS, from + 20 * MS);
        one.add(FILE, IWRITE, 0, 100, 100, from + MS, from + 30 * MS);
        one.add(FILE, WAIT, 0, -1, 0, from + 10 * MS, from + 30 * MS);
    }
    let found = ledger(vec![one], 100);
    assert_eq!(parts(row(&found, 0)), [("no_io_ns", 60), ("system_ns", 16), ("library_ns", 24)]);
    assert_eq!(found["background_ns"], 118 * MS);
    assert_eq!((&found["knows_waits"], &found["in_flight_ns"]), (&true.into(), &(60 * MS).into()));
}

#[test]
fn what_a_rank_does_behind_mpi_finalize_is_its_own() {
    let rank = |rank: i32, continued: bool| {
        let mut one = process(rank, "n");
        if continued {
            one.write(FILE, 0, 4096, 900 * MS, 910 * MS).write(FILE, 4096, 4096, 920 * MS, 930 * MS);
            one.process.info.ended_by = "exit".into();
        } else {
            one.write(FILE, 0, 4096, 100 * MS, 300 * MS);
        }
        one
    };
    let found = ledger(vec![rank(0, false), rank(1, false), rank(0, true), rank(1, true)], 1000);
    assert_eq!(found["processes"], 2);
    assert_eq!(found["rows"].as_array().unwrap().len(), 2);
    assert_eq!(parts(row(&found, 0)), [("no_io_ns", 780), ("write_ns", 220)]);
    assert_eq!(found["job"]["write_ns"], 440 * MS);
}

#[test]
fn waits_for_a_processor_are_taken_out_of_calls_and_of_the_rest() {
    let mut one = process(0, "n");
    one.add(FILE, op::POSIX_WRITE, 0, 0, 100, 20 * MS, 60 * MS);
    // Waits for half of the first 50 ms, then for all of the next 30 ms, then for nothing.
    let sample = |ms: u64, wait_ms: u64| CpuSample {
        time_ns: ms * MS,
        run_ns: (ms - wait_ms) * MS,
        wait_ns: wait_ms * MS,
        ..CpuSample::default()
    };
    let samples = [sample(0, 0), sample(50, 25), sample(80, 55), sample(100, 55)];
    one.process.processor.threads = vec![ThreadTimes::of_sums(1000, true, samples)];
    let found = ledger(vec![one], 100);
    // 15 ms of the first interval and 10 ms of the second are in the call.
    assert_eq!(parts(row(&found, 0)), [("cpu_wait_ns", 55), ("no_io_ns", 30), ("write_ns", 15)]);
    assert_eq!(found["io_share"], 0.15);
}
