//! Tests of the samples of the threads' use of the processors, in traces and after a kill.

use crate::harness::{Launch, Scratch, Traces, have, library, recover, skip, workload};
use std::io::Read;
use std::process::{Command, Stdio};
use trace_format::meta::{CpuSample, Process};

/// Asserts that each thread with samples never has less of anything than before, and no more time on a CPU than time.
fn check(process: &Process) {
    for thread in &process.processor.threads {
        let sums: Vec<CpuSample> = thread.sums().collect();
        assert!(sums.len() > 1 && sums.len() <= 65, "{sums:?}");
        for two in sums.windows(2) {
            let run = two[1].run_ns - two[0].run_ns;
            // The kernel counts to the last tick or switch, a millisecond or more ago.
            assert!(run <= two[1].time_ns - two[0].time_ns + 20_000_000, "{sums:?}");
            assert!(two[1].time_ns <= process.info.end_ns + 1_000_000, "{sums:?}");
        }
    }
}

#[test]
fn threads_that_share_one_processor_wait_for_it() {
    if !have("taskset") {
        return skip("taskset is not installed");
    }
    let scratch = Scratch::new();
    let (_, traces) = Launch::new(&scratch, "taskset")
        .arg("-c")
        .arg("0")
        .arg(workload("threads"))
        .arg(scratch.data())
        .arg("4")
        .arg("20000")
        .env("DXT_BUFFER_MAX", "64M")
        .traced();
    let process = traces.processes.iter().find(|process| process.block.threads.len() > 1).expect("it has a trace");
    let processor = &process.block.processor;
    check(&process.block);
    assert_eq!(processor.cpus, [1], "it runs on CPU 0 only");
    assert!(processor.threads.len() > 1, "{processor:?}");
    if processor.threads.iter().any(|thread| thread.knows_waits != 0) {
        let waits: u64 = processor.threads.iter().flat_map(|of| &of.samples).skip(1).map(|of| of.wait_ns).sum();
        assert!(waits > 0, "{processor:?}");
    }
}

#[test]
fn a_long_run_keeps_no_more_samples_than_fit() {
    let scratch = Scratch::new();
    // More samples than fit.
    let (log, traces) = Launch::new(&scratch, workload("threads")).arg(scratch.data()).arg("1").arg("50000").traced();
    assert!(!log.is_empty());
    traces.processes.iter().for_each(|process| check(&process.block));
}

#[test]
fn samples_survive_a_kill() {
    let scratch = Scratch::new();
    let mut command = Command::new(workload("progress"));
    command.arg(scratch.data()).arg("2").arg("100000000").stdout(Stdio::piped());
    command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "trace").env("DXT_OUTPUT_DIR", scratch.traces());
    let mut child = command.env("DXT_SPOOL", scratch.spools()).spawn().expect("failed to run the program");
    let mut out = child.stdout.take().expect("its standard output is a pipe");
    let mut record = [0; 8];
    for _ in 0..2_000 {
        out.read_exact(&mut record).expect("the program runs");
    }
    child.kill().expect("failed to kill the program");
    child.wait().expect("failed to wait for the program");
    drop(out);
    recover(&scratch);
    let traces = Traces::read(&scratch.traces());
    let process = &traces.processes.first().expect("it has a trace").block;
    assert!(!process.processor.cpus.is_empty() && !process.processor.threads.is_empty(), "{:?}", process.processor);
    assert!(process.processor.threads.iter().any(|thread| thread.samples.len() > 1));
}
