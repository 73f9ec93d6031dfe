//! Tests of the causes that are found if only a Darshan log is available instead of a trace.

use super::{LOCK, MPIIO_OPEN_ALL, MPIIO_WRITE, MS, STAT, saves_ms, trace_of};
use crate::common::facts::{assert_nothing_stated, assert_saves_ms, assert_says, assert_stated, brief};
use crate::common::{Builder, json, op, process, put, stdout};
use serde_json::{Value, json};

/// Returns the JSON report on a synthetic job of `ranks` ranks, exported to a Darshan log with DXT segments.
#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn report_of_log(processes: Vec<Builder>, ranks: u32) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let ends = processes.into_iter().map(|process| (process, 1000)).collect();
    let path = put(folder.path(), "a.dxt", &trace_of(ends, ranks));
    let log = folder.path().join("a.darshan");
    let log = log.to_str().unwrap();
    stdout(&["export", "--to", "darshan", "-o", log, &path], 0);
    json(&["report", "--format", "json", log], 0)
}

/// Returns a process that opens a file once, makes one call of 500 ms with operation code `what`, and writes.
fn opened_once(what: u16) -> Vec<Builder> {
    let mut one = process(0, "n");
    one.add("/scratch/a", op::POSIX_OPEN, 0, 0, 0, MS, 2 * MS);
    one.add("/scratch/a", what, 0, 0, 0, 10 * MS, 510 * MS);
    one.write("/scratch/a", 0, 1 << 20, 510 * MS, 520 * MS);
    one.add("/scratch/a", op::POSIX_CLOSE, 0, 0, 0, 521 * MS, 522 * MS);
    vec![one]
}

#[test]
fn one_rank_that_does_all_is_reported_though_the_others_are_not_on_record() {
    let all = |ranks: i32| {
        let rank = |rank: i32| {
            let mut one = process(rank, "n");
            for step in 0..if rank == 0 { 10 } else { 0 } {
                let from = step * 90 * MS;
                one.write("/scratch/out", (step << 20) as i64, 1 << 20, from, from + 60 * MS);
            }
            one
        };
        report_of_log((0..ranks).map(rank).collect(), ranks as u32)
    };
    let found = all(4);
    let one = assert_stated(&found, "DXT-C013", &json!({"rank": 0, "bytes": 10 << 20}));
    assert_says(one, &["100 %", "other 3"]);
    assert_eq!(found["verdict"]["job"]["processes"], "4 ranks");
    assert!(saves_ms(&all(1), "DXT-C013").is_none(), "there is no other");
}

#[test]
fn an_open_is_not_blamed_for_the_stats_of_its_file() {
    let found = report_of_log(opened_once(STAT), 1);
    let stats = assert_stated(&found, "DXT-C012", &json!({}));
    assert_saves_ms(stats, 475.0..=525.0);
    assert_says(stats, &["1 stat call"]);
}

#[test]
fn what_darshan_has_no_time_for_is_nobodys() {
    let found = report_of_log(opened_once(LOCK), 1);
    assert!(saves_ms(&found, "DXT-C012").is_none_or(|ms| ms < 10), "{}", brief(&found));
}

#[test]
fn a_rank_is_not_late_by_calls_of_unknown_time() {
    // Rank 1 syncs for 60 ms in each step and so arrives late; a log has the total time of syncs, but not when they were made.
    let ranks = |syncs: bool| {
        let rank = |rank: i32| {
            let mut one = process(rank, "n");
            for step in 0..8_u64 {
                let (from, at) = (step * 120 * MS, ((step * 4 + rank as u64) << 20) as i64);
                let comes = if rank == 1 { 80 } else { 20 };
                if rank == 1 && syncs {
                    one.add("/scratch/mine", super::SYNC, 0, 0, 0, from + 15 * MS, from + 75 * MS);
                }
                one.add("/scratch/all", op::MPIIO_WRITE_ALL, 0, at, 1 << 20, from + comes * MS, from + 110 * MS);
            }
            one
        };
        report_of_log((0..4).map(rank).collect(), 4)
    };
    assert_stated(&ranks(false), "DXT-L003", &json!({"rank": 1, "calls": 7}));
    assert!(saves_ms(&ranks(true), "DXT-L003").is_none(), "{}", brief(&ranks(true)));
}

/// Returns the JSON report on a synthetic job of `ranks` ranks, exported to a Darshan log without DXT segments: counters only.
#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn report_of_counters(processes: Vec<Builder>, ranks: u32) -> Value {
    const MAP: usize = 48;
    const DXT: [usize; 2] = [10, 11];
    let folder = tempfile::tempdir().unwrap();
    let ends = processes.into_iter().map(|process| (process, 1000)).collect();
    let path = put(folder.path(), "a.dxt", &trace_of(ends, ranks));
    let log = folder.path().join("a.darshan");
    stdout(&["export", "--to", "darshan", "-o", log.to_str().unwrap(), &path], 0);
    let mut bytes = std::fs::read(&log).unwrap();
    for module in DXT {
        bytes.get_mut(MAP + 16 * module..MAP + 16 * (module + 1)).unwrap().fill(0);
    }
    let path = put(folder.path(), "b.darshan", &bytes);
    json(&["report", "--format", "json", &path], 0)
}

