//! Tests of file names in traces: an opened file has the name that the kernel gives, regardless of later changes of its path. Getting the
//! name takes few system calls.

use crate::harness::{Launch, Op, Order, Scratch, Traces, assert_same, have, library, skip, workload};
use std::collections::BTreeMap;
use std::process::Command;

fn opens(traces: &Traces) -> Vec<Op> {
    let all = traces.segments.iter().map(|seg| seg.op.clone());
    all.filter(|op| op.name == "open").collect()
}

#[test]
fn names_are_the_kernels_however_they_change() {
    for mode in ["trace", "spool"] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("reopens")).arg(scratch.data());
        let launch = if mode == "trace" { launch.env("DXT_SPOOL", "off") } else { launch };
        let (log, traces) = launch.traced();
        let own = log.first().expect("it opens files").pid;
        let reported: Vec<Op> = opens(&traces).into_iter().filter(|op| op.pid == own).collect();
        assert!(log.len() > 300, "{}", log.len());
        assert_same(Order::Thread, &log, &reported);
    }
}

/// Key of the number of calls that may reach the file system, among numbers of calls by name.
const REQUESTS: &str = "requests";

/// True if this call (name and arguments, as strace reports them) is on a file under `directory` and may cause a request to the file
/// system. Links in proc(5), and calls limited to the kernel's caches, cause none.
fn may_reach(call: Option<(&str, &str)>, directory: &str) -> bool {
    call.is_some_and(|(name, arguments)| {
        let is_cached = match name {
            "statx" => arguments.contains("AT_STATX_DONT_SYNC"),
            "openat2" => arguments.contains("RESOLVE_CACHED"),
            "readlink" | "readlinkat" => arguments.contains("\"/proc/"),
            _ => false,
        };
        !is_cached && arguments.contains(directory)
    })
}

/// Runs `bench_calls` with these arguments under strace(1), with the tracer if `traced`; returns the number of its system calls by name,
/// and under [`REQUESTS`] those that may reach the file system of its files.
fn system_calls(scratch: &Scratch, traced: bool, arguments: &[&str]) -> Option<BTreeMap<String, u64>> {
    if !have("strace") {
        skip("strace is not installed");
        return None;
    }
    let out = scratch.root().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-o"]).arg(&out).arg("-E").arg("DXT_ENABLE=trace").arg("-E").arg("DXT_BUFFER_MAX=64M");
    command.arg("-E").arg(format!("DXT_OUTPUT_DIR={}", scratch.traces().display())).arg("-E").arg("DXT_SPOOL=off");
    if traced {
        command.arg("-E").arg(format!("LD_PRELOAD={}", library().display()));
    }
    command.arg(workload("bench_calls")).args(arguments).current_dir(scratch.root());
    assert!(command.status().expect("failed to run strace").success());
    let mut calls = BTreeMap::new();
    for line in std::fs::read_to_string(out).expect("failed to read what strace says").lines() {
        let name = line.split_once(' ').and_then(|(_, rest)| rest.trim_start().split_once('('));
        *calls.entry(name.map_or(String::new(), |(name, _)| name.to_owned())).or_default() += 1;
        if may_reach(name, &scratch.data().display().to_string()) {
            *calls.entry(REQUESTS.to_owned()).or_default() += 1;
        }
    }
    Some(calls)
}

/// Returns the system calls that the tracer adds to `calls` opens and closes of `file` (`operation` of `bench_calls`): counts by name, and
/// in total.
fn added(operation: &str, calls: u64, file: &str) -> Option<(BTreeMap<String, u64>, u64)> {
    let scratch = Scratch::new();
    let count = calls.to_string();
    // Both runs use separate files, with names of equal length.
    let of = |traced: bool| {
        let file = scratch.data().join(format!("{file}.{}", u8::from(traced))).display().to_string();
        system_calls(&scratch, traced, &[operation, &count, &file])
    };
    let (plain, mut traced) = (of(false)?, of(true)?);
    for (name, more) in &mut traced {
        *more = more.saturating_sub(plain.get(name).copied().unwrap_or(0));
    }
    let all = traced.iter().filter(|(name, _)| *name != REQUESTS).map(|(_, more)| more).sum();
    Some((traced, all))
}

/// Upper bound of the system calls that the tracer makes at start and end together.
const START_AND_END: u64 = 400;

#[test]
fn an_open_asks_for_one_thing_more() {
    const CALLS: u64 = 3000;
    for operation in ["whole-open", "whole-fopen"] {
        let Some((by_name, all)) = added(operation, CALLS, "file") else { return };
        let of = |name: &str| by_name.get(name).copied().unwrap_or(0);
        assert!(of("readlinkat") + of("readlink") < 20, "{operation}: {by_name:?}");
        assert!(of("fstat") + of("newfstatat") < CALLS + START_AND_END, "{operation}: {by_name:?}");
        // Names are trusted for some milliseconds: that covers few calls under strace on a busy machine, but more than none.
        assert!(all < 2 * CALLS - CALLS / 10 + START_AND_END, "{operation}: {by_name:?}");
    }
}

#[test]
fn who_runs_in_this_memory_for_a_while_changes_nothing_in_it() {
    let scratch = Scratch::new();
    let (log, traces) = Launch::new(&scratch, workload("shares")).arg(scratch.data()).traced();
    let own = log.first().expect("it writes").pid;
    let writes = traces.segments.iter().map(|seg| seg.op.clone()).filter(|op| op.pid == own && op.name == "write");
    assert_same(Order::Thread, &log, &writes.collect::<Vec<_>>());
}

#[test]
fn a_file_that_is_new_is_asked_for_without_proc() {
    const CALLS: u64 = 3000;
    let Some((by_name, all)) = added("whole-create", CALLS, "new") else { return };
    let of = |name: &str| by_name.get(name).copied().unwrap_or(0);
    assert!(of("readlinkat") + of("readlink") < 20, "{by_name:?}");
    assert!(all <= 2 * CALLS + START_AND_END, "{by_name:?}");
}

/// The tracer asks for a file's status and name at its first open only, and never the file system.
#[test]
fn only_the_first_open_of_a_file_asks_the_kernel() {
    const CALLS: u64 = 3000;
    /// Number of files that `whole-reopen` creates before it opens them again.
    const FILES: u64 = 1000;
    for (operation, calls, most) in [
        ("whole-reopen", 1, 2 * FILES),
        // New files: their names are certain.
        ("whole-create", CALLS, CALLS + CALLS / 4),
        // Names are believed for 100 ms: some hundred calls under strace.
        ("whole-open", CALLS, CALLS / 4),
        ("whole-fopen", CALLS, CALLS / 4),
        ("whole-stat", CALLS, 0),
    ] {
        let Some((by_name, all)) = added(operation, calls, "file") else { return };
        assert!(all <= most + START_AND_END, "{operation}: {all} calls: {by_name:?}");
        // Once per process: two attributes of stripe layouts.
        assert!(by_name.get(REQUESTS).copied().unwrap_or(0) <= 2, "{operation}: {by_name:?}");
    }
}
