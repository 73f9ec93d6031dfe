//! Tests of ranks that compute longer and block the others at synchronization points.

use super::{BARRIER, BCAST, GATHER, MS, evidence, meet, report, saves_ms, sentence, stepped};
use crate::common::facts::{assert_quiet, assert_saves_ms, assert_says, assert_stated, text_has};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};
use trace_format::meta::CommunicatorDef;

#[test]
fn a_rank_that_comes_late_to_barriers_is_named_where_io_matters() {
    let late = |write_ms: u64| {
        let calls = move |one: &mut Builder, rank: u64, step: u64| {
            let from = step * 100 * MS + if rank == 1 { 50 } else { 20 } * MS;
            one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, from, from + write_ms * MS);
            from + write_ms * MS
        };
        report(stepped(&calls), 1000)
    };
    let found = late(20);
    assert_saves_ms(assert_stated(&found, "DXT-V013", &json!({"rank": 1, "calls": 10})), 240.0..=300.0);
    // Longer computation is no I/O problem if there is hardly any I/O.
    assert_eq!(late(1)["verdict"]["io_matters"], false);
}

/// Asserts that no rank is reported as late, neither at synchronization points nor to collective calls.
fn assert_none_late(found: &Value) {
    assert_quiet(found, "DXT-V013");
    assert_quiet(found, "DXT-L003");
}

/// Rank 0 waits for rank 1 in a reduction. The other ranks have sent their contributions before, and wait at the barrier that follows.
#[test]
fn a_rank_that_comes_late_to_a_reduction_is_late_to_the_barrier_behind_it() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..15_u64 {
            let from = step * 150 * MS;
            for call in 0..4 {
                let at = from + call * 4 * MS;
                one.add(
                    &format!("/scratch/of{rank}"),
                    op::POSIX_READ,
                    0,
                    ((step * 4 + call) << 20) as i64,
                    1 << 20,
                    at,
                    at + 4 * MS,
                );
            }
            let computes = if rank == 1 { 125 } else { 95 } * MS;
            let comes = from + 16 * MS + computes;
            let met = from + 16 * MS + 125 * MS + MS;
            let sent = if rank == 0 { met - MS / 2 } else { comes + MS / 10 };
            one.add("", GATHER, 0, 0, 0, comes, sent);
            one.add("", BARRIER, 0, 0, 0, sent, met);
        }
        one
    };
    for ranks in [3, 4, 8] {
        let found = report((0..ranks).map(rank).collect(), 15 * 150);
        let late = assert_stated(&found, "DXT-V013", &json!({"rank": 1, "calls": 15}));
        assert_saves_ms(late, 400.0..=460.0);
        assert_says(late, &["15 of 15"]);
    }
}

/// A reduction to rank 0 followed by a broadcast acts as a barrier, though no barrier is called.
#[test]
fn a_rank_is_late_where_a_broadcast_follows_a_reduction() {
    let found = |late: bool, bcast: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..15_u64 {
                let from = step * 150 * MS;
                let path = format!("/scratch/of{rank}");
                one.write(&path, (step << 20) as i64, 1 << 20, from, from + 15 * MS);
                let computes = if late && rank == 2 { 125 } else { 95 + (rank + step) % 3 } * MS;
                let comes = from + 15 * MS + computes;
                let all = from + 15 * MS + if late { 125 } else { 98 } * MS;
                let sent = if rank == 0 { all + MS / 10 } else { comes + MS / 10 };
                one.add("", GATHER, 0, 0, 0, comes, sent);
                if bcast {
                    one.add("", BCAST, 0, 0, 0, sent, all + MS / 2);
                }
            }
            one
        };
        report((0..6).map(rank).collect(), 15 * 150)
    };
    let late = found(true, true);
    let late = assert_stated(&late, "DXT-V013", &json!({"rank": 2, "calls": 15}));
    assert_saves_ms(late, 380.0..=460.0);
    assert_says(late, &["15 of 15"]);
    // All ranks compute for equal times.
    assert_none_late(&found(false, true));
    // In a reduction alone, senders continue, so no other rank waits.
    assert_none_late(&found(true, false));
}

