//! Who waits for whom, and who does not.

use super::{BARRIER, KIB, MS, report, report_of, saves_ms, sentence, stepped};
use crate::common::{self, Builder, process};
use trace_format::meta::ThreadDef;
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
    assert!(sentence(&found).contains("only one process moves them"), "{}", sentence(&found));
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((500..=620).contains(&saves), "{saves} of 600 ms");
    assert!(!sentence(&turns(true)).contains("only one process"), "all at once");
}

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
    assert!(sentence(&found).starts_with("Rank 1 comes late to"), "{}", sentence(&found));
    let saves = saves_ms(&found, "DXT-V013").unwrap_or(0);
    assert!((240..=300).contains(&saves), "{saves} of 300 ms");
    // Who computes for longer is no matter of I/O where there is hardly any.
    assert!(sentence(&late(1)).starts_with("I/O is not the bottleneck"), "{}", sentence(&late(1)));
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
    assert!(sentence(&found).starts_with("The 4 threads of pid "), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V012"), Some(600));
    let at_once = threads(&|call| (call % 4, call / 4 * 4));
    assert!(!sentence(&at_once).contains("threads"), "{}", sentence(&at_once));
    let behind = threads(&|call| (call / 25, call));
    assert!(!sentence(&behind).contains("threads"), "one when the other has gone: {}", sentence(&behind));
}

#[test]
fn who_serves_others_that_need_not_wait_is_not_blamed() {
    // One rank writes what the others send it, and they compute on; they meet only at the end.
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
    assert!(sentence(&server(15)).starts_with("Nothing stands out"), "{}", sentence(&server(15)));
    // Who is busy all the time holds them up.
    assert!(sentence(&server(80)).starts_with("Rank 3 writes 100 % of the bytes"), "{}", sentence(&server(80)));
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
    assert!(sentence(&found).starts_with("Nothing stands out"), "{}", sentence(&found));
    assert_eq!(found["verdict"]["ledger"]["no_io_ns"], 4 * 400 * MS, "of the ranks alone");
}

#[test]
fn a_shell_around_each_rank_is_no_worker_either() {
    // It has the rank's number in its environment, and ends by exit.
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
    assert!(sentence(&found).starts_with("Nothing stands out"), "{}", sentence(&found));
    assert_eq!(found["verdict"]["ledger"]["no_io_ns"], 4 * 400 * MS, "of the ranks alone");
}

#[test]
fn jobs_one_after_the_other_share_nothing() {
    // Two ranks each, of which both write the same; the second job has twice as much.
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
