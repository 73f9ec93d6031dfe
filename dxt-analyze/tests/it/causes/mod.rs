//! Tests of causes and verdicts in reports. Each test builds a trace in which every call is known, with a single fault.

mod again;
mod aggregators;
mod asynchronous;
mod by_time;
mod collective;
mod cpu_wait;
mod files;
mod groups;
mod held_lock;
mod hot_block;
mod late;
mod logs;
mod long_calls;
mod opened_so;
mod placed;
mod polled;
mod processed_again;
mod read_before;
mod reopened;
mod servers;
mod shapes;
mod stands_off;
mod tails;
mod targets;
mod temporary;
mod threads;
mod turns;
mod units;
mod waiting;

use crate::common::facts::of_code;
use crate::common::{Builder, job, json, process, put, trace};
use serde_json::Value;
use std::collections::BTreeSet;
use trace_format::meta::{Mount, ThreadDef};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::Segment;

const SYNC: u16 = 20;
const MSYNC: u16 = 21;
const BARRIER: u16 = 139;
const GATHER: u16 = 143;
const BCAST: u16 = 144;
const MMAP: u16 = 31;
const OPENDIR: u16 = 14;
const STAT: u16 = 10;
const STAT_FAILED: u16 = 11;
const UNLINK: u16 = 12;
const RENAME: u16 = 15;
const SEEK: u16 = 13;
const H5_OPEN: u16 = 120;
const H5_WRITE: u16 = 128;
const H5_READ: u16 = 129;
const MPIIO_OPEN: u16 = 82;
const MPIIO_WRITE: u16 = 83;
const MPIIO_SET_VIEW: u16 = 90;
const MPIIO_SYNC: u16 = 91;
const LOCK: u16 = 30;
const H5_SYNC: u16 = 123;
const AIO_WRITE: u16 = 27;
const SUBMIT: u16 = 161;
const WAIT: u16 = 162;
const MPIIO_SUBMIT: u16 = 165;
const MPIIO_WAIT: u16 = 166;
const MPIIO_SPLIT: u16 = 167;
const MPIIO_READ_ALL: u16 = 168;
const MPIIO_OPEN_ALL: u16 = 169;
const MS: u64 = 1_000_000;
const KIB: u64 = 1024;
/// Part of the title of findings DXT-C004 and DXT-C005 about calls of four ranks that queue behind each other.
const QUEUED: &str = "4 ranks wait";

/// Writes a trace of these processes with a run time of `run_ms` ms; returns the JSON output of `report`.
fn report(processes: Vec<Builder>, run_ms: u64) -> Value {
    let ranks = processes.iter().filter(|process| process.process.info.rank >= 0).count();
    report_of(processes.into_iter().map(|process| (process, run_ms)).collect(), ranks as u32)
}

/// Writes a trace of processes, each given with its end in ms; returns the JSON output of `report`.
#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn report_of(processes: Vec<(Builder, u64)>, ranks: u32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace_of(processes, ranks));
    let found = json(&["report", "--format", "json", &path], 0);
    assert_together(&found["verdict"]);
    found
}

/// Asserts that all findings together save no more than the time in I/O and the waits outside of it, and explain no call twice, and that no
/// finding is there for reads and again, with the same saving, for writes.
fn assert_together(verdict: &Value) {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let together = &verdict["together"];
    let findings = verdict["findings"].as_array().into_iter().flatten();
    let beside = ["DXT-V013", "DXT-V036", "DXT-V040"];
    let outside = findings.filter(|one| beside.iter().any(|code| one["code"] == *code));
    let most = number(&verdict["io_share"]) * number(&verdict["run_ns"])
        + outside.map(|one| number(&one["saves_ns"])).sum::<f64>();
    let saves = number(&together["saves_ns"]).max(number(&together["saves_high_ns"]));
    assert!(saves <= most + 1.0, "{saves} of {most}: {verdict}");
    assert!(number(&together["explains"]["share"]) <= 1.0, "{verdict}");
    let mut seen = BTreeSet::new();
    for one in verdict["findings"].as_array().into_iter().flatten().filter(|one| one["saves_ns"].is_u64()) {
        let mut about = one["about"].clone();
        about.as_object_mut().map(|about| about.remove("operation"));
        assert!(
            seen.insert(format!("{} {about} {}", one["code"], one["saves_ns"])),
            "{} twice: {verdict}",
            one["code"]
        );
    }
}

