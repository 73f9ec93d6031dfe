//! Tests of programs with several processes: each process writes a trace of only its own calls. A forked child starts with an empty trace.

use crate::harness::{Launch, Order, Scratch, Traces, assert_same, read_log, workload};
use std::collections::BTreeSet;

#[test]
fn every_process_has_its_own_operations() {
    let scratch = Scratch::new();
    let program = workload("fork");
    let (log, traces) = Launch::new(&scratch, &program).arg(scratch.data()).env("DXT_JOB_ID", "one job").traced();
    assert_same(Order::File, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    let did: BTreeSet<u32> = log.iter().map(|op| op.pid).collect();
    let reported: BTreeSet<u32> = traces.processes.iter().map(|process| process.info.pid).collect();
    assert_eq!(did.len(), 8, "a parent, four children, three that ran another program");
    assert_eq!(did, reported);
    // Each process has one file, and all processes belong to one job.
    assert_eq!(traces.files.len(), 8);
    assert!(traces.jobs.iter().all(|job| job.info.key == traces.jobs[0].info.key), "{:?}", traces.jobs);
    let parent = log[0].pid.min(*did.first().expect("somebody did something"));
    let parent = traces.process(parent).info.pid;
    for process in &traces.processes {
        assert_eq!(process.info.exe, program.as_os_str().as_encoded_bytes());
        assert!(process.info.pid == parent || process.info.ppid == parent, "{:?}", process.info);
    }
}

#[test]
fn a_pipeline_of_programs_is_traced_and_unharmed() {
    let scratch = Scratch::new();
    let data = scratch.data();
    let script =
        format!("cd {}; seq 1 20000 > a; cat a | sort -rn > b; tail -n 1 b; sort -n b | cmp - a", data.display());
    let outcome = Launch::new(&scratch, "/bin/bash").arg("-c").arg(script).run();
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "1\n", ""));
    let traces = Traces::read(&scratch.traces());
    assert!(read_log(&scratch).is_empty());
    let path = |name: &str| data.join(name).display().to_string();
    let read = traces.calls(&data).get(&(path("a"), "read".into())).map_or(0, |calls| calls.1);
    let size = std::fs::metadata(data.join("a")).unwrap().len();
    assert!(read >= size, "{read} bytes of {size} read by cat and cmp");
}
