//! Tests of outliers by total time in calls whose median call is normal, and of ranks, nodes or files that only look like outliers.

use super::{MS, SYNC, meet, report, saves_ms};
use crate::common::facts::{assert_stated, brief};
use crate::common::op::{POSIX_OPEN, POSIX_READ};
use crate::common::{Builder, process};
use serde_json::{Value, json};

const US: u64 = 1000;

/// Returns the JSON report on 32 synthetic ranks on eight nodes. In each of 12 steps, each rank reads 1 MiB 16 times and synchronizes; a
/// read takes `takes` µs.
fn steps(takes: impl Fn(u64, u64, u64) -> u64) -> Value {
    let mut all: Vec<Builder> = (0..32).map(|rank| process(rank, &format!("n{}", rank / 4))).collect();
    let mut now = 0;
    for step in 0..12_u64 {
        let mut ends = Vec::new();
        for (rank, one) in (0..32_u64).zip(&mut all) {
            let mut at = now + 100 * MS;
            for call in 0..16_u64 {
                let us = takes(rank, step, call) + (rank * 7 + call * 5 + step * 3) % 10 * 30;
                let offset = (((step * 32 + rank) * 16 + call) << 20) as i64;
                one.add(&format!("/scratch/{rank}"), POSIX_READ, 0, offset, 1 << 20, at, at + us * US);
                at += us * US;
            }
            ends.push(at);
        }
        now = meet(&mut all, &ends);
    }
    report(all, now / MS + 1)
}

#[test]
fn a_node_that_is_slow_for_a_third_of_the_run_is_named() {
    let slow = |rank: u64, step: u64| rank / 4 == 5 && (4..8).contains(&step);
    let found = steps(|rank, step, _| if slow(rank, step) { 8_000 } else { 4_000 });
    assert_stated(&found, "DXT-O003", &json!({"node": "n5", "calls": 4 * 12 * 16, "operation": "reads"}));
    let saves = saves_ms(&found, "DXT-O003").unwrap_or(0);
    assert!((190..=270).contains(&saves), "{saves} of 256 ms");
    // Another node is slow in each step, so none is an outlier.
    let found = steps(|rank, step, _| if rank / 4 == step % 8 { 8_000 } else { 4_000 });
    assert_eq!(saves_ms(&found, "DXT-O003"), None, "{}", brief(&found));
}

#[test]
fn a_rank_is_slow_though_a_third_of_all_reads_come_from_a_cache() {
    let cached = |rank: u64, step: u64, call: u64| (rank * 5 + step * 3 + call * 7) % 10 < 4;
    let reads = |slow: u64| {
        move |rank: u64, step: u64, call: u64| match (cached(rank, step, call), rank == 9) {
            (true, _) => 200,
            (false, true) => slow,
            (false, false) => 4_000,
        }
    };
    let found = steps(reads(6_500));
    assert_stated(&found, "DXT-O002", &json!({"rank": 9, "calls": 12 * 16, "operation": "reads"}));
    assert_eq!(saves_ms(&steps(reads(4_000)), "DXT-O002"), None);
}

#[test]
fn reads_that_are_served_in_two_ways_have_no_tail() {
    let found = steps(|_, _, call| if call % 8 == 0 { 9_000 } else { 300 });
    assert_eq!(saves_ms(&found, "DXT-V003"), None, "{}", brief(&found));
}

#[test]
fn calls_of_all_kinds_that_are_slow_at_the_same_time_have_one_reason() {
    let mut all: Vec<Builder> = (0..8).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..40_u64 {
        let slow = if (12..20).contains(&step) { 10 } else { 1 };
        let mut ends = Vec::new();
        for (rank, one) in (0..8_u64).zip(&mut all) {
            let (path, jitter) = (format!("/scratch/step{step}/{rank}"), (rank * 7 + step * 3) % 10 * 20 * US);
            let mut at = now + 50 * MS + jitter;
            let mut next = |ms: u64| {
                at += ms * slow * MS;
                at - ms * slow * MS
            };
            let (open, write, sync) = (next(1), next(4), next(2));
            one.add(&path, POSIX_OPEN, 0, -1, 0, open, write);
            one.write(&path, 0, 1 << 20, write, sync);
            one.add(&path, SYNC, 0, -1, 0, sync, at);
            ends.push(at);
        }
        now = meet(&mut all, &ends);
    }
    let found = report(all, now / MS + 1);
    // The folders of these steps are not reported as slow, since each is used in its step only. Eight ranks open, write and sync in eight
    // steps; writes take longest.
    let finding = assert_stated(&found, "DXT-V001", &json!({"calls": 3 * 8 * 8, "operation": "writes"}));
    assert!(finding["about"]["span_ns"].is_array(), "{finding}");
    let moments =
        found["findings"].as_array().map_or(0, |all| all.iter().filter(|one| one["code"] == "DXT-V001").count());
    assert_eq!(moments, 1);
    let saves = saves_ms(&found, "DXT-V001").unwrap_or(0);
    assert!((450..=520).contains(&saves), "{saves} of 504 ms");
}

#[test]
fn a_shared_file_for_each_step_is_no_slow_file_while_all_are_slow() {
    let mut all: Vec<Builder> = (0..8).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..24_u64 {
        let slow = if (9..14).contains(&step) { 5 } else { 1 };
        let mut ends = Vec::new();
        for (rank, one) in (0..8_u64).zip(&mut all) {
            let mut at = now + 40 * MS;
            for call in 0..4_u64 {
                let us = (4_000 + (rank * 7 + call * 5 + step * 3) % 10 * 40) * slow;
                one.write(
                    &format!("/scratch/snap.{step}"),
                    ((rank * 4 + call) << 20) as i64,
                    1 << 20,
                    at,
                    at + us * US,
                );
                at += us * US;
            }
            ends.push(at);
        }
        now = meet(&mut all, &ends);
    }
    let found = report(all, now / MS + 1);
    let finding = assert_stated(&found, "DXT-V001", &json!({"calls": 8 * 5 * 4}));
    assert!(finding["about"]["span_ns"].is_array(), "{finding}");
    let saves = saves_ms(&found, "DXT-V001").unwrap_or(0);
    assert!((280..=350).contains(&saves), "{saves} of 335 ms");
    assert_eq!(saves_ms(&found, "DXT-O005"), None);
}
