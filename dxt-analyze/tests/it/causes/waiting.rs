//! Tests of dependencies between ranks: ranks that block others, and ranks that do not.

use super::{BARRIER, KIB, LOCK, MPIIO_WRITE, MS, report, report_of, saves_ms, sentence, stepped};
use crate::common::facts::{
    assert_found, assert_nothing_stated, assert_quiet, assert_saves_ms, assert_says, assert_stated, brief, findings,
};
use crate::common::{self, Builder, process};
use serde_json::json;
use trace_format::meta::ThreadDef;
use trace_format::meta::stream_flags::NESTED;
use trace_format::segment::{Segment, StreamId};

#[test]
fn ranks_that_write_by_turns_from_step_to_step_are_serial() {
    let turns = |all: bool| {
        let calls = move |one: &mut Builder, rank: u64, step: u64| {
            let from = step * 100 * MS;
            if !all && step % 4 != rank {
                return from + MS;
            }
            let mut at = from;
            for call in 0..if all { 2 } else { 8 } {
                one.write("/scratch/shared", ((step * 32 + rank * 8 + call) << 20) as i64, 1 << 20, at, at + 10 * MS);
                at += 10 * MS;
            }
            at
        };
        report(stepped(&calls), 1000)
    };
    let found = turns(false);
    assert_saves_ms(assert_stated(&found, "DXT-C039", &json!({})), 500.0..=620.0);
    // All ranks write at once, so none is serialized.
    assert_quiet(&turns(true), "DXT-C039");
}

#[test]
fn threads_that_never_read_at_once_are_named() {
    let threads = |turn: &dyn Fn(u64) -> (u64, u64)| {
        let mut one = process(-1, "n");
        one.stream("/data/table", common::op::POSIX_READ, 0);
        one.process.threads = (0..4).map(|index| ThreadDef { index, tid: 1000 + index }).collect();
        one.threads = (0..4).map(|index| (index, Vec::new())).collect();
        for call in 0..100_u64 {
            let (thread, turn) = turn(call);
            let from = turn * 8 * MS;
            let segment = Segment::new(StreamId(0), (call << 20) as i64, 1 << 20, from, from + 8 * MS);
            one.threads[thread as usize].1.push(segment);
        }
        report(vec![one], 820)
    };
    let found = threads(&|call| (call % 4, call));
    let serial = assert_stated(&found, "DXT-V012", &json!({"time_ns": 800 * MS}));
    assert_saves_ms(serial, 600.0..601.0);
    assert_says(serial, &["4 I/O threads", "pid 999"]);
    let at_once = threads(&|call| (call % 4, call / 4 * 4));
    assert_quiet(&at_once, "DXT-V012");
    // One thread begins when the other has ended.
    assert_quiet(&threads(&|call| (call / 25, call)), "DXT-V012");
}

#[test]
fn who_serves_others_that_need_not_wait_is_not_blamed() {
    // One rank writes data sent by the others, which continue computing; all synchronize only at the end.
    let server = |busy_ms: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            if rank == 3 {
                for step in 0..10_u64 {
                    let from = step * 100 * MS;
                    one.write("/scratch/out", (step << 20) as i64, 1 << 20, from, from + busy_ms * MS);
                }
            }
            one.add("", BARRIER, 0, 0, 0, 990 * MS, 1000 * MS);
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    assert_nothing_stated(&server(15));
    // A server that is busy all the time blocks the others.
    let found = server(80);
    assert_says(assert_stated(&found, "DXT-C013", &json!({"rank": 3, "bytes": 10 << 20})), &["writes 100 %"]);
}

