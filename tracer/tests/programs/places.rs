//! Directories that cannot take what is to be written: whatever is wrong with them, program and ranks end as they would have, it is said
//! once, and what they did is in the spools.

use crate::filters::BOTH;
use crate::harness::{
    Compiler, Launch, Outcome, Scratch, Traces, have, is_root, recover, skip_here, spools, workload, workload_with,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of its own, which goes away with it.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).expect("failed to make a directory");
        let output = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output().ok()?;
        output.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Who runs: a program alone, or two ranks. Each writes so often.
fn launch<'a>(scratch: &'a Scratch, who: Option<Compiler>) -> (Launch<'a>, i32, u64) {
    match who {
        None => (Launch::new(scratch, workload("exits")).arg(scratch.data()).args(["return", "20000"]), 7, 20_000),
        Some(mpi) => {
            let program = workload_with("scarce_mpi", mpi, &["-O1", "-ldl"]);
            (Launch::new(scratch, program).arg(scratch.data()).args(["0", "0"]).ranks(mpi, 2), 5, 6000)
        }
    }
}

fn everyone() -> impl Iterator<Item = Option<Compiler>> {
    [None].into_iter().chain(BOTH.into_iter().filter(|mpi| mpi.available()).map(Some))
}

fn said(outcome: &Outcome) -> usize {
    outcome.stderr.lines().filter(|line| line.starts_with("dxt:")).count()
}

fn writes(scratch: &Scratch) -> u64 {
    Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0
}

/// Runs everybody with an output directory that `prepare` makes, which says how often the trouble may be told: once, or once by each rank.
fn trouble(what: &str, prepare: impl Fn(&Scratch) -> Option<(PathBuf, Option<Mounted>)>, by_each: bool) {
    for who in everyone() {
        for mode in ["trace", "counters"] {
            let scratch = Scratch::new();
            let Some((output, _mounted)) = prepare(&scratch) else {
                return skip_here("a file system cannot be mounted here");
            };
            let (launch, code, calls) = launch(&scratch, who);
            let outcome = launch.env("DXT_OUTPUT_DIR", &output).env("DXT_ENABLE", mode).env("DXT_LIVE", "1").run();
            assert_eq!(
                (outcome.code, outcome.stdout.contains("dxt")),
                (code, false),
                "{what} {who:?} {mode}: {outcome:?}"
            );
            let most = if by_each && who.is_some() { 2 } else { 1 };
            assert!((1..=most).contains(&said(&outcome)), "{what} {who:?} {mode}: {outcome:?}");
            assert!(outcome.stderr.contains("recover"), "{what} {who:?} {mode}: {outcome:?}");
            assert_eq!(spools(&scratch).len(), if who.is_some() { 2 } else { 1 }, "{what} {who:?} {mode}");
            recover(&scratch);
            assert_eq!(writes(&scratch), calls, "{what} {who:?} {mode}");
        }
    }
}

#[test]
fn an_output_directory_that_cannot_be_made_or_is_none() {
    trouble("not to be made", |_| Some(("/proc/no/such/place".into(), None)), false);
    let a_file = |scratch: &Scratch| {
        std::fs::write(scratch.root().join("file"), "").expect("failed to write a file");
        Some((scratch.root().join("file/x"), None))
    };
    trouble("below a file", a_file, false);
}

#[test]
fn an_output_directory_that_is_read_only() {
    let read_only = |scratch: &Scratch| {
        let at = scratch.root().join("read-only");
        Mounted::new(&at, "ro").map(|mounted| (at, Some(mounted)))
    };
    trouble("read-only", read_only, false);
}

#[test]
fn an_output_directory_without_room_for_a_file() {
    let no_files = |scratch: &Scratch| {
        let at = scratch.root().join("full");
        // One is the directory's own.
        Mounted::new(&at, "size=1m,nr_inodes=1").map(|mounted| (at, Some(mounted)))
    };
    trouble("no file may be made", no_files, false);
}

#[test]
fn an_output_directory_that_is_full() {
    let full = |scratch: &Scratch| {
        let at = scratch.root().join("full");
        let mounted = Mounted::new(&at, "size=16k")?;
        std::fs::write(at.join("fill"), vec![1; 16 << 10]).ok()?;
        Some((at, Some(mounted)))
    };
    trouble("full", full, true);
}

#[test]
fn no_directory_for_spools() {
    for who in everyone() {
        let scratch = Scratch::new();
        let (launch, code, calls) = launch(&scratch, who);
        let outcome = launch.env("DXT_SPOOL", "/proc/no/such/place").run();
        let processes = if who.is_some() { 2 } else { 1 };
        assert_eq!((outcome.code, said(&outcome)), (code, processes), "{who:?}: {outcome:?}");
        assert_eq!(writes(&scratch), calls, "{who:?}");
    }
    // What nobody asked for is done without in silence: no /tmp, no /dev/shm, and TMPDIR leads nowhere.
    if !is_root() || !have("unshare") {
        return skip_here("needs root and unshare(1)");
    }
    let scratch = Scratch::new();
    let script =
        "mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs /dev/shm && exec env LD_PRELOAD=\"$0\" \"$@\"";
    let launch = Launch::new(&scratch, "unshare").untraced().args(["-m", "sh", "-c", script]);
    let launch =
        launch.arg(crate::harness::library()).arg(workload("exits")).arg(scratch.data()).args(["return", "500"]);
    let outcome = launch.env("DXT_SPOOL", "auto").env("TMPDIR", "/no/such/place").run();
    if outcome.code != 7 && outcome.stderr.contains("unshare") {
        return skip_here("file systems of one's own cannot be mounted here");
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""));
    assert_eq!(writes(&scratch), 500);
}
