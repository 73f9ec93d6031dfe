//! Tests of the cost of inefficient I/O patterns: small requests, log lines, syncs, unaligned writes.

use super::{KIB, MS, MSYNC, QUEUED, SYNC, report, saves_ms, stepped};
use crate::common::facts::{assert_costs_ms, assert_quiet, assert_saves_ms, assert_says, assert_stated, says};
use crate::common::{self, Builder, process};
use serde_json::json;

#[test]
fn lines_of_a_log_that_one_rank_writes_are_named() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        one.write("/scratch/shared", rank as i64 * 65536, 65536, 0, 10 * MS);
        for line in 0..400_u64 {
            if rank == 0 {
                one.write("/scratch/log", line as i64 * 80, 80, (20 + line * 2) * MS, (21 + line * 2) * MS);
            }
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    assert_stated(&found, "DXT-C015", &json!({"rank": 0, "time_ns": 410 * MS}));
    assert_eq!(saves_ms(&found, "DXT-C015"), Some(400));
}

#[test]
fn a_few_log_lines_of_each_rank_that_take_most_of_the_writing_are_named() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..5_u64 {
            let (at, from) = ((step << 20) as i64, step * 100);
            one.write(&format!("/scratch/data{rank}"), at, 1 << 20, from * MS, (from + 10) * MS);
            one.write(&format!("/scratch/log{rank}"), (step * 17) as i64, 17, (from + 10) * MS, (from + 60) * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 500);
    assert_stated(&found, "DXT-C031", &json!({"calls": 20, "time_ns": 1000 * MS}));
    assert_eq!(saves_ms(&found, "DXT-C031"), Some(249));
}

#[test]
fn syncs_of_mapped_files_are_named() {
    let mut one = process(0, "n");
    for call in 0..200_u64 {
        one.add("/scratch/database", MSYNC, 0, 0, 4096, call * 5 * MS, (call * 5 + 3) * MS);
    }
    let found = report(vec![one], 1000);
    let syncs = assert_stated(&found, "DXT-C032", &json!({}));
    assert_costs_ms(syncs, 570..=630);
    assert_says(syncs, &["200 syncs", "1 file"]);
    assert_eq!(saves_ms(&found, "DXT-C032"), Some(597));
}

#[test]
fn what_is_said_of_the_files_of_all_ranks_is_one_finding() {
    // Every other write is unaligned and takes three times as long.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut at = 0;
        for call in 0..80_u64 {
            let (offset, takes) = if call % 2 == 0 { (call << 20, 2 * MS) } else { ((call << 20) + 100, 6 * MS) };
            let jitter = (rank * 7 + call * 13) % 10 * MS / 100;
            one.write(&format!("/scratch/of{rank}"), offset as i64, 1 << 20, at, at + takes + jitter);
            at += 10 * MS;
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 800);
    let unaligned = assert_stated(&found, "DXT-S001", &json!({"file": "/scratch/of0"}));
    assert_costs_ms(unaligned, 608..=672);
    assert_saves_ms(unaligned, 150.0..=170.0);
    assert_says(unaligned, &["3 other"]);
}

#[test]
fn tiny_requests_are_named_by_what_they_cost_in_any_interface() {
    let lines = |op: u16, takes: u64| {
        let calls = move |one: &mut Builder, rank: u64, step: u64| {
            let from = step * 100 * MS;
            for line in 0..10 {
                let at = from + line * takes;
                one.add(&format!("/scratch/log{rank}"), op, 0, (step * 10 + line) as i64 * 40, 40, at, at + takes);
            }
            from + 10 * takes
        };
        report(stepped(&calls), 1000)
    };
    for op in [common::op::POSIX_WRITE, common::op::STDIO_WRITE] {
        let found = lines(op, 4 * MS);
        let facts = json!({"calls": 400, "bytes": 400 * 40, "operation": "writes", "processes": 4});
        assert_costs_ms(assert_stated(&found, "DXT-C005", &facts), 1520..=1680);
        assert_eq!(saves_ms(&found, "DXT-C005"), Some(399));
    }
    // Writes absorbed by a buffer cost nothing.
    let found = lines(common::op::STDIO_WRITE, MS / 1000);
    for code in ["DXT-C005", "DXT-C030", "DXT-C031"] {
        assert_quiet(&found, code);
    }
}

#[test]
fn small_writes_of_all_ranks_that_wait_for_each_other_on_one_file_are_reported_so() {
    // All ranks append to one file, and each write takes longer by the writes queued before it.
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let from = step * 100 * MS;
        let mut at = from;
        for call in 0..4 {
            let takes = if step == 0 && call == 0 && rank == 0 { 3 } else { 12 + (rank + call) % 3 } * MS;
            one.write("/scratch/log", ((step * 16 + call * 4 + rank) * 4096) as i64, 4096, at, at + takes);
            at += takes;
        }
        at
    };
    let found = report(stepped(&calls), 1000);
    let facts = json!({"calls": 160, "bytes": 160 * 4096, "operation": "writes", "processes": 4});
    let small = assert_stated(&found, "DXT-C005", &facts);
    assert_costs_ms(small, 1960..=2170);
    assert_says(small, &[QUEUED, "/scratch/log"]);
}

