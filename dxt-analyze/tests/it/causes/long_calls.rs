//! Tests of calls that take much longer than comparable calls, and of the common cause of several such calls.

use super::{BARRIER, MS, STAT, SYNC, met_at_the_end, report, report_of, saves_ms, sentence, writers};
use crate::common::facts::{assert_quiet, assert_saves_ms, assert_says, assert_stated, text_has};
use crate::common::{self, process};
use serde_json::json;

#[test]
fn long_calls_of_one_rank_at_times_are_that_ranks() {
    let found = writers(|rank, step| if rank == 4 && step % 12 == 5 { 9 } else { 1 });
    let slow = assert_stated(&found, "DXT-O002", &json!({"rank": 4, "calls": 8, "operation": "writes"}));
    assert_says(slow, &["8 of its 100"]);
    // Another rank is slow each time, so no rank is to blame.
    let found = writers(|rank, step| if step % 3 == 1 && rank == step % 8 { 9 } else { 1 });
    assert_stated(&found, "DXT-V003", &json!({"calls": 33, "operation": "writes"}));
}

#[test]
fn storage_that_stands_still_again_and_again_is_named() {
    let found = writers(|_, step| if step % 12 == 7 { 9 } else { 1 });
    let slow = assert_stated(&found, "DXT-V001", &json!({"calls": 8 * 8, "span_ns": null, "operation": "writes"}));
    assert_says(slow, &["120 ms", "8 times"]);
    // Slow writes of only half of the ranks do not point to storage.
    let found = writers(|rank, step| if rank % 2 == 0 && step % 12 == 7 { 9 } else { 1 });
    assert_quiet(&found, "DXT-V001");
    // Writes are slow at irregular times.
    let found = writers(|_, step| if [3, 9, 11, 30, 34, 61, 90].contains(&step) { 9 } else { 1 });
    assert_says(assert_stated(&found, "DXT-V001", &json!({"calls": 7 * 8, "span_ns": null})), &["7 times"]);
}

#[test]
fn the_folder_or_the_ending_of_files_that_are_slow_to_open_is_named() {
    let opens = |name: &dyn Fn(u64, u64) -> String, slow: &dyn Fn(&str) -> bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..40 {
                let path = name(rank, step);
                let from = step * 20 * MS;
                let takes = if slow(&path) { 8 * MS } else { MS / 50 };
                one.add(&path, common::op::POSIX_OPEN, 0, -1, 0, from, from + takes + (rank + step) % 7 * MS / 200);
                one.write(&path, 0, 65536, from + 10 * MS, from + 11 * MS);
            }
            one
        };
        report((0..4).map(rank).collect(), 800)
    };
    let found =
        opens(&|rank, step| format!("/scratch/{}/{rank}.{step}", if step % 4 == 0 { "old" } else { "new" }), &|path| {
            path.contains("old")
        });
    assert_stated(&found, "DXT-O005", &json!({"file": "/scratch/old", "calls": 4 * 10, "operation": "opens"}));
    let found =
        opens(&|rank, step| format!("/scratch/{rank}.{step}.{}", if step % 4 == 0 { "h5" } else { "dat" }), &|path| {
            path.ends_with("h5")
        });
    assert_says(assert_stated(&found, "DXT-V003", &json!({"calls": 4 * 10, "operation": "opens"})), &["*.h5"]);
    let found = opens(&|rank, step| format!("/scratch/{}/{rank}.{step}", step % 4), &|_| true);
    // Folders with similar times are no finding.
    assert_quiet(&found, "DXT-O005");
    assert_quiet(&found, "DXT-V003");
}

#[test]
fn syncs_that_are_mostly_quick_are_a_matter_of_the_few_that_are_not() {
    // A sync follows every two writes; each twentieth sync takes 120 ms instead of 2, on different ranks.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut from = 0;
        let takes = |rank: u64, step: u64| if (step + rank * 5) % 20 == 3 { 120 } else { 2 };
        for step in 0..40_u64 {
            one.write(&format!("/scratch/{rank}"), (step << 20) as i64, 1 << 20, from, from + 2 * MS);
            let jitter = (rank * 7 + step * 13) % 10 * MS / 50;
            let until = from + (3 + takes(rank, step)) * MS + jitter;
            one.add(&format!("/scratch/{rank}"), SYNC, 0, -1, 0, from + 3 * MS, until);
            let all = (0..4).map(|rank| takes(rank, step)).max().unwrap_or(0);
            one.add("", BARRIER, 0, 0, 0, until, from + (5 + all) * MS);
            from += (15 + all) * MS;
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1700);
    let few = assert_stated(&found, "DXT-V003", &json!({"calls": 8, "operation": "syncs"}));
    assert_saves_ms(few, 900.0..=8.0 * 118.0);
    assert_says(few, &["8 of 160"]);
}

