//! That reading ahead by a signature does what is said of it, by doing: a program that reads a nested strided pattern of a file system on which each
//! request takes 2 ms, as it is and with posix_fadvise(2) as many calls ahead as `uses/prefetch.rs` says of the trace of the first. Held
//! against each other is how many reads find their bytes in the page cache, not how long anything takes.

#![expect(clippy::unwrap_used, reason = "a failure here is the test's")]

mod common;

#[path = "../../tracer/tests/programs/harness/mod.rs"]
#[expect(dead_code, unused_imports, reason = "each test program uses a part of it")]
mod harness;

use common::{json, stdout, text};
use dxt_analyze::topics::signatures::uses::prefetch::{Cache, Policy, Read, calls_ahead, simulate};
use harness::{Launch, Scratch, have, python, skip, skip_here, workload, workload_source};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const READS: u64 = 200;
const LENGTH: u64 = 4096;
/// Of the file system, ns.
const LATENCY_NS: u64 = 2_000_000;
const FILE_BYTES: u64 = 100 * 32_768;

/// The mount; gone when dropped.
struct Mount {
    daemon: Child,
    at: PathBuf,
    log: PathBuf,
}

impl Mount {
    /// `None`, said, if that is not possible here.
    fn new(scratch: &Scratch) -> Option<Self> {
        let python = python()?;
        if !Path::new("/dev/fuse").exists() {
            skip_here("there is no /dev/fuse");
            return None;
        }
        let has_module = Command::new(&python).args(["-c", "import fusepy"]).stderr(Stdio::null()).status();
        if !have("fusermount3") || !has_module.is_ok_and(|status| status.success()) {
            skip("fuse3 or python3-fusepy is not installed");
            return None;
        }
        let (log, at) = (scratch.root().join("requests"), scratch.root().join("slow"));
        std::fs::create_dir_all(&at).unwrap();
        let mut command = Command::new(python);
        command.arg(workload_source("slowfs.py")).arg(&log).arg(FILE_BYTES.to_string()).arg(&at);
        let daemon = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut mount = Self { daemon, at, log };
        let begin = Instant::now();
        while !mount.is_there() {
            let ended = mount.daemon.try_wait().unwrap();
            if ended.is_some() || begin.elapsed() > Duration::from_secs(20) {
                let mut why = String::new();
                if let (true, Some(mut text)) = (ended.is_some(), mount.daemon.stderr.take()) {
                    let _ = std::io::Read::read_to_string(&mut text, &mut why);
                }
                skip_here(&format!("mounting by FUSE failed: {}", why.lines().last().unwrap_or("no answer")));
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(mount)
    }

    fn is_there(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|at| Path::new(at) == self.at))
    }

    /// Offset and length of each request for a file, sorted: they come in any order.
    fn requests(&self, name: &str) -> Vec<(u64, u64)> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines = log.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.split_once(' '));
        let mut out: Vec<_> =
            lines.map(|(offset, length)| (offset.parse().unwrap(), length.parse().unwrap())).collect();
        out.sort();
        out
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_there() {
            let by_fuse = Command::new("fusermount3").arg("-u").arg(&self.at).stderr(Stdio::null()).status();
            if !by_fuse.is_ok_and(|status| status.success()) {
                let _ = Command::new("umount").arg("-l").arg(&self.at).status();
            }
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
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
    let Some(mount) = Mount::new(&scratch) else { return };
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
    assert_eq!((mount.requests("plain"), mount.requests("advised")), (wanted.clone(), wanted));
}
