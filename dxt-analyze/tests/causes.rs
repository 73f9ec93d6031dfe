//! `causes` and the verdict on traces whose every call is known, one fault each.

mod common;

use common::{Builder, job, json, process, put, trace};
use serde_json::Value;
use trace_format::meta::{CommunicatorDef, ThreadDef};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};

const SYNC: u16 = 20;
const MSYNC: u16 = 21;
const BARRIER: u16 = 139;
const MS: u64 = 1_000_000;
const KIB: u64 = 1024;

/// The report on a job of these processes, which ran for so long.
fn report(processes: Vec<Builder>, run_ms: u64) -> Value {
    let ranks = processes.iter().filter(|process| process.process.info.rank >= 0).count();
    report_of(processes.into_iter().map(|process| (process, run_ms)).collect(), ranks as u32)
}

/// The same, of processes that end at these times.
#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn report_of(processes: Vec<(Builder, u64)>, ranks: u32) -> Value {
    let mut job = job("causes", ranks);
    let def = |code, layer, class, name: &str| OpDef { code, layer, class, mode: OpMode::Plain, name: name.into() };
    job.ops.extend([
        def(SYNC, Layer::Posix, OpClass::Sync, "fsync"),
        def(MSYNC, Layer::Posix, OpClass::Sync, "msync"),
        def(BARRIER, Layer::Mpi, OpClass::Communication, "barrier"),
    ]);
    let ends = |(mut process, end_ms): (Builder, u64)| {
        process.process.info.end_ns = end_ms * MS;
        process
    };
    let processes = processes.into_iter().map(ends).collect();
    let folder = tempfile::tempdir().unwrap();
    json(&["report", "--format", "json", &put(folder.path(), "a.dxt", &trace(&job, processes))], 0)
}

/// The first sentence, and what a finding saves, in ms.
fn sentence(report: &Value) -> &str {
    report["verdict"]["sentence"].as_str().unwrap_or_default()
}

fn saves_ms(report: &Value, code: &str) -> Option<u64> {
    let all = report["findings"].as_array()?;
    all.iter().find(|one| one["code"] == code)?["saves_ns"].as_u64().map(|ns| ns / MS)
}

