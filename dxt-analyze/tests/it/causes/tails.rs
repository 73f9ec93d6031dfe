//! Tests of unusually long calls: few are reported as single events, many as the tail of a distribution.

use super::{BARRIER, MS, report, report_of, saves_ms};
use crate::common::facts::{assert_found, assert_quiet, assert_says, assert_stated};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};

/// Returns the JSON report on eight synthetic ranks in sixty steps of a read, a write (2 ms each) and a barrier. The calls in `long`, given
/// as (rank, step, true for the read), take 60 ms instead.
fn with_long(long: &[(u64, u64, bool)]) -> Value {
    let ranks = 8_u64;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, "n")).collect();
    let mut from = 10 * MS;
    for step in 0..60_u64 {
        let mut done = Vec::new();
        for (rank, one) in (0..ranks).zip(&mut all) {
            let mut now = from;
            for (reads, op, path) in [(true, op::POSIX_READ, "/scratch/in"), (false, op::POSIX_WRITE, "/scratch/out")] {
                let jitter = (rank * 7 + step * 13) % 10 * MS / 50;
                let takes = if long.contains(&(rank, step, reads)) { 60 } else { 2 } * MS + jitter;
                one.add(path, op, 0, ((step * ranks + rank) << 20) as i64, 1 << 20, now, now + takes);
                now += takes;
            }
            done.push(now);
        }
        let met = done.iter().max().copied().unwrap_or(0) + MS;
        for (one, done) in all.iter_mut().zip(done) {
            one.add("", BARRIER, 0, 0, 0, done, met);
        }
        from = met + 20 * MS;
    }
    report(all, from / MS)
}

#[test]
fn several_long_calls_of_each_kind_are_one_tail() {
    let reads = [(1, 5, true), (4, 20, true), (6, 41, true)];
    let writes = [(0, 11, false), (5, 30, false), (2, 50, false)];
    let found = with_long(&[reads, writes].concat());
    let tail = assert_stated(&found, "DXT-V003", &json!({"calls": 6, "operation": "reads and writes"}));
    assert_says(tail, &["6 of 960"]);
    let saves = saves_ms(&found, "DXT-V003").unwrap_or(0);
    assert!((330..=350).contains(&saves), "{saves} of 348 ms");
    // Three long calls are reported as single events.
    let found = with_long(&[reads[0], reads[1], writes[0]]);
    assert_stated(&found, "DXT-V002", &json!({}));
    for (rank, file) in [(1, "/scratch/in"), (4, "/scratch/in"), (0, "/scratch/out")] {
        assert_found(&found, "DXT-V002", &json!({"rank": rank, "file": file}));
    }
    // Long calls that only one process makes are reported as single events as well.
    let found = with_long(&[(1, 5, true), (1, 20, true), (1, 41, true), (1, 11, false), (1, 30, false)]);
    assert_quiet(&found, "DXT-V003");
}

#[test]
fn a_call_that_nobody_waits_for_makes_who_is_left_at_the_end_late() {
    // Eight processes never synchronize; one call of rank 3 takes 400 ms in the middle, and the process ends 400 ms later.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut now = rank * MS;
        for step in 0..60_u64 {
            now += 18 * MS + (rank * 5 + step * 3) % 7 * MS / 10;
            let takes = if (rank, step) == (3, 25) { 400 * MS } else { 2 * MS + (rank + step) % 3 * MS / 10 };
            one.write(&format!("/scratch/{rank}"), (step << 20) as i64, 1 << 20, now, now + takes);
            now += takes;
        }
        (one, now / MS + 1)
    };
    let found = report_of((0..8).map(rank).collect(), 8);
    let facts = json!({"rank": 3, "file": "/scratch/3", "time_ns": 400 * MS, "operation": "writes"});
    assert_stated(&found, "DXT-V002", &facts);
    let saves = saves_ms(&found, "DXT-V002").unwrap_or(0);
    assert!((360..=400).contains(&saves), "{saves} of 398 ms");
}

/// Returns the JSON report on 16 synthetic ranks in twenty steps of eight writes of 4 ms. Write number `long(rank, step)` takes 60 ms on 3
/// of 8 ranks.
fn in_bursts(long: impl Fn(u64, u64) -> u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut from = 10 * MS;
        for step in 0..20_u64 {
            let mut now = from;
            let is_long = (rank * 7 + step * 5) % 8 < 3;
            for call in 0..8_u64 {
                let jitter = (rank * 3 + step * 5 + call) % 9 * MS / 20;
                let takes = if is_long && call == long(rank, step) { 60 } else { 4 } * MS + jitter;
                one.write(&format!("/scratch/{rank}"), ((step * 8 + call) << 20) as i64, 1 << 20, now, now + takes);
                now += takes;
            }
            from += 100 * MS;
            one.add("", BARRIER, 0, 0, 0, now, from);
            from += 400 * MS;
        }
        one
    };
    report((0..16).map(rank).collect(), 10_010)
}

#[test]
fn the_first_calls_of_bursts_wait_for_each_other_and_are_no_tail() {
    let first = in_bursts(|_, _| 0);
    assert_quiet(&first, "DXT-V003");
    assert_eq!(assert_stated(&first, "DXT-V032", &json!({}))["severity"], "warn", "a tenth of the run");
    // Long writes at varying places in the bursts form one finding.
    let anywhere = in_bursts(|rank, step| (rank * 5 + step * 3) % 8);
    let tail = assert_stated(&anywhere, "DXT-V003", &json!({"calls": 120, "operation": "writes"}));
    assert_says(tail, &["120 of 2,560"]);
}