#[test]
fn one_long_call_of_each_file_is_reported_so() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for file in 0..8_u64 {
            for call in 0..4_u64 {
                let from = (rank * 43 + file * 200 + call * 30 + if call > 0 { 100 } else { 0 }) * MS;
                let takes = if call == 0 { 90 } else { 4 };
                let jitter = (rank * 7 + file * 5 + call * 13) % 10 * MS / 50;
                let path = format!("/scratch/in.{rank}.{file}");
                one.add(
                    &path,
                    common::op::POSIX_READ,
                    0,
                    (call * 65536) as i64,
                    65536,
                    from,
                    from + takes * MS + jitter,
                );
            }
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1900);
    let first = assert_stated(&found, "DXT-V003", &json!({"calls": 4 * 8, "operation": "reads"}));
    assert_says(first, &["each of 32"]);
}

#[test]
fn calls_that_stall_one_after_another_with_no_quick_one_between_are_a_moment() {
    let run = |between: bool| {
        let mut one = process(-1, "n");
        let mut at = 0;
        for call in 0..16_u64 {
            let stalls = if between { call % 4 == 2 } else { (6..9).contains(&call) } && call < 12;
            let takes = if stalls { 200 } else { 20 } * MS + call % 3 * MS / 10;
            one.write("/data/out", (call << 20) as i64, 1 << 20, at, at + takes);
            at += takes + 30 * MS;
        }
        report(vec![one], at / MS)
    };
    let found = run(false);
    let moment = assert_stated(&found, "DXT-V001", &json!({"calls": 3, "span_ns": [300_600_000, 960_900_000]}));
    assert_saves_ms(moment, 535.0..=550.0);
    assert_says(moment, &["3 writes", "10.6 times"]);
    // The finding names the longest of the calls.
    let one = json!({"file": "/data/out", "span_ns": [100_100_000, 300_300_000], "time_ns": 200_200_000});
    assert_stated(&run(true), "DXT-V002", &one);
}

#[test]
fn who_is_left_alone_at_the_end_holds_up_the_run() {
    // Of three concurrent programs, two write all the time; the third's last write takes 1 s, mostly after the others have ended.
    let program = |pid: u32, steps: u64, pause: u64, stalls_at: u64| {
        let mut one = process(-1, "n");
        one.process.info.pid = pid;
        let mut from = 0;
        for step in 0..steps {
            let takes = if step == stalls_at { 1000 } else { 2 + (u64::from(pid) + step) % 3 };
            one.write(&format!("/scratch/{pid}"), (step * 65536) as i64, 65536, from, from + takes * MS);
            from += (takes + pause) * MS;
        }
        one
    };
    let job = |end: u64| {
        let others = [(program(7, 360, 0, 999), 1100), (program(8, 360, 0, 999), 1120)];
        report_of([(program(9, 20, 50, 19), end)].into_iter().chain(others).collect(), 0)
    };
    let found = job(2020);
    let facts = json!({"file": "/scratch/9", "time_ns": 1000 * MS, "operation": "writes"});
    let stall = assert_stated(&found, "DXT-V002", &facts);
    assert_saves_ms(stall, 850.0..1000.0);
    assert_says(stall, &["pid 9"]);
}

#[test]
fn reads_that_are_long_by_chance_at_once_are_no_storage_that_stands_still() {
    // Four processes read without pause: some reads of each take 100 times as long, while the others continue.
    let reader = |rank: u64| {
        let mut one = process(-1, "n");
        one.process.info.pid = 10 + rank as u32;
        let mut from = rank * MS;
        for step in 0..400_u64 {
            let long = ((step * 2_654_435_761 + rank * 4_050_333) >> 7).is_multiple_of(16);
            let takes = if long { 90 * MS } else { MS + (step + rank) % 5 * MS / 10 };
            let at = (step * 7919 + rank * 31) % 4000 * 8192;
            one.add("/scratch/a", common::op::POSIX_READ, 0, at as i64, 8192, from, from + takes);
            from += takes + MS / 10;
        }
        (one, from / MS)
    };
    let found = report_of((0..4).map(reader).collect(), 0);
    assert_quiet(&found, "DXT-V001");
    assert_stated(&found, "DXT-V003", &json!({"operation": "reads"}));
}

