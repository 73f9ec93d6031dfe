//! Tests of slow ranks, files, file regions and time periods.

use super::{BARRIER, KIB, MS, met_at_the_end, report, report_of, saves_ms, writers};
use crate::common::facts::{assert_costs_ms, assert_quiet, assert_saves_ms, assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};
use trace_format::meta::CommunicatorDef;

/// Returns the slow period of writes that the verdict states; fails unless it begins at `from_ms`.
fn slow_from(found: &Value, from_ms: u64) -> &Value {
    let slow = assert_stated(found, "DXT-V001", &json!({"operation": "writes"}));
    let begin = slow["about"]["span_ns"][0].as_u64();
    assert!(begin.is_some_and(|ns| ns.abs_diff(from_ms * MS) < 5 * MS), "not {from_ms} ms: {slow}");
    slow
}

/// Returns four ranks in ten steps of 100 ms. In each step, a rank computes for 50 ms (rank 0: `rank_0_computes_ms`), then writes 1 MiB in
/// 4 ms (rank 3: 40 ms).
fn steps(rank_0_computes_ms: u64) -> Vec<Builder> {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..10 {
            let computes = if rank == 0 { rank_0_computes_ms } else { 50 };
            let from = step * 100 + computes;
            let until = from + if rank == 3 { 40 } else { 4 };
            let at = (step * 4 + rank) as i64 * 1024 * KIB as i64;
            one.write("/scratch/shared", at, 1024 * KIB, from * MS, until * MS);
            one.add("", BARRIER, 0, 0, 0, until * MS, (step * 100 + 100) * MS);
        }
        one
    };
    (0..4).map(rank).collect()
}

#[test]
fn a_slow_rank_that_nobody_waits_for_saves_nothing() {
    assert!(
        saves_ms(&report(steps(96), 1000), "DXT-O002").unwrap_or(0) < 10,
        "rank 0 computes until the end of each step"
    );
    assert_eq!(saves_ms(&report(steps(50), 1000), "DXT-O002"), Some(359));
    // Rank 3 could save 46 ms per step; the others wait for 20 of these.
    let some = saves_ms(&report(steps(76), 1000), "DXT-O002").unwrap_or(0);
    assert!((190..=210).contains(&some), "{some}");
}

#[test]
fn a_slow_file_is_named() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for call in 0..200_u64 {
            let file = (call + rank) % 5;
            let (from, takes) = (call * 5, if file == 3 { 4 } else { 1 });
            let at = ((rank * 200 + call / 5) * 1024 * KIB) as i64;
            one.write(&format!("/scratch/part{file}"), at, 1024 * KIB, from * MS, (from + takes) * MS);
        }
        one
    };
    let found = report((0..8).map(rank).collect(), 1000);
    let facts = json!({"file": "/scratch/part3", "calls": 320, "operation": "writes"});
    let slow = assert_stated(&found, "DXT-O005", &facts);
    assert_costs_ms(slow, 912..=1008);
    assert_eq!(saves_ms(&found, "DXT-O005"), Some(151));
}

/// Returns the JSON report on eight synthetic ranks that read blocks of two files, in `first_ms` ms per block of the first file and 5 ms of
/// the second. If `by_turns` is true, blocks of both files alternate; otherwise one file follows the other.
fn two_files(first_ms: u64, by_turns: bool) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for call in 0..120_u64 {
            let first = if by_turns { call % 3 < 2 } else { call < 80 };
            let (from, file, takes) =
                (call * 12, if first { "mesh" } else { "table" }, if first { first_ms } else { 5 });
            let jitter = (rank * 7 + call * 13) % 10 * MS / 20;
            let until = (from + takes) * MS + jitter;
            one.add(
                &format!("/in/{file}"),
                op::POSIX_READ,
                0,
                ((rank * 120 + call) << 20) as i64,
                1 << 20,
                from * MS,
                until,
            );
        }
        one.add("", BARRIER, 0, 0, 0, 1440 * MS, 1441 * MS);
        one
    };
    report((0..8).map(rank).collect(), 1450)
}

