//! Tests of calls whose file or thread cannot be determined: no call is attributed to a wrong file, and all calls are counted.

use crate::harness::{
    Launch, Order, Outcome, Scratch, Traces, assert_same, have, python, read_log, skip, skip_here, workload,
};
use std::path::Path;

/// Name in traces that stands for the unknown file of a call.
const UNCERTAIN: &str = "<uncertain>";

/// Returns the sum over all processes of the counts in notes that begin with `begin`.
fn noted(traces: &Traces, begin: &str) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.starts_with(begin)).map(|note| note.count).sum()
}

fn left_out(traces: &Traces) -> u64 {
    noted(traces, "calls of threads that clone(2) created")
}

/// Returns number and bytes of the calls on a path, with or without segments, whose operation satisfies `counts`.
fn reported(traces: &Traces, path: &str, counts: impl Fn(&str) -> bool) -> (u64, u64) {
    let on_record = traces.segments.iter().filter(|seg| seg.op.path == path && counts(&seg.op.name));
    let on_record = on_record.map(|seg| (1, seg.op.length));
    let missing = traces.processes.iter().flat_map(|process| &process.missing);
    let missing = missing.filter(|missing| missing.op.path == path && counts(&missing.op.name));
    let missing = missing.map(|missing| (missing.counters.segments, missing.counters.bytes));
    on_record.chain(missing).fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
}

fn succeeded(launch: Launch<'_>) -> Outcome {
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    outcome
}

fn bare(way: &str, rounds: u32) -> Option<(Scratch, Traces, u64)> {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("bare_threads")).arg(scratch.data()).arg(way).arg(rounds.to_string());
    let outcome = succeeded(launch.env("DXT_BUFFER_MAX", "64M"));
    let Ok(calls) = outcome.stdout.trim().parse() else {
        skip_here(&format!("no thread by {way}"));
        return None;
    };
    let traces = Traces::read(&scratch.traces());
    Some((scratch, traces, calls))
}

#[test]
fn a_bare_thread_leaves_the_main_threads_record_as_it_is() {
    for way in ["clone", "syscall", "clone3", "process"] {
        let Some((scratch, traces, calls)) = bare(way, 20_000) else { continue };
        assert_eq!(traces.missing(), 0);
        assert_same(Order::Thread, &read_log(&scratch), &traces.own_ops(&["POSIX"], &scratch.data()));
        assert_eq!(left_out(&traces), calls, "{way}");
        assert!(traces.failures.is_empty());
    }
}

#[test]
fn a_bare_thread_that_nobody_saw_made_is_found_when_a_chunk_is_full() {
    let Some((_, traces, calls)) = bare("machine", 20_000) else { return };
    assert!((1..=calls).contains(&left_out(&traces)), "{}", left_out(&traces));
}

#[test]
fn what_a_child_of_vfork_does_is_not_its_parents() {
    let Some((scratch, traces, _)) = bare("vfork", 100) else { return };
    assert_same(Order::Thread, &read_log(&scratch), &traces.own_ops(&["POSIX"], &scratch.data()));
    assert_eq!(left_out(&traces), 0);
}

fn own_table(way: &str) -> (Traces, [u64; 2]) {
    let scratch = Scratch::new();
    let outcome = succeeded(Launch::new(&scratch, workload("own_tables")).arg(scratch.data()).arg(way));
    let said: Vec<u64> = outcome.stdout.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.missing(), 0);
    assert_same(Order::Thread, &read_log(&scratch), &traces.own_ops(&["POSIX"], &scratch.data()));
    (traces, [said[0], said[1]])
}

#[test]
fn a_thread_with_a_descriptor_table_of_its_own() {
    for way in ["unshare", "syscall", "range", "cloexec", "inherits"] {
        let (traces, [calls, bytes]) = own_table(way);
        assert_eq!(reported(&traces, UNCERTAIN, |_| true), (calls, bytes), "{way}");
        assert_eq!(noted(&traces, "calls recorded under <uncertain>"), calls, "{way}");
    }
}

#[test]
fn calls_that_change_nothing_leave_nothing_uncertain() {
    for way in ["alone", "later"] {
        let (traces, _) = own_table(way);
        assert_eq!(reported(&traces, UNCERTAIN, |_| true), (0, 0), "{way}");
    }
}

/// Runs a race of 100,000 calls (`moves`: their kind) with changes of their descriptor (`change`: by dup2, close, ...). `mode`: DXT_ENABLE.
/// Asserts that no file has more bytes in the trace than it received, and that the total equals the bytes moved.
fn race(change: &str, moves: &str, mode: &str) {
    race_of(100_000, change, moves, mode);
}