/// Returns the JSON report on synthetic ranks in ten steps: 20 ms of computing (60 ms if `is_late(rank)`), then a write; all ranks
/// synchronize at the end of each step. `node` gives the node of a rank.
fn late(ranks: i32, is_late: &dyn Fn(u64) -> bool, node: &dyn Fn(i32) -> &'static str) -> Value {
    let rank = |rank: i32| {
        let mut one = process(rank, node(rank));
        for step in 0..10 {
            let computes =
                if is_late(rank as u64) { 60 } else { 20 } * MS + (rank as u64 * 7 + step * 13) % 10 * MS / 10;
            let from = step * 100 * MS + computes;
            one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, from, from + 20 * MS);
            one.add("", BARRIER, 0, 0, 0, from + 20 * MS, (step + 1) * 100 * MS);
        }
        one
    };
    report((0..ranks).map(rank).collect(), 1000)
}

#[test]
fn ranks_that_are_late_together_are_named_together() {
    let one = |_| "n";
    for (is_late, expected) in [
        (&(|rank: u64| rank == 2 || rank == 5) as &dyn Fn(u64) -> bool, json!([2, 5])),
        (&|rank: u64| rank.is_multiple_of(2), json!([0, 2, 4, 6])),
    ] {
        let found = late(8, is_late, &one);
        let facts = json!({"ranks": expected, "rank": null, "node": null, "calls": 10});
        assert_saves_ms(assert_stated(&found, "DXT-V013", &facts), 350.0..=410.0);
    }
    // A node is named if all of its ranks are late.
    let nodes = |rank| if rank < 3 { "a" } else { "b" };
    let found = late(8, &|rank| rank < 3, &nodes);
    assert_stated(&found, "DXT-V013", &json!({"node": "a", "ranks": [0, 1, 2], "rank": null, "calls": 10}));
    // More than half of the ranks cannot be outliers.
    let found = late(8, &|rank| rank > 2, &one);
    assert_none_late(&found);
}

#[test]
fn who_comes_late_within_a_group_holds_up_all_where_these_meet() {
    // Two groups of four ranks each synchronize in each of nine steps, and all ranks in every third; rank 2 computes longer.
    let mut all: Vec<Builder> = (0..8).map(member).collect();
    let mut ready = [0_u64; 8];
    for step in 0..9_u64 {
        for (rank, one) in (0..8_u64).zip(&mut all) {
            let begin =
                ready[rank as usize] + if rank == 2 { 60 } else { 40 } * MS + (rank * 7 + step * 3) % 10 * MS / 20;
            ready[rank as usize] = begin + 10 * MS;
            one.write(&format!("/scratch/{step}.{rank}"), 0, 1 << 20, begin, begin + 10 * MS);
        }
        for (group, ready) in ready.chunks_mut(4).enumerate() {
            let met = ready.iter().max().unwrap_or(&0) + MS / 10;
            for (one, time) in all.iter_mut().skip(group * 4).zip(ready) {
                one.add("", BARRIER, 0, GROUP, 0, *time, met);
                *time = met;
            }
        }
        if step % 3 == 2 {
            ready = [meet(&mut all, &ready); 8];
        }
    }
    let found = report(all, ready[0] / MS + 1);
    let late = assert_stated(&found, "DXT-V013", &json!({"rank": 2, "calls": 3}));
    assert_saves_ms(late, 165.0..=185.0);
    assert_says(late, &["3 of 3"]);
    // The evidence names MPI calls for synchronization points of all ranks only.
    assert!(text_has(&evidence(&found), &["MPI_Barrier"]), "{late}");
}