#[test]
fn the_slower_of_two_files_is_named_where_ranks_use_both_by_turns() {
    let found = two_files(10, true);
    let slow = assert_stated(&found, "DXT-O005", &json!({"file": "/in/mesh", "calls": 640, "operation": "reads"}));
    assert_costs_ms(slow, 3040..=3360);
    assert_saves_ms(slow, 320.0..=420.0);
    // With equal times, or in different periods, no file is slow: the period may then be the cause.
    assert_eq!(saves_ms(&two_files(6, true), "DXT-O005"), None);
    assert_eq!(saves_ms(&two_files(10, false), "DXT-O005"), None);
}

/// Returns the JSON report on eight synthetic ranks that synchronize, make ten rounds of computing and writing, and synchronize again. Rank
/// 3 writes three times as long as the others, but computes `less` ms less in each round.
fn ahead(less: u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        one.add("", BARRIER, 0, 0, 0, 10 * MS, 11 * MS);
        let mut now = 11 * MS;
        for round in 0..10_u64 {
            now += (100 - if rank == 3 { less } else { 0 }) * MS;
            for call in 0..4_u64 {
                let takes = if rank == 3 { 15 } else { 5 } * MS + (rank * 7 + round * 3 + call * 5) % 10 * MS / 20;
                one.write(&format!("/out/{rank}"), ((round * 4 + call) << 20) as i64, 1 << 20, now, now + takes);
                now += takes;
            }
        }
        (one, now)
    };
    met_at_the_end((0..8).map(rank).collect())
}

#[test]
fn a_slow_rank_that_comes_to_the_end_a_round_ahead_costs_nothing() {
    let found = ahead(0);
    let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 3, "calls": 40, "operation": "writes"}));
    assert_costs_ms(slow, 380..=420);
    assert_saves_ms(slow, 330.0..=420.0);
    // Rank 3 arrives 200 ms before the others, so no round gets longer by it.
    let found = ahead(60);
    assert!(saves_ms(&found, "DXT-O002").unwrap_or(0) <= 2, "{}", brief(&found));
}

#[test]
fn a_slow_half_of_the_ranks_is_named() {
    let found = writers(|rank, _| if rank % 2 == 1 { 6 } else { 2 });
    let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 1, "calls": 400, "operation": "writes"}));
    assert_costs_ms(slow, 1520..=1680);
    assert_says(slow, &["ranks 1-7 by 2"]);
    let found = writers(|rank, _| if rank > 4 { 6 } else { 2 });
    let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 5, "calls": 300, "operation": "writes"}));
    assert_costs_ms(slow, 1140..=1260);
    // Ranks with rising times form no two groups.
    assert_quiet(&writers(|rank, _| 2 + rank), "DXT-O002");
}

#[test]
fn storage_that_is_slow_from_a_moment_on_is_named() {
    let found = writers(|_, step| if step >= 40 { 6 } else { 2 });
    let slow = slow_from(&found, 400);
    assert_eq!(slow["about"]["calls"], 480);
    assert_costs_ms(slow, 1824..=2016);
    // Slowness that alternates regularly belongs to the program.
    assert_quiet(&writers(|_, step| if step / 5 % 2 == 1 { 6 } else { 2 }), "DXT-V001");
}

#[test]
fn ranks_that_meet_on_a_copy_of_the_world_wait_for_each_other() {
    // Libraries make a communicator that duplicates MPI_COMM_WORLD. Each rank numbers its communicators on its own.
    let on = |mut ranks: Vec<Builder>, size: u32| {
        for (rank, one) in ranks.iter_mut().enumerate() {
            let number = rank as u32 + 1;
            for segment in &mut one.threads[0].1 {
                if segment.length() == 0 {
                    segment.offset = i64::from(number);
                }
            }
            one.process.communicators =
                vec![CommunicatorDef { number, size, rank: rank as i32, first: 0, members: 99, remote_size: 0 }];
        }
        ranks
    };
    let saves = |ranks| saves_ms(&report(ranks, 1000), "DXT-O002");
    assert_eq!(saves(on(steps(50), 4)), Some(359));
    assert!(saves(on(steps(96), 4)).unwrap_or(0) < 10);
    assert!(saves(on(steps(96), 2)).unwrap_or(0) > 100, "half of the ranks say nothing of all");
}

