//! Tests of effects of storage (a server that serializes calls, a single aggregator, directory listings), and of the ranks that wait meanwhile.

use super::{
    BARRIER, BCAST, MPIIO_SPLIT, MPIIO_SUBMIT, MPIIO_WAIT, MS, OPENDIR, UNLINK, report, report_of, saves_ms, stepped,
};
use crate::common::facts::{assert_saves_ms, assert_says, assert_stated, brief, says};
use crate::common::{Builder, op, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::json;
use trace_format::meta::stream_flags::NESTED;
use trace_format::meta::{HintDef, HintOrigin, LayoutDef, LayoutMoment, LayoutSource};

/// Returns the JSON report on six concurrent programs that each write 256 KiB at a time to a file of one stripe, four times in each of
/// eight steps. If `in_turn` is true, the storage target serializes their writes.
fn before_one_target(in_turn: bool) -> serde_json::Value {
    let mut all: Vec<Builder> = (0..6).map(|_| process(-1, "n")).collect();
    for (number, one) in (0..).zip(&mut all) {
        one.process.info.pid = 100 + number;
        let file = one.file("/lus/a");
        let bytes = lustre(1 << 20, &[3]);
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
    }
    let (mut free, mut ready) = (0, [0_u64; 6]);
    for step in 0..8_u64 {
        ready = std::array::from_fn(|rank| ready.iter().max().unwrap_or(&0) + 150 * MS + rank as u64 * MS);
        for call in 0..4_u64 {
            for (rank, one) in (0..6_u64).zip(&mut all) {
                let begin = ready[rank as usize];
                let own = 40 + (rank * 7 + call * 5 + step * 3) % 24;
                free = if in_turn { free.max(begin) + 12 * MS } else { begin + own * MS };
                let at = ((step * 24 + call * 6 + rank) << 18) as i64;
                one.write("/lus/a", at, 1 << 18, begin, free);
                ready[rank as usize] = free;
            }
        }
    }
    let end = ready.iter().max().unwrap_or(&0) / MS + 1;
    report_of(all.into_iter().map(|one| (one, end)).collect(), 0)
}

#[test]
fn a_target_that_serves_calls_in_turn_has_a_queue() {
    let found = before_one_target(true);
    assert_stated(&found, "DXT-V006", &json!({"ost": 3}));
    // In eight steps, 24 serialized writes take 12 ms each; six targets could serve them in parallel.
    let saves = saves_ms(&found, "DXT-V006").unwrap_or(0);
    assert!((1200..=2300).contains(&saves), "{saves} of 1920 ms");
    let found = before_one_target(false);
    assert_eq!(saves_ms(&found, "DXT-V006"), None, "{}", brief(&found));
}

#[test]
fn one_aggregator_is_reported_of_split_collective_calls() {
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        for step in 0..10_u64 {
            let (from, at) = (step * 100 * MS, ((step * 4 + rank) << 20) as i64);
            if rank == 0 {
                one.add("/scratch/a", op::POSIX_WRITE, NESTED, at, 4 << 20, from + 2 * MS, from + 50 * MS);
            }
            one.add("/scratch/a", MPIIO_SUBMIT, 0, -1, 0, from, from + 52 * MS);
            one.add("/scratch/a", MPIIO_SPLIT, 0, at, 1 << 20, from, from + 54 * MS);
            one.add("/scratch/a", MPIIO_WAIT, 0, -1, 0, from + 53 * MS, from + 54 * MS);
        }
        let file = one.file("/scratch/a");
        let (key, value) = (b"cb_nodes".to_vec(), b"1".to_vec());
        one.process.hints = vec![HintDef { file, origin: HintOrigin::Asked, key, value }];
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    let limit = assert_stated(&found, "DXT-V014", &json!({"file": "/scratch/a", "processes": 1}));
    assert_says(limit, &["cb_nodes=1", "4 ranks"]);
    assert_eq!(saves_ms(&found, "DXT-C013"), None, "{}", brief(&found));
}

#[test]
fn a_folder_that_is_listed_again_is_no_slow_folder() {
    let lister = |number: u64| {
        let mut one = process(-1, "n");
        one.process.info.pid = 100 + number as u32;
        for step in 0..30_u64 {
            let from = step * 30 * MS + number * MS;
            one.add("/data/new", OPENDIR, 0, -1, 0, from, from + 8 * MS);
            let path = format!("/data/done/{number}.{step}");
            one.add(&path, op::POSIX_OPEN, 0, -1, 0, from + 9 * MS, from + 9 * MS + MS / 5);
            one.add("/data/log", op::POSIX_OPEN, 0, -1, 0, from + 10 * MS, from + 10 * MS + MS / 5);
        }
        (one, 900)
    };
    let found = report_of((0..4).map(lister).collect(), 0);
    let lists = assert_stated(&found, "DXT-C034", &json!({"file": "/data/new", "calls": 120}));
    assert_says(lists, &["opendir", "4 processes"]);
}

#[test]
fn who_writes_most_while_others_wait_in_a_broadcast_is_named() {
    // Rank 0 broadcasts data received from the others by messages, last from rank 2: the others wait for it in the broadcast.
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        for step in 0..10_u64 {
            let (from, takes) = (step * 200 * MS + 80 * MS, if rank == 2 { 96 } else { 12 } * MS);
            one.write(&format!("/scratch/{rank}"), (step << 23) as i64, (takes / MS) << 13, from, from + takes);
            let (come, all) = (from + takes + MS, from + 98 * MS);
            let come = if rank == 0 { all - MS } else { come };
            one.add("", BCAST, 0, 0, 0, come, if rank == 0 { all } else { all + MS });
        }
        one
    };
    let found = report((0..5).map(rank).collect(), 2000);
    // Rank 2 writes 3.3 times the mean of 2,304 KiB.
    assert_stated(&found, "DXT-C014", &json!({"rank": 2, "bytes": 10 * 96 * 8192}));
    let saves = saves_ms(&found, "DXT-C014").unwrap_or(0);
    assert!((420..=700).contains(&saves), "{saves} of 670 ms");
}