#[test]
fn uneven_reads_before_the_first_meeting_are_reported_however_late_it_is() {
    // Rank 2 reads most of the input for 600 of 1,000 ms; the others finish early and wait for it.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let calls = if rank == 2 { 60 } else { 6 };
        for call in 0..calls {
            let at = ((rank * 64 + call) << 20) as i64;
            one.add("/scratch/in", common::op::POSIX_READ, 0, at, 1 << 20, call * 10 * MS, (call * 10 + 9) * MS);
        }
        one.add("", BARRIER, 0, 0, 0, calls * 10 * MS, 600 * MS + MS);
        one.add("", BARRIER, 0, 0, 0, 999 * MS, 1000 * MS);
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    assert_says(assert_stated(&found, "DXT-C014", &json!({"rank": 2, "bytes": 60 << 20})), &["reads 3.1 times"]);
}

#[test]
fn who_waits_at_a_barrier_does_not_come_late_to_the_next_collective_call() {
    let run = |barrier: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..10_u64 {
                let (from, at) = (step * 100 * MS, ((step * 4 + rank) << 20) as i64);
                one.add("/scratch/all", common::op::MPIIO_WRITE_ALL, 0, at, 1 << 20, from, from + 10 * MS);
                // All but rank 0 continue to write for 50 ms.
                let until = if rank == 0 { from + 11 * MS } else { from + 61 * MS };
                one.write(&format!("/scratch/of{rank}"), at, 1 << 20, from + 10 * MS, until);
                if barrier {
                    one.add("", BARRIER, 0, 0, 0, until, from + 62 * MS);
                }
            }
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    let late = |found: &serde_json::Value| saves_ms(found, "DXT-L003").unwrap_or(0);
    assert_eq!(late(&run(true)), 0);
    assert!(late(&run(false)) > 300, "it computes meanwhile");
}

#[test]
fn locks_around_each_call_of_mpiio_are_reported_from_those_of_sieving() {
    let run = |reads: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for call in 0..20_u64 {
                let (from, at) = (call * 40 * MS, ((call * 4 + rank) << 16) as i64);
                one.add("/scratch/a", MPIIO_WRITE, 0, at, 65536, from, from + 12 * MS);
                one.add("/scratch/a", LOCK, NESTED, at, 65536, from, from + 10 * MS);
                if reads {
                    one.add("/scratch/a", common::op::POSIX_READ, NESTED, at, 65536, from + 10 * MS, from + 11 * MS);
                }
                one.add("/scratch/a", common::op::POSIX_WRITE, NESTED, at, 65536, from + 11 * MS, from + 12 * MS);
            }
            one
        };
        report((0..4).map(rank).collect(), 800)
    };
    let atomic = run(false);
    assert_stated(&atomic, "DXT-L001", &json!({"reason": "atomic_mode"}));
    let unlocks = |found: &serde_json::Value| {
        let mut all = findings(found).into_iter();
        all.any(|one| one["commands"].to_string().contains("MPI_File_set_atomicity(fh, 0)"))
    };
    assert!(unlocks(&atomic), "{}", atomic["verdict"]);
    let sieving = run(true);
    let locks = assert_found(&sieving, "DXT-L001", &json!({"reason": null}));
    assert_says(locks, &["80 lock calls"]);
    assert!(findings(&sieving).into_iter().all(|one| one["about"]["reason"].is_null()), "{}", brief(&sieving));
    assert!(!unlocks(&sieving), "{}", sieving["verdict"]);
}

/// Returns process `number` of a process pool: the parent (0) or one of its children (1, 2, ...).
fn pool_process(number: u64) -> Builder {
    let mut one = process(-1, "n");
    (one.process.info.pid, one.process.info.ppid) = (100 + number as u32, if number == 0 { 1 } else { 100 });
    one
}

/// Returns the JSON report on a process pool whose parent reads a list, then waits for its children. Each child is given with its end in ms.
fn pool(children: impl Iterator<Item = (Builder, u64)>) -> serde_json::Value {
    let mut parent = pool_process(0);
    parent.add("/scratch/list", common::op::POSIX_READ, 0, 0, 4096, 0, MS);
    report_of(std::iter::once((parent, 1000)).chain(children).collect(), 0)
}

