//! Tests of io_uring: operations that the tracer can see on the rings are recorded exactly, and other operations are counted.

use crate::harness::{
    Compiler, Launch, Op, Order, Scratch, Traces, assert_same, have, library, read_failures, read_log, skip, skip_here,
    workload_with,
};
use std::path::Path;
use std::process::Command;

const LIBRARY: &[&str] = &["-O1", "-Wl,--no-as-needed", "-luring"];

/// Runs the test program `name`, compiled with `flags`; returns its logged operations, its failed operations, and the traces. `None` if the
/// kernel has no io_uring.
fn run(name: &'static str, flags: &[&'static str], argument: Option<&str>) -> Option<(Vec<Op>, Vec<Op>, Traces)> {
    if !Path::new("/usr/include/liburing.h").exists() {
        skip("liburing is not installed");
        return None;
    }
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload_with(name, Compiler::Cc, flags)).arg(scratch.data());
    let outcome = argument.into_iter().fold(launch, |launch, argument| launch.arg(argument)).run();
    if outcome.code == 77 {
        skip_here(outcome.stderr.trim());
        return None;
    }
    assert_eq!(outcome.code, 0, "{outcome:?}");
    Some((read_log(&scratch), read_failures(&scratch), Traces::read(&scratch.traces())))
}

fn counted(traces: &Traces, what: &str) -> u64 {
    let notes = &traces.processes[0].notes;
    notes.iter().filter(|note| note.what.starts_with(what)).map(|note| note.count).sum()
}

const UNSEEN: &str = "operations of io_uring rings";
const NEVER_ASKED_FOR: &str = "asynchronous operations";

#[test]
fn every_operation_by_liburing() {
    let Some((log, failures, traces)) = run("uring", LIBRARY, None) else { return };
    assert!(log.len() > 300, "{}", log.len());
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], "/".as_ref()));
    assert_same(Order::Thread, &failures, &traces.failed_ops("/".as_ref()));
    assert_eq!((counted(&traces, UNSEEN), counted(&traces, NEVER_ASKED_FOR)), (2, 0));
}

#[test]
fn every_operation_by_system_calls() {
    let Some((log, failures, traces)) = run("uring_raw", &["-O1"], None) else { return };
    assert!(log.len() > 150 && failures.len() == 50, "{} {}", log.len(), failures.len());
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], "/".as_ref()));
    assert_same(Order::Thread, &failures, &traces.failed_ops("/".as_ref()));
    // Three unseen operations of a closed ring, and one of a ring that was open at the end.
    assert_eq!((counted(&traces, UNSEEN), counted(&traces, NEVER_ASKED_FOR)), (4, 0));
}

#[test]
fn one_thread_submits_and_another_one_finds() {
    let Some((log, failures, traces)) = run("uring", LIBRARY, Some("50")) else { return };
    assert!(failures.is_empty() && log.len() > 3000, "{} {failures:?}", log.len());
    assert!(of_any(log) == of_any(traces.own_ops(&["POSIX"], "/".as_ref())));
    assert_eq!((counted(&traces, UNSEEN), counted(&traces, NEVER_ASKED_FOR)), (0, 0));
}

/// Returns the operations sorted and without threads, since the thread that sees a completion first is random.
fn of_any(ops: Vec<Op>) -> Vec<Op> {
    let mut ops: Vec<Op> = ops.into_iter().map(|op| Op { tid: 0, ..op }).collect();
    ops.sort();
    ops
}

#[test]
fn completions_that_were_overwritten_unseen_are_counted() {
    // More operations are in flight than the queue can hold, and no library call is made while they complete.
    let Some((log, _, traces)) = run("uring", LIBRARY, Some("1000")) else { return };
    let (done, reported) = (of_any(log), of_any(traces.own_ops(&["POSIX"], "/".as_ref())));
    assert!(reported.iter().all(|op| done.binary_search(op).is_ok()));
    assert_eq!(reported.len() as u64 + counted(&traces, NEVER_ASKED_FOR), done.len() as u64);
}

#[test]
fn completions_cost_no_system_calls() {
    if !Path::new("/usr/include/liburing.h").exists() || !have("strace") {
        return skip("liburing or strace is not installed");
    }
    let scratch = Scratch::new();
    let (report, program) = (scratch.root().join("strace.out"), workload_with("uring", Compiler::Cc, LIBRARY));
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=rt_sigprocmask", "-o"]).arg(&report);
    command.arg("-E").arg(format!("LD_PRELOAD={}", library().display())).arg(program).arg(scratch.data()).arg("50");
    command.env("DXT_ENABLE", "1").env("DXT_OUTPUT_DIR", scratch.traces()).env("DXT_SPOOL", scratch.spools());
    let output = command.env("OPLOG", scratch.log()).output().unwrap();
    if output.status.code() == Some(77) {
        return skip_here("there are no rings");
    }
    assert!(output.status.success(), "{output:?}");
    let traces = Traces::read(&scratch.traces());
    let ended = traces.segments.iter().filter(|segment| segment.op.name.starts_with("io_uring_")).count();
    let asked = std::fs::read_to_string(report).unwrap().lines().count();
    assert!(ended > 2000 && asked < ended / 4, "{asked} for {ended}");
}
