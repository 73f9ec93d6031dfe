//! Tests of storage targets on which calls queue: slow targets, and overloaded ones.

use super::{BARRIER, MS, report, saves_ms};
use crate::common::facts::{assert_quiet, assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::json;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

const US: u64 = 1000;

/// Returns the JSON report on 48 synthetic ranks, each with a file on target `places(rank)`. In each of eight steps, each rank makes four
/// writes of 1 MiB, then all synchronize. A write takes 10 ms in transit, plus `serves(target)` µs at its target, which serves one write at
/// a time.
fn before_targets(places: impl Fn(u64) -> u32, serves: impl Fn(u32) -> u64) -> serde_json::Value {
    let ranks = 48;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, &format!("n{}", rank / 8))).collect();
    for (rank, one) in (0..).zip(&mut all) {
        let file = one.file(&format!("/lus/{rank}"));
        let bytes = lustre(1 << 20, &[places(rank)]);
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
    }
    let (mut from, mut free) = (0, [0_u64; 16]);
    for step in 0..8_u64 {
        from += 150 * MS;
        let mut ready: Vec<u64> = (0..ranks).map(|rank| from + rank * 10 * US).collect();
        for call in 0..4_u64 {
            for (rank, one) in (0..ranks).zip(&mut all) {
                let (target, begin) = (places(rank), ready[rank as usize]);
                let free = &mut free[target as usize];
                *free = (*free).max(begin) + serves(target) * US;
                let own = 10 * MS + (rank * 7 + call * 5 + step * 3) % 11 * 150 * US;
                let end = (*free).max(begin + own);
                one.write(&format!("/lus/{rank}"), ((step * 4 + call) << 20) as i64, 1 << 20, begin, end);
                ready[rank as usize] = end;
            }
        }
        let met = ready.iter().max().unwrap_or(&0) + MS;
        for (one, ready) in all.iter_mut().zip(&ready) {
            one.add("", BARRIER, 0, 0, 0, *ready, met);
        }
        from = met;
    }
    report(all, from / MS + 1)
}

#[test]
fn a_target_that_calls_wait_for_is_slow_though_its_first_is_as_quick_as_others() {
    // Six ranks use each of eight targets; one target takes 7 ms instead of 1, so that a rank waits for the five before it: 42 ms each time.
    let found = before_targets(|rank| (rank % 8) as u32, |target| if target == 5 { 7000 } else { 1000 });
    assert_stated(&found, "DXT-O004", &json!({"ost": 5, "calls": 6 * 8 * 4, "operation": "writes"}));
    let saves = saves_ms(&found, "DXT-O004").unwrap_or(0);
    assert!((700..=1300).contains(&saves), "{saves} of about 1000 ms");
}

#[test]
fn a_rank_and_the_target_that_it_alone_uses_are_reported_together() {
    let found = |alone: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, &format!("n{}", rank / 4));
            let path = format!("/lus/{rank}");
            let file = one.file(&path);
            let bytes = lustre(1 << 20, &[if alone { rank as u32 } else { rank as u32 / 2 }]);
            one.process.layouts.push(LayoutDef {
                file,
                moment: LayoutMoment::Close,
                source: LayoutSource::Lustre,
                bytes,
            });
            for call in 0..40_u64 {
                let at = call * 100 * MS;
                let slow = if alone { rank == 5 } else { rank / 2 == 2 };
                let takes = (if slow { 50_000 } else { 10_000 } + (rank * 7 + call * 5) % 11 * 100) * US;
                one.write(&path, (call << 20) as i64, 1 << 20, at, at + takes);
                one.add("", BARRIER, 0, 0, 0, at + takes, at + 60 * MS);
            }
            one
        };
        report((0..16).map(rank).collect(), 4000)
    };
    let one = found(true);
    assert_stated(&one, "DXT-O002", &json!({"rank": 5, "ost": 5, "calls": 40, "operation": "writes"}));
    // If another rank is as slow on the target, the target is to blame.
    let both = found(false);
    assert_stated(&both, "DXT-O004", &json!({"ost": 2, "calls": 2 * 40, "operation": "writes"}));
}

#[test]
fn a_target_that_most_lies_on_is_overloaded() {
    // Half of the files are on one of 13 targets.
    let found = before_targets(|rank| if rank % 2 == 0 { 0 } else { 1 + (rank / 2 % 12) as u32 }, |_| 2000);
    let loaded = assert_stated(&found, "DXT-O004", &json!({"ost": 0, "calls": 24 * 8 * 4}));
    assert_says(loaded, &["overloaded", "12.0 times"]);
    let saves = saves_ms(&found, "DXT-O004").unwrap_or(0);
    assert!((800..=1800).contains(&saves), "{saves} of about 1200 ms");
    // Two thirds of the files are on one target; their ranks are not slow either.
    let found = before_targets(|rank| if rank % 3 < 2 { 0 } else { 1 + (rank / 3 % 12) as u32 }, |_| 2000);
    let loaded = assert_stated(&found, "DXT-O004", &json!({"ost": 0, "calls": 32 * 8 * 4}));
    assert_says(loaded, &["overloaded", "32.0 times"]);
}

#[test]
fn targets_that_serve_similar_are_no_matter() {
    let found = before_targets(|rank| (rank % 8) as u32, |_| 1500);
    assert_eq!(saves_ms(&found, "DXT-O004"), None, "{}", brief(&found));
    // One target has twice as many files by chance, which hardly lengthens calls.
    let found = before_targets(|rank| if rank >= 42 { 3 } else { (rank % 7) as u32 }, |_| 1000);
    assert_eq!(saves_ms(&found, "DXT-O004"), None, "{}", brief(&found));
}

