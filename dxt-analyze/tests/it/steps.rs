//! Tests of `counters` values that depend on successive calls, on known traces: signed strides, seeks, alignment by mode, and open time of files.

use crate::common::{job, json, op, process, put, run, stdout, trace};
use serde_json::{Value, json as value};
use std::path::Path;
use trace_format::meta::{Job, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

const SEEK: u16 = 30;
const WRITE_AT: u16 = 31;
const MPI_OPEN: u16 = 32;
const MPI_CLOSE: u16 = 33;
const NESTED: u8 = stream_flags::NESTED;
const FILE: &str = "/scratch/data";

fn with_more(ranks: u32) -> Job {
    let mut job = job("steps", ranks);
    let def = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    job.ops.extend([
        def(SEEK, Layer::Posix, OpClass::Seek, OpMode::Plain, "seek"),
        def(WRITE_AT, Layer::Mpiio, OpClass::Write, OpMode::Plain, "write"),
        def(MPI_OPEN, Layer::Mpiio, OpClass::Open, OpMode::Plain, "open"),
        def(MPI_CLOSE, Layer::Mpiio, OpClass::Close, OpMode::Plain, "close"),
    ]);
    job
}

fn counters(bytes: &[u8]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    json(&["counters", "--format", "json", &put(folder.path(), "a.dxt", bytes)], 0)
}

#[test]
fn strides_have_signs_and_seeks_are_followed() {
    let mut one = process(0, "n");
    // The writes have these strides: none, 0, +50 (after a seek), -4246 (after two seeks), +1 GiB - 100.
    one.write(FILE, 4096, 100, 10, 20).write(FILE, 4196, 100, 20, 30);
    one.add(FILE, SEEK, 0, 4346, 0, 30, 31).write(FILE, 4346, 100, 40, 50);
    one.add(FILE, SEEK, 0, 9, 0, 50, 51).add(FILE, SEEK, 0, 200, 0, 51, 52).write(FILE, 200, 100, 60, 70);
    one.write(FILE, 1 << 30, 8, 70, 80);
    // A read has no stride to a write, and no seek before it; the second read follows a seek on another file, which does not count.
    one.add(FILE, op::POSIX_READ, 0, 0, 4096, 80, 90);
    one.add("/scratch/other", SEEK, 0, 0, 0, 90, 91).add(FILE, op::POSIX_READ, 0, 4096, 4096, 91, 99);
    let found = counters(&trace(&with_more(1), vec![one]));
    let row = |at: usize| &found["strides"][at];
    let bins = |filled: &[usize]| Value::from((0..10).map(|bin| u64::from(filled.contains(&bin))).collect::<Vec<_>>());
    assert_eq!(
        [&row(0)["direction"], &row(0)["none"], &row(0)["after_seek"]],
        [&value!("read"), &value!(1), &value!(0)]
    );
    assert_eq!([&row(1)["accesses"], &row(1)["none"], &row(1)["after_seek"]], [&value!(5), &value!(1), &value!(2)]);
    assert_eq!([&row(1)["back"], &row(1)["on"]], [&bins(&[2]), &bins(&[0, 8])]);
    // Offsets 4196, 4346 and 200 are no multiples of the block size of 4,096 bytes.
    assert_eq!(
        found["alignment"],
        value!([{"layer": "POSIX", "called_by": "program", "form": "", "known": 7, "unaligned": 3}])
    );
}

#[test]
fn alignment_is_reported_by_form_of_call() {
    let mut one = process(0, "n");
    for i in 0..4 {
        one.add(FILE, op::POSIX_WRITE, NESTED, i * 4096, 4096, 11, 12);
        one.add(FILE, op::MPIIO_WRITE_ALL, 0, i * 4096, 4096, 10, 20);
        one.add(FILE, WRITE_AT, 0, i * 4096 + 1, 100, 30, 40);
    }
    let found = counters(&trace(&with_more(1), vec![one]));
    let rows = found["alignment"].as_array().unwrap();
    let reported = |row: &Value| (row["called_by"].clone(), row["form"].clone(), row["unaligned"].clone());
    let is = |called_by: &str, form: &str, unaligned: u64| (value!(called_by), value!(form), value!(unaligned));
    let expected = [is("MPI-IO", "", 0), is("program", "independent", 4), is("program", "collective", 0)];
    assert_eq!(rows.iter().map(reported).collect::<Vec<_>>(), expected);
}

#[test]
fn files_are_open_from_open_to_close_and_idle_between_calls() {
    let ranks = (0..2).map(|rank| {
        let mut one = process(rank, "n");
        // The file is open for 1 ms twice, 8 ms apart, with 200 µs of MPI-IO each, 120 µs of these in POSIX.
        for start in [1_000_000, 10_000_000] {
            let us = |at: u64| start + at * 1000;
            one.add(FILE, op::POSIX_OPEN, NESTED, -1, 0, us(10), us(20));
            one.add(FILE, MPI_OPEN, 0, -1, 0, us(0), us(50));
            one.add(FILE, op::POSIX_WRITE, NESTED, 0, 100, us(510), us(610));
            one.add(FILE, WRITE_AT, 0, 0, 100, us(500), us(620));
            one.add(FILE, op::POSIX_CLOSE, NESTED, -1, 0, us(980), us(990));
            one.add(FILE, MPI_CLOSE, 0, -1, 0, us(970), us(1000));
        }
        // A file that is never closed is open until the process ends; files opened only by MPI-IO are not listed.
        one.add("/scratch/left", op::POSIX_OPEN, 0, -1, 0, 20_000_000, 20_000_010);
        one.add("/scratch/locktest", op::POSIX_OPEN, NESTED, -1, 0, 100, 200);
        // Two overlapping opens of one file count as one interval.
        for start in [40_000_000, 40_000_100] {
            one.add("/scratch/twice", op::POSIX_OPEN, 0, -1, 0, start, start + 10);
        }
        for start in [40_000_900, 40_000_990] {
            one.add("/scratch/twice", op::POSIX_CLOSE, 0, -1, 0, start, start + 10);
        }
        one
    });
    let bytes = trace(&with_more(2), ranks.collect());
    let found = counters(&bytes);
    let rows = found["open_files"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["file"].as_str().unwrap()).collect();
    assert_eq!(names, ["/scratch/left", FILE, "/scratch/twice"]);
    let ns = |row: usize| {
        ["open_ns", "mpiio_ns", "posix_ns", "called_ns", "idle_ns"].map(|what| rows[row][what].as_u64().unwrap())
    };
    assert_eq!(ns(1), [4_000_000, 800_000, 480_000, 800_000, 3_200_000]);
    assert_eq!(ns(0)[0], 2 * (60_000_000_000 - 20_000_000));
    assert_eq!(ns(2)[0], 2 * 1000);
    assert!(rows.iter().all(|row| row["estimated"] == false && row["processes"] == 2));
    let folder = tempfile::tempdir().unwrap();
    let shown = stdout(&["counters", &put(folder.path(), "a.dxt", &bytes)], 0);
    assert!(
        shown.lines().any(|line| line.starts_with(FILE) && line.contains("3.20 ms") && line.contains("80.0 %")),
        "{shown}"
    );
}

#[test]
fn of_a_log_it_is_the_first_open_to_the_last_close() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/darshan/x86_64-3.0.0.darshan");
    let output = run(&["counters", "--format", "json", path.to_str().unwrap()]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = found["open_files"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let [open, called, idle] = ["open_ns", "called_ns", "idle_ns"].map(|what| row[what].as_u64().unwrap());
        assert!(row["estimated"] == true && open > 0 && idle == open.saturating_sub(called), "{row}");
    }
}
