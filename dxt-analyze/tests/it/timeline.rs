//! Tests of `timeline`: time bins, and I/O phases with their names, on traces whose results are known.

use crate::common::{job, json, op, process, put, stdout, trace};
use serde_json::Value;
use trace_format::meta::stream_flags;

const MS: u64 = 1_000_000;

/// Encodes a trace of two ranks with I/O through MPI-IO: each writes 100 KiB in ten calls from 0 to 100 ms, and reads half of it from 600 to 700 ms.
fn write_then_read() -> Vec<u8> {
    let processes = (0..2).map(|rank| {
        let mut one = process(rank, "n");
        for step in 0..10_u64 {
            let (offset, start) = ((step * 10_240) as i64, step * 10 * MS);
            one.add("/out", op::POSIX_WRITE, stream_flags::NESTED, offset, 10_240, start + MS, start + 4 * MS);
            one.add("/out", op::MPIIO_WRITE_ALL, 0, offset, 10_240, start, start + 5 * MS);
            one.add("/out", op::POSIX_READ, 0, offset, 5120, 600 * MS + start, 600 * MS + start + 10 * MS);
        }
        one
    });
    trace(&job("k", 2), processes.collect())
}

fn sum(bins: &[Value], key: &str) -> u64 {
    bins.iter().map(|bin| bin[key].as_u64().expect("a number")).sum()
}

#[test]
fn bytes_and_times_fall_into_their_bins() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &write_then_read());
    let found = json(&["timeline", "--format", "json", "--bins", "71", &path], 0);
    assert_eq!((&found["span"]["width_ns"], &found["span"]["bins"]), (&(10 * MS).into(), &70.into()));
    let bins = found["bins"].as_array().expect("bins");
    // POSIX writes inside MPI-IO are not counted again.
    assert_eq!((sum(bins, "bytes_written"), sum(bins, "bytes_read")), (2 * 102_400, 2 * 51_200));
    assert_eq!((sum(bins, "writes"), sum(bins, "reads")), (20, 20));
    assert_eq!((sum(bins, "write_ns"), sum(bins, "read_ns")), (100 * MS, 200 * MS));
    for bin in &bins[..10] {
        assert_eq!(
            (&bin["bytes_written"], &bin["write_ns"], &bin["writes"]),
            (&20_480.into(), &(10 * MS).into(), &2.into())
        );
        assert_eq!(bin["write_sizes"], serde_json::json!([0, 0, 2, 0, 0, 0, 0, 0, 0, 0]));
    }
    assert!(bins[10..60].iter().all(|bin| bin["bytes_read"] == 0 && bin["bytes_written"] == 0));
}

#[test]
fn phases_are_separated_by_quiet_and_named_by_what_they_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &write_then_read());
    let phases = json(&["timeline", "--format", "json", &path], 0)["phases"].clone();
    assert_eq!(phases.as_array().map(Vec::len), Some(2));
    let expected = [
        ("write", 0, 95 * MS, 0, 204_800, 20, "MPIIO write collective"),
        ("read", 600 * MS, 700 * MS, 102_400, 0, 20, "POSIX read"),
    ];
    for (phase, (kind, start, end, read, written, calls, operation)) in
        phases.as_array().expect("phases").iter().zip(expected)
    {
        assert_eq!((&phase["kind"], &phase["operation"]), (&kind.into(), &operation.into()));
        assert_eq!((&phase["start_ns"], &phase["end_ns"]), (&start.into(), &end.into()));
        assert_eq!((&phase["bytes_read"], &phase["bytes_written"]), (&read.into(), &written.into()));
        assert_eq!((&phase["calls"], &phase["files"]), (&calls.into(), &serde_json::json!(["/out"])));
    }
    assert!((phases[1]["concurrency"].as_f64().expect("a number") - 2.0).abs() < 1e-9);
    // A rule that requires longer pauses merges both phases into one.
    let rule = put(folder.path(), "rule.toml", b"phase_quiet_share = 0.9\n");
    let one = json(&["timeline", "--format", "json", "--thresholds", &rule, &path], 0)["phases"].clone();
    assert_eq!((one.as_array().map(Vec::len), &one[0]["kind"]), (Some(1), &"read and write".into()));
}

#[test]
fn people_get_sparklines_and_csv_has_every_bin() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &write_then_read());
    let text = stdout(&["timeline", &path], 0);
    assert!(text.contains("up to 3.91 MiB/s") && text.contains('█'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 132), "{text}");
    let csv = stdout(&["timeline", "--format", "csv", "--bins", "71", &path], 0);
    assert_eq!(csv.lines().count(), 71);
    assert!(csv.starts_with("start_s,width_s,bytes_read,bytes_written,"), "{csv}");
    let phases = stdout(&["timeline", "--format", "csv", "--table", "phases", &path], 0);
    assert_eq!(phases.lines().count(), 3);
}

#[test]
fn a_part_of_the_time_is_cut_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &write_then_read());
    let found = json(&["timeline", "--format", "json", "--time", "0.605:0.615", &path], 0);
    let bins = found["bins"].as_array().expect("bins");
    // The time range contains half of the first and half of the second read of each rank.
    assert_eq!((sum(bins, "bytes_read"), sum(bins, "read_ns"), sum(bins, "bytes_written")), (2 * 5120, 20 * MS, 0));
}

#[test]
fn many_ranks_give_the_same_sums_whatever_the_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.dxt").display().to_string();
    let args = ["dxt-synth", "ior-strided", "-n", "2048", "--segments", "8", "--transfer", "1M", "-o", &path];
    dxt_synth::run(args).expect("a trace");
    let one = stdout(&["timeline", "--format", "json", "--threads", "1", &path], 0);
    assert_eq!(one, stdout(&["timeline", "--format", "json", "--threads", "3", &path], 0));
    let found: Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(sum(found["bins"].as_array().expect("bins"), "bytes_written"), (2048 * 8) << 20);
}

#[test]
fn a_trace_without_calls_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 1), vec![process(0, "n")]));
    assert!(stdout(&["timeline", &path], 0).contains("there are no calls to show"));
    assert_eq!(json(&["timeline", "--format", "json", &path], 0)["phases"], serde_json::json!([]));
}
