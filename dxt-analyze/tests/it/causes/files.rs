//! Tests of file usage: many small files, repeated opens of a file, HDF5 that reads more than requested.

use super::{
    BARRIER, H5_READ, H5_SYNC, H5_WRITE, KIB, MMAP, MPIIO_OPEN, MPIIO_WRITE, MS, SEEK, STAT_FAILED, SYNC, report,
    report_of, saves_ms, sentence, trace_of,
};
use crate::common::facts::{
    assert_nothing_stated, assert_quiet, assert_saves_ms, assert_says, assert_stated, assert_states_title_only, brief,
    of_code, text_has,
};
use crate::common::{self, Builder, process, put};
use serde_json::json;
use trace_format::meta::stream_flags::{FAILED, IN_HDF5, NESTED};

/// Returns a process that makes `opens` opens of `each_ms` ms, in turn on `files` files. After each open, it reads 16 KiB and closes the file.
fn reader(files: u64, opens: u64, each_ms: u64) -> Builder {
    let mut one = process(-1, "n");
    for call in 0..opens {
        let (at, name) = (call * 2 * each_ms * MS, format!("/samples/{}", call % files));
        one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + each_ms * MS);
        one.add(&name, common::op::POSIX_READ, 0, 0, 16384, at + each_ms * MS, at + (each_ms + 1) * MS);
        one.add(&name, common::op::POSIX_CLOSE, 0, -1, 0, at + (each_ms + 1) * MS, at + (each_ms + 1) * MS + 1000);
    }
    one
}

#[test]
fn many_small_files_are_reported_and_few_are_not() {
    let found = report(vec![reader(100, 100, 4)], 1000);
    let small = assert_stated(&found, "DXT-V022", &json!({}));
    assert_says(small, &["100", "read"]);
    assert!(text_has(&small["evidence"].to_string(), &["16.0 KiB"]), "{small}");
    assert_eq!(saves_ms(&found, "DXT-V022"), Some(497));
    assert_eq!(saves_ms(&report(vec![reader(20, 20, 4)], 1000), "DXT-V022"), None);
}

#[test]
fn small_files_count_beside_others_in_passes_and_by_all_their_calls() {
    // Beside 600 quick opens on another file system, 60 files are opened in each of 4 passes, for 8 writes of 512 bytes.
    let (mut one, mut at) = (process(-1, "n"), 0);
    for call in 0..240_u64 {
        let name = format!("/out/{}", call % 60);
        one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + 2 * MS);
        for piece in 0..8 {
            let from = at + 2 * MS + piece * MS / 4;
            one.write(&name, (piece * 512) as i64, 512, from, from + MS / 4);
        }
        at += 4 * MS;
    }
    for other in 0..600 {
        one.add(&format!("/mounted/lib/{other}"), common::op::POSIX_OPEN, 0, -1, 0, at, at + MS / 50);
        at += MS / 50;
    }
    let found = report(vec![one], at / MS);
    assert_saves_ms(assert_stated(&found, "DXT-V022", &json!({})), 900.0..=960.0);
}

#[test]
fn one_file_that_is_opened_again_is_named_and_each_open_counts() {
    let found = report(vec![reader(1, 15, 40)], 1300);
    assert_stated(&found, "DXT-C034", &json!({"file": "/samples/0", "calls": 15}));
    assert_eq!(saves_ms(&found, "DXT-C034"), Some(560));
    assert_eq!(saves_ms(&report(vec![reader(15, 15, 40)], 1300), "DXT-C034"), None);
}

/// One file is opened 300 times in 3 ms each, and 400 others once each in 1.5 ms.
#[test]
fn the_sum_of_all_metadata_calls_gets_what_a_file_that_is_opened_again_leaves() {
    let (mut one, mut at) = (process(-1, "n"), 0);
    for call in 0..700_u64 {
        let (name, takes) =
            if call % 7 < 3 { ("/etc/conf".to_owned(), 3 * MS) } else { (format!("/data/{call}"), 3 * MS / 2) };
        one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + takes);
        at += takes;
    }
    let found = report(vec![one], at / MS);
    assert_stated(&found, "DXT-C034", &json!({"file": "/etc/conf", "calls": 300}));
    assert_eq!(saves_ms(&found, "DXT-C034"), Some(897));
    assert!(saves_ms(&found, "DXT-C012").is_some_and(|ms| (590..=605).contains(&ms)), "{}", brief(&found));
}

