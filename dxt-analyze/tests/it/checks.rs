//! Tests of `checks` on traces whose results are known by construction.

use crate::common::facts::{assert_found, of_code, text_has};
use crate::common::{Builder, job, json, op, process, put, stdout, trace};
use serde_json::{Value, json};
use std::collections::HashMap;
use trace_format::counters::Counters;
use trace_format::meta::{Job, Missing, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

const MIB: u64 = 1 << 20;
const POSIX_SYNC: u16 = 20;
const MPIIO_READ: u16 = 21;
const MPIIO_READ_ALL: u16 = 22;
const POSIX_TRUNCATE: u16 = 23;

fn with_more_ops(mut job: Job) -> Job {
    let def = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    job.ops.extend([
        def(POSIX_SYNC, Layer::Posix, OpClass::Sync, OpMode::Plain, "sync"),
        def(MPIIO_READ, Layer::Mpiio, OpClass::Read, OpMode::Plain, "read"),
        def(MPIIO_READ_ALL, Layer::Mpiio, OpClass::Read, OpMode::Collective, "read"),
        def(POSIX_TRUNCATE, Layer::Posix, OpClass::Metadata, OpMode::Plain, "truncate"),
    ]);
    job
}

/// Returns the rows of `checks` for a trace, by finding code; asserts exit code 0.
fn checked(processes: Vec<Builder>, ranks: u32) -> Value {
    let folder = tempfile::tempdir().expect("a directory");
    let path = put(folder.path(), "a.dxt", &trace(&with_more_ops(job("k", ranks)), processes));
    json(&["checks", "--format", "json", &path], 0)
}

fn row<'a>(found: &'a Value, code: &str) -> &'a Value {
    let rows = found["checks"].as_array().expect("a list");
    rows.iter().find(|row| row["code"] == code).unwrap_or_else(|| panic!("no check {code}"))
}

fn value(found: &Value, code: &str) -> f64 {
    row(found, code)["measured"]["value"].as_f64().unwrap_or_else(|| panic!("{code} did not look"))
}

/// Returns the second condition of a check as (description of what is counted, measured value, minimum value).
fn also<'a>(found: &'a Value, code: &str) -> (&'a str, f64, f64) {
    let also = &row(found, code)["also"];
    let amount = |name: &str| also[name]["value"].as_f64().unwrap_or_else(|| panic!("{code}: {also}"));
    (also["what"].as_str().expect("what is counted"), amount("measured"), amount("least"))
}

/// Asserts that a check has this verdict and no finding, and that its reason contains these numbers and names.
fn assert_not_found(found: &Value, code: &str, verdict: &str, reason: &[&str]) {
    let row = row(found, code);
    assert_eq!((&row["verdict"], of_code(found, code)), (&verdict.into(), None), "{row}");
    assert!(text_has(row["looked_at"].as_str().unwrap(), reason), "{row}");
}

/// Adds a read of `length` bytes at `offset` that starts at `time` (ns) and lasts 1,000 ns.
fn read(process: &mut Builder, path: &str, offset: u64, length: u64, time: u64) {
    process.add(path, op::POSIX_READ, 0, offset as i64, length, time, time + 1000);
}

#[test]
fn bytes_read_again_are_counted_exactly_and_their_time_shared_out() {
    let mut one = process(0, "n");
    // The process reads 8 MiB once; then the last 4 MiB again and 2 MiB beyond; then 2 MiB, of which the first 1 MiB - 100 bytes were read before.
    (0..8).for_each(|i| read(&mut one, "/in", i * MIB, MIB, i * 2000));
    read(&mut one, "/in", 4 * MIB, 6 * MIB, 100_000);
    read(&mut one, "/in", 9 * MIB + 100, 2 * MIB, 110_000);
    let found = checked(vec![one], 0);
    let (again, all) = (4 * MIB + (MIB - 100), 8 * MIB + 6 * MIB + 2 * MIB);
    assert!((value(&found, "DXT-C024") - again as f64 / all as f64).abs() < 1e-9);
    let said = assert_found(&found, "DXT-C024", &json!({ "bytes": again }));
    let cost = 1000 * 4 / 6 + 1000 * (MIB - 100) / (2 * MIB);
    assert_eq!(said["cost_ns"].as_u64(), Some(cost), "{said}");
    let evidence = said["evidence"][0].as_str().unwrap();
    assert!(evidence.contains("/in") && evidence.contains(&format!("at offset {}", 4 * MIB)), "{evidence}");
}