#[test]
fn reads_that_find_no_data_in_memory_accuse_nobody_without_ranks() {
    // One read in 64 takes as long as a disk: 2 ms, or 20 ms.
    let severity = |long_ms: u64| {
        let mut one = process(-1, "n");
        let mut from = 0;
        for step in 0..3200_u64 {
            let takes = if step % 64 == 63 { long_ms * MS } else { 10_000 + step % 7 * 500 };
            one.add("/data/a", common::op::POSIX_READ, 0, (step << 17) as i64, 1 << 17, from, from + takes);
            from += takes + 1000;
        }
        let found = report_of(vec![(one, from / MS)], 0);
        let of = found["verdict"]["findings"].as_array().unwrap().iter().find(|of| of["code"] == "DXT-V003").cloned();
        of.map_or_else(String::new, |of| of["severity"].as_str().unwrap().to_owned())
    };
    assert_eq!([severity(2), severity(20)], ["info", "high"]);
}

#[test]
fn calls_that_stall_at_once_are_one_event() {
    // Two of four ranks stall during the same second and end together, so that fixing one alone would save nothing.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..20_u64 {
            let from = if step > 9 { 1000 } else { 0 } * MS + step * 50 * MS;
            let stalls = step == 9 && rank % 2 == 1;
            let takes = if stalls { 1000 + rank } else { 2 + (rank + step) % 2 } * MS;
            one.write("/scratch/a", ((step * 4 + rank) * 65536) as i64, 65536, from, from + takes);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 2100);
    let longest = json!({"rank": 3, "file": "/scratch/a", "time_ns": 1003 * MS, "operation": "writes"});
    let stall = assert_stated(&found, "DXT-V002", &longest);
    assert_saves_ms(stall, 950.0..=1003.0);
    assert_says(stall, &["2 calls", "rank 1", "rank 3"]);
}

#[test]
fn the_first_call_of_each_rank_is_no_stall_of_storage() {
    // Each rank writes 100 times; one of its writes takes 30 ms.
    let long_at = |long: u64, long_ms: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..100_u64 {
                let from = step * 10 * MS + if step > long { (long_ms + 10) * MS } else { 0 };
                let takes = if step == long { long_ms } else { 1 } * MS + (rank * 7 + step * 13) % 10 * MS / 50;
                one.write("/scratch/shared", ((rank * 100 + step) << 20) as i64, 1 << 20, from, from + takes);
            }
            one
        };
        report((0..8).map(rank).collect(), 1010 + long_ms)
    };
    let found = long_at(0, 30);
    assert_eq!(saves_ms(&found, "DXT-V001"), None, "{}", found["findings"]);
    // The severity is info, though the saving exceeds 0.02 of this short run.
    let first = &found["verdict"]["findings"][0];
    assert_eq!((&first["code"], &first["severity"]), (&"DXT-V032".into(), &"info".into()), "{first}");
    assert_says(first, &["write", "8 of 8 ranks", "30.2 ms"]);
    assert_saves_ms(first, 25.0..=30.0);
    // A long second call of each rank is no first call.
    let found = long_at(1, 30);
    assert_eq!(saves_ms(&found, "DXT-V032"), None, "{}", found["findings"]);
    let once = json!({"calls": 8, "span_ns": null});
    assert_stated(&found, "DXT-V001", &once);
    // Set-up does not explain a first call of 3 s.
    assert_stated(&long_at(0, 3000), "DXT-V001", &once);
}

#[test]
fn calls_that_take_longer_and_longer_are_reported() {
    let found = writers(|_, step| 1 + step / 14);
    let slower = assert_stated(&found, "DXT-V001", &json!({"operation": "writes"}));
    let span = &slower["about"]["span_ns"];
    assert!(span[0].as_u64().is_some_and(|from| (140 * MS..500 * MS).contains(&from)), "{span}");
    assert_eq!(span[1], 1000 * MS);
    assert_says(slower, &["ever longer", "most ranks"]);
}

