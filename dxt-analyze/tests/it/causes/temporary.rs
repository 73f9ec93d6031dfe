//! Tests of files that are temporary, and of versions of a file that are written one after another.

use super::{MS, RENAME, SYNC, UNLINK, report, saves_ms};
use crate::common::facts::{assert_says, assert_stated, text_has};
use crate::common::{self, process};
use serde_json::json;
use trace_format::meta::path_hash;
use trace_format::segment::renamed_to;

#[test]
fn temporary_files_are_reported_by_what_all_their_calls_cost() {
    let run = |removes: bool| {
        let mut one = process(-1, "n");
        for call in 0..100_u64 {
            let (at, name) = (call * 8 * MS, format!("/tmp/part.{call}"));
            one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + 2 * MS);
            one.write(&name, 0, 8192, at + 2 * MS, at + 3 * MS);
            if removes {
                one.add(&name, UNLINK, 0, -1, 0, at + 3 * MS, at + 5 * MS);
            }
        }
        report(vec![one], 800)
    };
    let found = run(true);
    let temporary = assert_stated(&found, "DXT-V023", &json!({}));
    assert_says(temporary, &["100"]);
    assert!(text_has(&temporary["evidence"].to_string(), &["8.00 KiB"]), "{temporary}");
    assert_eq!(saves_ms(&found, "DXT-V023"), Some(498));
    let kept = run(false);
    assert_says(assert_stated(&kept, "DXT-V022", &json!({})), &["100", "written"]);
}

#[test]
fn data_that_are_written_read_back_and_removed_are_temporary_whatever_the_size_of_their_files() {
    #[derive(Clone, Copy, PartialEq)]
    enum Is {
        Spill,
        /// Removed while it is open (like tmpfile(3)).
        Unnamed,
        Journal,
        OldCheckpoint,
        ReadAndKept,
        RemovedFirst,
    }
    let run = |is: Is| {
        let mut one = process(-1, "n");
        for file in 0..4_u64 {
            let (mut at, name) = (file * 200 * MS, format!("/scratch/part.{file}"));
            let mut call = |op, ms: u64| {
                one.add(&name, op, 0, -1, 0, at, at + ms * MS);
                at += ms * MS;
            };
            if is == Is::RemovedFirst {
                call(UNLINK, 10);
            }
            call(common::op::POSIX_OPEN, 2);
            if is == Is::Unnamed {
                call(UNLINK, 10);
            }
            if is == Is::Journal {
                call(SYNC, 10);
            }
            let reads: &[bool] = if is == Is::OldCheckpoint { &[false] } else { &[false, true] };
            for &reads in reads {
                for part in 0..8_u64 {
                    let (from, until) = (at + part * 10 * MS, at + (part + 1) * 10 * MS);
                    let offset = (part << 22) as i64;
                    let op = if reads { common::op::POSIX_READ } else { common::op::POSIX_WRITE };
                    one.add(&name, op, 0, offset, 4 << 20, from, until);
                }
                at += 80 * MS;
            }
            if !matches!(is, Is::ReadAndKept | Is::RemovedFirst | Is::Unnamed) {
                one.add(&name, UNLINK, 0, -1, 0, at, at + 10 * MS);
            }
        }
        report(vec![one], 800)
    };
    for is in [Is::Spill, Is::Unnamed] {
        let found = run(is);
        assert_says(assert_stated(&found, "DXT-V023", &json!({})), &["all 128 MiB", "4 files"]);
        // 4 x (2 + 80 + 80 + 10) ms.
        assert_eq!(saves_ms(&found, "DXT-V023"), Some(688));
    }
    for is in [Is::Journal, Is::OldCheckpoint, Is::ReadAndKept, Is::RemovedFirst] {
        assert_eq!(saves_ms(&run(is), "DXT-V023"), None);
    }
}

#[test]
fn a_state_that_is_written_anew_is_reported_and_a_log_is_not() {
    let run = |anew: bool| {
        let mut one = process(-1, "n");
        for call in 0..50_u64 {
            let at = call * 20 * MS;
            one.add("/run/state", common::op::POSIX_OPEN, 0, -1, 0, at, at + 2 * MS);
            let offset = if anew { 0 } else { (call * 40_000) as i64 };
            one.write("/run/state", offset, 40_000, at + 2 * MS, at + 10 * MS);
        }
        report(vec![one], 1000)
    };
    let found = run(true);
    let facts = json!({"file": "/run/state", "calls": 50, "bytes": 50 * 40_000});
    assert_says(assert_stated(&found, "DXT-V025", &facts), &["pid 999", "39.1 KiB"]);
    assert_eq!(saves_ms(&found, "DXT-V025"), Some(468));
    // However large, a file that is read as often is no checkpoint.
    let whole = |reads: bool| {
        let mut one = process(-1, "n");
        for call in 0..100_u64 {
            let at = call * 20 * MS;
            one.add("/run/state", common::op::POSIX_OPEN, 0, -1, 0, at, at + 2 * MS);
            if call % 2 == 1 {
                one.write("/run/state", 0, 64 << 20, at + 2 * MS, at + 18 * MS);
            } else if reads {
                one.add("/run/state", common::op::POSIX_READ, 0, 0, 64 << 20, at + 2 * MS, at + 18 * MS);
            }
        }
        report(vec![one], 2000)
    };
    assert_says(assert_stated(&whole(true), "DXT-V025", &json!({})), &["reads and rewrites", "100 opens"]);
    assert_eq!(saves_ms(&whole(false), "DXT-V025"), None);
    assert_eq!(saves_ms(&run(false), "DXT-V025"), None);
}

