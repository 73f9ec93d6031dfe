//! Tests of the three definitions of bandwidth, on calls with known times and on Darshan logs with published numbers.

use crate::common::{job, json, op, process, put, run, stdout, trace};
use serde_json::Value;
use std::path::Path;
use trace_format::meta::stream_flags;

const FILE: &str = "/scratch/shared";

/// Encodes a trace of three ranks. Each writes 1 MiB in 100 µs (rank 2: 200 µs), pauses for 0.5 s, and writes again; rank 0 also closes a
/// file in 50 µs.
fn paused() -> Vec<u8> {
    let ranks = (0..3_i32).map(|rank| {
        let mut process = process(rank, "n");
        let length = if rank == 2 { 200_000 } else { 100_000 };
        for start in [1_000_000, 501_000_000] {
            process.write(FILE, i64::from(rank) << 20, 1 << 20, start, start + length);
        }
        if rank == 0 {
            process.add(FILE, op::POSIX_CLOSE, 0, -1, 0, 502_000_000, 502_050_000);
        }
        process
    });
    trace(&job("paused", 3), ranks.collect())
}

fn row<'a>(rows: &'a Value, layer: &str, called_by: &str, op: &str) -> &'a Value {
    let is = |row: &&Value| row["layer"] == layer && row["called_by"] == called_by && row["op"] == op;
    rows.as_array().unwrap().iter().find(is).unwrap()
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value / expected - 1.0).abs() < 1e-6, "{value}, not {expected}");
}

#[test]
fn a_pause_is_in_the_span_and_not_in_the_time_of_the_slowest() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &paused());
    for (subcommand, list) in [("layers", "layers"), ("summary", "bandwidths"), ("counters", "bandwidths")] {
        let found = json(&[subcommand, "--peak", "31457.28MB/s", "--format", "json", &path], 0);
        let writes = row(&found[list], "POSIX", "program", "write");
        assert_eq!((&writes["slowest_ns"], &writes["span_ns"]), (&400_000.into(), &500_200_000.into()), "{subcommand}");
        let bytes = f64::from(6 << 20);
        close(&writes["by_slowest"], bytes / 400e-6);
        close(&writes["over_span"], bytes / 0.5002);
        close(&writes["effective"], bytes / 800e-6);
        close(&writes["of_peak"], 0.5);
        // Rank 0's close follows its writes and brings its time to 250 µs, so it is still not the slowest rank.
        let all = row(&found[list], "POSIX", "program", "all");
        assert_eq!(
            (&all["slowest_ns"], &all["span_ns"], &all["calls"]),
            (&400_000.into(), &501_050_000.into(), &7.into())
        );
        let shown = stdout(&[subcommand, "--peak", "31457.28MB/s", &path], 0);
        assert!(["By slowest", "Over span", "Of peak", "0.50 x"].iter().all(|word| shown.contains(word)), "{shown}");
        let plain = stdout(&[subcommand, &path], 0);
        assert!(plain.contains("By slowest") && !plain.contains("Of peak"), "{plain}");
    }
    for bad in ["0", "fast", "10Mb/s", "-3GB/s"] {
        assert_eq!(run(&["layers", &format!("--peak={bad}"), &path]).status.code(), Some(2), "{bad}");
    }
}

#[test]
fn bandwidths_are_of_each_layer_and_caller() {
    let mut process = process(0, "n");
    for start in [1_000_000, 2_900_000] {
        let us = |at: u64| start + at * 1000;
        process.add(FILE, op::POSIX_READ, stream_flags::NESTED, 0, 400, us(30), us(40));
        process.add(FILE, op::POSIX_WRITE, stream_flags::NESTED, 0, 400, us(50), us(80));
        process.add(FILE, op::MPIIO_WRITE_ALL, 0, 0, 100, us(0), us(100));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job("layered", 1), vec![process]));
    let found = json(&["layers", "--format", "json", &path], 0);
    let rows = &found["layers"];
    // MPI-IO writes 200 bytes in 200 µs of calls, within 2 ms.
    let mpiio = row(rows, "MPIIO", "program", "write");
    assert_eq!(
        [&mpiio["effective"], &mpiio["by_slowest"], &mpiio["over_span"]],
        [1e6, 1e6, 1e5].map(Value::from).each_ref()
    );
    let posix = row(rows, "POSIX", "MPI-IO", "write");
    // POSIX writes 800 bytes in 60 µs, from 50 µs after the first call's start to 80 µs after the second's.
    assert_eq!(posix["span_ns"], 1_930_000);
    close(&posix["effective"], 800.0 * 1e9 / 60_000.0);
    let all = row(rows, "POSIX", "MPI-IO", "all");
    assert_eq!((&all["bytes"], &all["slowest_ns"]), (&1600.into(), &80_000.into()));
}

/// Bandwidth equals `agg_perf_by_slowest` of `darshan-parser --perf` (3.4), in MiB/s. The logs have records per rank, shared records, and
/// shared records with DXT segments of their reads and writes.
#[test]
fn of_darshan_logs_it_is_what_darshan_says() {
    let said = [
        ("gen-mpi8-rt3.5.0", "MPIIO", 493.595_799),
        ("ppc64-3.1.5-bigendian", "MPIIO", 231.063_440),
        ("ppc64-3.1.5-bigendian", "POSIX", 442.402_267),
        ("ppc64-3.1.5-bigendian", "STDIO", 0.213_496),
        ("x86_64-3.0.0", "MPIIO", 2_518.380_681),
        ("x86_64-3.0.0", "POSIX", 2_598.261_176),
        ("gen-threads-rtmain", "POSIX", 514.174_368),
        ("gen-threads-rtmain", "STDIO", 19.874_214),
    ];
    for (log, layer, mib) in said {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testdata/darshan/{log}.darshan"));
        let output = run(&["layers", "--format", "json", path.to_str().unwrap()]);
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = found["layers"].as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["layer"] == layer && row["op"] == "all");
        let rate = rows.next().unwrap()["by_slowest"].as_f64().unwrap() / f64::from(1 << 20);
        assert!((rate / mib - 1.0).abs() < 1e-4, "{log}, {layer}: {rate} and not {mib}");
    }
}
