//! `causes` and the verdict on traces whose every call is known, one fault each.

mod common;

use common::{Builder, job, json, process, put, trace};
use serde_json::Value;
use trace_format::meta::CommunicatorDef;
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

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
