//! Tests of serialized ranks: the cost of doing I/O one after another.

use super::{BARRIER, LOCK, MS, meet, report, saves_ms};
use crate::common::facts::{assert_quiet, assert_says, assert_stated, brief, text_has};
use crate::common::{Builder, process};
use serde_json::{Value, json};

/// Returns the JSON report on eight synthetic ranks in twelve rounds. In each round, a rank computes for `computes` ms, then the ranks
/// write 1 MiB in 10 ms each, one after another. If `meet` is true, all synchronize after each round; otherwise never.
fn by_turns(computes: u64, meet: bool) -> Value {
    let ranks = 8_u64;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, "n")).collect();
    let (mut ready, mut free) = (vec![computes * MS; ranks as usize], 0_u64);
    for round in 0..12_u64 {
        for (rank, one) in (0..ranks).zip(&mut all) {
            let from = ready[rank as usize].max(free);
            free = from + 10 * MS;
            one.write("/scratch/a", ((round * ranks + rank) << 20) as i64, 1 << 20, from, free);
            let jitter = (rank * 7 + round * 3) % 5 * MS / 20;
            ready[rank as usize] = free + computes * MS + jitter;
        }
        if meet {
            for (rank, one) in (0..ranks).zip(&mut all) {
                one.add("", BARRIER, 0, 0, 0, ready[rank as usize] - computes * MS, free + MS);
                ready[rank as usize] = free + MS + computes * MS + rank * MS / 20;
            }
        }
    }
    report(all, free / MS + 1)
}

#[test]
fn who_computes_while_others_have_their_turns_loses_nothing_by_that() {
    // A round takes 100 ms, of which each rank computes for 90, so the last rank waits for the seven before it only in the first round.
    let saves = saves_ms(&by_turns(90, false), "DXT-C039").unwrap_or(0);
    assert!(saves <= 100, "{saves} of 70 ms");
    // A round takes 80 ms, of which each rank computes for 30 and waits for 40.
    let found = by_turns(30, false);
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((400..=560).contains(&saves), "{saves} of 510 ms: {}", brief(&found));
    // If all synchronize after each round, no rank computes meanwhile.
    let found = by_turns(30, true);
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((700..=880).contains(&saves), "{saves} of 840 ms: {}", brief(&found));
}

#[test]
fn turns_in_some_phases_are_reported_though_most_bytes_are_written_at_the_same_time() {
    // In each of six steps, eight ranks write simultaneously for 60 ms, then for 5 ms each, serialized or together.
    let run = |in_turn: bool| {
        let mut all: Vec<Builder> = (0..8).map(|rank| process(rank, "n")).collect();
        let mut now = 0;
        for step in 0..6_u64 {
            let write = |one: &mut Builder, rank: u64, file: &str, from: u64, takes: u64| {
                let until = from + takes * MS + (rank * 7 + step * 13) % 10 * MS / 50;
                one.write(file, (rank << 24) as i64, takes << 18, from, until);
                until
            };
            let begin = now + 50 * MS;
            let dump = |(rank, one): (u64, &mut Builder)| write(one, rank, &format!("/scratch/dump.{step}"), begin, 60);
            let ends: Vec<u64> = (0..8).zip(&mut all).map(dump).collect();
            let met = meet(&mut all, &ends);
            let mut free = met;
            let report = |(rank, one): (u64, &mut Builder)| {
                let end = write(one, rank, &format!("/scratch/report.{step}"), if in_turn { free } else { met }, 5);
                free = end;
                end
            };
            let ends: Vec<u64> = (0..8).zip(&mut all).map(report).collect();
            now = meet(&mut all, &ends);
        }
        report(all, now / MS + 1)
    };
    let found = run(true);
    let serial = assert_stated(&found, "DXT-C039", &json!({"file": "/scratch/report.0", "calls": 8 * 6}));
    assert_says(serial, &["8 ranks write", "5 other"]);
    assert!(text_has(&serial["evidence"].to_string(), &["6 phases"]), "{serial}");
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((200..=230).contains(&saves), "{saves} of 6 times 35 ms");
    assert_eq!(saves_ms(&run(false), "DXT-C039"), None);
}