#[test]
fn in_rounds_of_processes_all_wait_for_the_one_with_most_bytes() {
    // In each of six rounds of four processes, another process reads six times as much. A round begins when the previous one has ended.
    let rounds = |most: u64| {
        let of = |round: u64, number: u64| {
            let mut one = process(-1, "n");
            (one.process.info.pid, one.process.info.ppid) = (100 + (round * 4 + number) as u32, 99);
            let reads = if number == round % 4 { most } else { 4 };
            one.process.info.epoch_unix_ns += (round * 200 * MS) as i64;
            for read in 0..reads {
                let (at, from) = ((read << 20) as i64, (5 + read * 5) * MS);
                one.add(&format!("/data/{round}.{number}"), op::POSIX_READ, 0, at, 1 << 20, from, from + 5 * MS);
            }
            (one, 6 + reads * 5)
        };
        report_of((0..6).flat_map(|round| (0..4).map(move |number| of(round, number))).collect(), 0)
    };
    let found = rounds(24);
    let most = assert_stated(&found, "DXT-C014", &json!({"calls": 6}));
    assert_says(most, &["6 of 6 groups", "4 each", "reads", "2.7 times"]);
    let saves = saves_ms(&found, "DXT-C014").unwrap_or(0);
    assert!((350..=600).contains(&saves), "{saves} of 450 ms");
    assert_eq!(saves_ms(&rounds(4), "DXT-C014"), None);
}