#[test]
fn a_slow_part_of_a_file_is_named() {
    // Ranks write alternating blocks, twice over the whole file.
    let passes = |slow: &dyn Fn(u64, u64) -> bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..128_u64 {
                let at = (step % 64 * 4 + rank) << 20;
                let takes = if slow(step, at) { 15 } else { 1 };
                let jitter = (rank * 7 + step * 13) % 10 * MS / 50;
                one.write("/scratch/shared", at as i64, 1 << 20, step * 20 * MS, (step * 20 + takes) * MS + jitter);
            }
            one
        };
        report((0..4).map(rank).collect(), 2560)
    };
    let found = passes(&|_, at| (96 << 20..128 << 20).contains(&at));
    let facts = json!({"file": "/scratch/shared", "offset": 96 << 20, "bytes": 32 << 20, "calls": 64});
    let slow = assert_stated(&found, "DXT-O005", &facts);
    assert_eq!(slow["about"]["operation"], "writes");
    assert_costs_ms(slow, 852..=940);
    assert_saves_ms(slow, 200.0..=240.0);
    // The part is slow in the first pass only, so the period is the cause.
    let found = passes(&|step, at| step < 64 && (96 << 20..128 << 20).contains(&at));
    slow_from(&found, 480);
}

#[test]
fn storage_that_is_slow_for_a_third_of_the_run_is_named() {
    let found = writers(|_, step| if (40..70).contains(&step) { 6 } else { 2 });
    let slow = slow_from(&found, 400);
    assert_eq!(slow["about"]["calls"], 240);
    assert_costs_ms(slow, 912..=1008);
}

#[test]
fn a_slow_rank_stands_before_the_size_of_all_requests() {
    // Each step has 20 writes of 64 KiB: small, but other ranks complete equally small writes fast.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..80 {
            for call in 0..20_u64 {
                let takes = if rank == 2 { 4 * MS } else { MS };
                let from = step * 100 * MS + call * if rank == 2 { 4 } else { 1 } * MS;
                let jitter = (rank * 7 + call * 13) % 10 * MS / 200;
                let at = ((rank * 1600 + step * 20 + call) * 64 * KIB) as i64;
                one.write("/scratch/shared", at, 64 * KIB, from, from + takes + jitter);
            }
            let done = step * 100 + if rank == 2 { 81 } else { 21 };
            one.add("", BARRIER, 0, 0, 0, done * MS, (step * 100 + 83) * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 8000);
    let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 2, "calls": 1600, "operation": "writes"}));
    assert_costs_ms(slow, 4560..=5040);
    // The remaining saving of small writes is at most their time on the other ranks.
    let small = saves_ms(&found, "DXT-C029").or_else(|| saves_ms(&found, "DXT-C030")).unwrap_or(0);
    assert!((1000..=1800).contains(&small), "{small} of 1,600 ms");
}

#[test]
fn a_slow_folder_is_named() {
    // Each rank alternates between two files, one in each folder.
    let steps = |slow_ms: u64, rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..40_u64 {
            for (folder, at, takes) in [("ckpt", 0, 2), ("dump", 10, slow_ms)] {
                let (from, jitter) = ((step * 40 + at) * MS, (rank * 7 + step * 13) % 10 * MS / 50);
                let path = format!("/scratch/{folder}/{rank}");
                one.write(&path, (step * 256 * KIB) as i64, 256 * KIB, from, from + takes * MS + jitter);
            }
        }
        one
    };
    let found = report((0..4).map(|rank| steps(12, rank)).collect(), 1600);
    let facts = json!({"file": "/scratch/dump", "calls": 160, "operation": "writes"});
    let slow = assert_stated(&found, "DXT-O005", &facts);
    assert_costs_ms(slow, 1520..=1680);
    assert_saves_ms(slow, 390.0..=410.0);
    // Folders with files of two kinds are not compared.
    assert_quiet(&report((0..4).map(|rank| steps(3, rank)).collect(), 1600), "DXT-O005");
}