/// Ends all processes with a barrier, and returns the JSON report. Each process is given with its arrival time in ns; all end once the last
/// has arrived.
fn met_at_the_end(all: Vec<(Builder, u64)>) -> Value {
    let met = all.iter().map(|(_, now)| *now).max().unwrap_or(0) + MS;
    let ranks = all.into_iter().map(|(mut one, now)| {
        one.add("", BARRIER, 0, 0, 0, now, met);
        one
    });
    report(ranks.collect(), met / MS + 10)
}

/// Adds a barrier at which the ranks arrive at `times`, in ns; returns the time at which all leave it.
fn meet(all: &mut [Builder], times: &[u64]) -> u64 {
    let met = times.iter().max().unwrap_or(&0) + MS;
    for (time, one) in times.iter().zip(all) {
        one.add("", BARRIER, 0, 0, 0, *time, met);
    }
    met
}

/// Encodes a trace of processes, each given with its end in ms.
fn trace_of(processes: Vec<(Builder, u64)>, ranks: u32) -> Vec<u8> {
    let mut job = job("causes", ranks);
    job.mounts.push(Mount { path: b"/mounted".into(), kind: "lustre".into() });
    let def = |code, layer, class, name: &str| OpDef { code, layer, class, mode: OpMode::Plain, name: name.into() };
    job.ops.extend([
        def(SYNC, Layer::Posix, OpClass::Sync, "fsync"),
        def(MSYNC, Layer::Posix, OpClass::Sync, "msync"),
        def(BARRIER, Layer::Mpi, OpClass::Communication, "barrier"),
        def(GATHER, Layer::Mpi, OpClass::Communication, "gather"),
        def(BCAST, Layer::Mpi, OpClass::Communication, "bcast"),
        def(MMAP, Layer::Posix, OpClass::Map, "mmap"),
        def(OPENDIR, Layer::Posix, OpClass::Open, "opendir"),
        def(STAT, Layer::Posix, OpClass::Metadata, "stat"),
        def(STAT_FAILED, Layer::Posix, OpClass::Metadata, "stat"),
        def(UNLINK, Layer::Posix, OpClass::Metadata, "unlink"),
        def(RENAME, Layer::Posix, OpClass::Metadata, "rename"),
        def(SEEK, Layer::Stdio, OpClass::Seek, "seek"),
        def(H5_READ, Layer::Hdf5, OpClass::Read, "read"),
        def(MPIIO_OPEN, Layer::Mpiio, OpClass::Open, "open"),
        def(H5_OPEN, Layer::Hdf5, OpClass::Open, "open"),
        def(H5_WRITE, Layer::Hdf5, OpClass::Write, "write"),
        def(MPIIO_WRITE, Layer::Mpiio, OpClass::Write, "write"),
        def(MPIIO_SET_VIEW, Layer::Mpiio, OpClass::Metadata, "set_view"),
        def(MPIIO_SYNC, Layer::Mpiio, OpClass::Sync, "sync"),
        def(LOCK, Layer::Posix, OpClass::Lock, "lock"),
        def(H5_SYNC, Layer::Hdf5, OpClass::Sync, "sync"),
        def(SUBMIT, Layer::Posix, OpClass::Wait, "submit"),
        def(WAIT, Layer::Posix, OpClass::Wait, "wait"),
        def(MPIIO_SUBMIT, Layer::Mpiio, OpClass::Wait, "submit"),
        def(MPIIO_WAIT, Layer::Mpiio, OpClass::Wait, "wait"),
        OpDef { mode: OpMode::Collective, ..def(MPIIO_READ_ALL, Layer::Mpiio, OpClass::Read, "read_all") },
        OpDef { mode: OpMode::Collective, ..def(MPIIO_OPEN_ALL, Layer::Mpiio, OpClass::Open, "open") },
        OpDef { mode: OpMode::Split, ..def(MPIIO_SPLIT, Layer::Mpiio, OpClass::Write, "write_all") },
        OpDef { mode: OpMode::Nonblocking, ..def(AIO_WRITE, Layer::Posix, OpClass::Write, "write") },
    ]);
    let ends = |(mut process, end_ms): (Builder, u64)| {
        process.process.info.end_ns = end_ms * MS;
        in_lanes(&mut process);
        process
    };
    let processes = processes.into_iter().map(ends).collect();
    trace(&job, processes)
}

