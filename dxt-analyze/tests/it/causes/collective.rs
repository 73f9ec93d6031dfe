//! Tests of the time that collective and independent MPI-IO calls spend outside of system calls.

use super::{
    KIB, MPIIO_READ_ALL, MPIIO_SET_VIEW, MPIIO_SPLIT, MPIIO_SUBMIT, MPIIO_WAIT, MPIIO_WRITE, MS, report, saves_ms,
};
use crate::common::facts::{assert_quiet, assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};
use trace_format::meta::stream_flags::{IN_HDF5, NESTED};

const FILE: &str = "/scratch/out.h5";

/// Returns the JSON report on four synthetic ranks with 50 collective writes of 1 KiB. Each takes 3 ms, 1 ms of it in a system call. If
/// `set_views` is true, two set-view calls of 5 ms precede each write.
fn small_calls(set_views: bool) -> Value {
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        for call in 0..50 {
            let from = call * 18 * MS;
            if set_views {
                one.add(FILE, MPIIO_SET_VIEW, 0, 0, 0, from, from + 5 * MS);
                one.add(FILE, MPIIO_SET_VIEW, 0, 0, 0, from + 5 * MS, from + 10 * MS);
            }
            let (at, from) = (((call * 4 + rank as u64) * KIB) as i64, from + 10 * MS);
            one.add(FILE, op::POSIX_WRITE, NESTED, at, KIB, from + MS, from + 2 * MS);
            one.add(FILE, op::MPIIO_WRITE_ALL, 0, at, KIB, from, from + 3 * MS);
        }
        one
    };
    report((0..4).map(rank).collect(), 1000)
}

#[test]
fn views_that_are_set_for_each_small_collective_call_are_part_of_what_it_costs() {
    let found = small_calls(true);
    let facts = json!({"operation": "collective MPI-IO writes", "calls": 200});
    // Each of four ranks spends 100 ms outside of system calls, and 500 ms in set-view calls.
    assert_eq!(assert_stated(&found, "DXT-L004", &facts)["cost_ns"], 2400 * MS);
    let saves = saves_ms(&found, "DXT-L004").unwrap_or(0);
    // The saving is 100 ms outside of system calls and 500 ms in set-view calls, minus the time of eight calls.
    assert!((420..=600).contains(&saves), "{saves} of 504 ms");
    let without = small_calls(false);
    assert_eq!(assert_stated(&without, "DXT-L004", &facts)["cost_ns"], 400 * MS);
    assert!(saves_ms(&without, "DXT-L004").is_some_and(|saves| saves <= 100), "{}", brief(&without));
}

