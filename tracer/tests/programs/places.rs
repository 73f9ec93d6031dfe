//! Tests of unusable output directories: program and ranks end as untraced, the problem is reported once, and recorded calls are kept in the spools.

use crate::filters::BOTH;
use crate::harness::{
    Compiler, Launch, Outcome, Scratch, Traces, have, is_root, recover, skip_here, spools, workload, workload_with,
};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File system mounted for a test; unmounted on drop.
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

/// Returns the launch of a program (alone, or on two MPI ranks if `who` is an MPI compiler), its expected exit code, and the number of
/// writes of each process.
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

/// Runs all programs with the unusable output directory that `prepare` creates. Asserts that the problem is reported once or, if `by_each`
/// is true, once per rank.
fn trouble(what: &str, prepare: impl Fn(&Scratch) -> Option<(PathBuf, Option<Mounted>)>, by_each: bool) {
    for who in everyone() {
        for mode in ["trace", "counters"] {
            let scratch = Scratch::new();
            let Some((output, _mounted)) = prepare(&scratch) else {
                return skip_here("a file system cannot be mounted here");
            };
            let (launch, code, calls) = launch(&scratch, who);
            let outcome = launch.env("DXT_OUTPUT_DIR", &output).env("DXT_ENABLE", mode).run();
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
        // The directory itself takes the only inode.
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
    // Missing defaults are not reported: no /tmp, no /dev/shm, and an invalid TMPDIR.
    if !is_root() || !have("unshare") {
        return skip_here("needs root and unshare(1)");
    }
    let scratch = Scratch::new();
    // Outputs stay writable and programs readable, even below /tmp.
    let script = "s=$1; shift; mount --bind \"$s\" \"$s\" && mount --rbind /tmp /tmp && mount -o remount,bind,ro /tmp \
                  && mount -t tmpfs -o ro tmpfs /dev/shm && exec env LD_PRELOAD=\"$0\" \"$@\"";
    let launch = Launch::new(&scratch, "unshare").untraced().args(["-m", "sh", "-c", script]);
    let launch = launch.arg(crate::harness::library()).arg(scratch.root()).arg(workload("exits")).arg(scratch.data());
    let outcome = launch.args(["return", "500"]).env("DXT_SPOOL", "auto").env("TMPDIR", "/no/such/place").run();
    if outcome.code != 7 && outcome.stderr.contains("unshare") {
        return skip_here("file systems of one's own cannot be mounted here");
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""));
    assert_eq!(writes(&scratch), 500);
}

/// Returns the permissions of all files and directories below a path.
fn permissions(below: &Path) -> BTreeMap<PathBuf, u32> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(below).expect("a directory that may be listed") {
        let path = entry.expect("a directory that may be listed").path();
        if path.is_dir() {
            all.append(&mut permissions(&path));
        }
        let mode = path.symlink_metadata().expect("what is listed is there").permissions().mode();
        all.insert(path, mode & 0o7777);
    }
    all
}

/// Runs `command` in a shell with the given umask.
fn with_umask<'a>(scratch: &'a Scratch, umask: &str, command: &Path) -> Launch<'a> {
    let launch = Launch::new(scratch, "/bin/sh").env("DXT_APPS", "!sh,!dash,!bash");
    launch.arg("-c").arg(format!("umask {umask}; exec \"$0\" \"$@\"")).arg(command)
}

/// Traces, their directories, and files left by a killed process must have the requested permissions, regardless of the umask.
#[test]
fn permissions_are_those_that_were_asked_for_whatever_the_umask() {
    for (asked, directory, trace) in [("", 0o700, 0o600), ("0640", 0o750, 0o640), ("0644", 0o755, 0o644)] {
        for umask in ["000", "022", "077", "0177", "0777"] {
            for output in ["traces/a/b", "traces/%u/b"] {
                let scratch = Scratch::new();
                let data = scratch.data().join("out");
                std::fs::write(&data, "").expect("a file that is there");
                let launch = with_umask(&scratch, umask, &workload("exits")).arg(scratch.data());
                let launch = launch.args(["return", "300000"]).env("DXT_TRACE_MODE", asked);
                let output = scratch.root().join(output);
                let launch = launch.env("DXT_BUFFER_MAX", "64K").env("DXT_OUTPUT_DIR", output);
                assert_eq!(launch.run().code, 7, "{asked} {umask}");
                let found = permissions(&scratch.traces());
                assert_eq!(found.len(), 3, "{found:?}");
                for (path, mode) in found {
                    let expected = if path.is_dir() { directory } else { trace };
                    assert_eq!(mode, expected, "{asked} {umask} {}", path.display());
                }
            }
            let scratch = Scratch::new();
            let data = scratch.data().join("out");
            std::fs::write(&data, "").expect("a file that is there");
            let launch = with_umask(&scratch, umask, &workload("exits")).arg(scratch.data()).args(["kill", "300000"]);
            let spools = scratch.root().join("spools/of/its/own");
            std::fs::create_dir_all(spools.parent().expect("it has one")).expect("a directory can be made");
            let launch = launch.env("DXT_BUFFER_MAX", "64K").env("DXT_OVERFLOW", "spill").env("DXT_SPOOL", &spools);
            launch.env("DXT_TRACE_MODE", asked).run();
            let found = permissions(&spools);
            assert_eq!((found.len(), found.values().all(|mode| *mode == 0o600)), (2, true), "{umask}: {found:?}");
            assert_eq!(spools.metadata().expect("it was made").permissions().mode() & 0o7777, 0o700, "{umask}");
        }
    }
}
