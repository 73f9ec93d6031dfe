//! Tests of blocks that are overwritten directly after they were read.

use super::{KIB, MMAP, MS, report, saves_ms};
use crate::common::facts::{assert_says, assert_stated};
use crate::common::op::{MPIIO_WRITE_ALL, POSIX_READ, POSIX_WRITE};
use crate::common::process;
use serde_json::json;
use trace_format::meta::stream_flags::NESTED;

/// Parameters of the program under test, which reads each block and then overwrites it.
#[derive(Clone, Copy)]
struct Way {
    /// Time from the end of a read to the write, ns.
    between: u64,
    /// Number of bytes overwritten in each block.
    written: u64,
    flags: u8,
    mapped: bool,
}

const AT_ONCE: Way = Way { between: 5_000, written: 1024 * KIB, flags: 0, mapped: false };

/// Returns the JSON report on two synthetic ranks that read and overwrite 40 blocks of 1 MiB, each rank in its own file, 8 ms per call.
fn blocks(way: Way) -> serde_json::Value {
    let rank = |rank: u64| {
        let (mut one, name) = (process(rank as i32, "n"), format!("/scratch/state.{rank}"));
        if way.mapped {
            one.add(&name, MMAP, 0, 0, 40 << 20, 0, 1000);
        }
        for block in 0..40_u64 {
            // Jitter is added, since no two calls of a real program take equal times.
            let (from, jitter) = (block * 24 * MS + MS, (block * 7 + rank) % 10 * MS / 50);
            let (offset, read) = ((block << 20) as i64, from + 8 * MS + jitter);
            let written = read + way.between + 8 * MS + jitter;
            one.add(&name, POSIX_READ, way.flags, offset, 1024 * KIB, from, read);
            one.add(&name, POSIX_WRITE, way.flags, offset, way.written, read + way.between, written);
            if way.flags == NESTED {
                one.add(&name, MPIIO_WRITE_ALL, 0, offset, way.written, from, written);
            }
        }
        one
    };
    report((0..2).map(rank).collect(), 1000)
}

#[test]
fn blocks_that_are_overwritten_at_once_are_reported_by_what_their_reads_cost() {
    let found = blocks(AT_ONCE);
    let finding = assert_stated(&found, "DXT-V034", &json!({"calls": 80, "bytes": 80 << 20}));
    assert_says(finding, &["2 processes", "2 files"]);
    let saves = saves_ms(&found, "DXT-V034").unwrap_or(0);
    assert!((318..=330).contains(&saves), "{saves} of 323 ms");
    assert_eq!(finding["severity"], "warn", "some bytes may be kept");
}

#[test]
fn who_may_have_looked_at_a_block_or_writes_a_part_of_it_is_not_reported() {
    let saves = |way| saves_ms(&blocks(way), "DXT-V034");
    assert_eq!(saves(Way { between: 2 * MS, ..AT_ONCE }), None, "an update in place");
    assert_eq!(saves(Way { written: 64 * KIB, ..AT_ONCE }), None, "a part of each block");
    assert_eq!(saves(Way { flags: NESTED, ..AT_ONCE }), None, "data sieving");
    assert_eq!(saves(Way { mapped: true, ..AT_ONCE }), None, "some of it may be read by page faults");
}
