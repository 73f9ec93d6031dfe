//! Tests of `counters` on traces whose results are known.

use crate::common::{Builder, job, json, op, process, put, stdout, trace};
use serde_json::Value;
use trace_format::meta::{Mount, stream_flags};

/// Returns two ranks: rank 0 writes `/scratch/shared` and reads it with a gap; rank 1 writes it, writes a file of its own, and calls MPI-IO.
fn ranks() -> Vec<Builder> {
    let mut zero = process(0, "a");
    zero.add("/scratch/shared", op::POSIX_OPEN, 0, -1, 0, 0, 10_000);
    for call in 0..10_u64 {
        zero.write("/scratch/shared", (call * 100) as i64, 100, 20_000 + call * 1000, 20_500 + call * 1000);
    }
    for call in 0..4_u64 {
        let (offset, start) = ((call * 300) as i64, 50_000 + call * 1000);
        zero.add("/scratch/shared", op::POSIX_READ, 0, offset, 200, start, start + 100);
    }
    let mut one = process(1, "a");
    one.write("/scratch/shared", 4096, 1000, 10_000, 14_000);
    one.add("/home/me/own", op::POSIX_WRITE, stream_flags::NESTED, 0, 1 << 20, 20_000, 30_000);
    one.add("/home/me/own", op::MPIIO_WRITE_ALL, 0, 0, 1 << 20, 19_000, 31_000);
    one.add("/home/me/own", op::POSIX_WRITE, stream_flags::FAILED, 0, 0, 40_000, 47_000);
    vec![zero, one]
}

fn result(mounts: &[(&str, &str)]) -> (tempfile::TempDir, String, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut job = job("k", 2);
    job.mounts = mounts.iter().map(|(path, kind)| Mount { path: (*path).into(), kind: (*kind).into() }).collect();
    let path = put(folder.path(), "a.dxt", &trace(&job, ranks()));
    let found = json(&["counters", "--format", "json", &path], 0);
    (folder, path, found)
}

fn row<'a>(found: &'a Value, table: &str, keys: &[(&str, Value)]) -> &'a Value {
    let rows = found[table].as_array().expect("rows");
    let row = rows.iter().find(|row| keys.iter().all(|(key, value)| row[*key] == *value));
    row.unwrap_or_else(|| panic!("{table} has no {keys:?}: {found:#}"))
}

#[test]
fn accesses_patterns_times_and_files() {
    let (_folder, path, found) = result(&[]);
    let writes = row(&found, "accesses", &[("layer", "POSIX".into()), ("direction", "write".into())]);
    assert_eq!(
        (&writes["calls"], &writes["nested"], &writes["bytes"]),
        (&12.into(), &1.into(), &(2000 + (1 << 20)).into())
    );
    // Rank 1 begins behind byte 0, which counts as sequential; its own file and rank 0's begin at 0.
    assert_eq!(
        (&writes["consecutive"], &writes["sequential"], &writes["ordered"]),
        (&9.into(), &10.into(), &12.into())
    );
    assert_eq!(writes["sizes"], serde_json::json!([10, 1, 0, 0, 1, 0, 0, 0, 0, 0]));
    let reads = row(&found, "accesses", &[("layer", "POSIX".into()), ("direction", "read".into())]);
    assert_eq!((&reads["consecutive"], &reads["sequential"]), (&0.into(), &3.into()));
    let posix = row(&found, "patterns", &[("layer", "POSIX".into())]);
    assert_eq!((&posix["accesses"], &posix["switches"]), (&16.into(), &1.into()));
    assert_eq!(posix["sizes"][0], serde_json::json!({"value": 100, "count": 10, "over": 0}));
    let strides: Vec<(i64, u64)> = posix["strides"]
        .as_array()
        .expect("strides")
        .iter()
        .map(|stride| (stride["value"].as_i64().expect("a stride"), stride["count"].as_u64().expect("a count")))
        .collect();
    assert_eq!(strides, [(100, 3)], "stride 0 takes none of the places");

    // Rank 0 spends 5 µs in writes, 0.4 in reads, 10 in open; rank 1 spends 4 + 10 nested, 12 in MPI-IO, 7 in a failed write.
    let writes = row(&found, "times", &[("layer", "POSIX".into()), ("kind", "write".into())]);
    assert_eq!(
        (&writes["max_ns"], &writes["min_ns"], &writes["slowest"]),
        (&14_000.into(), &5000.into(), &"rank 1".into())
    );
    let all = row(&found, "times", &[("layer", "program".into())]);
    assert_eq!((&all["max_ns"], &all["mean_ns"]), (&23_000.into(), &((15_400.0 + 23_000.0) / 2.0).into()));

    let shared = row(&found, "files", &[("file", "/scratch/shared".into())]);
    assert_eq!((&shared["processes"], &shared["opens"], &shared["writes"]), (&2.into(), &1.into(), &11.into()));
    assert_eq!((&shared["extent"], &shared["place"]), (&5096.into(), &"/scratch".into()));
    let own = row(&found, "files", &[("file", "/home/me/own".into())]);
    // The collective write counts once; its time and that of the failed write are separate.
    assert_eq!(
        (&own["writes"], &own["bytes_written"], &own["time_ns"]),
        (&1.into(), &(1 << 20).into(), &serde_json::json!([0, 12_000, 7000]))
    );
    assert_eq!(row(&found, "kinds", &[("kind", "read and write".into())])["files"], 1);
    assert_eq!(row(&found, "kinds", &[("kind", "write only".into())])["max_bytes"], 1 << 20);
    assert_eq!(row(&found, "file_sizes", &[("bin", 2.into())])["files"], 1);
    let of_several = row(&found, "sharing", &[("shared", true.into()), ("kind", "write".into())]);
    assert_eq!((&of_several["calls"], &of_several["per_process_ns"]), (&11.into(), &4500.0.into()));

    let text = stdout(&["counters", &path], 0);
    assert!(text.contains("0-100") && text.contains("100 (10)"), "{text}");
    let csv = stdout(&["counters", "--format", "csv", "--table", "sizes", &path], 0);
    assert_eq!(csv.lines().next(), Some("size,posix_read,posix_write,mpiio_write"));
}

#[test]
fn files_belong_to_the_innermost_mount() {
    let (_folder, _, found) = result(&[("/", "ext4"), ("/scratch", "lustre"), ("/scr", "nfs"), ("/home/me", "nfs4")]);
    let places: Vec<&str> =
        found["places"].as_array().expect("places").iter().filter_map(|row| row["place"].as_str()).collect();
    assert_eq!(places, ["/scratch (lustre)", "/home/me (nfs4)"]);
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    // A profile has no room for all of these access sizes and strides, so the order of merging profiles decides which are kept.
    let many = (0..40).map(|rank| {
        let mut process = process(rank, "n");
        for call in 0..3000_u64 {
            let (offset, length) = (call * call * 31 % 100_003 * (rank as u64 + 1), call * 7919 % 997 + rank as u64);
            process.write("/scratch/shared", offset as i64, length, call * 100, call * 100 + 50);
        }
        process
    });
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 40), many.collect()));
    let with = |threads: &str| stdout(&["counters", "--format", "json", "--threads", threads, &path], 0);
    assert_eq!(with("1"), with("4"));
}