#[test]
fn what_was_written_or_cut_in_between_is_not_read_again() {
    let mut one = process(0, "n");
    one.write("/f", 0, 4 * MIB, 0, 1000);
    read(&mut one, "/f", 0, 4 * MIB, 2000); // read back
    one.write("/f", 0, 4 * MIB, 4000, 5000); // overwritten
    read(&mut one, "/f", 0, 4 * MIB, 6000); // read back, not reread
    read(&mut one, "/f", 0, 2 * MIB, 8000); // reread
    one.add("/f", POSIX_TRUNCATE, 0, -1, 0, 10_000, 10_100);
    one.write("/f", 0, 4 * MIB, 11_000, 12_000); // overwrites nothing
    read(&mut one, "/f", 0, 4 * MIB, 13_000); // read back
    let found = checked(vec![one], 0);
    assert_eq!(value(&found, "DXT-C024"), 2.0 / 14.0);
    assert_eq!(value(&found, "DXT-C026"), 12.0 / 14.0);
    assert_eq!(value(&found, "DXT-C027"), 4.0 / 12.0);
}

#[test]
fn a_file_that_another_rank_writes_may_have_changed_and_is_not_judged() {
    let reader = |rank| {
        let mut one = process(rank, "n");
        (0..3).for_each(|i| read(&mut one, "/state", 0, 2 * MIB, i * 5000));
        one
    };
    let mut writer = process(1, "n");
    writer.write("/state", 0, MIB, 0, 1000);
    let found = checked(vec![reader(0), writer], 2);
    assert_eq!(value(&found, "DXT-C024"), 0.0);
    let found = checked(vec![reader(0)], 1);
    assert_eq!(value(&found, "DXT-C024"), 2.0 / 3.0);
}

#[test]
fn what_all_ranks_read_could_be_read_once() {
    let ranks = 8_u64;
    let processes = (0..ranks as i32).map(|rank| {
        let mut one = process(rank, "n");
        read(&mut one, "/in/table", 0, 3 * MIB, 1000);
        // Each rank reads its own part, so no bytes are read twice.
        read(&mut one, "/in/parts", rank as u64 * 2 * MIB, 2 * MIB, 5000);
        one
    });
    let found = checked(processes.collect(), ranks as u32);
    let (common, all) = ((ranks - 1) * 3 * MIB, ranks * 5 * MIB);
    assert!((value(&found, "DXT-C025") - common as f64 / all as f64).abs() < 1e-9);
    let said = assert_found(&found, "DXT-C025", &json!({ "bytes": common }));
    assert_eq!(said["cost_ns"].as_u64(), Some(7 * 1000));
    assert!(said["evidence"][0].as_str().unwrap().contains("/in/table"), "{said}");
    assert_eq!(said["evidence"].as_array().unwrap().len(), 1);
}