#[test]
fn turns_of_groups_beside_each_other_are_reported() {
    // Each of four groups of four ranks has a file; in a group, ranks write one after another for 10 ms, after computing for 100 ms.
    let mut all: Vec<Builder> = (0..16).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..6_u64 {
        let mut free = [now + 100 * MS; 4];
        let write = |(rank, one): (u64, &mut Builder)| {
            let (group, jitter) = ((rank / 4) as usize, (rank * 7 + step * 13) % 10 * MS / 20);
            let begin = free[group];
            free[group] = begin + 10 * MS + jitter;
            one.write(&format!("/scratch/{step}.{group}"), (rank << 20) as i64, 1 << 20, begin, free[group]);
            free[group]
        };
        let ends: Vec<u64> = (0..16).zip(&mut all).map(write).collect();
        now = meet(&mut all, &ends);
    }
    let found = report(all, now / MS + 1);
    let serial = assert_stated(&found, "DXT-C039", &json!({"calls": 16 * 6}));
    assert_says(serial, &["16 ranks", "4 groups", "write"]);
    assert!(text_has(&serial["evidence"].to_string(), &["6 phases"]), "{serial}");
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((170..=210).contains(&saves), "{saves} of 6 times 30 ms");
}

#[test]
fn turns_that_a_lock_makes_are_the_locks() {
    // Eight ranks lock a file in each of six steps; each writes six times before the next rank gets the lock.
    let mut all: Vec<Builder> = (0..8).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..6_u64 {
        let begin = now + 100 * MS;
        let mut free = begin;
        let write = |(rank, one): (u64, &mut Builder)| {
            one.add("/scratch/index", LOCK, 0, 0, 0, begin, free + MS / 10);
            free += MS / 10;
            for call in 0..6_u64 {
                let end = free + 2 * MS + (rank * 7 + step * 13 + call) % 10 * MS / 20;
                one.write("/scratch/index", ((rank * 6 + call) << 20) as i64, 1 << 20, free, end);
                free = end;
            }
            free
        };
        let ends: Vec<u64> = (0..8).zip(&mut all).map(write).collect();
        now = meet(&mut all, &ends);
    }
    let found = report(all, now / MS + 1);
    assert_says(assert_stated(&found, "DXT-V005", &json!({"reason": null})), &["48 lock calls"]);
}

/// Five ranks compute for 80 ms, then write one after another, 13 ms each; all ranks synchronize after each rank's write.
#[test]
fn turns_behind_each_of_which_all_meet_cost_what_ranks_wait_there() {
    let mut all: Vec<Builder> = (0..5).map(|rank| process(rank, "n")).collect();
    let mut now = 400 * MS;
    for step in 0..20_u64 {
        now += 80 * MS;
        for turn in 0..5_usize {
            let from = now + (step * 7 + turn as u64 * 3) % 5 * MS / 20;
            let until = from + 13 * MS;
            all[turn].write("/scratch/a", ((step * 5 + turn as u64) << 20) as i64, 1 << 20, from, until);
            let mut times = vec![now; 5];
            times[turn] = until;
            now = meet(&mut all, &times);
        }
    }
    let found = report(all, now / MS + 1);
    assert_stated(&found, "DXT-C039", &json!({"calls": null}));
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((950..=1150).contains(&saves), "{saves} of 1040 ms and the sync_points");
}

/// Three of four ranks write briefly and one after another, while the writes of the fourth take long in the whole phase.
#[test]
fn ranks_beside_a_slow_one_are_not_serialized() {
    let mut all: Vec<Builder> = (0..4).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..6_u64 {
        let mut times = [0; 4];
        for (rank, one) in (0_u64..).zip(&mut all) {
            let takes = if rank == 0 { 40 } else { 2 } * MS;
            let mut at = now + (30 + rank * 13) * MS;
            for call in 0..6_u64 {
                let until = at + takes + (rank * 7 + call * 3) % 10 * MS / 50;
                one.write(&format!("/scratch/of{rank}"), ((step * 6 + call) << 20) as i64, 1 << 20, at, until);
                at = until;
            }
            times[rank as usize] = at;
        }
        now = meet(&mut all, &times);
    }
    assert_quiet(&report(all, now / MS + 1), "DXT-C039");
}