#[test]
fn what_many_files_cost_is_not_what_is_done_with_each() {
    let run = |writes: u64, sync: bool| {
        let mut one = process(-1, "n");
        let mut at = 0;
        for file in 0..50_u64 {
            let name = format!("/scratch/part.{file}");
            one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + MS);
            at += MS;
            for call in 0..writes {
                one.write(&name, (call * 8192) as i64, 8192, at, at + MS);
                at += MS;
            }
            if sync {
                one.add(&name, SYNC, 0, -1, 0, at, at + 10 * MS);
                at += 10 * MS;
            }
        }
        report(vec![one], at / MS)
    };
    // With 50 files instead, opens and writes would be saved, but not the syncs.
    let found = run(1, true);
    assert_stated(&found, "DXT-V015", &json!({}));
    assert!(saves_ms(&found, "DXT-V022").is_none_or(|ms| ms <= 100), "{found:#?}");
    // If each file is written in many calls, the number of calls dominates the cost.
    let found = run(16, false);
    assert!(saves_ms(&found, "DXT-V022").is_none_or(|ms| ms <= 50), "{}", brief(&found));
}

#[test]
fn hdf5_that_reads_more_than_it_is_asked_for_is_reported() {
    let run = |chunks_read: u64| {
        let mut one = process(-1, "n");
        for call in 0..32_u64 {
            let from = call * 20 * MS;
            for chunk in 0..chunks_read {
                let at = from + chunk * 2 * MS;
                one.add("/data/a.h5", common::op::POSIX_READ, IN_HDF5, (chunk << 20) as i64, 1 << 20, at, at + 2 * MS);
            }
            one.add("/data/a.h5", H5_READ, 0, -1, 1 << 20, from, from + chunks_read * 2 * MS);
        }
        report(vec![one], 700)
    };
    let found = run(8);
    // The program requests 32 MiB.
    assert_stated(&found, "DXT-V024", &json!({"file": "/data/a.h5", "calls": 32, "bytes": (8 * 32) << 20}));
    assert_eq!(saves_ms(&found, "DXT-V024"), Some(448));
    assert_eq!(saves_ms(&run(1), "DXT-V024"), None);
}

#[test]
fn hdf5_that_is_flushed_after_each_object_is_reported() {
    let run = |flushes: u64| {
        let mut one = process(-1, "n");
        for call in 0..40_u64 {
            let from = call * 25 * MS;
            one.add("/data/a.h5", H5_WRITE, 0, -1, 8000, from, from + MS);
            if call % (40 / flushes) == 0 {
                // These writes are HDF5's metadata (superblock, header, tree) at scattered offsets.
                for piece in 0..4_u64 {
                    let at = from + MS + piece * 4 * MS;
                    let offset = (piece * call * 700) as i64;
                    one.add("/data/a.h5", common::op::POSIX_WRITE, IN_HDF5, offset, 512, at, at + 4 * MS);
                }
                one.add("/data/a.h5", H5_SYNC, 0, -1, 0, from + MS, from + 18 * MS);
            }
        }
        report(vec![one], 1000)
    };
    let found = run(40);
    let flushes = assert_stated(&found, "DXT-V028", &json!({"file": "/data/a.h5", "calls": 40}));
    assert_says(flushes, &["40 writes"]);
    let saves = saves_ms(&found, "DXT-V028").unwrap_or(0);
    // 16 ms of writes in each flush, and 1 ms outside of them.
    assert!((650..=675).contains(&saves), "{saves} of 663 ms");
    assert_eq!(saves_ms(&run(4), "DXT-V028"), None);
}