#[test]
fn mpi_io_that_reads_more_than_asked() {
    let nested = stream_flags::NESTED;
    let processes = (0..2).map(|rank| {
        let mut one = process(rank, "n");
        // Data sieving: MPI-IO reads 4 MiB for a request of 1 MiB.
        one.add("/f", op::POSIX_READ, nested, 0, 4 * MIB, 110, 190);
        one.add("/f", MPIIO_READ, 0, 0, MIB, 100, 200);
        // Read-modify-write: MPI-IO reads 2 MiB for a write.
        one.add("/f", op::POSIX_READ, nested, 0, 2 * MIB, 310, 350);
        one.add("/f", op::POSIX_WRITE, nested, 0, 2 * MIB, 350, 390);
        one.add("/f", op::MPIIO_WRITE_ALL, 0, 0, MIB, 300, 400);
        // In the collective read, rank 0 reads exactly the bytes that both ranks requested.
        if rank == 0 {
            one.add("/f", op::POSIX_READ, nested, 0, 6 * MIB, 510, 590);
        }
        one.add("/f", MPIIO_READ_ALL, 0, 0, 3 * MIB, 500, 600);
        // The program's own read is no data sieving.
        read(&mut one, "/other", 0, MIB, 1000);
        one
    });
    let found = checked(processes.collect(), 2);
    let (unasked, moved) = (f64::from(2 * (3 + 2)), f64::from(2 * (4 + 2 + 2) + 6));
    assert!((value(&found, "DXT-C028") - unasked / moved).abs() < 1e-9);
    let said = assert_found(&found, "DXT-C028", &json!({ "bytes": 10 * MIB }));
    assert_eq!(said["cost_ns"].as_u64(), Some(2 * (80 + 40)));
    // Blocking calls without usable compute time are no finding, nor is one active node out of few. Each row has both conditions.
    assert_eq!(also(&found, "DXT-C021"), ("blocking calls", 1.0, 1.0));
    assert_eq!(also(&found, "DXT-C022"), ("nodes", 1.0, 2.0));
    assert!(of_code(&found, "DXT-C021").is_none() && of_code(&found, "DXT-C022").is_none());
    assert_not_found(&found, "DXT-C021", "ok", &["3 gaps", "at least 2"]);
    // If only one rank is selected, the bytes that the aggregator read for other ranks are unknown.
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    one.add("/f", op::POSIX_READ, nested, 0, 6 * MIB, 510, 590);
    one.add("/f", MPIIO_READ_ALL, 0, 0, 3 * MIB, 500, 600);
    let path = put(folder.path(), "a.dxt", &trace(&with_more_ops(job("k", 2)), vec![one]));
    assert_eq!(value(&json(&["checks", "--format", "json", &path], 3), "DXT-C028"), 0.0);
}

#[test]
fn runs_of_small_writes_and_syncs_that_justify_them() {
    let mut one = process(0, "n");
    (0..2048).for_each(|i: u64| {
        one.write("/gather", (i * 1024) as i64, 1024, i * 100, i * 100 + 50);
    });
    for i in 0..2048_u64 {
        let time = 1_000_000 + i * 1000;
        one.write("/journal", (i * 1024) as i64, 1024, time, time + 50);
        one.add("/journal", POSIX_SYNC, 0, -1, 0, time + 100, time + 900);
    }
    let found = checked(vec![one], 0);
    // In requests of 1 MiB, 2 MiB are 2 calls.
    assert_eq!(value(&found, "DXT-C030"), 2046.0);
    assert_eq!(of_code(&found, "DXT-C030").unwrap()["cost_ns"].as_u64(), Some(2048 * 50 * 2046 / 2048));
    assert_eq!(value(&found, "DXT-C032"), 1.0);
    assert_eq!(of_code(&found, "DXT-C032").unwrap()["cost_ns"].as_u64(), Some(2048 * 800));
}

#[test]
fn turns_and_gaps() {
    let second = 1_000_000_000;
    let processes = (0..4).map(|rank| {
        let mut one = process(rank, "n");
        // All ranks write together for 1 s; after 10 s without I/O, they write serialized, 1 s each.
        one.write("/f", i64::from(rank) << 20, MIB, 0, second);
        let start = 11 * second + rank as u64 * second;
        one.write("/f", (i64::from(rank) + 8) << 20, MIB, start, start + second);
        one
    });
    let found = checked(processes.collect(), 4);
    let slot = 15.0 / 65_536.0;
    assert!((value(&found, "DXT-C038") - 10.0 / 15.0).abs() < 1e-9);
    assert_eq!(found["gaps"][0], json!({"start_ns": second, "end_ns": 11 * second}));
    assert!((value(&found, "DXT-C039") - 4.0 / 5.0).abs() < 4.0 * slot, "{}", value(&found, "DXT-C039"));
    assert!(of_code(&found, "DXT-C039").is_some());
}