/// Moves the first thread's MPI synchronization calls to a thread entry of their own, as the tracer does. The entry with the earlier first
/// call comes first.
fn in_lanes(one: &mut Builder) {
    let Some((first, all)) = one.threads.first_mut() else { return };
    let meets = |segment: &Segment| {
        let stream = one.process.streams.get(segment.stream().0 as usize);
        stream.is_some_and(|stream| [BARRIER, GATHER, BCAST].contains(&stream.op))
    };
    let (sync_points, calls): (Vec<Segment>, Vec<Segment>) = std::mem::take(all).into_iter().partition(meets);
    let begin = |of: &[Segment]| of.first().map_or(u64::MAX, |segment| segment.start);
    let before = begin(&sync_points) < begin(&calls);
    let (mine, of_lane) = if before { (sync_points, calls) } else { (calls, sync_points) };
    *all = mine;
    if of_lane.is_empty() {
        return;
    }
    let (index, like) = (one.process.threads.len() as u32, *first);
    let tid = one.process.threads.iter().find(|thread| thread.index == like).map_or(0, |thread| thread.tid);
    one.process.threads.push(ThreadDef { index, tid });
    one.threads.push((index, of_lane));
}

/// Returns the one-sentence verdict of a report.
fn sentence(report: &Value) -> &str {
    report["verdict"]["sentence"].as_str().unwrap_or_default()
}

/// Returns the evidence of the first finding, as JSON text.
fn evidence(report: &Value) -> String {
    report["verdict"]["findings"][0]["evidence"].to_string()
}

fn saves_ms(report: &Value, code: &str) -> Option<u64> {
    of_code(report, code)?["saves_ns"].as_u64().map(|ns| ns / MS)
}

/// Returns the JSON report on eight synthetic ranks that write 1 MiB to a shared file every 10 ms, 100 times. Each write takes `takes(rank,
/// step)` ms.
fn writers(takes: impl Fn(u64, u64) -> u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..100 {
            let (at, from) = (((rank * 100 + step) * 1024 * KIB) as i64, step * 10 * MS);
            // Jitter is added, since no two calls of a real program take equal times.
            let jitter = (rank * 7 + step * 13) % 10 * MS / 50;
            one.write("/scratch/shared", at, 1024 * KIB, from, from + takes(rank, step) * MS + jitter);
        }
        one
    };
    report((0..8).map(rank).collect(), 1000)
}

/// Returns four ranks in ten steps of 100 ms. `calls` adds the calls of a rank and step, and returns their end in ns; a barrier then lasts
/// until the end of the step.
fn stepped(calls: &dyn Fn(&mut Builder, u64, u64) -> u64) -> Vec<Builder> {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..10 {
            let until = calls(&mut one, rank, step);
            one.add("", BARRIER, 0, 0, 0, until, (step + 1) * 100 * MS);
        }
        one
    };
    (0..4).map(rank).collect()
}
