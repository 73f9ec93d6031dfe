//! Tests of file locks held while a call of their holder stalls.

use super::{BARRIER, LOCK, MS, report, saves_ms};
use crate::common::facts::assert_stated;
use crate::common::{Builder, process};
use serde_json::{Value, json};

/// Returns the JSON report on eight synthetic ranks that, in twenty steps, take a file lock one after another and write for 2 ms. One write
/// of rank 3 takes `stalls` ms.
fn under_a_lock(stalls: u64) -> Value {
    let ranks = 8_u64;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, "n")).collect();
    let mut from = 20 * MS;
    for step in 0..20_u64 {
        let mut free = from;
        let mut done = Vec::new();
        for turn in 0..ranks {
            let rank = (turn + step) % ranks;
            let one = &mut all[rank as usize];
            let has = free.max(from) + MS / 20;
            one.add("/scratch/a", LOCK, 0, 0, 0, from, has);
            let takes = if (rank, step) == (3, 10) { stalls * MS } else { 2 * MS + (rank * 7 + step) % 5 * MS / 10 };
            one.write("/scratch/a", ((step * ranks + rank) << 20) as i64, 1 << 20, has, has + takes);
            free = has + takes;
            done.push((rank, free));
        }
        for (rank, done) in done {
            all[rank as usize].add("", BARRIER, 0, 0, 0, done, free + MS);
        }
        from = free + 50 * MS;
    }
    report(all, from / MS)
}

#[test]
fn waits_for_a_lock_whose_holder_stalls_are_the_stalls() {
    let found = under_a_lock(1000);
    let facts = json!({"rank": 3, "file": "/scratch/a", "time_ns": 1000 * MS, "operation": "writes"});
    assert_stated(&found, "DXT-V002", &facts);
    let saves = saves_ms(&found, "DXT-V002").unwrap_or(0);
    assert!((950..=1000).contains(&saves), "{saves} of 998 ms");
    let (locks, without) = (saves_ms(&found, "DXT-V005"), saves_ms(&under_a_lock(2), "DXT-V005"));
    let (locks, without) = (locks.unwrap_or(0), without.unwrap_or(0));
    assert!((200..=340).contains(&without), "{without} of 20 times 16 ms");
    // Serialization is only a consequence of the lock, and no finding.
    assert_eq!(saves_ms(&under_a_lock(2), "DXT-C039"), None);
    assert!(locks.abs_diff(without) <= 40, "{locks}, without the stall {without}");
}