#[test]
fn system_calls_of_independent_calls_are_not_those_of_collective_ones_on_the_same_file() {
    // The file gets 20 collective calls of 20 ms with 1 ms in a system call, and 200 independent calls of 2 ms with 1.9 ms in one.
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        for call in 0..20 {
            let (from, at) = (call * 20 * MS, ((call * 4 + rank as u64) << 20) as i64);
            one.add(FILE, op::POSIX_WRITE, NESTED, at, 1 << 20, from + 18 * MS, from + 19 * MS);
            one.add(FILE, op::MPIIO_WRITE_ALL, 0, at, 1 << 20, from, from + 20 * MS);
        }
        for call in 0..200 {
            let (from, at) = ((400 + call * 2) * MS, ((100 << 20) + (call * 4 + rank as u64) * 100) as i64);
            one.add(FILE, op::POSIX_WRITE, NESTED, at, 100, from, from + 2 * MS - MS / 10);
            one.add(FILE, MPIIO_WRITE, 0, at, 100, from, from + 2 * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 900);
    assert_eq!(saves_ms(&found, "DXT-V008"), None, "{}", brief(&found));
    assert!(saves_ms(&found, "DXT-L004").is_some_and(|saves| saves > 150), "{}", brief(&found));
}

#[test]
fn what_takes_its_time_in_the_library_is_explained_by_who_says_so() {
    let rank = |rank: i32| {
        let mut one: Builder = process(rank, "n");
        for call in 0..20 {
            let (from, at) = (call * 45 * MS, ((call * 4 + rank as u64) << 20) as i64);
            one.add(FILE, op::POSIX_WRITE, NESTED, at, 1 << 20, from + 38 * MS, from + 40 * MS);
            one.add(FILE, MPIIO_WRITE, 0, at, 1 << 20, from, from + 40 * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    let one = found["findings"].as_array().and_then(|all| all.iter().find(|one| one["code"] == "DXT-V008"));
    let share = one.and_then(|one| one["explains"]["share"].as_f64()).unwrap_or(0.0);
    assert!((0.9..=1.0).contains(&share), "{share} of the time in calls");
}

#[test]
fn who_comes_late_to_collective_calls_of_hdf5_is_named() {
    // In ten steps, rank 2 computes for 60 ms, the others for 20; the collective I/O inside HDF5 takes 20 ms once all have arrived.
    let late = |late_ms: u64| {
        let rank = |rank: u64| {
            let mut one: Builder = process(rank as i32, "n");
            for step in 0..10_u64 {
                let computes = if rank == 2 { late_ms } else { 20 } * MS + (rank * 7 + step * 13) % 10 * MS / 20;
                let (from, all) = (step * 100 * MS + computes, step * 100 * MS + late_ms * MS + MS);
                let at = ((step * 4 + rank) << 20) as i64;
                one.add(FILE, op::POSIX_WRITE, NESTED | IN_HDF5, at, 1 << 20, all + 10 * MS, all + 15 * MS);
                one.add(FILE, op::MPIIO_WRITE_ALL, IN_HDF5, at, 1 << 20, all + 5 * MS, all + 20 * MS);
                one.add(FILE, op::HDF5_WRITE_ALL, 0, -1, 1 << 20, from, all + 20 * MS);
            }
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    let found = late(60);
    assert_stated(&found, "DXT-L003", &json!({"rank": 2, "calls": 9}));
    let saves = saves_ms(&found, "DXT-L003").unwrap_or(0);
    assert!((330..=370).contains(&saves), "{saves} of 360 ms");
    assert_eq!(saves_ms(&late(20), "DXT-L003"), None);
}

#[test]
fn aggregators_whose_small_requests_wait_for_each_other_are_too_many() {
    // In ten collective calls, each of five ranks writes 32 KiB, for 20 ms in total, serialized or all at once.
    let aggregators = |in_turn: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for call in 0..10_u64 {
                let turn = if in_turn { (rank + call) % 5 + 1 } else { 5 };
                let (at, from) = (((call * 5 + rank) * 32 * KIB) as i64, call * 200 * MS + (rank + call) % 3 * MS / 10);
                let end = from + turn * 20 * MS + (rank * call) % 7 * MS / 10;
                one.add("/scratch/out", op::POSIX_WRITE, NESTED, at, 32 * KIB, from + MS, end);
                one.add("/scratch/out", op::MPIIO_WRITE_ALL, 0, at, 32 * KIB, from, call * 200 * MS + 102 * MS);
            }
            one
        };
        report((0..5).map(rank).collect(), 2000)
    };
    let found = aggregators(true);
    let many = assert_stated(&found, "DXT-V031", &json!({"file": "/scratch/out", "processes": 5}));
    assert_says(many, &["32.0 KiB"]);
    let saves = saves_ms(&found, "DXT-V031").unwrap_or(0);
    assert!((760..=820).contains(&saves), "{saves} of 800 ms");
    let commands = found["verdict"]["findings"][0]["commands"].to_string();
    assert!(commands.contains("cb_nodes 1"), "{commands}");
    let found = aggregators(false);
    assert_eq!(saves_ms(&found, "DXT-V031"), None, "{}", brief(&found));
}

#[test]
fn who_comes_late_to_the_collective_calls_of_a_part_of_the_ranks_is_named() {
    // Six ranks write two files, three ranks each; rank 4 computes for 60 ms before each call, the others for 20.
    let late = |late_ms: u64| {
        let rank = |rank: u64| {
            let mut one: Builder = process(rank as i32, "n");
            let (file, of_rank_4) = (format!("/scratch/row{}", rank / 3), rank / 3 == 1);
            for step in 0..10_u64 {
                let computes = if rank == 4 { late_ms } else { 20 } * MS + (rank * 7 + step * 13) % 10 * MS / 20;
                let (from, all) = (step * 100 * MS + computes, if of_rank_4 { late_ms } else { 20 } * MS + MS);
                let (at, all) = (((step * 6 + rank) << 20) as i64, step * 100 * MS + all);
                one.add(&file, op::POSIX_WRITE, NESTED, at, 1 << 20, all + MS, all + 3 * MS);
                one.add(&file, op::MPIIO_WRITE_ALL, 0, at, 1 << 20, from, all + 5 * MS);
            }
            one
        };
        report((0..6).map(rank).collect(), 1000)
    };
    let found = late(60);
    assert_stated(&found, "DXT-L003", &json!({"rank": 4, "calls": 9}));
    let saves = saves_ms(&found, "DXT-L003").unwrap_or(0);
    assert!((320..=400).contains(&saves), "{saves} of 360 ms");
    let found = late(20);
    assert_quiet(&found, "DXT-L003");
    assert_quiet(&found, "DXT-V013");
}

#[test]
fn split_collective_calls_do_their_work_where_the_library_does() {
    // The begin call waits for all other ranks, so reordering calls would not help.
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        for step in 0..10_u64 {
            let (from, at) = (step * 100 * MS, ((step * 4 + rank) << 20) as i64);
            one.add(FILE, op::POSIX_WRITE, NESTED, at, 1 << 20, from + 30 * MS, from + 38 * MS);
            one.add(FILE, MPIIO_SUBMIT, 0, -1, 0, from, from + 40 * MS);
            one.add(FILE, MPIIO_SPLIT, 0, at, 1 << 20, from, from + 42 * MS);
            one.add(FILE, MPIIO_WAIT, 0, -1, 0, from + 41 * MS, from + 42 * MS);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 1000);
    assert_eq!(saves_ms(&found, "DXT-V016"), None, "{}", brief(&found));
}

/// Returns the JSON report on synthetic ranks that arrive `late(rank, step)` ms late at a collective write of their group. `group` assigns
/// each rank to a group; each group has its own file.
fn groups(ranks: u64, group: impl Fn(u64) -> u64, late: impl Fn(u64, u64) -> u64) -> Value {
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, "n")).collect();
    for step in 0..20_u64 {
        let comes = |rank: u64| step * 100 * MS + (20 + late(rank, step)) * MS + (rank * 7 + step * 13) % 10 * MS / 20;
        for rank in 0..ranks {
            let last = (0..ranks).filter(|other| group(*other) == group(rank)).map(comes).max().unwrap_or(0);
            let (file, at) = (format!("/scratch/part{}", group(rank)), ((step * ranks + rank) << 20) as i64);
            let Some(one) = all.get_mut(rank as usize) else { continue };
            one.add(&file, op::POSIX_WRITE, NESTED, at, 1 << 20, last + MS, last + 3 * MS);
            one.add(&file, op::MPIIO_WRITE_ALL, 0, at, 1 << 20, comes(rank), last + 5 * MS);
        }
    }
    report(all, 2000)
}

#[test]
fn groups_that_wait_at_the_same_time_do_not_wait_twice() {
    let found = groups(12, |rank| rank / 4, |rank, _| if rank % 4 == 0 { 30 } else { 0 });
    assert_stated(&found, "DXT-L003", &json!({"calls": 19}));
    let saves = saves_ms(&found, "DXT-L003").unwrap_or(0);
    assert!((500..=620).contains(&saves), "{saves} of 570 ms: each group waits for its own");
}

#[test]
fn who_has_no_part_in_the_calls_of_a_group_is_not_late() {
    // Seven of eight ranks write together for 50 ms while the eighth waits; then all eight write together.
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        for step in 0..10_u64 {
            let (from, at) = (step * 100 * MS, ((step * 8 + rank) << 20) as i64);
            let (ready, own) = (from + 20 * MS + (rank * 7 + step * 13) % 10 * MS / 20, from + 71 * MS);
            if rank < 7 {
                one.add("/scratch/seven", op::POSIX_WRITE, NESTED, at, 1 << 20, from + 21 * MS, from + 70 * MS);
                one.add("/scratch/seven", op::MPIIO_WRITE_ALL, 0, at, 1 << 20, ready, own);
            }
            one.add("/scratch/all", op::POSIX_WRITE, NESTED, at, 1 << 20, own + 2 * MS, own + 4 * MS);
            one.add(
                "/scratch/all",
                op::MPIIO_WRITE_ALL,
                0,
                at,
                1 << 20,
                if rank < 7 { own } else { ready },
                own + 5 * MS,
            );
        }
        one
    };
    let found = report((0..8).map(rank).collect(), 1000);
    assert_eq!(saves_ms(&found, "DXT-L003"), None, "{}", brief(&found));
}

#[test]
fn collective_calls_of_few_bytes_are_reported() {
    let jobs = |file: &str, bytes: u64, reads: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..50_u64 {
                let (from, at) = (step * 10 * MS, ((step * 4 + rank) * bytes) as i64);
                if rank == 0 {
                    let takes = 3 * MS + (step * 7) % 5 * MS / 10;
                    let inner = if reads { op::POSIX_READ } else { op::POSIX_WRITE };
                    one.add(file, inner, NESTED, at, 4 * bytes, from + MS, from + MS + takes);
                }
                let call = if reads { MPIIO_READ_ALL } else { op::MPIIO_WRITE_ALL };
                one.add(file, call, 0, at, bytes, from, from + 5 * MS + rank * MS / 50);
            }
            one
        };
        report((0..4).map(rank).collect(), 600)
    };
    let found = jobs("/scratch/a", 64, false);
    let first = assert_stated(&found, "DXT-V033", &json!({"file": "/scratch/a", "calls": 50, "operation": "write"}));
    assert_says(first, &["4 ranks", "256 B"]);
    assert!(first["commands"].to_string().contains("MPI_File_write_all(fh, gathered"), "{first}");
    let found = jobs("/scratch/rewrites", 64, true);
    let facts = json!({"file": "/scratch/rewrites", "calls": 50, "operation": "read"});
    let first = assert_stated(&found, "DXT-V033", &facts);
    assert!(first["commands"].to_string().contains("MPI_File_read_all(fh, gathered"), "{first}");
    // Requests of 20 KiB are large enough to be made singly.
    assert_eq!(saves_ms(&jobs("/scratch/a", 20 << 10, false), "DXT-V033"), None);
}