#[test]
fn of_two_groups_of_targets_the_slower_is_reported_and_not_the_ranks_that_use_it() {
    // Requests are 4 MiB of a file on eight targets: those of even ranks reach the first four targets, those of odd ranks the others.
    let rank = |rank: u64, slower: u64| {
        let mut one = process(rank as i32, &format!("n{}", rank / 8));
        let file = one.file("/lus/a");
        let bytes = lustre(1 << 20, &(0..8).collect::<Vec<u32>>());
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
        for step in 0..30_u64 {
            let from = step * 100 * MS;
            let takes =
                (12 * MS + (rank * 7 + step * 5) % 11 * 150 * US) * if rank.is_multiple_of(2) { slower } else { 1 };
            one.write("/lus/a", ((step * 32 + rank) << 22) as i64, 4 << 20, from, from + takes);
            one.add("", BARRIER, 0, 0, 0, from + takes, from + (15 * slower + 1) * MS);
        }
        one
    };
    let found = report((0..32).map(|number| rank(number, 4)).collect(), 3000);
    let slow = assert_stated(&found, "DXT-O004", &json!({"ost": 0, "calls": 16 * 30, "operation": "writes"}));
    assert_says(slow, &["OST 0, OST 1, OST 2 or OST 3"]);
    let saves = saves_ms(&found, "DXT-O004").unwrap_or(0);
    assert!((1000..=1400).contains(&saves), "{saves} of about 1200 ms");
    let found = report((0..32).map(|number| rank(number, 1)).collect(), 3000);
    assert_eq!(saves_ms(&found, "DXT-O004"), None, "{}", brief(&found));
}

#[test]
fn what_waits_for_a_block_that_all_read_is_reported_of_the_block() {
    // In each of six steps, 64 ranks read the same MiB, or one each; the data is on one target, which takes 2 ms per request.
    let run = |same: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, &format!("n{}", rank / 8));
            let file = one.file("/lus/table");
            let bytes = lustre(1 << 20, &[3]);
            one.process.layouts.push(LayoutDef {
                file,
                moment: LayoutMoment::Close,
                source: LayoutSource::Lustre,
                bytes,
            });
            for step in 0..6_u64 {
                let from = step * 200 * MS;
                let takes = ((rank * 29 + step * 11) % 64 + 1) * 2 * MS;
                let at = if same { 0 } else { step * 64 + rank };
                one.add("/lus/table", op::POSIX_READ, 0, (at << 20) as i64, 1 << 20, from, from + takes);
                one.add("", BARRIER, 0, 0, 0, from + takes, from + 130 * MS);
            }
            one
        };
        report((0..64).map(rank).collect(), 1200)
    };
    let found = run(true);
    let block = assert_stated(&found, "DXT-C025", &json!({"file": "/lus/table", "offset": 0, "calls": 384}));
    assert_says(block, &["64 processes", "1.00 MiB"]);
    let saves = saves_ms(&found, "DXT-C025").unwrap_or(0);
    assert!((500..=780).contains(&saves), "{saves} of 760 ms");
    assert_quiet(&found, "DXT-V006");
    assert_stated(&run(false), "DXT-V006", &json!({"ost": 3}));
}

#[test]
fn what_crosses_stripes_on_more_files_than_are_named_is_priced_on_all() {
    // Each of 24 ranks has a file, with or without a header, and writes 1 MiB in 20 ms every 100 ms.
    let run = |header: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            let file = one.file(&format!("/lus/{rank}"));
            let bytes = lustre(1 << 20, &[(rank % 4) as u32, (rank % 4) as u32 + 1]);
            one.process.layouts.push(LayoutDef {
                file,
                moment: LayoutMoment::Close,
                source: LayoutSource::Lustre,
                bytes,
            });
            for step in 0..24_u64 {
                let (from, at) = (step * 100 * MS, (step << 20) + header);
                let takes = 20 * MS + (rank * 7 + step * 3) % 10 * MS / 5;
                one.write(&format!("/lus/{rank}"), at as i64, 1 << 20, from, from + takes);
                one.add("", BARRIER, 0, 0, 0, from + takes, from + 25 * MS);
            }
            one
        };
        report((0..24).map(rank).collect(), 2400)
    };
    let found = run(512);
    assert_says(assert_stated(&found, "DXT-S002", &json!({})), &["23 other"]);
    let saves = saves_ms(&found, "DXT-S002").unwrap_or(0);
    assert!((200..=280).contains(&saves), "{saves} of half of 500 ms");
    assert_eq!(saves_ms(&run(0), "DXT-S002"), None);
}

/// A single call of a size that is used nowhere else shows nothing about the targets that it reaches.
#[test]
fn a_header_that_one_rank_reads_hides_no_slow_target() {
    for osts in [4, 6] {
        let mut state = 5_u64;
        let mut drawn = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let all: Vec<Builder> = (0..16_u64)
            .map(|rank| {
                let mut one = process(rank as i32, &format!("n{}", rank / 4));
                let (file, bytes) = (one.file("/lus/in"), lustre(1 << 20, &(0..osts).collect::<Vec<u32>>()));
                let source = LayoutSource::Lustre;
                one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source, bytes });
                let mut now = rank * 500 * US;
                if rank == 0 {
                    one.add("/lus/in", op::POSIX_READ, 0, 0, 2 << 20, now, now + 12 * MS);
                    now += 13 * MS;
                }
                for _ in 0..120 {
                    let block = drawn(600);
                    let takes = (1500 + drawn(1000)) * US * if block % u64::from(osts) == 1 { 6 } else { 1 };
                    one.add("/lus/in", op::POSIX_READ, 0, (block << 20) as i64, 1 << 20, now, now + takes);
                    now += takes + 2 * MS;
                }
                one
            })
            .collect();
        assert_stated(&report(all, 1500), "DXT-O004", &json!({"ost": 1}));
    }
}