#[test]
fn the_slower_of_two_folders_of_one_process_is_reported_by_their_files() {
    // One process alternates between files of two folders.
    let run = |slow_ms: &dyn Fn(u64) -> u64| {
        let mut one = process(-1, "n");
        let mut now = 0;
        for step in 0..20_u64 {
            for (folder, takes) in [("am", 4), ("pm", slow_ms(step))] {
                let end = now + takes * MS + (step * 13) % 10 * MS / 20;
                one.add(&format!("/data/{folder}/h{step}"), op::POSIX_READ, 0, 0, 1 << 20, now, end);
                now = end + 5 * MS;
            }
        }
        report_of(vec![(one, now / MS + 1)], 0)
    };
    let found = run(&|_| 20);
    let slow = assert_stated(&found, "DXT-O005", &json!({"file": "/data/pm", "calls": 20, "operation": "reads"}));
    assert_saves_ms(slow, 250.0..=330.0);
    // Only some files of the folder are slow.
    assert_quiet(&run(&|step| if step % 3 == 0 { 4 } else { 20 }), "DXT-O005");
}

#[test]
fn two_slow_nodes_of_six_are_reported_together() {
    let rank = |rank: u64| {
        let node = rank / 2;
        let mut one = process(rank as i32, &format!("node{node}"));
        for step in 0..40_u64 {
            let (from, jitter) = (step * 40 * MS, (rank * 7 + step * 13) % 10 * MS / 50);
            let takes = if [1, 4].contains(&node) { 12 } else { 3 };
            let at = ((rank * 40 + step) * 256 * KIB) as i64;
            one.write("/scratch/shared", at, 256 * KIB, from, from + takes * MS + jitter);
            one.add("", BARRIER, 0, 0, 0, from + 20 * MS, from + 40 * MS);
        }
        one
    };
    let found = report((0..12).map(rank).collect(), 1600);
    let slow = assert_stated(&found, "DXT-O003", &json!({"node": "node1", "calls": 160, "operation": "writes"}));
    assert_costs_ms(slow, 1368..=1512);
    assert_saves_ms(slow, 330.0..=370.0);
    assert_says(slow, &["node4 (2 processes)"]);
}

#[test]
fn steps_of_a_script_on_other_files_are_no_slow_period() {
    // A script opens its modules, each in 10 µs, and then makes new files, each in 1 ms, which is no slow period of opens: where it makes files
    // all the time, and they take longer for a while, there is one.
    let run = |folder: &dyn Fn(u64) -> &'static str| {
        let mut one = process(-1, "n");
        let mut from = 0;
        for call in 0..2000_u64 {
            let takes = if call < 1000 { 100_000 + call % 7 * 1000 } else { MS + call % 5 * 20_000 };
            one.add(&format!("{}/{call}", folder(call)), op::POSIX_OPEN, 0, -1, 0, from, from + takes);
            from += takes + 100_000;
        }
        report(vec![one], from / MS)
    };
    assert_stated(&run(&|_| "/data"), "DXT-V001", &json!({}));
    assert_quiet(&run(&|call| if call < 1000 { "/usr/lib" } else { "/data" }), "DXT-V001");
}

#[test]
fn calls_that_never_leave_memory_make_no_file_slow() {
    let run = |ns: u64| {
        let mut one = process(-1, "n");
        let mut from = 0;
        for call in 0..40_000_u64 {
            let file = call % 10;
            let takes = if file == 3 { 6 * ns } else { ns + call % 3 };
            let at = (call / 10 * 64) as i64;
            one.add(&format!("/data/{file}"), op::STDIO_WRITE, 0, at, 64, from, from + takes);
            from += takes + 10;
        }
        report(vec![one], from.div_ceil(MS))
    };
    assert!(saves_ms(&run(20_000), "DXT-O005").is_some());
    assert_eq!(saves_ms(&run(100), "DXT-O005"), None);
}
