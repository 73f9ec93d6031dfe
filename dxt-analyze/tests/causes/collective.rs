//! What collective and independent calls of MPI-IO take outside of system calls.

use super::{KIB, MPIIO_SET_VIEW, MPIIO_WRITE, MS, report, saves_ms, sentence};
use crate::common::{Builder, op, process};
use serde_json::Value;
use trace_format::meta::stream_flags::NESTED;

const FILE: &str = "/scratch/out.h5";

/// Four ranks write 1 KiB each in 50 collective calls of 3 ms, 1 ms of it in a system call; each after two views of 5 ms.
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
    assert!(sentence(&found).contains("more of it goes into setting views"), "{}", sentence(&found));
    let saves = saves_ms(&found, "DXT-L004").unwrap_or(0);
    // 100 ms beside the system calls, 500 ms in views, less what eight calls take.
    assert!((420..=600).contains(&saves), "{saves} of 504 ms");
    let without = small_calls(false);
    assert!(!sentence(&without).contains("views"), "{}", sentence(&without));
    assert!(saves_ms(&without, "DXT-L004").is_some_and(|saves| saves <= 100), "{}", sentence(&without));
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