/// Returns the JSON report on 64 synthetic ranks that write 8 MiB each in each of ten steps, a stripe at a time, to a file on 16 targets.
/// Half of the ranks begin on OST 0, half on OST 8. A write takes some 20 ms, but occupies its target for less than 1 ms, so that
/// simultaneous writes queue there. Writes on OST 8 take `times` times as long.
fn beginning_together(times: u64) -> serde_json::Value {
    let mut all: Vec<Builder> = (0..64).map(|rank| process(rank, &format!("n{}", rank / 8))).collect();
    for one in &mut all {
        let file = one.file("/lus/a");
        let bytes = lustre(1 << 20, &(0..16).collect::<Vec<u32>>());
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
    }
    let (mut from, mut chance) = (0, 7_u64);
    for step in 0..10_u64 {
        let mut free = [from; 16];
        let mut ready = [from; 64];
        for call in 0..8_u64 {
            let mut order: Vec<u64> = (0..64).collect();
            order.sort_by_key(|rank| ready[*rank as usize]);
            for rank in order {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let stripe = (step * 64 + rank) * 8 + call;
                let target = (stripe % 16) as usize;
                let times = if target == 8 { times } else { 1 };
                let begin = ready[rank as usize];
                free[target] = free[target].max(begin) + MS * 7 / 10;
                let end = free[target] + (15 * MS + (chance >> 33) % (10 * MS)) * times;
                all[rank as usize].write("/lus/a", (stripe << 20) as i64, 1 << 20, begin, end);
                ready[rank as usize] = end + MS / 10;
            }
        }
        from = ready.iter().max().unwrap_or(&0) + 100 * MS;
    }
    report(all, from / MS)
}

#[test]
fn targets_that_ranks_begin_on_together_are_not_slow() {
    // Findings of these codes that have a saving name a slow unit; findings without one only compare bandwidths.
    let slow = |found: &serde_json::Value| {
        let codes = ["DXT-O002", "DXT-O003", "DXT-O004", "DXT-O005"];
        let all = found["findings"].as_array().unwrap().iter().filter(|one| !one["saves_ns"].is_null());
        all.filter(|one| codes.iter().any(|code| one["code"] == *code)).count()
    };
    assert_eq!(slow(&beginning_together(1)), 0);
    // A slow target is reported, and only once.
    let found = beginning_together(4);
    assert_stated(&found, "DXT-O004", &json!({"ost": 8, "calls": 320}));
    assert_eq!(slow(&found), 1, "{}", brief(&found));
}

#[test]
fn a_slow_target_is_reported_of_requests_that_span_most_of_their_file() {
    // Each of 24 ranks writes 3 MiB at a time to a file of its own, on four of 12 targets; data on OST 5 takes four times as long.
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, &format!("n{}", rank / 8));
        let path = format!("/lus/{rank}");
        let file = one.file(&path);
        let targets: Vec<u32> = (0..4).map(|next| ((rank + next) % 12) as u32).collect();
        let bytes = lustre(1 << 20, &targets);
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
        for step in 0..40_u64 {
            let first = (step * 3) as usize;
            let slow = (first..first + 3).any(|stripe| targets[stripe % 4] == 5);
            let takes = (4 * MS + (rank * 7 + step * 13) % 10 * MS / 10) * if slow { 4 } else { 1 };
            one.write(&path, ((step * 3) << 20) as i64, 3 << 20, step * 40 * MS, step * 40 * MS + takes);
        }
        one
    };
    let found = report((0..24).map(rank).collect(), 1600);
    // Eight ranks use OST 5, and three of four of their requests reach it.
    assert_stated(&found, "DXT-O004", &json!({"ost": 5, "calls": 8 * 30, "operation": "writes"}));
}

