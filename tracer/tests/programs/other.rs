//! Tests of widely used programs (Python, SQLite, shell tools): results are as untraced, and traces agree with the kernel's view (strace).

use crate::harness::{Launch, Scratch, Traces, have, python, recover, skip, strace, workload_source};
use std::path::Path;

/// Runs a command under strace, then under the tracer. Asserts that both runs succeed with equal output, and agree on calls and bytes per file.
fn agrees_with_strace(scratch: &Scratch, command: &[&Path]) -> Option<Traces> {
    let data = scratch.data();
    let (expected, kernel) = strace(scratch, command, &data)?;
    assert_eq!(expected.code, 0, "{expected:?}");
    scratch.clear_data();
    let launch = Launch::new(scratch, command[0]);
    let outcome = command[1..].iter().fold(launch, |launch, argument| launch.arg(argument)).run();
    assert_eq!((outcome.code, outcome.stdout, outcome.stderr), (0, expected.stdout, expected.stderr));
    let traces = Traces::read(&scratch.traces());
    assert!(!kernel.is_empty());
    assert_eq!(traces.calls(&data), kernel);
    Some(traces)
}

#[test]
fn python_with_threads_and_a_child() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let command = [&*interpreter, &*workload_source("plain.py"), &*scratch.data()];
    let Some(traces) = agrees_with_strace(&scratch, &command) else { return };
    // The interpreter and its forked child have one trace each.
    assert_eq!(traces.processes.len(), 2, "{:?}", traces.processes);
}

#[test]
fn python_workers_however_they_are_made_and_ended() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let script = workload_source("workers.py");
    let launch = || Launch::new(&scratch, &interpreter).arg(&script).arg(scratch.data());
    let untraced = launch().untraced().run();
    scratch.clear_data();
    let traced = launch().run();
    assert_eq!((traced.code, &traced.stdout, &traced.stderr), (untraced.code, &untraced.stdout, &untraced.stderr));
    // Processes that were killed, not terminated, left a spool.
    recover(&scratch);
    let traces = Traces::read(&scratch.traces());
    let data = scratch.data();
    // Each of the three ways runs twelve jobs of 40 parts; the file was written once.
    assert_eq!(traces.totals(&["POSIX"], "read", &data.join("data")), (3 * 12 * 40, 3 * 12 * 40_000));
    assert_eq!(traces.totals(&["POSIX"], "write", &data.join("data")).0, 120);
    for entry in std::fs::read_dir(&data).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let (calls, bytes) = traces.totals(&["POSIX"], "write", &entry);
        assert_eq!(bytes, std::fs::metadata(&entry).expect("a file").len(), "{}: {calls} calls", entry.display());
    }
    assert!(traces.processes.len() > 9, "{}", traces.processes.len());
}

#[test]
fn sqlite() {
    if !have("sqlite3") {
        return skip("sqlite3 is not installed");
    }
    let scratch = Scratch::new();
    let database = scratch.data().join("table.db");
    let statements = "PRAGMA cache_size=50; CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);\
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)\
        INSERT INTO t SELECT i, 'name ' || i, i * 0.5 FROM n; CREATE INDEX byname ON t(name);\
        UPDATE t SET value = value + 1 WHERE id % 7 = 0; SELECT count(*), sum(value) FROM t;\
        DELETE FROM t WHERE id > 15000; VACUUM; SELECT count(*) FROM t; PRAGMA integrity_check;";
    let command = ["/usr/bin/sqlite3".as_ref(), database.as_path(), statements.as_ref()];
    let Some(traces) = agrees_with_strace(&scratch, &command) else { return };
    assert!(traces.calls(&scratch.data()).len() >= 4, "the database and its journal are read and written");
}