#[test]
fn of_a_pool_only_those_who_work_share_the_work() {
    // One of four children has most of the work.
    let child = |number: u64| {
        let mut one = pool_process(number + 1);
        let calls = if number == 1 { 90 } else { 30 };
        for call in 0..calls {
            one.write(
                &format!("/scratch/of{number}"),
                (call << 20) as i64,
                1 << 20,
                call * 10 * MS,
                (call * 10 + 9) * MS,
            );
        }
        (one, calls * 10 + 50)
    };
    let found = pool((0..4).map(child));
    let most = assert_stated(&found, "DXT-C014", &json!({"rank": null, "bytes": 90 << 20}));
    assert_says(most, &["pid 102", "writes 2.0 times"]);
}

#[test]
fn a_slow_worker_of_a_pool_is_waited_for_however_much_time_the_others_have() {
    let child = |number: u64| {
        let mut one = pool_process(number + 1);
        for call in 0..18_u64 {
            let (from, takes) = if number == 2 { (call * 54, 50) } else { (call * 8, 2) };
            let from = from * MS + call * number % 7 * MS / 20;
            one.write(&format!("/scratch/of{number}"), (call << 20) as i64, 1 << 20, from, from + takes * MS);
        }
        (one, 990)
    };
    let found = pool((0..5).map(child));
    let facts = json!({"rank": null, "calls": 18, "operation": "writes"});
    let slow = assert_stated(&found, "DXT-O002", &facts);
    assert_saves_ms(slow, 800.0..=880.0);
    assert_says(slow, &["pid 103", "24.9 times"]);
}

#[test]
fn a_shell_that_starts_ranks_is_no_worker() {
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        let bytes = if rank < 0 { 100 } else { 65536 };
        for call in 0..100_u64 {
            one.write(&format!("/scratch/of{rank}"), (call * bytes) as i64, bytes, call * 5 * MS, (call * 5 + 2) * MS);
        }
        one
    };
    let found = report((-1..4).map(rank).collect(), 600);
    assert_stated(&found, "DXT-V026", &json!({"operation": "writes"}));
    assert_eq!(found["verdict"]["ledger"]["no_io_ns"], 4 * 400 * MS, "of the ranks alone");
}

#[test]
fn a_shell_around_each_rank_is_no_worker_either() {
    // The shell has the rank's number in its environment, and ends by exit.
    let shell = |rank: i32| {
        let mut one = process(rank, "n");
        (one.process.info.pid, one.process.info.ended_by) = (2000 + rank as u32, "exit".into());
        one
    };
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        for call in 0..100_u64 {
            one.write(&format!("/scratch/of{rank}"), (call << 16) as i64, 1 << 16, call * 5 * MS, (call * 5 + 2) * MS);
        }
        one
    };
    let found = report_of((0..4).flat_map(|k| [(shell(k), 600), (rank(k), 600)]).collect(), 4);
    assert_stated(&found, "DXT-V026", &json!({"operation": "writes"}));
    assert_eq!(found["verdict"]["ledger"]["no_io_ns"], 4 * 400 * MS, "of the ranks alone");
}

#[test]
fn jobs_one_after_the_other_share_nothing() {
    // Two jobs of two ranks each write equal amounts per rank; the second job writes twice as much.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let (from, calls) = if rank < 2 { (0, 50) } else { (500, 100) };
        for call in 0..calls {
            let at = ((rank * 100 + call) * 1024 * KIB) as i64;
            one.write("/scratch/shared", at, 1024 * KIB, (from + call * 4) * MS, (from + call * 4 + 3) * MS);
        }
        (one, if rank < 2 { 250 } else { 1000 })
    };
    let ranks: Vec<(Builder, u64)> = (0..4).map(rank).collect();
    let found = report_of(ranks, 4);
    assert_eq!(saves_ms(&found, "DXT-C014").unwrap_or(0), 0, "{}", sentence(&found));
}

