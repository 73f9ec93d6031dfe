//! Tests of calls that wait because of open flags: O_SYNC, O_DIRECT, O_APPEND.

use super::{KIB, MS, QUEUED, report, saves_ms};
use crate::common::facts::{assert_says, assert_stated};
use crate::common::{op, process};
use serde_json::{Value, json};
use trace_format::meta::stream_flags::{APPENDED, DIRECT, ESTIMATED, THROUGH};

/// Returns the JSON report on a synthetic process that makes 400 writes of `kib` KiB in 2 ms each to a file opened with `flags`, and as
/// many writes of this size in 10 µs to another file.
fn writes(kib: u64, flags: u8) -> Value {
    let mut one = process(-1, "n");
    for call in 0..400_u64 {
        let (from, offset) = (call * 5 * MS / 2, (call * kib * KIB) as i64);
        one.add("/data/journal", op::POSIX_WRITE, flags, offset, kib * KIB, from, from + 2 * MS);
        let from = from + 2 * MS;
        one.add("/data/table", op::POSIX_WRITE, 0, offset, kib * KIB, from, from + 10_000);
    }
    report(vec![one], 1000)
}

#[test]
fn writes_to_a_file_opened_with_o_sync_are_reported_by_that_whatever_their_size() {
    for kib in [4, 1024] {
        let found = writes(kib, THROUGH);
        assert_says(assert_stated(&found, "DXT-V020", &json!({})), &["400 writes"]);
        // Saved is all but the time of the other file's writes, 10 µs of 2 ms.
        assert_eq!(saves_ms(&found, "DXT-V020"), Some(796), "{kib}");
        assert_eq!(saves_ms(&writes(kib, 0), "DXT-V020"), None, "{kib}");
    }
}

#[test]
fn small_requests_past_the_page_cache_are_reported_by_that_and_large_ones_are_not() {
    let found = writes(4, DIRECT);
    assert_stated(&found, "DXT-V021", &json!({}));
    assert_eq!(saves_ms(&found, "DXT-V021"), Some(796));
    assert_eq!(saves_ms(&writes(1024, DIRECT), "DXT-V021"), None);
    // Writes to an O_DIRECT file that wait for storage anyway are reported as synchronous.
    assert_eq!(saves_ms(&writes(4, DIRECT | THROUGH), "DXT-V021"), None);
    assert_eq!(saves_ms(&writes(4, DIRECT | THROUGH), "DXT-V020"), Some(796));
}

#[test]
fn ranks_that_append_to_one_file_wait_for_its_end() {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for call in 0..100 {
            let from = call * 8 * MS;
            // The ranks alternate, so that another rank finds the file free each time.
            let takes = (rank + call) % 4 * 2 * MS + MS / 4;
            let offset = ((call * 4 + (rank + call) % 4) * 200) as i64;
            one.add("/data/log", op::POSIX_WRITE, APPENDED | ESTIMATED, offset, 200, from, from + takes);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 800);
    let facts = json!({"processes": 4, "calls": 400, "bytes": 400 * 200, "operation": "writes"});
    assert_says(assert_stated(&found, "DXT-C005", &facts), &[QUEUED, "/data/log", "O_APPEND"]);
}