#[test]
fn who_comes_late_to_its_group_is_named_though_all_meet_only_at_the_end() {
    // Two groups of four ranks: in each of nine steps, rank 2 computes `computes` longer, or its writes take `writes` longer.
    let run = |computes: u64, writes: u64| {
        let mut all: Vec<Builder> = (0..8).map(member).collect();
        let mut ready = [0_u64; 8];
        for step in 0..9_u64 {
            for (rank, one) in (0..8_u64).zip(&mut all) {
                let more = |ms: u64| if rank == 2 { ms * MS } else { 0 };
                let begin = ready[rank as usize] + 40 * MS + more(computes) + (rank * 7 + step * 3) % 10 * MS / 20;
                ready[rank as usize] = begin + 10 * MS + more(writes);
                one.write(&format!("/scratch/{step}.{rank}"), 0, 1 << 20, begin, ready[rank as usize]);
            }
            for (group, ready) in ready.chunks_mut(4).enumerate() {
                let met = ready.iter().max().unwrap_or(&0) + MS / 10;
                for (one, time) in all.iter_mut().skip(group * 4).zip(ready) {
                    one.add("", BARRIER, 0, GROUP, 0, *time, met);
                    *time = met;
                }
            }
        }
        let end = meet(&mut all, &ready);
        report(all, end / MS + 1)
    };
    let found = run(20, 0);
    let late = assert_stated(&found, "DXT-V013", &json!({"rank": 2, "calls": 8}));
    assert_saves_ms(late, 150.0..=180.0);
    assert_says(late, &["8 of 8", "4 ranks"]);
    let found = run(0, 20);
    assert_stated(&found, "DXT-O002", &json!({"rank": 2, "calls": 9, "operation": "writes"}));
    assert_eq!(saves_ms(&found, "DXT-V013"), None);
}

/// Number (ID) of the group communicator of a rank.
const GROUP: i64 = 1;

/// Returns the process of a rank that belongs to a group communicator.
fn member(rank: i32) -> Builder {
    let mut one = process(rank, "n");
    let first = rank / 4 * 4;
    let def = CommunicatorDef {
        number: GROUP as u32,
        size: 4,
        rank: rank % 4,
        first,
        members: first as u64 + 9,
        remote_size: 0,
    };
    one.process.communicators = vec![def];
    one
}

/// Three ranks write for 45 ms, then wait 6 ms for a fourth that computes longer and writes for only 5 ms: its lateness costs 6 ms per step, not 46.
#[test]
fn who_writes_less_is_not_waited_for_by_those_who_write_more() {
    let mut all: Vec<Builder> = (0..4).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..12_u64 {
        let mut times = [0; 4];
        for (rank, one) in (0_u64..).zip(&mut all) {
            let jitter = (rank * 7 + step * 3) % 10 * MS / 20;
            let (from, takes) = if rank == 0 { (61, 5) } else { (15, 45) };
            let from = now + from * MS + jitter;
            one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, from, from + takes * MS);
            times[rank as usize] = from + takes * MS;
        }
        now = meet(&mut all, &times);
    }
    let found = report(all, now / MS + 1);
    let saves = saves_ms(&found, "DXT-V013").unwrap_or(0);
    assert!(saves <= 12 * 10, "{saves} of 72 ms: {}", sentence(&found));
}

/// Two ranks compute, then make 50 writes of 0.5 ms each, then synchronize, in each of ten steps. Rank 1 begins to write `after` ms after
/// the begin of a step, rank 0 after 5 ms.
fn two_ranks(after: u64) -> Value {
    let mut all: Vec<Builder> = (0..2).map(|rank| process(rank, "n")).collect();
    let mut now = 0;
    for step in 0..10_u64 {
        let mut times = [0; 2];
        for (rank, one) in (0_u64..).zip(&mut all) {
            let mut at = now + if rank == 1 { after } else { 5 } * MS;
            for call in 0..50_u64 {
                let until = at + MS / 2 + (rank * 7 + call * 3 + step) % 10 * MS / 100;
                one.write("/scratch/o", (((step * 2 + rank) * 50 + call) << 20) as i64, 1 << 20, at, until);
                at = until;
            }
            times[rank as usize] = at;
        }
        now = meet(&mut all, &times);
    }
    report(all, now / MS + 1)
}

#[test]
fn one_of_two_ranks_that_computes_longer_is_late_and_not_serialized() {
    let found = two_ranks(80);
    assert_saves_ms(assert_stated(&found, "DXT-V013", &json!({"rank": 1, "calls": 10})), 680.0..=760.0);
    assert_quiet(&found, "DXT-C039");
    // Rank 1 begins when rank 0 has written.
    let found = two_ranks(33);
    assert_saves_ms(assert_stated(&found, "DXT-C039", &json!({})), 220.0..=300.0);
    assert_quiet(&found, "DXT-V013");
    let found = two_ranks(5);
    assert_none_late(&found);
    assert_quiet(&found, "DXT-C039");
}