fn race_of(rounds: u32, change: &str, moves: &str, mode: &str) {
    let scratch = Scratch::new();
    let rounds = rounds.to_string();
    let launch =
        Launch::new(&scratch, workload("racing_descriptors")).arg(scratch.data()).args([change, moves, &rounds]);
    let outcome = launch.env("DXT_BUFFER_MAX", "64M").env("DXT_ENABLE", mode).run();
    if outcome.code == 77 {
        return skip_here(outcome.stdout.trim());
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    let (mut calls, mut bytes, mut total) = (0, 0, None);
    let counts = |name: &str| matches!(name, "write" | "read" | "copy_write" | "io_submit_write" | "io_uring_write");
    for line in outcome.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("a number");
        if words[0] == "total" {
            total = Some((number(1), number(2)));
            continue;
        }
        let (more, length) = reported(&traces, words[0], counts);
        assert!(length <= number(1), "{change} {moves}: {length} bytes on {line}");
        (calls, bytes) = (calls + more, bytes + length);
    }
    let (uncertain, length) = reported(&traces, UNCERTAIN, counts);
    println!("{change} {moves} {mode}: {uncertain} of {calls} uncertain, {total:?}");
    assert_eq!(Some((calls + uncertain, bytes + length)), total, "{change} {moves}");
    assert!(uncertain < calls + uncertain || total.is_none(), "{change} {moves}: nothing was certain");
}

#[test]
fn a_descriptor_that_is_replaced_while_it_is_written_to() {
    for (change, moves) in
        [("dup2", "write"), ("dup2", "mixed"), ("dup3", "writev"), ("dup2", "pwrite"), ("fcntl", "write")]
    {
        race(change, moves, "trace");
    }
    race("dup2", "write", "counters");
}

#[test]
fn a_descriptor_that_is_closed_and_opened_again_while_it_is_written_to() {
    for (change, moves) in
        [("close", "write"), ("close", "mixed"), ("range", "write"), ("fclose", "write"), ("fclose", "dprintf")]
    {
        race(change, moves, "trace");
    }
    race("close", "write", "counters");
}

#[test]
fn a_descriptor_that_is_replaced_while_bytes_are_read_and_copied() {
    for (change, moves) in [("dup2", "read"), ("close", "readv"), ("dup2", "sendfile"), ("dup3", "copy")] {
        race(change, moves, "trace");
    }
}

#[test]
fn a_descriptor_that_is_replaced_before_an_operation_takes_it() {
    for (change, moves) in [
        ("dup2", "aio"),
        ("close", "aio"),
        ("dup2", "submit"),
        ("close", "submit"),
        ("dup2", "uring"),
        ("close", "uring"),
    ] {
        race_of(20_000, change, moves, "trace");
    }
}

/// Runs a program that creates processes or threads in the usual way; asserts that no call has an unknown file.
fn certain(scratch: &Scratch, program: &Path, arguments: &[&str]) {
    let launch =
        arguments.iter().fold(Launch::new(scratch, program).in_data(), |launch, argument| launch.arg(argument));
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    let ops = traces.segments.iter().filter(|segment| segment.op.path == UNCERTAIN).map(|segment| &segment.op.name);
    assert_eq!(reported(&traces, UNCERTAIN, |_| true), (0, 0), "{}: {:?}", program.display(), ops.collect::<Vec<_>>());
    assert_eq!(
        (noted(&traces, "calls recorded under <uncertain>"), left_out(&traces)),
        (0, 0),
        "{}",
        program.display()
    );
}

#[test]
fn programs_that_make_others_are_certain() {
    let scripts: [(&str, &[&str]); 4] = [
        (
            "bash",
            &[
                "-c",
                "for i in 1 2 3; do echo $i > f$i; cat f$i | tee g$i | wc -c > h$i & done; wait; exec 5> x; echo y >&5; exec 5>&-",
            ],
        ),
        ("git", &["-c", "init.defaultBranch=main", "init", "."]),
        ("make", &["-j4", "-f", "/dev/null", "--eval", "all: a b c\na b c: ; echo $@ > $@"]),
        ("java", &["-version"]),
    ];
    for (program, arguments) in scripts {
        if !have(program) {
            skip_here(&format!("{program} is not installed"));
            continue;
        }
        certain(&Scratch::new(), Path::new(program), arguments);
    }
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let script = "import subprocess, threading, os\n\
        def work(i):\n  for j in range(20):\n    with open(f'o{i}', 'ab') as f: subprocess.run(['cat', '/etc/passwd'], stdout=f, close_fds=bool(j % 2))\n\
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]\n\
        [t.start() for t in threads]\n[t.join() for t in threads]\n\
        print(subprocess.check_output('ls | wc -l', shell=True))";
    certain(&Scratch::new(), &interpreter, &["-c", script]);
}