#[test]
fn hdf5_that_writes_a_chunk_again_for_each_row_is_reported() {
    // Each of four processes has its own file; rows of 2 KiB go to one chunk of 128 KiB, which each flush writes entirely.
    let run = |flushes: u64| {
        let ranks = |number: i32| {
            let (mut one, file) = (process(-1, "n"), format!("/data/part{number}.h5"));
            one.process.info.pid = 500 + number as u32;
            for row in 0..40_u64 {
                let from = row * 25 * MS + number as u64 * MS / 3;
                one.add(&file, H5_WRITE, 0, -1, 2 * KIB, from, from + MS / 10);
                if row % (40 / flushes) == 0 {
                    one.add(&file, common::op::POSIX_WRITE, IN_HDF5, 4096, 128 * KIB, from + MS, from + 16 * MS);
                    one.add(&file, common::op::POSIX_WRITE, IN_HDF5, 0, 96, from + 16 * MS, from + 17 * MS);
                    one.add(&file, H5_SYNC, 0, -1, 0, from + MS, from + 17 * MS);
                }
            }
            one
        };
        report((0..4).map(ranks).collect(), 1000)
    };
    let found = run(40);
    let flushes = assert_stated(&found, "DXT-V028", &json!({"calls": 160}));
    assert_says(flushes, &["4 HDF5 files", "4 processes", "160 writes"]);
    let saves = saves_ms(&found, "DXT-V028").unwrap_or(0);
    assert!((560..=640).contains(&saves), "{saves} of 624 ms");
    assert_eq!(saves_ms(&run(4), "DXT-V028"), None);
}

#[test]
fn seeks_are_reported_by_their_price() {
    let run = |takes: u64| {
        let mut one = process(-1, "n");
        for call in 0..1000_u64 {
            let at = call * MS / 2;
            one.add("/data/table", SEEK, 0, (call * 7919 % 1000 * 4096) as i64, 0, at, at + takes);
            one.add("/data/table", common::op::STDIO_WRITE, 0, (call * 4096) as i64, 64, at + takes, at + takes + 500);
        }
        report(vec![one], 600)
    };
    let found = run(250_000);
    assert_says(assert_stated(&found, "DXT-C033", &json!({})), &["1,000 seeks", "C streams", "250 µs"]);
    assert_eq!(saves_ms(&found, "DXT-C033"), Some(249));
    assert!(saves_ms(&run(500), "DXT-C033").unwrap_or_default() == 0);
}

#[test]
fn files_that_are_asked_for_in_vain_are_polled() {
    let mut one = process(-1, "n");
    for call in 0..2000_u64 {
        let (at, name) = (call * MS / 4, format!("/run/part.{}", call / 2));
        let (op, flags) = if call % 2 == 0 { (STAT_FAILED, FAILED) } else { (common::op::POSIX_OPEN, 0) };
        one.add(&name, op, flags, -1, 0, at, at + MS / 8);
    }
    let found = report(vec![one], 500);
    // The 1,000 queries take 125 µs each.
    let polls = assert_stated(&found, "DXT-V017", &json!({}));
    assert_saves_ms(polls, 119.0..=131.0);
    assert_says(polls, &["1,000 of 1,000", "1 process", "polls"]);
}

/// Returns the JSON report on four synthetic ranks that open a file in each of eight steps, collectively if `together` is true, and write.
/// Rank 2 arrives `late_ms` ms late.
fn opened_together(late_ms: u64, together: bool) -> serde_json::Value {
    let steps = 8_u64;
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..steps {
            let name = format!("/out/step.{step}");
            let (from, last) = (step * 300 * MS, step * 300 * MS + (50 + late_ms) * MS);
            let mine = if rank == 2 { last } else { from + 50 * MS + rank * MS / 10 };
            let opened = if together { last + 2 * MS + rank * 1000 } else { mine + 2 * MS };
            one.add(&name, MPIIO_OPEN, 0, -1, 0, mine, opened);
            one.add(&name, MPIIO_WRITE, 0, (rank << 20) as i64, 1 << 20, opened, opened + 10 * MS);
            one.add(&name, common::op::POSIX_WRITE, NESTED, (rank << 20) as i64, 1 << 20, opened, opened + 9 * MS);
        }
        (one, steps * 300)
    };
    report_of((0..4).map(rank).collect(), 4)
}

#[test]
fn ranks_meet_where_they_open_a_file_together_and_who_comes_late_there_is_named() {
    let found = opened_together(150, true);
    assert_stated(&found, "DXT-L003", &json!({"rank": 2, "calls": 7}));
    let saves = saves_ms(&found, "DXT-L003").unwrap_or_default();
    assert!((1000..1060).contains(&saves), "{saves}");
    // An open by a single rank (MPI_COMM_SELF) waits for no other rank.
    assert_eq!(saves_ms(&opened_together(150, false), "DXT-L003"), None);
    assert!(saves_ms(&opened_together(0, true), "DXT-L003").unwrap_or_default() < 10);
}

