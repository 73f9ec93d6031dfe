//! Tests that the reader's memory is bounded, regardless of the lengths that a trace states: an allocator enforces the limit for files of
//! kilobytes that decompress to gigabytes.

use cap::Cap;
use std::alloc::System;
use std::sync::{Arc, Mutex};
use trace_format::frame::{FILE_HEADER_BYTES, FileHeader, FrameHeader, codec, crc, kind};
use trace_format::read::{Decoder, Room, Trace};
use trace_format::{Error, limits};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);
/// Lock that serializes the tests, which share the allocator.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Memory limit of the whole reader, in bytes: tables, a growing list, and small buffers.
const BOUND: usize = 512 << 20;

fn bounded<T>(run: impl FnOnce() -> T) -> T {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + BOUND).expect("more than is held");
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).expect("more than is held");
    result
}

/// Builds a frame whose payload is one section: `tag`, then a list of `count` elements, which together are `zeros` zero bytes.
fn frame(kind: u8, region: u32, tag: u16, count: u32, zeros: usize) -> Vec<u8> {
    let mut raw = tag.to_le_bytes().to_vec();
    raw.extend_from_slice(&(zeros as u32 + 5).to_le_bytes());
    // Marks a variable-length integer with four bytes.
    raw.push(252);
    raw.extend_from_slice(&count.to_le_bytes());
    raw.resize(raw.len() + zeros, 0);
    let stored = zstd::bulk::compress(&raw, 1).expect("memory is there");
    let header = FrameHeader {
        kind,
        codec: codec::ZSTD,
        region,
        stored: stored.len() as u32,
        raw: raw.len() as u32,
        payload_crc: crc(&stored),
    };
    [header.encode().as_slice(), &stored].concat()
}

fn trace(frames: &[Vec<u8>]) -> Vec<u8> {
    let header = FileHeader::new(0, FILE_HEADER_BYTES as u64).encode();
    header.iter().copied().chain(frames.iter().flatten().copied()).collect()
}

/// Reads all tables and keeps them in memory, as an analyzer does; returns the messages of exceeded limits.
fn read(files: &[Vec<u8>]) -> Vec<String> {
    let room = Arc::new(Room::default());
    let (mut traces, mut regions, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let mut decoder = Decoder::default();
    for file in files {
        let trace = Trace::open_within(file.as_slice(), Arc::clone(&room)).expect("a trace");
        regions.extend(trace.regions.iter().map(|region| trace.region_by(region, &mut decoder)));
        traces.push(trace);
    }
    let all = traces.iter().flat_map(|trace| &trace.problems).chain(regions.iter().flat_map(|region| &region.problems));
    said.extend(all.filter(|problem| matches!(problem.error, Error::Limit { .. })).map(|p| p.error.to_string()));
    said
}

/// Tags of the process block's sections that are lists, each with the minimum size of an element in bytes.
const LISTS: [(u16, usize); 12] =
    [(2, 2), (3, 6), (4, 5), (5, 4), (6, 21), (7, 2), (8, 3), (10, 4), (11, 4), (12, 4), (13, 5), (99, 1)];

#[test]
fn lists_that_unpack_to_gigabytes_are_refused() {
    let _alone = ONE_AT_A_TIME.lock();
    for (tag, least) in LISTS {
        let zeros = 200 << 20;
        let bytes = trace(&[frame(kind::PROCESS, 0, tag, (zeros / least) as u32, zeros)]);
        assert!(bytes.len() < 100_000, "{} bytes are no bomb", bytes.len());
        let files = [bytes];
        let said = bounded(|| read(&files));
        // Unknown sections, such as section 99, are skipped.
        assert_eq!(said.is_empty(), tag == 99, "section {tag}: {said:?}");
    }
    for tag in 2..6 {
        let files = [trace(&[frame(kind::JOB, 0, tag, 100 << 20, 200 << 20)])];
        assert!(!bounded(|| read(&files)).is_empty(), "section {tag}");
    }
}

#[test]
fn many_small_bombs_are_one_large_one() {
    let _alone = ONE_AT_A_TIME.lock();
    let frames: Vec<Vec<u8>> = (0..200).map(|region| frame(kind::PROCESS, region, 7, 2 << 20, 4 << 20)).collect();
    let one = trace(&frames);
    let files: Vec<Vec<u8>> = frames.iter().map(|frame| trace(std::slice::from_ref(frame))).collect();
    assert!(one.len() < 1 << 20);
    for files in [&[one][..], &files] {
        let said = bounded(|| read(files));
        assert!(said.len() > 100 && said.len() < 200, "{}", said.len());
    }
}

#[test]
fn a_large_table_that_is_honest_is_read() {
    let _alone = ONE_AT_A_TIME.lock();
    let files = [trace(&[frame(kind::PROCESS, 0, 2, 4 << 20, 8 << 20)])];
    assert!(bounded(|| read(&files)).is_empty());
    assert!(u64::from(limits::METADATA_BYTES) < limits::TABLE_BYTES);
}