#[test]
fn who_gathers_and_writes_is_not_excused_at_another_ranks_cost() {
    // In each step, ranks compute for 40 ms, rank 0 writes for 60 ms after a gather, then a barrier follows. Rank 3 arrives at the gather
    // after rank 0; the others have sent earlier, so their waits at the barrier begin before the last rank has joined the gather.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..9 {
            let from = step * 110 * MS;
            let comes = from + if rank == 3 { 42 } else { 40 } * MS + rank * MS / 10;
            let gathered = if rank == 0 { from + 43 * MS } else { comes + MS };
            one.add("", super::GATHER, 0, 0, 0, comes, gathered);
            let mut at = gathered;
            if rank == 0 {
                one.write("/scratch/all", (step << 20) as i64, 1 << 20, at, at + 60 * MS);
                at += 60 * MS;
            }
            one.add("", BARRIER, 0, 0, 0, at, from + 104 * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    assert_says(assert_stated(&found, "DXT-C013", &json!({"rank": 0, "bytes": 9 << 20})), &["writes 100 %"]);
    assert!(saves_ms(&found, "DXT-V013").is_none_or(|ms| ms < 30), "{}", sentence(&found));
}

#[test]
fn neighbours_of_a_slow_rank_are_not_called_late() {
    // Rank 2 writes for 50 ms instead of 5; ranks 1 and 3 wait for its message before they synchronize, rank 0 waits at the synchronization point.
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let from = step * 100 * MS + 20 * MS;
        let takes = if rank == 2 { 50 } else { 5 } * MS + (rank * 7 + step * 13) % 10 * MS / 10;
        one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, from, from + takes);
        from + if rank == 0 { takes } else { 51 * MS }
    };
    let found = report(stepped(&calls), 1000);
    assert_quiet(&found, "DXT-V013");
    assert_quiet(&found, "DXT-L003");
}

/// Returns the JSON report on six synthetic ranks in eight steps of about 100 ms of computing, given by `computes(rank, step)` in ms. In
/// every `every`-th step, each rank also writes for 10 ms (rank 2: 90 ms). Ranks 1 and 3 then wait for messages from rank 2, which are not
/// recorded; the others wait at the synchronization point.
fn neighbours(every: u64, computes: &dyn Fn(u64, u64) -> u64) -> serde_json::Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut begins = 0;
        for step in 0..8_u64 {
            let writes = step % every == 0;
            let mut at = begins;
            if writes {
                let ms = if rank == 2 { 90 } else { 10 };
                one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, at, at + ms * MS);
                at += ms * MS;
            }
            let ends = begins + if writes { 191 } else { 101 } * MS;
            at += computes(rank, step) * MS;
            if writes && [1, 3].contains(&rank) {
                at = ends - MS;
            }
            one.add("", BARRIER, 0, 0, 0, at, ends);
            begins = ends;
        }
        one
    };
    report((0..6).map(rank).collect(), 800 + 8 / every * 90)
}

#[test]
fn who_waits_for_messages_of_a_slow_rank_does_not_make_it_cheap() {
    let even = |_: u64, _: u64| 100;
    for (every, expected) in [(2, 320.0), (1, 640.0)] {
        let found = neighbours(every, &even);
        let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 2, "calls": 8 / every}));
        assert_saves_ms(slow, expected * 0.8..=expected);
    }
    // A rank that computes longer at each step waits for no other, so the slow rank's writes block no rank.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..8_u64 {
            let (begins, writes) = (step * 200 * MS, step % 2 == 0);
            let ms = if !writes {
                0
            } else if rank == 2 {
                90
            } else {
                10
            };
            if writes {
                one.write(&format!("/scratch/of{rank}"), (step << 20) as i64, 1 << 20, begins, begins + ms * MS);
            }
            let computes = if rank == 4 { 185 } else { 100 };
            one.add("", BARRIER, 0, 0, 0, begins + (ms + computes) * MS, begins + 199 * MS);
        }
        one
    };
    let found = report((0..6).map(rank).collect(), 1600);
    assert!(saves_ms(&found, "DXT-O002").unwrap_or(0) < 60, "{}", sentence(&found));
}
