//! Tests of unusual programs and conditions: programs end as they would untraced, no program hangs, and every call is recorded in a trace
//! or spool, or counted.

use crate::harness::{
    Launch, Order, Outcome, Scratch, Traces, assert_same, have, is_root, read_failures, read_log, recover, skip_here,
    spools, workload,
};
use std::path::Path;
use std::process::Command;

/// Returns the launch of a test program that is unusual in the way named by `way`.
fn hostile<'a>(scratch: &'a Scratch, way: &str) -> Launch<'a> {
    Launch::new(scratch, workload("hostile")).arg(scratch.data()).arg(way)
}

/// Asserts that the program ended as it would untraced, and that the tracer printed nothing.
fn unharmed(outcome: &Outcome) {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""));
}

/// Asserts that the traces contain exactly the calls logged by the program, in the order required by `order`.
fn exactly(scratch: &Scratch, order: Order) -> Traces {
    let (log, traces) = (read_log(scratch), Traces::read(&scratch.traces()));
    assert!(log.len() > 10);
    assert_same(order, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    assert_eq!(spools(scratch), Vec::<std::path::PathBuf>::new());
    traces
}

fn exact_in(way: &str) -> Traces {
    let scratch = Scratch::new();
    unharmed(&hostile(&scratch, way).run());
    exactly(&scratch, Order::Thread)
}

#[test]
fn no_descriptor_left() {
    let scratch = Scratch::new();
    unharmed(&hostile(&scratch, "few_descriptors").run());
    let traces = exactly(&scratch, Order::Thread);
    let failures: Vec<_> = traces.failures.iter().map(|failure| failure.op.clone()).collect();
    assert_same(Order::Thread, &read_failures(&scratch), &failures);
}

#[test]
fn descriptors_above_65536() {
    exact_in("high_descriptors");
}

#[test]
fn a_program_that_closes_everything() {
    exact_in("close_all");
}

#[test]
fn files_may_not_grow() {
    let scratch = Scratch::new();
    let outcome = hostile(&scratch, "small_files").run();
    assert_eq!(outcome.code, 5);
    assert!(outcome.stderr.contains("no spool") && outcome.stderr.lines().count() == 1, "{outcome:?}");
    exactly(&scratch, Order::Thread);
}

#[test]
fn no_environment() {
    exact_in("no_environment");
}

#[test]
fn the_output_directory_is_removed_meanwhile() {
    exact_in("no_output");
}

#[test]
fn ten_thousand_threads() {
    let traces = exact_in("threads");
    assert_eq!(traces.processes[0].info.missing, 0);
}

#[test]
fn a_changed_root_directory() {
    if !is_root() {
        return skip_here("only root may change the root directory");
    }
    let scratch = Scratch::new();
    let outcome = hostile(&scratch, "chroot").run();
    assert_eq!(outcome.code, 5);
    // The new root has no files of the tracer.
    assert_eq!(std::fs::read_dir(scratch.data()).expect("a directory").count(), 2);
    let (calls, bytes) = Traces::read(&scratch.traces()).totals(&["POSIX"], "write", Path::new("/"));
    assert_eq!((calls, bytes, spools(&scratch).len()), (13, 13 * 8, 0), "{outcome:?}");
}

/// Returns the number of writes to a path, with or without segments, and the number of calls of signal handlers that a note reports as unrecorded.
fn writes(traces: &Traces, path: &Path) -> (u64, u64) {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    let unrecorded = notes.filter(|note| note.what.contains("signal handlers")).map(|note| note.count).sum();
    (traces.totals(&["POSIX"], "write", path).0, unrecorded)
}

#[test]
fn a_signal_handler_that_writes_at_any_moment() {
    // Chunks are packed with every buffer size except the first.
    for buffer in ["4M", "1M", "256K", "64K"] {
        let scratch = Scratch::new();
        let outcome = hostile(&scratch, "handler").env("DXT_BUFFER_MAX", buffer).run();
        unharmed(&outcome);
        let said: Vec<u64> =
            outcome.stdout.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let traces = Traces::read(&scratch.traces());
        let (main, unrecorded) = writes(&traces, &scratch.data().join("main"));
        let (handled, _) = writes(&traces, &scratch.data().join("handler"));
        assert_eq!(main, said[1], "{buffer}");
        // The timer may fire once more between the last reading of the count and the end of the program.
        let all = handled + unrecorded;
        assert!((said[0]..=said[0] + 1).contains(&all), "{buffer}: {handled} recorded, {unrecorded} counted, {said:?}");
    }
}

#[test]
fn forks_while_other_threads_write() {
    let scratch = Scratch::new();
    let outcome = hostile(&scratch, "forks").run();
    unharmed(&outcome);
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data().join("child")), (200, 1000));
    assert_eq!(traces.processes.len(), 201);
}