#[test]
fn one_rank_for_all_and_unequal_shares() {
    let with = |bytes: &[u64]| {
        let processes = bytes.iter().enumerate().map(|(rank, bytes)| {
            let mut one = process(rank as i32, "n");
            one.write("/f", rank as i64 * 100 * MIB as i64, *bytes, 1000, 2000);
            one
        });
        checked(processes.collect(), bytes.len() as u32)
    };
    let found = with(&[64 * MIB, 0, 0, 0]);
    assert_eq!((value(&found, "DXT-C013"), value(&found, "DXT-C014")), (1.0, 1.0));
    assert_found(&found, "DXT-C013", &json!({ "rank": 0, "bytes": 64 * MIB }));
    assert_not_found(&found, "DXT-C014", "ok", &["one of which"]);
    let mib = f64::from(1 << 20);
    assert_eq!(also(&found, "DXT-C013"), ("moved by all ranks", 64.0 * mib, mib));
    // A share of 100 % of very few bytes is no finding.
    let found = with(&[64 * 1024, 0, 0, 0]);
    assert!(value(&found, "DXT-C013") == 1.0 && of_code(&found, "DXT-C013").is_none());
    assert_eq!(also(&found, "DXT-C013"), ("moved by all ranks", mib / 16.0, mib));
    let found = with(&[64 * 1024, 1, 0, 0]);
    assert_not_found(&found, "DXT-C017", "not_applicable", &["1.00 MiB", "64.0 KiB"]);
    let found = with(&[2 * MIB, 2 * MIB, 4 * MIB, 2 * MIB]);
    assert_eq!(also(&found, "DXT-C017"), ("moved in that file", 10.0 * mib, mib));
    assert_eq!(also(&found, "DXT-C018"), ("moved in shared files by independent calls", 10.0 * mib, 1.0));
    // With mean 2.5 and maximum 4, the imbalance is (4 - 2.5) / 4 * 4 / 3 = 0.5.
    assert!((value(&found, "DXT-C014") - 0.5).abs() < 1e-9 && (value(&found, "DXT-C017") - 0.5).abs() < 1e-9);
    let found = with(&[2 * MIB; 5]);
    assert_eq!((value(&found, "DXT-C014"), value(&found, "DXT-C017")), (0.0, 0.0));
}

#[test]
fn a_file_opened_again_and_again() {
    let mut one = process(0, "n");
    for i in 0..1200_u64 {
        let time = i * 10_000;
        one.add("/conf", op::POSIX_OPEN, 0, -1, 0, time, time + 300);
        read(&mut one, "/conf", 0, 10, time + 400);
        one.add("/conf", op::POSIX_CLOSE, 0, -1, 0, time + 2000, time + 2100);
        one.add("/absent", op::POSIX_OPEN, stream_flags::FAILED, -1, 0, time + 3000, time + 3100);
        one.add("/absent2", op::POSIX_OPEN, stream_flags::FAILED, -1, 0, time + 4000, time + 4100);
    }
    let found = checked(vec![one], 0);
    assert_eq!(value(&found, "DXT-C034"), 1200.0);
    assert_eq!(of_code(&found, "DXT-C034").unwrap()["cost_ns"].as_u64(), Some(1200 * 400));
    assert_eq!(value(&found, "DXT-C035"), 1.0);
    assert_eq!(value(&found, "DXT-C036"), 2400.0 / 3600.0);
    assert_eq!(of_code(&found, "DXT-C036").unwrap()["cost_ns"].as_u64(), Some(2400 * 100));
    // The 4,800 calls in 12 ms are too few for a storm, whatever the rate within the 12 ms.
    assert_eq!(value(&found, "DXT-C037"), 4800.0);
}

/// Writes a synthetic trace of many ranks and returns its path.
fn synthetic(folder: &tempfile::TempDir, args: &[&str]) -> String {
    let path = folder.path().join("synth.dxt").to_str().expect("text").to_owned();
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).expect("a trace");
    path
}