#[test]
fn ranks_that_do_the_io_of_all_are_not_blamed_one_by_one() {
    let writers = |servers: u64| {
        let rank = |rank: u64| {
            let mut one: Builder = process(rank as i32, &format!("n{}", rank / 4));
            for step in 0..10_u64 {
                let from = step * 100 * MS;
                let takes = if rank.is_multiple_of(16 / servers) { 40 * MS + (rank + step) % 5 * MS } else { 0 };
                if takes > 0 {
                    one.write(&format!("/scratch/{rank}"), (step << 24) as i64, 16 << 20, from, from + takes);
                }
                one.add("", super::BARRIER, 0, 0, 0, from + takes + MS, from + 50 * MS);
            }
            one
        };
        report((0..16).map(rank).collect(), 1000)
    };
    let found = writers(4);
    assert_eq!(saves_ms(&found, "DXT-C014"), None, "{}", brief(&found));
    let found = writers(1);
    assert_stated(&found, "DXT-C013", &json!({"rank": 0, "bytes": 160 << 20}));
}

#[test]
fn that_a_rank_has_more_to_write_is_reported_before_that_it_is_in_writes_for_longer() {
    let writers = |more: u64| {
        let rank = |rank: u64| {
            let mut one: Builder = process(rank as i32, "n");
            for step in 0..10_u64 {
                let calls = if rank == 2 { more } else { 5 };
                let mut now = step * 400 * MS + 50 * MS;
                for call in 0..calls {
                    let takes = 9 * MS + (rank + step + call) % 5 * MS / 2;
                    one.write(&format!("/lus/{rank}"), ((step * calls + call) << 20) as i64, 1 << 20, now, now + takes);
                    now += takes;
                }
                one.add("", BARRIER, 0, 0, 0, now, step * 400 * MS + 350 * MS);
            }
            one
        };
        report((0..3).map(rank).collect(), 4000)
    };
    let found = writers(25);
    // Rank 2 has 2.1 times the mean of 117 MiB.
    assert_stated(&found, "DXT-C014", &json!({"rank": 2, "bytes": 250 << 20}));
    assert_eq!(saves_ms(&writers(5), "DXT-C014"), None);
}

#[test]
fn what_is_said_of_shared_files_is_priced_by_their_calls_alone() {
    // The ranks make small, fast reads of a shared file, and longer writes to files of their own.
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        for step in 0..100_u64 {
            let (from, at) = (step * 20 * MS, ((step * 8 + rank) << 15) as i64);
            one.add("/lus/in", op::POSIX_READ, 0, at, 32 << 10, from, from + MS / 20);
            one.write(&format!("/lus/{rank}"), (step << 15) as i64, 32 << 10, from + MS, from + 9 * MS);
        }
        one
    };
    let found = report((0..8).map(rank).collect(), 2000);
    for code in ["DXT-C010", "DXT-C006", "DXT-C018"] {
        let saves = saves_ms(&found, code).unwrap_or(0);
        assert!(saves <= 5, "{code}: {saves} of at most 5 ms");
    }
}

#[test]
fn a_rank_that_removes_all_files_while_the_others_wait_is_named() {
    let removes = |all: bool| {
        let calls = move |one: &mut Builder, rank: u64, step: u64| {
            let mut at = step * 100 * MS + 20 * MS;
            let count = if all { 5 } else { 20 };
            for file in 0..count * u64::from(all || rank == 0) {
                let until = at + 3 * MS + (file * 7 + step + rank) % 10 * MS / 50;
                one.add(&format!("/scratch/{rank}/old.{step}.{file}"), UNLINK, 0, -1, 0, at, until);
                at = until;
            }
            at
        };
        report(stepped(&calls), 1000)
    };
    let found = removes(false);
    let alone = |finding: &serde_json::Value| says(finding, &["rank 0"]);
    let calls = assert_stated(&found, "DXT-C012", &json!({"calls": 200}));
    assert_saves_ms(calls, 587.0..=649.0);
    assert_says(calls, &["200 unlink"]);
    assert!(alone(calls), "{calls}");
    // There are as many unlink calls, 50 by each rank, and no rank waits for another.
    let found = removes(true);
    let calls = assert_stated(&found, "DXT-C012", &json!({"calls": 200}));
    assert_saves_ms(calls, 0.0..=160.0);
    assert_says(calls, &["200 unlink"]);
    assert!(!alone(calls), "{calls}");
}
