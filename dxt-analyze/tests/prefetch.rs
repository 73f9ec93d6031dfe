//! That reading ahead by a signature does what is said of it, by doing: a program that reads a nested strided pattern of a file system on which each
//! request takes 2 ms, as it is and with posix_fadvise(2) as many calls ahead as `uses/prefetch.rs` says of the trace of the first. Held
//! against each other is how many reads find their bytes in the page cache, not how long anything takes.

#![expect(clippy::unwrap_used, reason = "a failure here is the test's")]

mod common;
mod fuse;

#[path = "../../tracer/tests/programs/harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "each test program uses a part of it")]
mod harness;

use common::{json, stdout, text};
use dxt_analyze::topics::signatures::uses::prefetch::{Cache, Policy, Read, calls_ahead, simulate};
use fuse::Mount;
use harness::{Launch, Scratch, workload};
use std::path::Path;

const READS: u64 = 200;
const LENGTH: u64 = 4096;
/// Of the file system, ns.
const LATENCY_NS: u64 = 2_000_000;
const FILE_BYTES: u64 = 100 * 32_768;

/// Offset and length of each request for a file, sorted: they come in any order.
fn requests(log: &Path, name: &str) -> Vec<(u64, u64)> {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.split_once(' '));
    let mut out: Vec<_> = lines.map(|(offset, length)| (offset.parse().unwrap(), length.parse().unwrap())).collect();
    out.sort();
    out
}

/// Runs the program with advice so many calls ahead; how many reads did not find their bytes, and what the trace has of them.
fn run(mount: &Mount, name: &str, ahead: u64) -> (u64, Vec<Read>) {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("foreseen")).arg(mount.at.join(name));
    let outcome = launch.arg(READS.to_string()).arg(ahead.to_string()).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (traces, files) = (scratch.traces(), format!("*/{name}"));
    let found =
        json(&["signatures", "--format", "json", "--verify", "--level", "local", "--files", &files, text(&traces)], 0);
    let [row] = found["local"].as_array().unwrap().as_slice() else { panic!("{found:#}") };
    let loops = "100 x {read 0+4096 [32768], read 8192+4096 [32768]}";
    assert!(row["signature"].as_str().unwrap().starts_with(loops), "{row:#}");
    let rows = stdout(&["export", "--to", "json", "-o", "-", "--files", &files, text(&traces)], 0);
    let reads = rows.lines().filter_map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = |name: &str| row[name].as_u64().unwrap();
        let read = |_| Read {
            offset: number("offset"),
            length: number("length"),
            start_ns: number("start_ns"),
            end_ns: number("end_ns"),
        };
        (row["kind"] == "read").then_some(()).map(read)
    });
    (outcome.stdout.trim().parse().unwrap(), reads.collect())
}

#[test]
fn advice_hides_as_many_waits_as_foreseen() {
    let scratch = Scratch::new();
    let (log, size) = (scratch.root().join("requests"), FILE_BYTES.to_string());
    let Some(mount) = Mount::new(&scratch, "slow", "slowfs.py", &[&log, Path::new(&size)]) else { return };
    let (waited, reads) = run(&mount, "plain", 0);
    assert_eq!((waited, reads.len() as u64), (READS, READS), "every read waits for storage");
    // The shortest, not the mean: a machine that is busy makes some long, and whether all reads are in time must not depend on it.
    let between = reads.windows(2).map(|pair| pair[1].start_ns - pair[0].end_ns).min().unwrap();
    let cache = Cache { size_bytes: 1 << 20, latency_ns: LATENCY_NS, unit_bytes: LENGTH, file_bytes: Some(FILE_BYTES) };
    let ahead = calls_ahead(&cache, between, LENGTH);
    assert!((1..=2).contains(&ahead), "{ahead}");
    // The pattern, from the signature and not from the trace.
    let pattern = || (0..READS).map(|number| (number / 2 * 32_768 + number % 2 * 8_192, LENGTH));
    assert!(reads.iter().map(|read| (read.offset, read.length)).eq(pattern()));
    let foreseen = simulate(reads.iter().copied(), Policy::Signature { next: pattern(), calls: ahead }, &cache);
    assert!(foreseen.coverage() >= Some(0.95) && foreseen.accuracy() == Some(1.0), "{foreseen:?}");
    assert_eq!((foreseen.misses_without, foreseen.misses), (READS, 1));

    let (waits, again) = run(&mount, "advised", ahead);
    assert!(again.iter().map(|read| (read.offset, read.length)).eq(pattern()));
    // Of those foreseen to be late, since the program has not worked for as long as storage takes, some may come in time.
    let bounds = foreseen.misses..=foreseen.misses + foreseen.late.max(ahead - 1);
    assert!(bounds.contains(&waits), "{waits} reads waited; foreseen: {foreseen:?}");
    // Nothing is read that is not used, and nothing twice, with or without.
    let wanted: Vec<(u64, u64)> = pattern().collect();
    assert_eq!((requests(&log, "plain"), requests(&log, "advised")), (wanted.clone(), wanted));
}
