//! Tests of the samples of the threads' use of the processors, in traces and after a kill.

use crate::harness::{Launch, Scratch, Traces, have, library, recover, skip, skip_here, under_strace, workload};
use std::io::Read;
use std::process::{Command, Stdio};
use trace_format::meta::{CpuSample, Process};

/// Asserts for each thread of `process`: it has 2 to 65 samples; between two successive samples, its time on a CPU is at most the elapsed
/// time (within 20 ms); the last sample was taken within 1 s of the end of recording.
fn check(process: &Process) {
    assert!(!process.processor.threads.is_empty(), "{:?}", process.info);
    for thread in &process.processor.threads {
        let sums: Vec<CpuSample> = thread.sums().collect();
        assert!(sums.len() > 1 && sums.len() <= 65, "{sums:?}");
        for two in sums.windows(2) {
            let run = two[1].run_ns - two[0].run_ns;
            // The kernel counts to the last tick or switch, a millisecond or more ago.
            assert!(run <= two[1].time_ns - two[0].time_ns + 20_000_000, "{sums:?}");
        }
        let last = sums[sums.len() - 1].time_ns;
        assert!(last.abs_diff(process.info.end_ns) < 1_000_000_000, "{last} {}", process.info.end_ns);
    }
}

/// Returns the number of a CPU on which this process may run, for taskset(1).
fn a_cpu() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc(5)");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list of CPUs");
    list.trim().split(['-', ',']).next().and_then(|cpu| cpu.parse().ok()).expect("a CPU")
}

/// True if the kernel counts the time that threads wait for a CPU.
fn knows_waits() -> bool {
    std::fs::read_to_string("/proc/thread-self/schedstat").is_ok_and(|text| text.trim() != "0 0 0")
}

#[test]
fn threads_that_share_one_processor_wait_for_it() {
    if !have("taskset") {
        return skip("taskset is not installed");
    }
    let (scratch, cpu) = (Scratch::new(), a_cpu());
    let (_, traces) = Launch::new(&scratch, "taskset")
        .arg("-c")
        .arg(cpu.to_string())
        .arg(workload("threads"))
        .arg(scratch.data())
        .arg("4")
        .arg("20000")
        .env("DXT_BUFFER_MAX", "64M")
        .traced();
    let process = traces.processes.iter().find(|process| process.block.threads.len() > 1).expect("it has a trace");
    let processor = &process.block.processor;
    check(&process.block);
    let mut cpus = vec![0; cpu / 8 + 1];
    cpus[cpu / 8] = 1 << (cpu % 8);
    assert_eq!(processor.cpus, cpus, "it runs on CPU {cpu} only");
    if !knows_waits() {
        return skip_here("this kernel does not count waits for a processor");
    }
    let main =
        processor.threads.iter().find(|thread| thread.tid == process.info.pid).expect("the main thread is known");
    assert_ne!(main.knows_waits, 0, "{processor:?}");
    assert!(main.sums().last().is_some_and(|sum| sum.run_ns > 0), "{processor:?}");
}

/// Ends the test program `progress` by SIGTERM, so that its threads still run when the trace is written.
#[test]
fn threads_that_run_at_the_end_have_waits() {
    if !have("taskset") {
        return skip("taskset is not installed");
    }
    if !knows_waits() {
        return skip_here("this kernel does not count waits for a processor");
    }
    let scratch = Scratch::new();
    let mut command = Command::new("taskset");
    command.arg("-c").arg(a_cpu().to_string()).arg(workload("progress")).arg(scratch.data());
    command.args(["5", "100000000"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "trace").env("DXT_OUTPUT_DIR", scratch.traces());
    let mut child = command.spawn().expect("failed to run the program");
    let mut out = child.stdout.take().expect("its standard output is a pipe");
    let (mut record, mut seen) = ([0; 8], std::collections::BTreeSet::new());
    // On a busy machine a thread may start late: each has made a call before the end.
    for number in 1.. {
        out.read_exact(&mut record).expect("the program runs");
        seen.insert(record[0]);
        if number >= 4_000 && seen.len() == 5 {
            break;
        }
    }
    let ended = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().expect("failed to run kill");
    assert!(ended.success());
    child.wait().expect("failed to wait for the program");
    let traces = Traces::read(&scratch.traces());
    let process = &traces.processes.first().expect("it has a trace").block;
    check(process);
    let threads = &process.processor.threads;
    assert_eq!(threads.len(), 5, "{threads:?}");
    assert!(threads.iter().all(|thread| thread.knows_waits != 0), "{threads:?}");
    let waits: u64 = threads.iter().flat_map(|of| of.samples.iter().skip(1)).map(|sample| sample.wait_ns).sum();
    assert!(waits > 0, "{threads:?}");
    for thread in threads.iter().filter(|thread| thread.tid != process.info.pid) {
        assert_eq!((thread.samples.len(), thread.samples[0].run_ns), (2, 0), "{threads:?}");
    }
}

#[test]
fn a_long_run_keeps_no_more_samples_than_fit() {
    let scratch = Scratch::new();
    // A single thread fills some 500 chunks, more than samples fit.
    let launch = Launch::new(&scratch, workload("bench_calls")).args(["whole-pwrite", "1000000"]);
    let outcome = launch.arg(scratch.data().join("file")).env("DXT_BUFFER_MAX", "64M").run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.processes.len(), 1);
    let process = &traces.processes[0].block;
    check(process);
    assert!(process.processor.threads[0].samples.len() > 32, "{:?}", process.processor);
}

/// In a process with several threads, no hook opens a file to take a sample: the other threads could see its descriptor.
#[test]
fn threads_see_no_descriptor_of_a_sample() {
    let scratch = Scratch::new();
    let out = scratch.root().join("strace.out");
    let options = ["-e", "trace=openat", "-o", &out.display().to_string()];
    let Some(launch) = under_strace(&scratch, &options, workload("threads")) else { return };
    let outcome = launch.arg(scratch.data()).args(["4", "2000"]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let report = std::fs::read_to_string(&out).expect("failed to read strace's report");
    let main = report.split(' ').next().expect("a process id");
    let samples: Vec<&str> = report.lines().filter(|line| line.contains("schedstat")).collect();
    assert!(!samples.is_empty() && samples.iter().all(|line| line.starts_with(main)), "{samples:?}");
}

#[test]
fn samples_survive_a_kill() {
    let scratch = Scratch::new();
    let mut command = Command::new(workload("progress"));
    // In a process with several threads, no sample is taken before the end.
    command.arg(scratch.data()).arg("1").arg("100000000").stdout(Stdio::piped());
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