#[test]
fn random_and_small_writes_of_thousands_of_ranks_agree_with_a_plain_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = synthetic(&folder, &["random", "-n", "2048", "--segments", "8", "--transfer", "64K"]);
    let dump = stdout(&["dump", "--format", "csv", &path], 0);
    let mut reader = csv_rows(&dump);
    let columns = reader.next().unwrap();
    let at =
        |name: &str| columns.iter().position(|column| column == name).unwrap_or_else(|| panic!("{name}: {columns:?}"));
    let (rank, operation, offset, length) = (at("rank"), at("op"), at("offset"), at("length"));
    let (mut ends, mut random, mut placed) = (HashMap::new(), 0_u64, 0_u64);
    let mut distinct: HashMap<(String, i64), u64> = HashMap::new();
    for row in reader.filter(|row| row[operation] == "write") {
        let (start, bytes): (i64, i64) = (row[offset].parse().unwrap(), row[length].parse().unwrap());
        assert_eq!(bytes, 64 << 10);
        if let Some(end) = ends.insert(row[rank].clone(), start + bytes) {
            placed += 1;
            random += u64::from(start < end);
        }
        *distinct.entry((row[rank].clone(), start)).or_default() += 1;
    }
    let found = json(&["checks", "--format", "json", &path], 0);
    assert_eq!(placed, 2048 * 7);
    assert_eq!(value(&found, "DXT-C009"), random as f64 / placed as f64);
    assert_found(&found, "DXT-C009", &json!({ "operation": "writes", "calls": random }));
    assert_found(&found, "DXT-C005", &json!({ "operation": "writes", "calls": 16_384, "bytes": 16_384_u64 << 16 }));
    // Each row has both conditions with their values: a share far above its threshold is no finding if too few calls count.
    let also = json!({ "what": "small calls", "measured": { "unit": "count", "value": 16_384 }, "least": { "unit": "count", "value": 1000 } });
    assert_eq!(row(&found, "DXT-C005")["also"], also);
    assert!(text_has(&stdout(&["checks", &path], 0), &["1,000 small calls", "16,384"]));
    let again: u64 = distinct.values().map(|times| times - 1).sum();
    assert_eq!(value(&found, "DXT-C027"), again as f64 / f64::from(2048 * 8));
}

fn csv_rows(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect())
}

#[test]
fn consecutive_small_writes_of_thousands_of_ranks_are_runs_and_interleaved_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let args = |pattern| [pattern, "-n", "2000", "--segments", "16", "--transfer", "64K"];
    let found = json(&["checks", "--format", "json", &synthetic(&folder, &args("ior-shared"))], 0);
    // Sixteen consecutive writes of 64 KiB are 1 MiB, which one call could write.
    assert_eq!(value(&found, "DXT-C030"), 2000.0 * 15.0);
    let found = json(&["checks", "--format", "json", &synthetic(&folder, &args("ior-strided"))], 0);
    assert_eq!(value(&found, "DXT-C030"), 0.0);
    assert_eq!((value(&found, "DXT-C009"), value(&found, "DXT-C014")), (0.0, 0.0));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = synthetic(&folder, &["hacc", "-n", "300", "--layer", "mpiio", "--op", "read"]);
    let run = |threads| stdout(&["checks", "--threads", threads, "--all", &path], 0);
    assert_eq!(run("1"), run("5"));
}

