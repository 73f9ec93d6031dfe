//! Ranks that do I/O one after another: what that costs them.

use super::{BARRIER, MS, report, saves_ms, sentence};
use crate::common::{Builder, process};
use serde_json::Value;

/// Eight ranks write 1 MiB in each of twelve rounds, one after another, 10 ms each, after computing for `computes` ms; all meet behind each round, or
/// nobody ever.
fn by_turns(computes: u64, meet: bool) -> Value {
    let ranks = 8_u64;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, "n")).collect();
    let (mut ready, mut free) = (vec![computes * MS; ranks as usize], 0_u64);
    for round in 0..12_u64 {
        for (rank, one) in (0..ranks).zip(&mut all) {
            let from = ready[rank as usize].max(free);
            free = from + 10 * MS;
            one.write("/scratch/a", ((round * ranks + rank) << 20) as i64, 1 << 20, from, free);
            let jitter = (rank * 7 + round * 3) % 5 * MS / 20;
            ready[rank as usize] = free + computes * MS + jitter;
        }
        if meet {
            for (rank, one) in (0..ranks).zip(&mut all) {
                one.add("", BARRIER, 0, 0, 0, ready[rank as usize] - computes * MS, free + MS);
                ready[rank as usize] = free + MS + computes * MS + rank * MS / 20;
            }
        }
    }
    report(all, free / MS + 1)
}

#[test]
fn who_computes_while_others_have_their_turns_loses_nothing_by_that() {
    // A round takes 100 ms, of which each computes for 90: only the first time the last one waits for the seven before it.
    let saves = saves_ms(&by_turns(90, false), "DXT-C039").unwrap_or(0);
    assert!(saves <= 100, "{saves} of 70 ms");
    // A round takes 80 ms, of which each computes for 30, and waits for 40.
    let found = by_turns(30, false);
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((400..=560).contains(&saves), "{saves} of 510 ms: {}", sentence(&found));
    // Where all meet behind each round, none computes meanwhile.
    let found = by_turns(30, true);
    let saves = saves_ms(&found, "DXT-C039").unwrap_or(0);
    assert!((700..=880).contains(&saves), "{saves} of 840 ms: {}", sentence(&found));
}
