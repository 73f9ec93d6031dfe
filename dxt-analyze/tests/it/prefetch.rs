//! Test of prefetching by a predicted access pattern. A program reads a nested strided pattern on a file system with a latency of 2 ms per
//! request: first unchanged, then with posix_fadvise(2) as many calls ahead as `uses/prefetch.rs` derives from the first trace. The test
//! checks the reads that miss the page cache, and that `compare` shows the predicted gain.

use crate::common::{json, stdout, text};
use crate::fuse::Mount;
use crate::harness::{Launch, Scratch, workload};
use dxt_analyze::topics::signatures::uses::prefetch::{Cache, Policy, Read, calls_ahead, simulate};
use serde_json::Value;
use std::path::Path;

const READS: u64 = 200;
const LENGTH: u64 = 4096;
/// Latency of the file system per request, ns.
const LATENCY_NS: u64 = 2_000_000;
const FILE_BYTES: u64 = 100 * 32_768;

/// Returns offset and length of each request for the file `name` from the file system's log, sorted, since the order of arrival varies.
fn requests(log: &Path, name: &str) -> Vec<(u64, u64)> {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.split_once(' '));
    let mut out: Vec<_> = lines.map(|(offset, length)| (offset.parse().unwrap(), length.parse().unwrap())).collect();
    out.sort();
    out
}

struct Run {
    scratch: Scratch,
    /// Number of reads that missed the page cache.
    waited: u64,
    reads: Vec<Read>,
    /// Rows of advice on prefetching.
    advice: Vec<Value>,
}

impl Run {
    fn traces(&self) -> String {
        text(&self.scratch.traces()).to_owned()
    }
}

/// Runs the program with posix_fadvise(2) calls for data that it reads `ahead` calls later; 0 means without such calls.
fn run(mount: &Mount, name: &str, ahead: u64) -> Run {
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
    let advice = found["advice"]["read_ahead"].as_array().unwrap().clone();
    let (waited, reads) = (outcome.stdout.trim().parse().unwrap(), reads.collect());
    Run { scratch, waited, reads, advice }
}

#[test]
fn advice_hides_as_many_waits_as_foreseen() {
    let scratch = Scratch::new();
    let (log, size) = (scratch.root().join("requests"), FILE_BYTES.to_string());
    let Some(mount) = Mount::new(&scratch, "slow", "slowfs.py", &[&log, Path::new(&size)]) else { return };
    let before = run(&mount, "plain", 0);
    let reads = &before.reads;
    assert_eq!((before.waited, reads.len() as u64), (READS, READS), "every read waits for storage");
    // The minimum is used since a busy machine lengthens some pauses, and timely reads must not depend on them.
    let between = reads.windows(2).map(|pair| pair[1].start_ns - pair[0].end_ns).min().unwrap();
    let cache = Cache { size_bytes: 1 << 20, latency_ns: LATENCY_NS, unit_bytes: LENGTH, file_bytes: Some(FILE_BYTES) };
    let ahead = calls_ahead(&cache, between, LENGTH);
    assert!((1..=2).contains(&ahead), "{ahead}");
    // The pattern comes from the signature, not from the trace.
    let pattern = || (0..READS).map(|number| (number / 2 * 32_768 + number % 2 * 8_192, LENGTH));
    assert!(reads.iter().map(|read| (read.offset, read.length)).eq(pattern()));
    let foreseen = simulate(reads.iter().copied(), Policy::Signature { next: pattern(), calls: ahead }, &cache);
    assert!(foreseen.coverage() >= Some(0.95) && foreseen.accuracy() == Some(1.0), "{foreseen:?}");
    assert_eq!((foreseen.misses_without, foreseen.misses), (READS, 1));

    let after = run(&mount, "advised", ahead);
    let waits = after.waited;
    assert!(after.reads.iter().map(|read| (read.offset, read.length)).eq(pattern()));
    // Reads predicted as late, since the program computes for less than the latency, may still arrive in time.
    let bounds = foreseen.misses..=foreseen.misses + foreseen.late.max(ahead - 1);
    assert!(bounds.contains(&waits), "{waits} reads waited; foreseen: {foreseen:?}");
    // No byte is read without being used, or read twice, with or without advice.
    let wanted: Vec<(u64, u64)> = pattern().collect();
    assert_eq!((requests(&log, "plain"), requests(&log, "advised")), (wanted.clone(), wanted));
    gains_what_was_promised(&mount, &before, &after);
}

/// Asserts that `compare` shows the saving that the advice on the first run promised. Both sum 200 storage latencies; a busy machine adds to both.
fn gains_what_was_promised(mount: &Mount, before: &Run, after: &Run) {
    let [advice] = before.advice.as_slice() else { panic!("{:#?}", before.advice) };
    let promised = advice["saves_ns"].as_u64().unwrap();
    assert!(promised >= LATENCY_NS * READS / 2, "{advice:#}");
    let files = format!("{}/*", text(&mount.at));
    let compared = json(&["compare", "--format", "json", "--files", &files, &before.traces(), &after.traces()], 0);
    let [reads] = compared["job"]["directions"].as_array().unwrap().as_slice() else { panic!("{compared:#}") };
    assert_eq!(reads["op"], "read");
    let time_ns = |run: &str| reads[run]["time_ns"].as_f64().unwrap();
    let gain = time_ns("before") - time_ns("after");
    assert!((0.5..=2.0).contains(&(gain / promised as f64)), "{gain} ns gained, {promised} ns promised");
}