#[test]
fn tools_of_the_shell() {
    let scratch = Scratch::new();
    let data = scratch.data();
    let script = format!(
        "set -e; cd {}; seq 1 100000 | dd of=numbers bs=1000 iflag=fullblock status=none; dd if=numbers of=copy bs=4096 status=none; \
         tar cf all.tar numbers copy; mkdir out; tar xf all.tar -C out; cmp numbers out/copy; wc -l < out/numbers",
        data.display()
    );
    // Tools that read and write: cat and cp copy inside the kernel, and seq and md5sum use unlocked stream functions.
    agrees_with_strace(&scratch, &["/bin/bash".as_ref(), "-c".as_ref(), script.as_ref()]);
}

/// (operations, bytes) of reads and of writes, as reported by fio(1).
type Reported = [(u64, u64); 2];

/// Runs fio(1) with an I/O engine; returns fio's report, and the traces of all its processes.
fn fio(engine: &str) -> Option<(Reported, Traces)> {
    if !have("fio") {
        skip("fio is not installed");
        return None;
    }
    let scratch = Scratch::new();
    let report = scratch.root().join("report");
    let launch = Launch::new(&scratch, "fio")
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--filename={}", scratch.data().join("file").display()))
        .arg(format!("--output={}", report.display()))
        .env("DXT_BUFFER_MAX", "64M");
    let job =
        ["--name=job", "--rw=randrw", "--size=8M", "--bs=4k", "--iodepth=16", "--output-format=json", "--randseed=1"];
    let outcome = job.iter().fold(launch, |launch, argument| launch.arg(argument)).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let report = std::fs::read_to_string(report).expect("fio has written its report");
    let reported = ["\"read\" : {", "\"write\" : {"].map(|part| {
        let part = report.split_once(part).expect("a part of the report").1;
        let number = |name: &str| {
            let rest = part.split_once(&format!("\"{name}\" : ")).expect("a number of the report").1;
            let digits = rest.split(|character: char| !character.is_ascii_digit()).next();
            digits.and_then(|digits| digits.parse().ok()).expect("a number")
        };
        (number("total_ios"), number("io_bytes"))
    });
    assert_eq!(reported[0].0 + reported[1].0, 2048, "{reported:?}");
    Some((reported, Traces::read(&scratch.traces())))
}

#[test]
fn fio_with_io_uring() {
    // fio updates the ring by inlined instructions, so only the number of operations is visible.
    let Some((reported, traces)) = fio("io_uring") else { return };
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    let unseen: u64 =
        notes.filter(|note| note.what.starts_with("operations of io_uring rings")).map(|note| note.count).sum();
    let seen = traces.segments.iter().filter(|seg| seg.op.name.starts_with("io_uring_")).count();
    assert_eq!(unseen + seen as u64, reported[0].0 + reported[1].0);
}

#[test]
fn fio_with_libaio() {
    let Some((reported, traces)) = fio("libaio") else { return };
    let found = ["io_submit_read", "io_submit_write"].map(|name| {
        let lengths = traces.segments.iter().filter(|seg| seg.op.name == name).map(|seg| seg.op.length);
        (lengths.clone().count() as u64, lengths.sum())
    });
    assert_eq!(found, reported);
}

#[test]
fn fio_with_system_calls() {
    for engine in ["sync", "psync", "pvsync", "pvsync2"] {
        let Some((reported, traces)) = fio(engine) else { return };
        let found = ["read", "write"].map(|name| {
            let of_job = traces.segments.iter().map(|seg| &seg.op).filter(|op| op.layer == "POSIX" && op.name == name);
            let lengths = of_job.filter(|op| op.length == 4096).map(|op| op.length);
            (lengths.clone().count() as u64, lengths.sum::<u64>())
        });
        assert_eq!(found[0], reported[0], "{engine}");
        // fio writes the whole file first.
        assert_eq!(found[1], (reported[1].0 + 2048, reported[1].1 + (8 << 20)), "{engine}");
    }
}

#[test]
fn fio_with_a_memory_map() {
    let Some((_, traces)) = fio("mmap") else { return };
    let mapped = traces.segments.iter().filter(|seg| seg.op.name == "mmap" && seg.op.path.ends_with("/data/file"));
    assert!(mapped.map(|seg| seg.op.length).sum::<u64>() >= 8 << 20);
}