/// Four ranks in ten steps of 100 ms, each with a write of 1 MiB in 4 ms, or 40 on rank 3; rank 0 computes for so long before its own.
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
    // Of 46 ms that rank 3 could save, the others wait for 20.
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
    assert!(
        sentence(&found).starts_with("File /scratch/part3 is slow: writes take 4.0 times as long"),
        "{}",
        sentence(&found)
    );
    assert_eq!(saves_ms(&found, "DXT-O005"), Some(151));
}

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
    assert!(sentence(&found).starts_with("Rank 0 is in writes for 410 ms"), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-C015"), Some(400));
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
    assert!(sentence(&found).starts_with("100.0 % of 20 small writes take 1.00 ms or more"), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-C031"), Some(249));
}

#[test]
fn syncs_of_mapped_files_are_named() {
    let mut one = process(0, "n");
    for call in 0..200_u64 {
        one.add("/scratch/database", MSYNC, 0, 0, 4096, call * 5 * MS, (call * 5 + 3) * MS);
    }
    let found = report(vec![one], 1000);
    assert!(
        sentence(&found).starts_with("200 syncs on 1 file that no call writes (mapped files, "),
        "{}",
        sentence(&found)
    );
    assert_eq!(saves_ms(&found, "DXT-C032"), Some(597));
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

/// Eight ranks that write 1 MiB to a shared file every 10 ms, 100 times; as long as `takes` says, by rank and step, ms.
fn writers(takes: impl Fn(u64, u64) -> u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..100 {
            let (at, from) = (((rank * 100 + step) * 1024 * KIB) as i64, step * 10 * MS);
            // Not the same each time: no two calls of a real program are.
            let jitter = (rank * 7 + step * 13) % 10 * MS / 50;
            one.write("/scratch/shared", at, 1024 * KIB, from, from + takes(rank, step) * MS + jitter);
        }
        one
    };
    report((0..8).map(rank).collect(), 1000)
}

#[test]
fn a_slow_half_of_the_ranks_is_named() {
    let found = writers(|rank, _| if rank % 2 == 1 { 6 } else { 2 });
    assert!(
        sentence(&found).starts_with("Ranks 1-7 by 2 are slow: writes take 2.9 times as long"),
        "{}",
        sentence(&found)
    );
    let found = writers(|rank, _| if rank > 4 { 6 } else { 2 });
    assert!(sentence(&found).contains(" are slow: writes take 2.9"), "{}", sentence(&found));
    let found = writers(|rank, _| 2 + rank);
    assert!(!sentence(&found).contains("are slow"), "no two groups: {}", sentence(&found));
}

#[test]
fn storage_that_is_slow_from_a_moment_on_is_named() {
    let found = writers(|_, step| if step >= 40 { 6 } else { 2 });
    let text = sentence(&found);
    assert!(
        text.starts_with("From 0.4") && text.contains("the writes take 2.9 times as long as at other times"),
        "{text}"
    );
    // What comes and goes is how the program works.
    let found = writers(|_, step| if step / 5 % 2 == 1 { 6 } else { 2 });
    assert!(!sentence(&found).contains("other times"), "{}", sentence(&found));
}

#[test]
fn what_is_said_of_the_files_of_all_ranks_is_one_finding() {
    // Every other write begins off a block and takes three times as long.
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
    let text = sentence(&found);
    assert!(text.contains("begin or end inside a block (and 3 other files alike)"), "{text}");
    let saves = saves_ms(&found, "DXT-S001").unwrap_or(0);
    assert!((150..=170).contains(&saves), "{saves}");
}

#[test]
fn long_calls_of_one_rank_at_times_are_that_ranks() {
    let found = writers(|rank, step| if rank == 4 && step % 12 == 5 { 9 } else { 1 });
    let text = sentence(&found);
    assert!(
        text.starts_with("Rank 4 is slow at times: 8 of its 100 writes take far longer than their like"),
        "{text} {}",
        found["findings"]
    );
    assert_eq!(found["verdict"]["findings"][0]["about"]["rank"], 4);
    // Another rank each time: nobody's.
    let found = writers(|rank, step| if step % 3 == 1 && rank == step % 8 { 9 } else { 1 });
    assert!(sentence(&found).contains("on no particular rank or target"), "{}", found["findings"]);
}

#[test]
fn ranks_that_meet_on_a_copy_of_the_world_wait_for_each_other() {
    // The same as with MPI_COMM_WORLD: libraries duplicate it. Each rank numbers its communicators on its own.
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
fn storage_that_stands_still_again_and_again_is_named() {
    let found = writers(|_, step| if step % 12 == 7 { 9 } else { 1 });
    let text = sentence(&found);
    assert!(text.starts_with("Storage stands still every 120 ms, 8 times: writes of most ranks"), "{text}");
    assert_eq!(found["verdict"]["findings"][0]["code"], "DXT-V001");
    // Half of the ranks are not storage.
    let found = writers(|rank, step| if rank % 2 == 0 && step % 12 == 7 { 9 } else { 1 });
    assert!(!sentence(&found).contains("stands still"), "{}", sentence(&found));
    // At no regular times.
    let found = writers(|_, step| if [3, 9, 11, 30, 34, 61, 90].contains(&step) { 9 } else { 1 });
    assert!(sentence(&found).starts_with("Storage stands still 7 times: "), "{}", sentence(&found));
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
    assert!(sentence(&found).contains("files in /scratch/old"), "{}", sentence(&found));
    let found =
        opens(&|rank, step| format!("/scratch/{rank}.{step}.{}", if step % 4 == 0 { "h5" } else { "dat" }), &|path| {
            path.ends_with("h5")
        });
    assert!(sentence(&found).contains("files *.h5"), "{}", sentence(&found));
    let found = opens(&|rank, step| format!("/scratch/{}/{rank}.{step}", step % 4), &|_| true);
    assert!(!sentence(&found).contains("files in"), "all alike: {}", sentence(&found));
}

#[test]
fn a_slow_part_of_a_file_is_named() {
    // Ranks write blocks in turn, twice over the whole file.
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
    assert!(
        sentence(&found).starts_with("32.0 MiB of /scratch/shared, from 96.0 MiB on, is slow: writes take 15"),
        "{}",
        sentence(&found)
    );
    assert_eq!(found["verdict"]["findings"][0]["about"]["offset"], 96 << 20);
    let saves = saves_ms(&found, "DXT-O005").unwrap_or(0);
    assert!((200..=240).contains(&saves), "{saves}");
    // Only the first time: then it is the moment.
    let found = passes(&|step, at| step < 64 && (96 << 20..128 << 20).contains(&at));
    assert!(sentence(&found).starts_with("From 0.4"), "{}", sentence(&found));
}

#[test]
fn storage_that_is_slow_for_a_third_of_the_run_is_named() {
    let found = writers(|_, step| if (40..70).contains(&step) { 6 } else { 2 });
    let text = sentence(&found);
    assert!(text.starts_with("From 0.4") && text.contains("2.9 times as long as at other times"), "{text}");
}

#[test]
fn a_slow_rank_stands_before_the_size_of_all_requests() {
    // 64 KiB each, 20 of them a step: small, but the others make as small ones as quickly as ever.
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
    assert!(sentence(&found).starts_with("Rank 2 is slow: writes take 3.9 times"), "{}", sentence(&found));
    // What is left of the small writes is worth no more than what they take on the other ranks.
    let small = saves_ms(&found, "DXT-C029").or_else(|| saves_ms(&found, "DXT-C030")).unwrap_or(0);
    assert!((1000..=1800).contains(&small), "{small} of 1,600 ms");
}

/// Four ranks in ten steps of 100 ms: the calls of each that `calls` tells, then a barrier at which all have met at the step's end.
fn stepped(calls: &dyn Fn(&mut Builder, u64, u64) -> u64) -> Vec<Builder> {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..10 {
            let until = calls(&mut one, rank, step);
            one.add("", BARRIER, 0, 0, 0, until, (step + 1) * 100 * MS);
        }
        one
    };
    (0..4).map(rank).collect()
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
        assert!(sentence(&found).starts_with("400 small writes: 40 B and 4.00 ms each"), "{}", sentence(&found));
        assert_eq!(saves_ms(&found, "DXT-C005"), Some(399));
    }
    // What a buffer takes up costs nothing.
    let found = lines(common::op::STDIO_WRITE, MS / 1000);
    assert!(!sentence(&found).contains("small writes"), "{}", sentence(&found));
}