#[test]
fn a_state_that_is_written_under_temporary_names_is_one_file() {
    let run = |new_name: fn(u64) -> String| {
        let mut one = process(-1, "n");
        for call in 0..50_u64 {
            let (at, name) = (call * 20 * MS, format!("/run/tmp{call}"));
            let new_name = renamed_to(path_hash(new_name(call).as_bytes()));
            one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + 2 * MS);
            one.write(&name, 0, 40_000, at + 2 * MS, at + 10 * MS);
            one.add(&name, RENAME, 0, new_name, 0, at + 10 * MS, at + 14 * MS);
        }
        report(vec![one], 1000)
    };
    let found = run(|_| "/run/state".into());
    let facts = json!({"calls": 50, "bytes": 50 * 40_000});
    assert_says(assert_stated(&found, "DXT-V025", &facts), &["50 times", "39.1 KiB"]);
    // 50 x (2 + 8 + 4) ms, less one version in 16.
    assert_eq!(saves_ms(&found, "DXT-V025"), Some(656));
    let several = run(|call| format!("/run/state.{call}"));
    assert_eq!(saves_ms(&several, "DXT-V025"), None);
}

/// A file that one process writes and another reads once only passes data on: a pipe would do, unless the writer reads it as well, others
/// read it again and again, before it is written or on another node, or they are ranks.
#[test]
fn files_that_only_pass_data_to_another_process_are_reported() {
    #[derive(Clone, Copy, PartialEq)]
    enum Is {
        HandedOn,
        ReadByWriter,
        ReadOften,
        ReadBefore,
        OnOtherNodes,
        OfRanks,
    }
    let run = |is: Is| {
        let steps = (0..4_u64).map(|step| {
            let node = if is == Is::OnOtherNodes { format!("n{step}") } else { "n".to_owned() };
            let mut one = process(if is == Is::OfRanks { step as i32 } else { -1 }, &node);
            one.process.info.pid = 500 + step as u32;
            let mut at = if is == Is::ReadBefore { 3 - step } else { step } * 200 * MS;
            let mut all = |one: &mut common::Builder, op: u16, number: u64, times: u64| {
                let name = format!("/scratch/step.{number}");
                one.add(&name, common::op::POSIX_OPEN, 0, -1, 0, at, at + MS);
                at += MS;
                for part in 0..10 * times {
                    let offset = ((part % 10) << 20) as i64;
                    one.add(&name, op, 0, offset, 1 << 20, at, at + 8 * MS / times);
                    at += 8 * MS / times;
                }
            };
            if step > 0 {
                all(&mut one, common::op::POSIX_READ, step - 1, if is == Is::ReadOften { 4 } else { 1 });
            }
            all(&mut one, common::op::POSIX_WRITE, step, 1);
            if is == Is::ReadByWriter {
                all(&mut one, common::op::POSIX_READ, step, 1);
            }
            one
        });
        report(steps.collect(), 900)
    };
    let found = run(Is::HandedOn);
    assert_says(assert_stated(&found, "DXT-V023", &json!({})), &["3 files", "30.0 MiB"]);
    // 3 x (81 + 81) ms, less what the transfer through memory takes.
    let saved = saves_ms(&found, "DXT-V023").unwrap_or(0);
    assert!((410..=430).contains(&saved), "{saved}");
    assert_eq!(found["verdict"]["findings"][0]["severity"], "warn", "the files stay");
    for is in [Is::ReadByWriter, Is::ReadOften, Is::ReadBefore, Is::OnOtherNodes, Is::OfRanks] {
        assert_eq!(saves_ms(&run(is), "DXT-V023"), None);
    }
}

/// A command that reads and rewrites a whole file, started again for each change, costs as much as one process that does so. One program that
/// writes and another that reads each version is no defect.
#[test]
fn a_file_that_one_process_after_another_rewrites_is_reported() {
    const READ: (u16, u64) = (common::op::POSIX_READ, 1);
    const WRITE: (u16, u64) = (common::op::POSIX_WRITE, 41);
    // `each`: calls of the processes that are started in each step, and their times in ms.
    let run = |of_ranks: bool, each: &[&[(u16, u64)]]| {
        let mut all = Vec::new();
        for (step, (number, calls)) in (0..10_u64).flat_map(|step| each.iter().enumerate().map(move |of| (step, of))) {
            let mut one = process(if of_ranks { step as i32 } else { -1 }, "n");
            one.process.info.pid = 500 + step as u32 * 2 + number as u32;
            let at = step * 100 * MS;
            one.add("/data/a.nc", common::op::POSIX_OPEN, 0, -1, 0, at, at + MS);
            for (op, from) in *calls {
                for part in 0..8_u64 {
                    let from = at + (from + part * 5) * MS;
                    one.add("/data/a.nc", *op, 0, (part << 20) as i64, 1 << 20, from, from + 5 * MS);
                }
            }
            all.push(one);
        }
        report(all, 1000)
    };
    let found = run(false, &[&[READ, WRITE]]);
    let facts = json!({"file": "/data/a.nc", "processes": 10, "calls": 10});
    assert_says(assert_stated(&found, "DXT-V025", &facts), &["10 processes", "80.0 MiB", "8.00 MiB"]);
    // 10 x 81 ms, less one of the rounds.
    assert_eq!(saves_ms(&found, "DXT-V025"), Some(729));
    assert_eq!(saves_ms(&run(true, &[&[READ, WRITE]]), "DXT-V025"), None, "ranks");
    assert_eq!(saves_ms(&run(false, &[&[READ], &[WRITE]]), "DXT-V025"), None, "another reads");
}
