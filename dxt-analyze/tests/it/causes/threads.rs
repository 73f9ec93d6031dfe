//! Tests of threads of one process that do equal work, with one thread slower than the others.

use super::{BARRIER, KIB, MS, report, saves_ms};
use crate::common::facts::{assert_found, assert_says, assert_stated};
use crate::common::{Builder, op, process};
use serde_json::json;
use trace_format::meta::ThreadDef;
use trace_format::segment::{Segment, StreamId};

/// Reads of one thread in one step: count, file, bytes per read, duration of a read in ms.
type Reads = (u64, String, u64, u64);

/// Returns the JSON report on three synthetic ranks with four threads each. `of` gives the reads of a thread in each of ten steps of 100
/// ms; ranks synchronize once the slowest thread is done.
fn threads(of: impl Fn(u64, u64) -> Reads) -> serde_json::Value {
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, "n");
        let tid = 1000 + rank as u32;
        // The first thread of each rank only synchronizes.
        one.process.threads = (0..5).map(|index| ThreadDef { index, tid: tid + index * 10 }).collect();
        one.threads = (0..5).map(|index| (index, Vec::new())).collect();
        for step in 0..10_u64 {
            let mut until = 0;
            for thread in 0..4_u64 {
                let (calls, name, bytes, ms) = of(rank, thread);
                let stream = StreamId(one.stream(&name, op::POSIX_READ, 0));
                let mut at = step * 100 * MS + 1000;
                for call in 0..calls {
                    // Jitter is added, since no two calls of a real program take equal times.
                    let takes = ms * MS + (rank * 7 + thread * 3 + step * 13 + call * 5) % 10 * MS / 50;
                    let place = (((step * 3 + rank) * 4 + thread) * calls + call) * bytes;
                    let segment = Segment::new(stream, place as i64, bytes, at, at + takes);
                    one.threads[thread as usize + 1].1.push(segment);
                    at += takes;
                }
                until = at.max(until);
            }
            one.add("", BARRIER, 0, 0, 0, until.min((step + 1) * 100 * MS - 1000), (step + 1) * 100 * MS);
        }
        one
    };
    report((0..3).map(rank).collect(), 1000)
}

fn shared(ms: u64) -> Reads {
    (4, "/scratch/grid".to_owned(), 1024 * KIB, ms)
}

#[test]
fn the_thread_that_is_slow_in_each_process_is_reported_by_what_all_wait_for_it() {
    let found = threads(|_, thread| shared(if thread == 2 { 18 } else { 10 }));
    let slow = assert_stated(&found, "DXT-V035", &json!({"file": null, "calls": 3 * 10 * 4}));
    assert_says(slow, &["thread 3 of 4", "3 processes"]);
    let saves = saves_ms(&found, "DXT-V035").unwrap_or(0);
    assert!((310..=330).contains(&saves), "{saves} of 320 ms");
    assert_eq!(saves_ms(&threads(|_, _| shared(10)), "DXT-V035"), None, "they are similar");
}

#[test]
fn the_thread_of_one_process_is_reported_with_its_rank() {
    let found = threads(|rank, thread| shared(if (rank, thread) == (1, 0) { 20 } else { 10 }));
    let slow = assert_stated(&found, "DXT-V035", &json!({"file": null, "calls": 10 * 4}));
    assert_says(slow, &["thread 1 of 4", "rank 1"]);
    let saves = saves_ms(&found, "DXT-V035").unwrap_or(0);
    assert!((390..=410).contains(&saves), "{saves} of 400 ms");
}

#[test]
fn where_each_thread_has_its_file_which_of_both_is_slow_is_not_said() {
    let own = |ms: u64, thread: u64| (4, format!("/scratch/part.{thread}"), 1024 * KIB, ms);
    let found = threads(|_, thread| own(if thread == 2 { 18 } else { 10 }, thread));
    // The finding on the thread also states that its file may be the slow one.
    assert_found(&found, "DXT-V035", &json!({"file": "/scratch/part.2", "calls": 3 * 10 * 4}));
}

#[test]
fn threads_that_do_other_work_are_not_compared() {
    let code = "DXT-V035";
    let more =
        threads(|_, thread| if thread == 2 { (8, "/scratch/grid".to_owned(), 1024 * KIB, 10) } else { shared(10) });
    assert_eq!(saves_ms(&more, code), None, "it reads more");
    let longer = |thread| if thread == 2 { 1800 * KIB } else { 1024 * KIB };
    let longer =
        threads(|_, thread| (4, "/scratch/grid".to_owned(), longer(thread), if thread == 2 { 18 } else { 10 }));
    assert_eq!(saves_ms(&longer, code), None, "its reads are longer");
    let other =
        threads(|_, thread| if thread == 2 { (4, "/archive/a".to_owned(), 1024 * KIB, 18) } else { shared(10) });
    assert_eq!(saves_ms(&other, code), None, "it reads another file");
}