/// Mounted file system of limited size; unmounted on drop.
struct Small(std::path::PathBuf);

impl Small {
    fn mount(at: &Path, bytes: u64) -> Option<Self> {
        std::fs::create_dir_all(at).expect("failed to make a directory");
        let options = format!("size={bytes}");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).output().ok()?.status.success();
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn program<'a>(scratch: &'a Scratch, calls: &str) -> Launch<'a> {
    Launch::new(scratch, workload("exits")).arg(scratch.data()).arg("return").arg(calls)
}

#[test]
fn a_full_file_system_for_the_trace() {
    let scratch = Scratch::new();
    let full = scratch.root().join("full");
    let Some(_small) = Small::mount(&full, 16 << 10) else {
        return skip_here("a file system cannot be mounted here");
    };
    std::fs::write(full.join("fill"), vec![1; 12 << 10]).expect("there is room for that");
    let outcome = program(&scratch, "20000").env("DXT_OUTPUT_DIR", &full).run();
    assert_eq!(outcome.code, 7);
    assert!(outcome.stderr.contains("No space left") && outcome.stderr.contains("recover"), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1);
    // No file is left on the full file system.
    assert_eq!(std::fs::read_dir(&full).expect("a directory").count(), 1);
    recover(&scratch);
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], &scratch.data()));
}

#[test]
fn a_full_file_system_for_the_spool() {
    for (bytes, calls) in [(4 << 10, "100"), (300 << 10, "200000"), (2 << 20, "100000"), (3 << 20, "2000000")] {
        let scratch = Scratch::new();
        let Some(_small) = Small::mount(&scratch.spools(), bytes) else {
            return skip_here("a file system cannot be mounted here");
        };
        let outcome = program(&scratch, calls).run();
        assert_eq!(outcome.code, 7, "{bytes}: {outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let info = &traces.processes[0].info;
        assert_eq!((info.segments + info.missing).to_string(), (calls.parse::<u64>().unwrap() + 1).to_string());
    }
}

#[test]
fn nobody_may_write_the_trace() {
    if !is_root() || !have("setpriv") {
        return skip_here("needs root and setpriv(1)");
    }
    let scratch = Scratch::new();
    // Another user needs access to the program and its data.
    let open = std::env::temp_dir().join(format!("dxt-nobody-{}", std::process::id()));
    let script = format!(
        "mkdir -m 777 {0} && cp {1} {0}/program && cp {2} {0}/library && chmod 755 {0}/* && cd {0} && \
         DXT_SPOOL={0}/spool DXT_OUTPUT_DIR=/root/no OPLOG={0}/log LD_PRELOAD={0}/library \
         setpriv --reuid=65534 --regid=65534 --clear-groups ./program {0} return 100; echo $?; ls {0}/spool; rm -r {0}",
        open.display(),
        workload("exits").display(),
        crate::harness::library().display()
    );
    let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
    assert!(outcome.stdout.starts_with("7\n") && outcome.stdout.contains(".spool"), "{outcome:?}");
    assert!(outcome.stderr.contains("Permission denied") && outcome.stderr.lines().count() == 1, "{outcome:?}");
}

#[test]
fn little_address_space() {
    for megabytes in [2000, 400, 120, 40, 16] {
        let scratch = Scratch::new();
        let limit = format!("--as={}", megabytes << 20);
        let launch = Launch::new(&scratch, "/usr/bin/prlimit").arg(limit).arg(workload("exits"));
        let outcome = launch.arg(scratch.data()).arg("return").arg("3000").run();
        assert_eq!(outcome.code, 7, "{megabytes} MiB: {outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let said = outcome.stderr.contains("not tracing");
        assert!(said || traces.totals(&["POSIX"], "write", &scratch.data()).0 == 3000, "{megabytes} MiB: {outcome:?}");
        assert!(!said || megabytes < 100, "{megabytes} MiB: {outcome:?}");
    }
}

#[test]
fn standard_output_and_error_are_closed() {
    let scratch = Scratch::new();
    let program = workload("exits");
    let script = format!("{} {} return 50 >&- 2>&- <&-", program.display(), scratch.data().display());
    let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script + "; exit $?").env("DXT_VERBOSE", "2");
    assert_eq!(launch.run().code, 7);
    // The program's file got descriptor 0, 1 or 2, and must contain no messages of the tracer.
    let text = std::fs::read(scratch.data().join("out")).expect("the program's file");
    assert_eq!(text.len(), 49 * 64 + 4);
    assert!(!text.windows(4).any(|part| part == b"dxt:"));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    let mut reported = traces.own_ops(&["POSIX"], &scratch.data());
    reported.retain(|op| log.iter().any(|did| did.pid == op.pid));
    assert_same(Order::Thread, &log, &reported);
}