#[test]
fn small_independent_calls_of_ranks_are_reported_as_such_over_all_files() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for call in 0..60_u64 {
            let (name, from) = (format!("/out/field.{}", call / 20), call * 5 * MS);
            let offset = ((call * 4 + rank) * 4096) as i64;
            one.add(&name, MPIIO_WRITE, 0, offset, 4096, from, from + 3 * MS);
            one.add(&name, common::op::POSIX_WRITE, NESTED, offset, 4096, from, from + 3 * MS - MS / 10);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 320);
    let small = assert_stated(&found, "DXT-L006", &json!({"calls": 240, "processes": 4}));
    assert_says(small, &["MPI-IO writes", "3 shared", "4.00 KiB", "3.00 ms"]);
}

#[test]
fn processes_of_one_parent_share_its_work_and_those_of_others_do_not() {
    let run = |parents: [u32; 4], together: bool| {
        let one = |number: u32| {
            let mut one = process(-1, "n");
            (one.process.info.pid, one.process.info.ppid) = (1000 + number, parents[number as usize]);
            let calls = if number == 2 { 100_u32 } else { 20 };
            for call in 0..calls {
                let at = u64::from(call) * 10 * MS;
                one.write(&format!("/out/{number}"), i64::from(call) << 20, 1 << 20, at, at + 10 * MS);
            }
            (one, if together { 1005 } else { u64::from(calls) * 10 + 5 })
        };
        report_of((0..4).map(one).collect(), 0)
    };
    let found = run([7, 7, 7, 7], false);
    // The busiest process has 2.5 times the mean of 40 MiB.
    assert_says(assert_stated(&found, "DXT-C014", &json!({"bytes": 100 << 20})), &["pid 1002"]);
    assert_eq!(saves_ms(&run([1, 2, 3, 4], false), "DXT-C014"), None);
    // A process whose peers compute until it ends blocks none of them.
    assert!(saves_ms(&run([7, 7, 7, 7], true), "DXT-C014").unwrap_or_default() == 0);
}

#[test]
fn writes_and_computing_by_turns_are_worth_knowing_and_no_more() {
    let alternating = |rank: i32| {
        let mut one = process(rank, "n");
        for step in 0..10_u64 {
            for call in 0..5_u64 {
                let at = (step * 100 + 50 + call * 10) * MS;
                one.write("/out/all", ((step * 5 + call) << 20) as i64, 1 << 20, at, at + 10 * MS);
            }
        }
        one
    };
    let found = report(vec![alternating(-1)], 1000);
    let finding = assert_stated(&found, "DXT-V026", &json!({"operation": "writes"}));
    assert_saves_ms(finding, 428.0..=472.0);
    assert_eq!(finding["severity"], "info");
    assert_says(finding, &["10 times"]);
    // The verdict promises no saving.
    assert_states_title_only(&found, finding);
    // Calls of another rank of the job are unknown.
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace_of(vec![(alternating(0), 1000)], 2));
    let found = common::json(&["report", "--format", "json", &path], 3);
    assert_nothing_stated(&found);
    let verdict = &found["verdict"];
    assert_eq!((&verdict["io_matters"], &verdict["lower_bounds"]), (&true.into(), &true.into()));
    assert_eq!(of_code(&found, "DXT-T001").expect("a rank is absent")["severity"], "high");
}

#[test]
fn of_mapped_files_only_calls_are_known_to_be_quick() {
    let mut one = process(-1, "n");
    one.add("/scratch/mesh", MMAP, 0, 0, 6 << 20, MS, 2 * MS);
    let found = report(vec![one], 1000);
    assert_eq!(found["verdict"]["io_matters"], false);
    assert_nothing_stated(&found);
    // The JSON output has no other fact that says so.
    let text = sentence(&found);
    assert!(text_has(text, &["unknown", "0.1 %", "1 mapped", "6.00 MiB"]), "{text}");
}

/// Returns the JSON report on 16 synthetic ranks that each open a file for `ms` ms, then in each of ten steps write to it and synchronize.
fn openers(ms: u64) -> serde_json::Value {
    let rank = |rank: u64| {
        let (mut one, name) = (process(rank as i32, "n"), format!("/out/{rank}"));
        one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, 0, ms * MS);
        for step in 0..10_u64 {
            let now = if step == 0 { ms * MS } else { step * 100 * MS };
            let until = now + 12 * MS + (rank * 7 + step * 3) % 10 * MS / 10;
            one.write(&name, (step << 20) as i64, 1 << 20, now, until);
            one.add("", BARRIER, 0, 0, 0, until, ((step + 1) * 100).max(ms + 20) * MS);
        }
        one
    };
    report((0..16).map(rank).collect(), 1000)
}