#[test]
fn readers_that_seldom_meet_do_not_wait_for_each_other() {
    // Reads that continue at the previous end are fast and others slow, regardless of concurrent readers.
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let mut at = (step * 100 + rank * 20) * MS;
        for call in 0..6_u64 {
            let goes_on = call % 3 == 2;
            let place = if goes_on { call * 3 } else { (rank * 7919 + step * 104_729 + call * 15_485) % 60_000 };
            let takes = if goes_on { MS / 5 } else { 3 * MS };
            one.add("/scratch/all", common::op::POSIX_READ, 0, (place * 8192) as i64, 8192, at, at + takes);
            at += takes;
        }
        at
    };
    let found = report(stepped(&calls), 1000);
    let facts = json!({"processes": 4, "calls": 240, "bytes": 240 * 8192, "operation": "reads"});
    let small = assert_stated(&found, "DXT-C004", &facts);
    assert!(!says(small, &[QUEUED]), "{small}");
}

#[test]
fn one_long_sync_of_each_rank_is_named() {
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let (from, file) = (step * 100 * MS, format!("/scratch/of{rank}"));
        one.write(&file, (step << 20) as i64, 1 << 20, from, from + 5 * MS);
        if step == 9 {
            one.add(&file, SYNC, 0, -1, 0, from + 5 * MS, from + 95 * MS);
            return from + 95 * MS;
        }
        from + 5 * MS
    };
    let found = report(stepped(&calls), 1000);
    let syncs = assert_stated(&found, "DXT-V015", &json!({}));
    assert_costs_ms(syncs, 342..=378);
    assert_says(syncs, &["4 syncs"]);
    assert_eq!(saves_ms(&found, "DXT-V015"), Some(90));
}

#[test]
fn reads_of_a_quarter_megabyte_in_no_order_are_random_and_large_ones_are_not() {
    // Four ranks read blocks of their own files in random order, 6 ms each, or 24 ms for blocks of four times the size.
    let run = |blocks: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            let mut now = 20 * MS;
            for call in 0..100 / blocks {
                let (at, length) = ((call * 37 + rank * 11) % 101, blocks * 256 * KIB);
                let end = now + blocks * 6 * MS + (rank * 7 + call * 3) % 10 * MS / 10;
                one.add(
                    &format!("/scratch/index.{rank}"),
                    common::op::POSIX_READ,
                    0,
                    (at * length) as i64,
                    length,
                    now,
                    end,
                );
                now = end + MS;
            }
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    let found = run(1);
    let random = assert_stated(&found, "DXT-C008", &json!({"operation": "reads"}));
    // It is unknown how much of the time is due to the order.
    assert_eq!(random["severity"], "warn");
    assert_eq!(saves_ms(&run(4), "DXT-C008"), None);
}

#[test]
fn strided_reads_are_reported_as_such_and_those_in_a_row_are_not() {
    // Each of four ranks reads `length` bytes a hundred times, 4 ms for 32 KiB, at a distance of `stride`.
    let run = |length: u64, stride: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for call in 0..100 {
                let (at, from) = (((rank * 400 + call) * stride) as i64, call * 9 * MS);
                let takes = if length > 32 * KIB { 8 * MS } else { 4 * MS };
                let end = from + takes + (rank * 7 + call * 3) % 10 * MS / 20;
                one.add("/scratch/table", common::op::POSIX_READ, 0, at, length, from, end);
            }
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    let found = run(32 * KIB, 640 * KIB);
    let facts = json!({"file": "/scratch/table", "calls": 400});
    assert_says(assert_stated(&found, "DXT-I005", &facts), &["32.0 KiB", "640 KiB"]);
    assert_eq!(saves_ms(&run(32 * KIB, 32 * KIB), "DXT-I005"), None);
    // Larger reads spend an unknown share of their time on their bytes.
    let found = run(256 * KIB, 9216 * KIB);
    let strided = assert_stated(&found, "DXT-I005", &facts);
    assert_eq!(strided["severity"], "warn");
    assert_says(strided, &["256 KiB", "9.00 MiB"]);
}

#[test]
fn a_few_hundred_small_requests_are_reported_if_they_take_their_time() {
    // One process makes 300 consecutive writes of 32 KiB.
    let run = |us: u64| {
        let mut one = process(-1, "n");
        for call in 0..300_u64 {
            let from = call * 4 * MS;
            one.write(
                "/data/log",
                (call * 32 * KIB) as i64,
                32 * KIB,
                from,
                from + us * MS / 1000 + call % 10 * MS / 50,
            );
        }
        report(vec![one], 1300)
    };
    let found = run(3000);
    assert_stated(&found, "DXT-C030", &json!({"calls": 300, "operation": "writes"}));
    assert_eq!(saves_ms(&run(300), "DXT-C030"), None);
}
