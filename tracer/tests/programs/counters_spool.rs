//! Tests of counters in spools: other processes can read them while the program runs, and they survive if the process is killed.
//! (`spool.rs` tests kills and reads at arbitrary times, `ends.rs` all ways to end.)

use crate::harness::{Launch, MissingOps, Scratch, Traces, library, look, recover, spools, workload};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;
use trace_format::counters::Counters;

/// Name of standard output: a write to a terminal or pipe is recorded only if it waits, so not in every run.
const UNCERTAIN: &str = "<stdout>";

/// Counters without times, by stream: layer, operation, mode, true if nested, path, error number.
type Counted = BTreeMap<(String, String, String, bool, String, u16), Counters>;

/// Returns the counters of all processes, summed by stream. Paths are relative to the scratch directory.
fn counted(scratch: &Scratch, traces: &Traces) -> Counted {
    let mut all = Counted::new();
    let root = scratch.root().display().to_string();
    let missing = traces.processes.iter().flat_map(|process| &process.missing).filter(|of| of.op.path != UNCERTAIN);
    for MissingOps { op, nested, counters } in missing {
        let path = op.path.strip_prefix(&root).unwrap_or(&op.path).to_owned();
        let key = (op.layer.clone(), op.name.clone(), op.mode.clone(), *nested, path, op.errno);
        let timeless = Counters { duration: 0, max_duration: 0, first_start: 0, last_end: 0, ..counters.clone() };
        all.entry(key).or_default().merge(&timeless);
    }
    all
}

/// Keeps only the number of calls and bytes, since other values depend on the order of calls of several threads or processes.
fn unordered(counted: Counted) -> Counted {
    let known = |of: Counters| Counters { segments: of.segments, bytes: of.bytes, ..Counters::default() };
    counted.into_iter().map(|(key, counters)| (key, known(counters))).collect()
}

/// Runs a program in counters mode, with spools if `spooled` is true; returns its traces.
fn counting(scratch: &Scratch, program: &'static str, arguments: &[&str], spooled: bool) -> Traces {
    let launch = Launch::new(scratch, workload(program)).arg(scratch.data()).env("DXT_ENABLE", "counters");
    let launch = arguments.iter().fold(launch, Launch::arg);
    let outcome = if spooled { launch } else { launch.env("DXT_SPOOL", "off") }.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{program}");
    Traces::read(&scratch.traces())
}

#[test]
fn a_normal_end_has_the_same_counters_and_leaves_no_spool() {
    let programs: [(&'static str, &[&str]); 6] = [
        ("counters", &["pattern"]),
        ("counters", &["many", "3000"]),
        ("counters", &["threads", "200"]),
        ("counters", &["alive", "50"]),
        ("posix_all", &[]),
        ("stdio", &[]),
    ];
    for (program, arguments) in programs {
        let (without, with) = (Scratch::new(), Scratch::new());
        let expected = counting(&without, program, arguments, false);
        assert!(!without.spools().exists(), "{program}");
        let got = counting(&with, program, arguments, true);
        // Spools were created, and are removed.
        assert!(with.spools().exists() && spools(&with).is_empty(), "{program} {arguments:?}");
        let (expected_sums, sums) = (counted(&without, &expected), counted(&with, &got));
        assert!(sums.len() > 1, "{program}: {sums:?}");
        // The order of the threads is arbitrary.
        let similar = |sums: Counted| match arguments {
            ["alive", ..] => unordered(sums),
            _ => sums,
        };
        let (sums, expected_sums) = (similar(sums), similar(expected_sums));
        let differ: Vec<_> = sums.iter().filter(|(key, sum)| expected_sums.get(*key) != Some(sum)).collect();
        assert!(differ.is_empty() && sums.len() == expected_sums.len(), "{program} {arguments:?}: {differ:?}");
        let profiles = |traces: &Traces| -> u64 {
            let all = traces.processes.iter().flat_map(|process| &process.profiles);
            all.filter(|((_, path), _)| path != UNCERTAIN).map(|(_, profile)| profile.accesses).sum()
        };
        assert_eq!(profiles(&got), profiles(&expected));
        assert!(got.segments.is_empty());
    }
}

#[test]
fn forked_children_and_programs_they_become_have_their_own() {
    let (without, with) = (Scratch::new(), Scratch::new());
    let (expected, got) = (counting(&without, "fork", &[], false), counting(&with, "fork", &[], true));
    assert_eq!((expected.processes.len(), got.processes.len()), (8, 8));
    assert_eq!(spools(&with), Vec::<std::path::PathBuf>::new());
    // Offsets of processes that append concurrently vary from run to run.
    assert_eq!(unordered(counted(&with, &got)), unordered(counted(&without, &expected)));
}

/// Runs a program whose `threads` threads report each call on a pipe until the pipe is full. Reads the program's spool, kills the program,
/// and recovers the spool; both must give the right counts.
fn waits(threads: u64) {
    let scratch = Scratch::new();
    let mut command = Command::new(workload("progress"));
    command.arg(scratch.data()).arg(threads.to_string()).arg("1000000").stdout(Stdio::piped());
    command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "counters");
    command.env("DXT_OUTPUT_DIR", scratch.traces()).env("DXT_SPOOL", scratch.spools());
    let mut child = command.spawn().expect("failed to run the program");
    // A pipe holds 64 KiB (pipe(7)), 8 bytes for each call; each thread then makes one more call and waits.
    let made = (64 << 10) / 8 + threads;
    let seen = |traces: &Traces| {
        let counted: u64 =
            traces.processes.iter().flat_map(|process| &process.missing).map(|m| m.counters.segments).sum();
        (traces.segments.len() as u64, counted)
    };
    let place = scratch.root().join("look");
    std::fs::create_dir(&place).expect("a directory");
    let mut last = (0, 0, 1);
    for _ in 0..2_000 {
        std::thread::sleep(Duration::from_millis(10));
        if spools(&scratch).is_empty() {
            continue;
        }
        let (bytes, uncertain) = look(&scratch);
        std::fs::write(place.join("x.dxt"), bytes).expect("a file");
        let (waiting, counted) = seen(&Traces::read(&place));
        last = (waiting, counted, uncertain);
        if waiting + counted == made && uncertain == 0 {
            break;
        }
    }
    assert_eq!((last.0 + last.1, last.2), (made, 0), "{last:?}");
    assert_eq!(last.0, 0, "what waits to be counted is counted");
    child.kill().expect("failed to kill the program");
    child.wait().expect("failed to wait for the program");
    assert_eq!(recover(&scratch), 0);
    let traces = Traces::read(&scratch.traces());
    assert_eq!(seen(&traces), (last.0, last.1), "what it left is what was seen");
}

