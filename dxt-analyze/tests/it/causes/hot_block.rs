//! Tests of a block that all ranks read, and of the calls that queue on the storage target behind these reads.

use super::{BARRIER, KIB, MS, report, saves_ms};
use crate::common::facts::{assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json};
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

/// Number of the storage target that holds the block.
const OF_BLOCK: u64 = 3;

/// Returns the JSON report on 16 synthetic ranks in ten steps. All read one block of 4 KiB, which its target serves in 2 ms per rank, then
/// 1 MiB on each of four targets in 10 ms each. Reads on target `busy` wait during the first `busy_ms` ms of a step.
fn reads(busy: u64, busy_ms: u64) -> Value {
    let ranks = 16_u64;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, &format!("n{}", rank / 8))).collect();
    for one in &mut all {
        for (path, targets) in [("/lus/header", vec![OF_BLOCK as u32]), ("/lus/field", (0..4).collect())] {
            let (file, bytes) = (one.file(path), lustre(1 << 20, &targets));
            let source = LayoutSource::Lustre;
            one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source, bytes });
        }
    }
    let mut from = 20 * MS;
    for step in 0..10_u64 {
        let mut met = 0;
        let mut done = Vec::new();
        for (rank, one) in (0..ranks).zip(&mut all) {
            let mut now = from + (rank + 1) * 2 * MS;
            one.add("/lus/header", op::POSIX_READ, 0, 0, 4 * KIB, from, now);
            for call in 0..4_u64 {
                let target = (rank + call) % 4;
                let at = (step * 64 + rank / 4 * 16 + call * 4 + rank % 4) / 4 * 4 + target;
                let begin = if target == busy { now.max(from + busy_ms * MS) } else { now };
                let end = begin + 10 * MS + (rank * 7 + call * 5 + step * 3) % 11 * MS / 20;
                one.add("/lus/field", op::POSIX_READ, 0, (at << 20) as i64, 1 << 20, now, end);
                now = end;
            }
            met = met.max(now + MS);
            done.push(now);
        }
        for (one, done) in all.iter_mut().zip(done) {
            one.add("", BARRIER, 0, 0, 0, done, met);
        }
        from = met + 30 * MS;
    }
    report(all, from / MS)
}

#[test]
fn what_waits_behind_reads_of_a_block_that_all_want_is_the_blocks() {
    // The last of 16 ranks gets the block after 32 ms; reads on the block's target wait as long.
    let found = reads(OF_BLOCK, 32);
    let block = assert_stated(&found, "DXT-C025", &json!({"file": "/lus/header", "offset": 0, "calls": 16 * 10}));
    assert_says(block, &["4.00 KiB"]);
    let saves = saves_ms(&found, "DXT-C025").unwrap_or(0);
    assert!((270..=340).contains(&saves), "{saves} of 320 ms");
    // Reads that wait on another target do not wait for the block.
    let found = reads((OF_BLOCK + 2) % 4, 32);
    let saves = saves_ms(&found, "DXT-C025").unwrap_or(0);
    assert!(saves <= 160, "{saves} {}", brief(&found));
}

#[test]
fn headers_of_several_files_that_all_read_piece_by_piece_are_one_finding() {
    // Each of 16 ranks reads the 64 KiB headers of three files in 32 pieces of 2 ms, then writes for 20 ms.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, &format!("n{}", rank / 8));
        let mut now = 100 * MS;
        for file in 0..3 {
            for piece in 0..32_u64 {
                let end = now + 2 * MS + (rank * 7 + piece * 3) % 10 * MS / 40;
                one.add(&format!("/lus/level.{file}"), op::POSIX_READ, 0, (piece * 2 * KIB) as i64, 2 * KIB, now, end);
                now = end;
            }
        }
        one.write("/lus/out", (rank << 20) as i64, 1 << 20, now, now + 20 * MS);
        one
    };
    let found = report((0..16).map(rank).collect(), 400);
    let blocks = assert_stated(&found, "DXT-C025", &json!({"offset": 0, "calls": 512}));
    assert_says(blocks, &["16 processes", "64.0 KiB", "2 other"]);
}

#[test]
fn a_header_that_all_read_in_one_call_is_one_block_and_no_stride() {
    // In each step, 16 ranks read 3 MiB at the beginning of a file, served by its target one after another in 4 ms each, then their own part.
    let mut all: Vec<Builder> = (0..16).map(|rank| process(rank, &format!("n{}", rank / 8))).collect();
    let mut now = 0;
    for step in 0..6_u64 {
        let path = format!("/lus/snap.{step}");
        let mut met = 0;
        for (rank, one) in (0..16_u64).zip(&mut all) {
            let (file, bytes) = (one.file(&path), lustre(4 << 20, &(0..20).collect::<Vec<u32>>()));
            let source = LayoutSource::Lustre;
            one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source, bytes });
            let begin = now + 100 * MS;
            let header = begin + (rank + 1) * 4 * MS + (rank * 7 + step * 3) % 10 * MS / 20;
            one.add(&path, op::POSIX_READ, 0, 0, 3 << 20, begin, header);
            let at = ((rank + 1) * 4) << 20;
            let end = header + 6 * MS + (rank * 5 + step * 7) % 10 * MS / 10;
            one.add(&path, op::POSIX_READ, 0, at as i64, 4 << 20, header, end);
            met = met.max(end + MS);
        }
        for one in &mut all {
            one.add("", BARRIER, 0, 0, 0, met - MS, met);
        }
        now = met;
    }
    let found = report(all, now / MS + 1);
    let finding = assert_stated(&found, "DXT-C025", &json!({"offset": 0, "calls": 16}));
    assert!(finding["about"]["file"].as_str().is_some_and(|file| file.starts_with("/lus/snap.")), "{finding}");
    assert_says(finding, &["3.00 MiB"]);
}
