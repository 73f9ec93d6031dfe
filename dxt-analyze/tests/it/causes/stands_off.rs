//! Tests of outliers, and of ranks or nodes that only look like outliers: alternating nodes, groups with a file each, targets used by all,
//! storage with spare capacity.

use super::{MS, meet, report, saves_ms};
use crate::common::facts::{assert_quiet, assert_stated, brief};
use crate::common::{Builder, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json};
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

const US: u64 = 1000;

/// Returns the JSON report on 32 synthetic ranks on eight nodes. In each of ten steps, each rank writes 1 MiB four times to `path(rank)`,
/// in `takes(rank, step)` µs per write, and synchronizes.
fn in_steps(path: impl Fn(u64) -> String, takes: impl Fn(u64, u64) -> u64) -> Value {
    let mut all: Vec<Builder> = (0..32).map(|rank| process(rank, &format!("n{}", rank / 4))).collect();
    let mut now = 0;
    for step in 0..10_u64 {
        let mut ends = Vec::new();
        for (rank, one) in (0..32_u64).zip(&mut all) {
            let mut at = now + 100 * MS;
            for call in 0..4_u64 {
                let us = takes(rank, call) + (rank * 7 + call * 5 + step * 3) % 10 * 50;
                one.write(&path(rank), (((step * 32 + rank) * 4 + call) << 20) as i64, 1 << 20, at, at + us * US);
                at += us * US;
            }
            ends.push(at);
        }
        now = meet(&mut all, &ends);
    }
    report(all, now / MS + 1)
}

#[test]
fn a_node_is_slow_though_the_others_are_of_two_kinds() {
    let own = |rank: u64| format!("/scratch/{rank}");
    // Nodes alternate between writes of 4 and 6.5 ms; those of n3 take 14 ms.
    let found = in_steps(own, |rank, _| if rank / 4 == 3 { 14_000 } else { 4_000 + rank / 4 % 2 * 2_500 });
    assert_stated(&found, "DXT-O003", &json!({"node": "n3", "calls": 4 * 10 * 4, "operation": "writes"}));
    // Each node is a little slower than the one before, so the last one is no outlier.
    let found = in_steps(own, |rank, _| 4_000 + rank / 4 * 700);
    for code in ["DXT-O002", "DXT-O003", "DXT-O004", "DXT-O005"] {
        assert_quiet(&found, code);
    }
}

#[test]
fn a_group_whose_file_nobody_else_uses_is_held_against_the_other_groups() {
    let found =
        in_steps(|rank| format!("/scratch/group{}", rank % 4), |rank, _| if rank % 4 == 2 { 12_000 } else { 4_000 });
    assert_stated(&found, "DXT-O005", &json!({"file": "/scratch/group2", "calls": 8 * 10 * 4}));
}

/// Returns the JSON report on 32 synthetic ranks. In each of ten steps, all write 4 MiB to four of eight storage targets, then to the other
/// four. A target of half `n` (0 or 1) takes `serves(n)` µs per write.
fn in_a_convoy(serves: impl Fn(usize) -> u64) -> Value {
    let mut all: Vec<Builder> = (0..32).map(|rank| process(rank, &format!("n{}", rank / 4))).collect();
    for one in &mut all {
        let (file, bytes) = (one.file("/lus/a"), lustre(1 << 20, &[0, 1, 2, 3, 4, 5, 6, 7]));
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
    }
    let mut now = 0;
    for step in 0..10_u64 {
        let (mut free, mut ready) = ([0_u64; 2], [now + 100 * MS; 32]);
        for (half, free) in free.iter_mut().enumerate() {
            for (rank, one) in (0..32_u64).zip(&mut all) {
                let begin = ready[rank as usize];
                *free = (*free).max(begin) + serves(half) * US;
                let at = (((step * 32 + rank) * 8 + half as u64 * 4) << 20) as i64;
                one.write("/lus/a", at, 4 << 20, begin, *free);
                ready[rank as usize] = *free;
            }
        }
        now = meet(&mut all, &ready);
    }
    report(all, now / MS + 1)
}

#[test]
fn targets_that_all_come_to_first_are_not_slow() {
    let found = in_a_convoy(|_| 2_000);
    assert_eq!(saves_ms(&found, "DXT-O004"), None, "{}", brief(&found));
    // Slower targets are outliers, but cost no more than the additional time that they are busy.
    let found = in_a_convoy(|half| if half == 0 { 6_000 } else { 1_500 });
    assert_stated(&found, "DXT-O004", &json!({"ost": 0, "calls": 32 * 10}));
    let saves = saves_ms(&found, "DXT-O004").unwrap_or(0);
    assert!((700..=1_900).contains(&saves), "{saves} of about 1440 ms");
}
