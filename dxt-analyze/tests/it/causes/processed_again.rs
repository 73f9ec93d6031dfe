//! Tests of files that a process reads again and again, and computes on after each pass.

use super::{MS, report, saves_ms};
use crate::common::facts::{assert_saves_ms, assert_says, assert_stated};
use crate::common::{op, process};
use serde_json::{Value, json};
use trace_format::meta::{CpuSample, ProcessorDef, ThreadTimes};

/// Returns the JSON report on a process that opens a file `passes` times and reads `blocks` of 64 KiB each time, 1 µs per call. It pauses for
/// 1 ms after each read, and for 10 ms after each close, and runs for the part `runs` of its time; `None` without samples.
fn passes(passes: u64, blocks: &dyn Fn(u64) -> std::ops::Range<u64>, runs: Option<f64>) -> Value {
    let (mut one, mut at) = (process(-1, "n"), 0);
    for pass in 0..passes {
        let mut call = |op: u16, offset: i64, bytes: u64, pause: u64| {
            one.add("/data/in.gz", op, 0, offset, bytes, at, at + 1000);
            at += 1000 + pause;
        };
        call(op::POSIX_OPEN, -1, 0, 0);
        blocks(pass).for_each(|block| call(op::POSIX_READ, (block << 16) as i64, 1 << 16, MS));
        call(op::POSIX_CLOSE, -1, 0, 10 * MS);
    }
    if let Some(part) = runs {
        let (pid, end) = (one.process.info.pid, at);
        one.process.threads[0].tid = pid;
        let sample = |of: u64| {
            let time_ns = end / 10 * of;
            let run_ns = (time_ns as f64 * part) as u64;
            CpuSample { time_ns, run_ns, wait_ns: 0, voluntary: 0, involuntary: 0 }
        };
        let threads = vec![ThreadTimes::of_sums(pid, true, (0..=10).map(sample))];
        one.process.processor = ProcessorDef { cpus: vec![0b11], threads };
    }
    report(vec![one], at / MS + 1)
}

#[test]
fn computing_between_repeated_reads_is_repeated_as_well() {
    let all = |_| 0..16;
    // 40 passes, of which 39 repeat 16 pauses of 1 ms and one of 10 ms.
    let found = passes(40, &all, Some(1.0));
    let again = assert_stated(&found, "DXT-V040", &json!({"file": "/data/in.gz", "calls": 40, "bytes": 40 << 20}));
    assert_saves_ms(again, 1000.0..=1020.0);
    assert_says(again, &["40 times"]);
    assert_eq!((&again["severity"], &again["saves_low_ns"]), (&json!("warn"), &json!(0)));
    // Half of the time, the process sleeps.
    let half = saves_ms(&passes(40, &all, Some(0.5)), "DXT-V040");
    assert!(half.is_some_and(|ms| (495..=515).contains(&ms)), "{half:?}");
    assert_eq!(saves_ms(&passes(40, &all, None), "DXT-V040"), None, "perhaps the process sleeps");
    assert_eq!(saves_ms(&passes(12, &all, Some(1.0)), "DXT-V040"), None, "perhaps a training");
    assert_eq!(saves_ms(&passes(40, &|pass| pass * 16..pass * 16 + 16, Some(1.0)), "DXT-V040"), None, "other data");
}
