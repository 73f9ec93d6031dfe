//! Tests of advice derived from signatures (access patterns), on traces in which every access is known: prefetching, one call instead of a
//! loop, stripe sizes, findings.

use crate::common::{Builder, job, json, op, process, put, trace};
use serde_json::Value;

const FILE: &str = "/scratch/shared";
const US: u64 = 1000;
const MS: u64 = 1000 * US;

fn of(subcommand: &str, mut processes: Vec<Builder>, run_ms: u64, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let ranks = processes.len() as u32;
    processes.iter_mut().for_each(|process| process.process.info.end_ns = run_ms * MS);
    let path = put(folder.path(), "a.dxt", &trace(&job("advice", ranks), processes));
    json(&[&[subcommand, "--format", "json", &path], more].concat(), 0)
}

fn rows<'a>(found: &'a Value, name: &str) -> &'a [Value] {
    found["advice"][name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn codes(found: &Value) -> Vec<&str> {
    let all = found["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

/// Returns a process that makes the given accesses, `takes` ns each, with pauses of `pause` ns.
fn calls(
    rank: u64,
    file: &str,
    op: u16,
    takes: u64,
    pause: u64,
    accesses: impl Iterator<Item = (u64, u64)>,
) -> Builder {
    let mut one = process(rank as i32, "n");
    for (k, (offset, length)) in (0..).zip(accesses) {
        let start = k * (takes + pause);
        one.add(file, op, 0, offset as i64, length, start, start + takes);
    }
    one
}

/// Returns nested strided reads as in the IOSIG paper, as (offset, length): 4 KiB at p and at p + 8 KiB; the next pair is 32 KiB further on.
fn nested(rank: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..100).flat_map(move |k| [(rank * 4096 + k * 32768, 4096), (rank * 4096 + k * 32768 + 8192, 4096)])
}

#[test]
fn nested_strided_reads_are_fetched_ahead_by_their_pattern_and_not_by_read_ahead() {
    let ranks = || (0..4).map(|rank| calls(rank, FILE, op::POSIX_READ, MS, 4 * MS, nested(rank))).collect();
    let found = of("signatures", ranks(), 1000, &[]);
    let [row] = rows(&found, "read_ahead") else { panic!("{found:#}") };
    let number = |name: &str| row[name].as_f64().unwrap();
    assert_eq!((&row["file"], number("reads"), number("processes")), (&FILE.into(), 800.0, 4.0));
    assert_eq!((number("latency_ns"), number("interval_ns")), (1e6, 4e6));
    assert_eq!((number("calls_ahead"), number("accuracy")), (1.0, 1.0));
    assert!(number("coverage") >= 0.98, "{row}");
    // A read-ahead of 128 KiB covers all reads; a quarter of it is used.
    assert!(number("plain_coverage") >= 0.98 && (number("plain_accuracy") - 0.25).abs() < 0.02, "{row}");
    assert_eq!(codes(&found), ["DXT-I005"], "what the system does by itself is no advice");
}

#[test]
fn reads_that_lie_far_apart_are_advised_and_priced_by_what_waits() {
    let far = |rank: u64| (0..200).map(move |k| ((rank + 4 * k) << 20, 16384));
    let ranks = || (0..4).map(|rank| calls(rank, FILE, op::POSIX_READ, 2 * MS, 3 * MS, far(rank))).collect();
    let found_both = of("signatures", ranks(), 1000, &[]);
    let [row] = rows(&found_both, "read_ahead") else { panic!("{found_both:#}") };
    assert_eq!((&row["calls_ahead"], &row["plain_coverage"]), (&1.into(), &0.0.into()));
    assert_eq!(codes(&found_both), ["DXT-I005", "DXT-I001"]);
    // A cache too small for a single block is useless.
    let found = of("signatures", ranks(), 1000, &["--cache", "8K"]);
    assert_eq!(codes(&found), ["DXT-I005"], "{found:#}");
    // The report states the saving for the job: each rank no longer waits for 398 of 400 ms.
    let report = of("report", ranks(), 1000, &[]);
    let all = report["findings"].as_array().unwrap();
    let saves = all.iter().find(|one| one["code"] == "DXT-I001").and_then(|one| one["saves_ns"].as_u64());
    assert!(saves.is_some_and(|ns| ns <= 400 * MS), "{all:#?}");
    // The command has the report's prices.
    for finding in found_both["findings"].as_array().unwrap() {
        let theirs = all.iter().find(|one| one["code"] == finding["code"]).expect("it is in the report");
        for price in ["severity", "saves_ns", "cost_ns"] {
            assert_eq!(finding[price], theirs[price], "{finding:#}");
        }
    }
}

#[test]
fn reads_that_do_not_wait_or_are_large_or_go_on_are_left_alone() {
    let far = |length: u64| (0..200).map(move |k| (k << 22, length));
    let on = (0..200).map(|k| (k * 65536, 65536));
    for (takes, accesses) in [
        (20 * US, Box::new(far(4096)) as Box<dyn Iterator<Item = (u64, u64)>>),
        (2 * MS, Box::new(far(1 << 20))),
        (2 * MS, Box::new(on)),
    ] {
        let found = of("signatures", vec![calls(0, FILE, op::POSIX_READ, takes, MS, accesses)], 1000, &[]);
        assert_eq!(found["findings"], Value::Array(Vec::new()), "{found:#}");
    }
}

#[test]
fn a_loop_of_strided_writes_is_one_collective_call_with_its_numbers() {
    let mine = |rank: u64| (0..256).map(move |k| (512 + rank * 2048 + k * 16384, 2048));
    let ranks = || (0..8).map(|rank| calls(rank, FILE, op::POSIX_WRITE, MS, MS, mine(rank))).collect();
    let found = of("signatures", ranks(), 600, &[]);
    let [row] = rows(&found, "one_call") else { panic!("{found:#}") };
    assert_eq!(
        (&row["ranks"], &row["calls"], &row["length"], &row["stride"], &row["bytes"], &row["first"]),
        (&8.into(), &256.into(), &2048.into(), &16384.into(), &(4 << 20).into(), &512.into())
    );
    let report = of("report", ranks(), 600, &[]);
    let commands = report["verdict"]["findings"][0]["commands"].to_string();
    assert!(commands.contains("MPI_Type_create_hvector(256, 2048, 16384, MPI_BYTE, &filetype)"), "{commands}");
    assert!(commands.contains("MPI_File_set_view(fh, 2048 * rank + 512, MPI_BYTE"), "{commands}");
    // With a hole between them, accesses are not merged.
    let holes = |rank: u64| (0..256).map(move |k| (rank * 2048 + k * 32768, 2048));
    let found = of("signatures", (0..8).map(|r| calls(r, FILE, op::POSIX_WRITE, MS, MS, holes(r))).collect(), 600, &[]);
    assert_eq!(rows(&found, "one_call"), &[] as &[Value]);
}

#[test]
fn stripes_suit_what_is_asked_for() {
    // As in Figure 2 of the paper, 4 processes at once access the first 4 MiB of every 16 MiB on 4 storage nodes.
    let mine = |rank: u64| (0..32).map(move |k| ((rank + 4 * k) << 24, 4 << 20));
    let found = of(
        "signatures",
        (0..4).map(|rank| calls(rank, FILE, op::POSIX_WRITE, MS, MS, mine(rank))).collect(),
        600,
        &["--targets", "4"],
    );
    let [row] = rows(&found, "stripes") else { panic!("{found:#}") };
    assert_eq!((&row["targets"], &row["best_bytes"]), (&4.into(), &(16 << 20).into()));
    assert_eq!((&row["lustre_bytes"], &row["costs_times"]), (&(16 << 20).into(), &Value::Null));
    let found = of("signatures", vec![calls(0, FILE, op::POSIX_WRITE, MS, MS, mine(0))], 600, &[]);
    assert_eq!(rows(&found, "stripes"), &[] as &[Value], "nothing is known of where the file lies");
}

#[test]
fn four_phases_have_four_signatures_and_an_advice_each() {
    // As in the paper's experiment, requests have 1, 4, 64 KiB and 1 MiB, each on its own data.
    let sizes = [1_u64 << 10, 4 << 10, 64 << 10, 1 << 20];
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut at = 0;
        for (phase, size) in sizes.into_iter().enumerate() {
            for k in 0..64 {
                let offset = (k * 4 + rank) * size;
                one.write(&format!("/scratch/phase{phase}"), offset as i64, size, at, at + MS);
                at += 2 * MS;
            }
        }
        one
    };
    let found = of("signatures", (0..4).map(rank).collect(), 600, &["--targets", "4"]);
    let lines = found["global"].as_array().unwrap();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    let mut advised: Vec<u64> =
        rows(&found, "stripes").iter().map(|row| row["request_bytes"].as_u64().unwrap()).collect();
    advised.sort_unstable();
    assert_eq!(advised, sizes);
    for row in rows(&found, "stripes") {
        // Each request lies on one target, within the stripe sizes that Lustre allows.
        let request = row["request_bytes"].as_u64().unwrap();
        assert_eq!(row["best_bytes"], request);
        assert!(row["lustre_bytes"].as_u64().unwrap() >= request.max(65536), "{row}");
    }
}

#[test]
fn what_all_read_is_named_with_what_it_costs_each_node() {
    let rank = |rank: u64| {
        let mut one = calls(rank, FILE, op::POSIX_READ, MS, MS, (0..64).map(|k| (k << 20, 1 << 20)));
        one.process.info.node = format!("n{}", rank / 2);
        one
    };
    let found = of("signatures", (0..4).map(rank).collect(), 600, &[]);
    let [row] = rows(&found, "same_bytes") else { panic!("{found:#}") };
    let bytes = |name: &str| row[name].as_u64().unwrap() >> 20;
    assert_eq!((bytes("bytes_each"), bytes("bytes"), bytes("bytes_by_node")), (64, 256, 128));
    assert_eq!(found["findings"][0]["code"], "DXT-I004");
    // Two ranks are enough, and so is a single read of each; less than 1 MiB in total is not worth a finding.
    let once = |ranks: u64, bytes: u64| {
        let all = (0..ranks).map(|r| calls(r, FILE, op::POSIX_READ, MS, MS, (0..1).map(|_| (0, bytes)))).collect();
        rows(&of("signatures", all, 600, &[]), "same_bytes").len()
    };
    let two = (0..2).map(|r| calls(r, FILE, op::POSIX_READ, MS, MS, (0..24).map(|k| (k << 20, 1 << 20)))).collect();
    assert_eq!(rows(&of("signatures", two, 600, &[]), "same_bytes").len(), 1);
    assert_eq!((once(4, 16 << 20), once(2, 16 << 20), once(4, 128 << 10)), (1, 1, 0));
    let own =
        (0..4).map(|r| calls(r, FILE, op::POSIX_READ, MS, MS, (0..64).map(move |k| ((r * 64 + k) << 20, 1 << 20))));
    assert_eq!(rows(&of("signatures", own.collect(), 600, &[]), "same_bytes"), &[] as &[Value]);
}