#[test]
fn small_writes_of_all_ranks_that_wait_for_each_other_on_one_file_are_told_so() {
    // Each takes as long as there are before it: appends to one file.
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
    let text = sentence(&found);
    assert!(text.contains("of 4 processes on /scratch/log, which wait for each other"), "{text}");
}

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
    assert!(sentence(&found).starts_with("4 syncs take 360 ms in all, 90.0 ms each"), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V015"), Some(90));
}

#[test]
fn threads_that_never_read_at_once_are_named() {
    let threads = |apart: bool| {
        let mut one = process(-1, "n");
        one.stream("/data/table", common::op::POSIX_READ, 0);
        one.process.threads = (0..4).map(|index| ThreadDef { index, tid: 1000 + index }).collect();
        one.threads = (0..4).map(|index| (index, Vec::new())).collect();
        for call in 0..100_u64 {
            let (thread, turn) = ((call % 4) as usize, if apart { call } else { call / 4 * 4 });
            let from = turn * 8 * MS;
            let segment = Segment::new(StreamId(0), (call << 20) as i64, 1 << 20, from, from + 8 * MS);
            one.threads[thread].1.push(segment);
        }
        report(vec![one], 820)
    };
    let found = threads(true);
    assert!(sentence(&found).starts_with("The 4 threads of pid "), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V012"), Some(600));
    assert!(!sentence(&threads(false)).contains("threads"), "{}", sentence(&threads(false)));
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
