//! Tests of processes that wait for a processor, in their calls and outside of them.

use super::{BARRIER, KIB, MS, report, saves_ms};
use crate::common::facts::{assert_found, assert_says, assert_stated};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};
use trace_format::meta::{CpuSample, ProcessorDef, ThreadDef, ThreadTimes};
use trace_format::segment::{Segment, StreamId};

/// Adds samples of a process of 4 s that waits for one of two processors for the part `wait` of its time, and runs for the rest.
fn sampled(one: &mut Builder, wait: f64) {
    let sample = |of: u64| CpuSample {
        time_ns: of * 100 * MS,
        run_ns: ((of * 100 * MS) as f64 * (1.0 - wait)) as u64,
        wait_ns: ((of * 100 * MS) as f64 * wait) as u64,
        voluntary: 0,
        involuntary: of * 10,
    };
    let threads = vec![ThreadTimes::of_sums(one.process.threads[0].tid, true, (0..=40).map(sample))];
    one.process.processor = ProcessorDef { cpus: vec![0b11], threads };
}

/// Returns the JSON report on eight processes of 4 s that write 64 KiB every 10 ms; every 10th write takes 8 ms, the others 20 µs. `wait`: part of
/// the time for which each process waits for one of two processors; `None` without samples.
fn writers(wait: Option<f64>) -> Value {
    writers_on(|_| ("n", wait))
}

/// Returns the JSON report on eight processes as in [`writers`]; `of` returns, by number of the process, its node and the part of the time
/// for which it waits for a processor.
fn writers_on(of: impl Fn(u64) -> (&'static str, Option<f64>)) -> Value {
    let writer = |rank: u64| {
        let (node, wait) = of(rank);
        let mut one: Builder = process(-1, node);
        one.process.info.pid = 2000 + rank as u32;
        one.process.threads[0].tid = 2000 + rank as u32;
        for call in 0..400_u64 {
            let takes =
                if (call + rank * 3).is_multiple_of(10) { 8 * MS } else { 20_000 + (call * 7 + rank) % 10 * 300 };
            let at = call * 10 * MS + 1000;
            one.add(
                &format!("/scratch/part.{rank}"),
                op::POSIX_WRITE,
                0,
                (call * 64 * KIB) as i64,
                64 * KIB,
                at,
                at + takes,
            );
        }
        if let Some(wait) = wait {
            sampled(&mut one, wait);
        }
        one
    };
    report((0..8).map(writer).collect(), 4000)
}

#[test]
fn long_calls_of_processes_without_a_processor_accuse_no_storage() {
    let found = writers(Some(0.84));
    let waits = assert_stated(&found, "DXT-V036", &json!({"processes": 8, "node": "n", "time_ns": 26_880 * MS}));
    assert_says(waits, &["2 CPUs", "84 %"]);
    let saves = saves_ms(&found, "DXT-V036").unwrap_or(0);
    assert!((3300..=3400).contains(&saves), "{saves} of 3360 ms");
    let findings = found["verdict"]["findings"].as_array().into_iter().flatten();
    let others = findings.filter(|one| one["code"] != "DXT-V036" && one["severity"] != "info");
    assert_eq!(others.count(), 0, "{found}");
}

#[test]
fn the_same_calls_with_processors_of_their_own_are_a_finding() {
    for wait in [None, Some(0.0)] {
        let found = writers(wait);
        assert_eq!(saves_ms(&found, "DXT-V036"), None);
        let findings = found["verdict"]["findings"].as_array().into_iter().flatten();
        assert!(findings.filter(|one| one["severity"] == "high").count() > 0, "{found}");
    }
}

#[test]
fn the_job_waits_for_the_one_busy_node() {
    const NODES: [&str; 8] = ["busy", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
    let found = writers_on(|rank| (NODES[rank as usize], Some(if rank == 0 { 0.84 } else { 0.0 })));
    let saves = saves_ms(&found, "DXT-V036").unwrap_or(0);
    assert!((3300..=3400).contains(&saves), "{saves} of 3360 ms: {found}");
    assert_found(&found, "DXT-V036", &json!({"processes": 1, "node": "busy"}));
}

/// Three of four ranks wait for a processor for half of their time, most of which they spend in barriers, where they wait for the fourth.
#[test]
fn waits_for_a_processor_in_barriers_cost_nothing() {
    let saves = |in_barriers: bool| {
        let mut all: Vec<Builder> = (0..4).map(|rank| process(rank, "n")).collect();
        for (rank, one) in (0_u64..).zip(&mut all) {
            for step in 0..40_u64 {
                let at = step * 100 * MS;
                one.write(&format!("/scratch/part.{rank}"), (step << 20) as i64, 1 << 20, at, at + 5 * MS);
                if in_barriers {
                    let from = at + if rank == 0 { 98 } else { 20 } * MS;
                    one.add("", BARRIER, 0, 0, 0, from, at + 99 * MS);
                }
            }
            sampled(one, if rank == 0 { 0.0 } else { 0.5 });
        }
        saves_ms(&report(all, 4000), "DXT-V036").unwrap_or(0)
    };
    // Outside of barriers, three ranks wait for half of a fifth of 4 s, and rank 0 does not wait.
    assert!((100..=200).contains(&saves(true)), "{} ms", saves(true));
    assert!((1400..=1600).contains(&saves(false)), "{} ms", saves(false));
}

#[test]
fn calls_of_a_thread_beside_a_busy_one_save_nothing() {
    // The second thread of a process writes for half of its 4 s, in small requests; the first is busy or sleeps.
    let found = |busy: bool| {
        let mut one: Builder = process(-1, "n");
        one.process.info.pid = 2000;
        one.process.threads = vec![ThreadDef { index: 0, tid: 2000 }, ThreadDef { index: 1, tid: 2001 }];
        one.threads = vec![(0, Vec::new()), (1, Vec::new())];
        let stream = StreamId(one.stream("/scratch/log", op::POSIX_WRITE, 0));
        for call in 0..2000_u64 {
            let at = call * 2 * MS + 1000;
            one.threads[1].1.push(Segment::new(stream, (call * 512) as i64, 512, at, at + MS));
        }
        if busy {
            sampled(&mut one, 0.0);
        }
        report(vec![one], 4000)
    };
    let beside = found(true);
    assert_eq!(beside["verdict"]["io_matters"], json!(false), "{beside}");
    assert!(beside["verdict"]["sentence"].as_str().is_some_and(|sentence| sentence.contains("a thread that is busy")));
    let findings = beside["verdict"]["findings"].as_array().into_iter().flatten();
    assert_eq!(findings.filter(|one| one["severity"] != "info").count(), 0, "{beside}");
    assert_eq!(found(false)["verdict"]["io_matters"], json!(true));
}