#[test]
fn what_each_rank_opens_once_is_reported_and_is_no_warning_unless_it_is_long() {
    let severity = |ms: u64| {
        let found = openers(ms);
        let all = found["verdict"]["findings"].as_array().cloned().unwrap_or_default();
        all.iter().find(|one| one["code"] == "DXT-C012").map(|one| one["severity"].clone())
    };
    assert_eq!(severity(75), Some("info".into()));
    assert_eq!(severity(130), Some("high".into()));
}

#[test]
fn of_reads_that_are_not_by_turns_with_computing_nothing_is_said() {
    // The program first reads all input; then each step writes a little.
    let mut one = process(-1, "n");
    for call in 0..40_u64 {
        one.add(
            "/in/all",
            common::op::POSIX_READ,
            0,
            (call << 20) as i64,
            1 << 20,
            call * 10 * MS,
            (call + 1) * 10 * MS,
        );
    }
    for step in 0..6_u64 {
        let at = (step * 100 + 500) * MS;
        one.write("/out/all", (step << 20) as i64, 1 << 20, at, at + 10 * MS);
    }
    let found = report(vec![one], 1100);
    assert_eq!(of_code(&found, "DXT-V026"), None);
}

/// Returns the JSON report on synthetic ranks with files in the folder `folder(rank)`. Each makes 40 reads, of 8 ms in the slow folder
/// `old` and 2 ms in others.
fn each_in_a_folder(folder: &dyn Fn(u64) -> String) -> serde_json::Value {
    let rank = |rank: u64| {
        let folder = folder(rank);
        let mut one = process(rank as i32, &format!("n{}", rank / 4));
        for step in 0..40_u64 {
            let from = step * 20 * MS;
            let takes = if folder == "old" { 8 } else { 2 } * MS + (rank * 7 + step * 13) % 10 * MS / 20;
            let path = format!("/scratch/{folder}/{rank}.{}", step % 2);
            one.add(&path, common::op::POSIX_READ, 0, (step << 20) as i64, 1 << 20, from, from + takes);
        }
        one
    };
    report((0..16).map(rank).collect(), 800)
}

#[test]
fn a_slow_folder_of_which_each_rank_has_one_is_named() {
    let found = each_in_a_folder(&|rank| if rank % 4 == 1 { "old" } else { "new" }.to_owned());
    let facts = json!({"file": "/scratch/old", "calls": 4 * 40, "operation": "reads"});
    let finding = assert_stated(&found, "DXT-O005", &facts);
    assert_saves_ms(finding, 228.0..=252.0);
    // If each node has its own folders, a slow folder cannot be distinguished from a slow node.
    let found = each_in_a_folder(&|rank| if rank / 4 == 1 { "old".to_owned() } else { format!("n{}", rank / 4) });
    let facts = json!({"node": "n1", "calls": 4 * 40, "operation": "reads"});
    let finding = assert_stated(&found, "DXT-O003", &facts);
    assert_saves_ms(finding, 228.0..=252.0);
}

#[test]
fn no_folder_is_slow_for_being_on_another_file_system() {
    // Each of 8 processes opens two files of one folder and two of another, 20 times.
    let opens = |fast: &str| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, &format!("n{}", rank / 4));
            for step in 0..20_u64 {
                let mut at = step * 100 * MS;
                for (folder, us) in [("/scratch/out", 10_000 + rank * 100), (fast, 20)] {
                    for file in 0..2 {
                        let name = format!("{folder}/{file}");
                        one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + us * 1000);
                        at += us * 1000;
                    }
                }
            }
            one
        };
        report((0..8).map(rank).collect(), 2000)
    };
    for elsewhere in ["/dev/shm/scratch", "/mounted/scratch"] {
        assert_quiet(&opens(elsewhere), "DXT-O005");
    }
    let facts = json!({"file": "/scratch/out", "calls": 8 * 20 * 2, "operation": "opens"});
    assert_stated(&opens("/nvme/scratch"), "DXT-O005", &facts);
}
