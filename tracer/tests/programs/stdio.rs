//! Tests of C streams (stdio).

use crate::harness::{
    Compiler, Launch, Op, Order, Scratch, Traces, assert_same, have, read_failures, read_log, skip, workload_with,
};
use std::collections::BTreeMap;
use std::path::Path;

const VARIANTS: [&[&str]; 4] =
    [&["-O0"], &["-O1"], &["-O2", "-D_FORTIFY_SOURCE=2"], &["-O1", "-D_FILE_OFFSET_BITS=64"]];

#[test]
fn every_call_is_recorded_as_it_was_made() {
    for flags in VARIANTS {
        let scratch = Scratch::new();
        let program = workload_with("stdio", Compiler::Cc, flags);
        let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
        assert!(log.len() > 60, "{}", log.len());
        assert_same(Order::Thread, &log, &traces.own_ops(&["STDIO", "POSIX"], &scratch.data()));
    }
}

#[test]
fn characters_lines_and_formats() {
    for flags in VARIANTS {
        let scratch = Scratch::new();
        let program = workload_with("stdio_all", Compiler::Cc, flags);
        let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
        assert!(log.len() > 20_000, "{}", log.len());
        assert_same(Order::Thread, &log, &of_the_program(&log, &traces));
    }
}

/// Returns all logged calls of the program itself, regardless of the file's directory (temporary files are elsewhere). Child processes are excluded.
fn of_the_program(log: &[Op], traces: &Traces) -> Vec<Op> {
    let ops = traces.segments.iter().map(|seg| seg.op.clone());
    ops.filter(|op| op.pid == log[0].pid).collect()
}

#[test]
fn standard_output_that_is_a_file() {
    let scratch = Scratch::new();
    let program = workload_with("stdio_all", Compiler::Cc, &["-O2", "-D_FORTIFY_SOURCE=2"]);
    let out = scratch.data().join("out");
    let script = format!("{} {} out > {}", program.display(), scratch.data().display(), out.display());
    let outcome = Launch::new(&scratch, "/bin/bash").arg("-c").arg(format!("{script}; true")).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert!(log.len() > 10_000, "{}", log.len());
    let mut reported = of_the_program(&log, &traces);
    // Calls of the shell in this process before it executed the program.
    let shell: Vec<Op> = reported.extract_if(.., |op| op.layer == "POSIX" && Path::new(&op.path) == out).collect();
    assert_eq!(shell.iter().map(|op| op.name.as_str()).collect::<Vec<_>>(), ["open", "dup", "close"]);
    assert_same(Order::Thread, &log, &reported);
}

#[test]
fn positions_are_those_that_ftello_tells() {
    // Only optimized variants: others inline header code that moves streams unseen.
    for (seed, flags) in (1..).zip([VARIANTS[1], VARIANTS[2], VARIANTS[1], VARIANTS[3], VARIANTS[2]]) {
        let scratch = Scratch::new();
        let program = workload_with("stdio_random", Compiler::Cc, flags);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg(seed.to_string());
        let (log, traces) = launch.traced();
        assert!(log.len() > 6000, "{}", log.len());
        assert_same(Order::Thread, &log, &of_the_program(&log, &traces));
    }
}

#[test]
fn streams_of_cpp() {
    if !have("c++") {
        return skip("c++ is not installed");
    }
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, workload_with("fstreams", Compiler::Cxx, &["-O1"])).arg(scratch.data()).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let expected: BTreeMap<String, u64> = outcome
        .stdout
        .lines()
        .map(|line| line.rsplit_once(' ').expect("a path and its bytes"))
        .map(|(path, bytes)| (path.to_owned(), bytes.parse().expect("bytes")))
        .collect();
    assert_eq!(expected.len(), 20);
    let ops = Traces::read(&scratch.traces()).own_ops(&["STDIO", "POSIX"], &scratch.data());
    for (path, bytes) in expected {
        let of = |name: &str| ops.iter().filter(|op| op.path == path && op.name == name).collect::<Vec<_>>();
        // Each file is opened and closed once for writing and once for reading.
        assert_eq!((of("open").len(), of("close").len()), (2, 2), "{path}");
        for name in ["write", "read"] {
            let mut at = 0;
            for op in of(name) {
                assert_eq!((op.layer.as_str(), op.offset), ("POSIX", at), "{op:?}");
                at += op.length as i64;
            }
            assert_eq!(at as u64, bytes, "{name} {path}");
        }
    }
}

#[test]
fn wide_characters() {
    for flags in VARIANTS {
        let scratch = Scratch::new();
        let program = workload_with("wide", Compiler::Cc, flags);
        let out = scratch.data().join("out");
        // Standard input and output are wide-character streams too.
        let script = format!(
            "echo 'ä 12' > {1}.in; {0} {2} < {1}.in > {1}; exit $?",
            program.display(),
            out.display(),
            scratch.data().display()
        );
        let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert!(log.len() > 60, "{}", log.len());
        assert_same(Order::Thread, &log, &of_the_program(&log, &traces));
        assert_same(Order::Thread, &read_failures(&scratch), &traces.failed_ops(&scratch.data()));
    }
}

#[test]
fn threads_on_one_stream() {
    for threads in ["2", "8"] {
        let scratch = Scratch::new();
        let program = workload_with("stdio_threads", Compiler::Cc, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg(threads).arg("2000");
        let (log, mut traces) = launch.env("DXT_BUFFER_MAX", "64M").traced();
        // The file was renamed, and another file created under its name.
        for segment in &mut traces.segments {
            segment.op.path = segment.op.path.replace("/written", "/file");
        }
        assert_same(Order::File, &log, &traces.own_ops(&["STDIO"], &scratch.data()));
    }
}