#[test]
fn thresholds_severity_and_forms() {
    let folder = tempfile::tempdir().unwrap();
    let path = synthetic(&folder, &["ior-shared", "-n", "4", "--transfer", "64K"]);
    let file = put(folder.path(), "t.toml", b"small_min = 10\nsmall_request_bytes = 65537\n");
    let found = json(&["checks", "--format", "json", "--thresholds", &file, &path], 0);
    assert!(of_code(&found, "DXT-C005").is_some());
    let strict = put(folder.path(), "s.toml", b"small_min = 10\nsmall_request_bytes = 65536\n");
    let found = json(&["checks", "--format", "json", "--thresholds", &strict, &path], 0);
    assert_eq!(value(&found, "DXT-C005"), 0.0);
    stdout(&["checks", "--thresholds", &file, "--fail-on", "info", &path], 4);
    let csv = stdout(&["checks", "--format", "csv", "--all", &path], 0);
    let heads = "check,code,value,threshold,also,unit,also_value,also_threshold,also_unit,verdict,looked_at\n";
    assert!(csv.starts_with(heads), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 39);
    let found = json(&["checks", "--format", "json", &path], 0);
    let all = found["checks"].as_array().unwrap().iter();
    let not_applicable = all.filter(|row| row["verdict"] == "not_applicable").count();
    assert!(text_has(&stdout(&["checks", &path], 0), &[&format!("{not_applicable} checks")]));
}

#[test]
fn the_largest_numbers_that_a_trace_can_hold_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let longest = (1 << 40) - 1;
    let processes = (0..2).map(|rank| {
        let mut one = process(rank, "n");
        one.process.info.epoch_unix_ns = if rank == 0 { i64::MIN } else { i64::MAX };
        for (start, end) in [(0, u64::MAX), (u64::MAX - 1, u64::MAX), (0, 0)] {
            for offset in [i64::MIN, -1, 0, i64::MAX - 5, i64::MAX] {
                for code in [op::POSIX_READ, op::POSIX_WRITE, op::MPIIO_WRITE_ALL, POSIX_SYNC, op::POSIX_OPEN] {
                    one.add("/f", code, 0, offset, longest, start, end);
                    one.add("/g", code, stream_flags::NESTED, offset, 1, start, end);
                }
            }
        }
        let counters = Counters {
            segments: u64::MAX / 1000, // keeps the sum of the writes from overflowing
            bytes: u64::MAX,
            duration: u64::MAX,
            sequential: 3,
            max_end_offset: i64::MAX,
            sizes: [u64::MAX; 10],
            ..Counters::default()
        };
        for stream in 0..one.process.streams.len() as u32 {
            one.process.missing.push(Missing { stream, counters: counters.clone() });
        }
        one
    });
    let bytes = trace(&with_more_ops(job("k", 2)), processes.collect());
    let path = put(folder.path(), "a.dxt", &bytes);
    stdout(&["checks", "--all", &path], 3);
    stdout(&["compare", &path, &path], 3);
}

/// Reading back bytes of a shared file is a finding only if each rank wrote the bytes that it reads.
#[test]
fn bytes_read_back_from_a_shared_file_are_judged_by_who_wrote_them() {
    let rank = |rank: i32, over: bool| {
        let mut one = process(rank, "n");
        let own = |step: u64| (2 * step + rank as u64) * MIB;
        for i in 0..4 {
            one.write("/shared", own(i) as i64, MIB, i * 2000, i * 2000 + 1000);
        }
        if over && rank == 1 {
            one.write("/shared", 0, MIB, 9000, 10_000);
        }
        (0..4).for_each(|i| read(&mut one, "/shared", own(i), MIB, 20_000 + i * 2000));
        one
    };
    let found = checked(vec![rank(0, false), rank(1, false)], 2);
    assert_eq!(value(&found, "DXT-C026"), 1.0);
    assert!(of_code(&found, "DXT-C026").is_some(), "{found}");
    // A third rank that only reads, or writes elsewhere, changes nothing.
    let mut other = process(2, "n");
    read(&mut other, "/shared", 0, 8 * MIB, 50_000);
    other.write("/shared", (100 * MIB) as i64, MIB, 60_000, 61_000);
    let found = checked(vec![rank(0, false), rank(1, false), other], 3);
    assert_eq!(value(&found, "DXT-C026"), 0.5);
    // There is no finding if one rank overwrites another rank's bytes.
    let found = checked(vec![rank(0, true), rank(1, true)], 2);
    assert_eq!(row(&found, "DXT-C026")["measured"], Value::Null);
    assert_not_found(&found, "DXT-C026", "not_applicable", &["8.00 MiB"]);
}