fn writes(scratch: &Scratch) -> Counted {
    let all = counted(scratch, &Traces::read(&scratch.traces()));
    all.into_iter().filter(|(key, _)| key.1 == "write" && key.4.starts_with("/data")).collect()
}

#[test]
fn a_killed_process_leaves_the_counters_that_it_would_have_written() {
    for timing in ["on", "off"] {
        let of = |way: &str| {
            let scratch = Scratch::new();
            let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg(way).arg("300");
            launch.env("DXT_ENABLE", "counters").env("DXT_TIMING", timing).run();
            assert_eq!(recover(&scratch), 0);
            let traces = Traces::read(&scratch.traces());
            assert!(traces.segments.is_empty() && traces.processes[0].info.end_ns > 0, "{way}");
            let timed = |m: &MissingOps| m.counters.last_end > 0 || m.counters.duration > 0;
            let times = traces.processes[0].missing.iter().filter(|m| timed(m)).count();
            assert_eq!(times > 0, timing == "on", "{way}");
            writes(&scratch)
        };
        let (returned, killed) = (of("return"), of("kill"));
        assert!(returned.values().map(|counters| counters.segments).sum::<u64>() >= 300);
        assert_eq!(killed, returned);
    }
}

#[test]
fn many_files_and_threads_are_there_after_a_kill() {
    let scratch = Scratch::new();
    let mut command = Command::new(workload("progress"));
    command.arg(scratch.data()).arg("16").arg("1000000").stdout(Stdio::piped());
    command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "counters").env("DXT_COUNTERS_FILES", "64");
    command.env("DXT_OUTPUT_DIR", scratch.traces()).env("DXT_SPOOL", scratch.spools());
    let mut child = command.spawn().expect("failed to run the program");
    std::thread::sleep(Duration::from_millis(500));
    let bytes = |path: &std::path::PathBuf| {
        use std::os::unix::fs::MetadataExt;
        path.metadata().map_or(0, |about| about.blocks() * 512)
    };
    let taken: u64 = spools(&scratch).iter().map(bytes).sum();
    child.kill().expect("failed to kill the program");
    child.wait().expect("failed to wait for the program");
    assert!((1..1 << 20).contains(&taken), "{taken} bytes on the disk");
    assert_eq!(recover(&scratch), 0);
    assert!(Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0 > 0);
}

#[test]
fn what_a_waiting_process_has_done_is_seen_exactly() {
    waits(1);
}

#[test]
fn what_waiting_threads_have_done_is_seen_exactly() {
    waits(5);
}

#[test]
fn where_no_spool_is_wanted_there_is_none() {
    for way in ["return", "kill"] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg(way).arg("300");
        let launch = launch.env("DXT_ENABLE", "counters").env("DXT_SPOOL", "off");
        let outcome = launch.run();
        assert_eq!(outcome.code, if way == "kill" { 128 + 9 } else { 7 });
        assert!(!scratch.spools().exists());
        let written = Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0;
        assert_eq!(written, if way == "kill" { 0 } else { 300 });
    }
}

#[test]
fn what_cannot_be_written_is_left() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("300");
    let launch = launch.env("DXT_ENABLE", "counters");
    let outcome = launch.env("DXT_OUTPUT_DIR", "/proc/no/such/place").run();
    assert!(outcome.code == 7 && outcome.stderr.contains("recover"), "{outcome:?}");
    assert_eq!(recover(&scratch), 0);
    assert_eq!(Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0, 300);
}