#[test]
fn a_part_of_a_file_is_not_blamed_where_a_moment_is() {
    // All reads are slow for a while, and one part of the file always; all ranks pass through the file, in order or not.
    let reads = |in_order: bool, part_ms: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..200_u64 {
                let (place, from) = (if in_order { step } else { step * 37 % 200 }, step * 40 * MS);
                let part = if (20..45).contains(&place) && !in_order { part_ms } else { 1 };
                let takes =
                    part * if (100..150).contains(&step) { 4 } else { 1 } * MS + (rank * 7 + step * 13) % 10 * MS / 50;
                one.add(
                    "/scratch/shared",
                    common::op::POSIX_READ,
                    0,
                    ((place * 8 + rank) << 20) as i64,
                    1 << 20,
                    from,
                    from + takes,
                );
            }
            one
        };
        let found = report((0..8).map(rank).collect(), 8000);
        assert_eq!(
            found["verdict"]["findings"][0]["code"],
            if in_order { "DXT-V001" } else { "DXT-O005" },
            "{}",
            sentence(&found)
        );
        let of_files = found["findings"].as_array().unwrap().iter().filter(|one| one["code"] == "DXT-O005");
        of_files.filter(|one| one["severity"] != "info").count()
    };
    assert_eq!(reads(true, 1), 0);
    assert!(reads(false, 9) > 0);
}

#[test]
fn a_stall_beside_which_the_others_go_on_costs_what_the_end_waits_for_it() {
    // Eight ranks synchronize once, at the end. One call of rank 3 takes 500 ms; rank 0 computes longest and arrives last, or not.
    let run = |longer: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            let mut now = 20 * MS;
            for step in 0..25_u64 {
                now += if rank == 0 { 100 + longer } else { 100 } * MS;
                for call in 0..4_u64 {
                    let takes = if (rank, step, call) == (3, 5, 2) { 500 } else { 6 } * MS;
                    one.write(&format!("/lus/{rank}"), ((step * 4 + call) << 20) as i64, 1 << 20, now, now + takes);
                    now += takes;
                }
            }
            (one, now)
        };
        met_at_the_end((0..8).map(rank).collect())
    };
    let found = run(0);
    let facts = json!({"rank": 3, "file": "/lus/3", "time_ns": 500 * MS, "operation": "writes"});
    assert_saves_ms(assert_stated(&found, "DXT-V002", &facts), 450.0..=500.0);
    assert!(saves_ms(&run(60), "DXT-V002").unwrap_or(0) <= 2, "{}", sentence(&run(60)));
    // Rank 0 arrives 200 ms before rank 3, which is 500 ms late.
    let saves = saves_ms(&run(12), "DXT-V002").unwrap_or(0);
    assert!((150..=250).contains(&saves), "{saves} of 194 ms");
}

#[test]
fn long_calls_that_are_nearly_all_one_nodes_are_that_nodes() {
    // Eight ranks on four nodes write and stat; both take longer on one node, stat only in every other step.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, &format!("n{}", rank / 2));
        for step in 0..40 {
            let (from, slow, jitter) = (step * 40 * MS, rank / 2 == 2, (rank * 7 + step * 13) % 10 * MS / 100);
            let writes = from + if slow { 12 } else { 3 } * MS + jitter;
            one.write("/scratch/shared", ((rank * 40 + step) << 20) as i64, 1 << 20, from, writes);
            for call in 0..4 {
                let begin = from + (15 + call * 2) * MS;
                let takes = if slow && call == 3 && step % 2 == 0 { 8 * MS } else { MS / 4 };
                one.add(&format!("/scratch/{rank}.{step}.{call}"), STAT, 0, -1, 0, begin, begin + takes + jitter / 10);
            }
        }
        one
    };
    let found = report((0..8).map(rank).collect(), 1600);
    let slow = assert_stated(&found, "DXT-O003", &json!({"node": "n2", "calls": 2 * 40, "operation": "writes"}));
    assert_says(slow, &["n2 (2 processes)"]);
    assert_eq!(saves_ms(&found, "DXT-V003"), None, "{}", found["findings"]);
    assert!(text_has(&slow["evidence"].to_string(), &["n2 (2 processes)", "40 of its 320"]), "{slow}");
}