/// Returns the JSON report on four synthetic ranks that each write twenty times for 20 ms, each write followed by a sync of `sync_ms` ms.
/// One write of rank 2 takes `stall_ms` ms.
fn counted(sync_ms: u64, stall_ms: u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mut at = 0;
        for call in 0..20 {
            let takes = if rank == 2 && call == 7 { stall_ms } else { 20 };
            one.write(&format!("/scratch/of{rank}"), i64::from(call << 20), 1 << 20, at, at + takes * MS);
            at += takes * MS;
            if sync_ms > 0 {
                one.add(&format!("/scratch/of{rank}"), super::SYNC, 0, 0, 0, at, at + sync_ms * MS);
                at += sync_ms * MS;
            }
        }
        one
    };
    report_of_counters((0..4).map(rank).collect(), 4)
}

#[test]
fn counters_tell_of_one_call_that_stalled_and_of_syncs() {
    let stalled = counted(0, 420);
    let facts = json!({"rank": 2, "file": "/scratch/of2", "time_ns": 420 * MS, "operation": "writes"});
    assert_stated(&stalled, "DXT-V002", &facts);
    assert!(saves_ms(&stalled, "DXT-V002").is_some_and(|ms| (360..=420).contains(&ms)));
    let synced = counted(25, 20);
    assert_says(assert_stated(&synced, "DXT-C032", &json!({})), &["80 syncs", "80 writes"]);
    assert_nothing_stated(&counted(0, 20));
}

#[test]
fn who_comes_late_to_collective_opens_is_reported_by_how_little_time_it_spends_in_them() {
    // Six ranks collectively open a file in each of eight steps; one rank computes for 30 ms longer before each open.
    let run = |late: Option<u64>| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..8_u64 {
                let (path, met) = (format!("/scratch/dump.{step}"), step * 120 * MS + 90 * MS);
                let comes =
                    if late == Some(rank) { met - MS } else { met - 31 * MS } - (rank * 7 + step * 3) % 10 * MS / 20;
                one.add(&path, MPIIO_OPEN_ALL, 0, -1, 0, comes, met);
                one.add(&path, MPIIO_WRITE, 0, (rank << 20) as i64, 1 << 20, met, met + 20 * MS);
            }
            one
        };
        report_of_log((0..6).map(rank).collect(), 6)
    };
    let found = run(Some(4));
    assert_says(assert_stated(&found, "DXT-L003", &json!({"rank": 4, "calls": 8})), &["MPI-IO opens"]);
    assert!(saves_ms(&found, "DXT-L003").is_some_and(|ms| (220..=245).contains(&ms)), "{}", found["findings"]);
    assert_eq!(saves_ms(&run(None), "DXT-L003"), None);
}

/// Returns the JSON report on four synthetic ranks that read the same 8 MiB `times` times: from a file of each rank if `own` is true, else
/// from a shared one. If `written` is true, a rank writes each block before it reads it.
fn read_again(times: u64, own: bool, written: bool) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for (time, call) in (0..times).flat_map(|time| (0..8).map(move |call| (time, call))) {
            let at = (time * 120 + call * 10) * MS;
            let path = if own { format!("/scratch/of{rank}") } else { "/scratch/all".to_owned() };
            let offset = i64::from(call as u32) << 20;
            if written {
                one.write(&path, offset, 1 << 20, at, at + MS);
            }
            one.add(&path, op::POSIX_READ, 0, offset, 1 << 20, at + MS, at + 10 * MS);
        }
        one
    };
    report_of_counters((0..4).map(rank).collect(), 4)
}

#[test]
fn counters_prove_that_more_is_read_than_lies_there() {
    for own in [true, false] {
        let found = read_again(8, own, false);
        let file = if own { "/scratch/of0" } else { "/scratch/all" };
        assert_says(assert_stated(&found, "DXT-C024", &json!({"file": file})), &["224 MiB (87.5 %)"]);
        let saves = saves_ms(&found, "DXT-C024").unwrap_or(0);
        assert!((480..=520).contains(&saves), "{saves} of 504 ms");
        for new in [read_again(1, own, false), read_again(8, own, true)] {
            assert!(saves_ms(&new, "DXT-C024").is_none(), "{}", brief(&new));
        }
    }
}

#[test]
fn blocks_that_are_overwritten_at_once_are_found_in_logs() {
    let rank = |rank: u64| {
        let (mut one, name) = (process(rank as i32, "n"), format!("/scratch/state.{rank}"));
        for block in 0..40_u64 {
            let from = block * 24 * MS + MS;
            let (offset, read) = (i64::from((block as u32) << 20), from + 8 * MS + (block * 7 + rank) % 10 * MS / 50);
            one.add(&name, op::POSIX_READ, 0, offset, 1 << 20, from, read);
            one.write(&name, offset, 1 << 20, read + 5_000, read + 8 * MS);
        }
        one
    };
    let found = report_of_log((0..2).map(rank).collect(), 2);
    let blocks = assert_stated(&found, "DXT-V034", &json!({"calls": 80, "bytes": 80 << 20}));
    assert_says(blocks, &["2 processes", "2 files"]);
}
