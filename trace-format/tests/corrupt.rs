//! Tests with truncated and damaged files: intact data is read, losses are counted, nothing panics, and memory stays bounded.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/sample.rs"]
mod sample;

use common::{Seen, SeenRegion, file, read};
use sample::{job, ranks};
use trace_format::frame::{FRAME_HEADER_BYTES, FrameHeader, TRAILER_BYTES, Trailer, codec, crc, kind};
use trace_format::read::Trace;
use trace_format::{Error, limits};

/// Allocator that counts the memory allocated by Rust code; the zstd window in `limits` bounds zstd's own memory.
#[global_allocator]
static MEMORY: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

/// Upper bound of the peak memory of the test program when reading files of a few kilobytes, in bytes. The largest single allocation is the
/// buffer for one decoded block (2.7 MB) in each test thread.
const PEAK_BYTES: usize = 32 << 20;

fn small() -> (Vec<u8>, Seen) {
    let bytes = file(&job(), &mut ranks());
    let whole = read(&bytes).unwrap();
    assert_eq!((whole.problems, whole.complete, whole.regions.len()), (0, true, 2));
    assert!(whole.regions.iter().all(|region| region.lost == Some(0) && region.blocks.len() == 2));
    (bytes, whole)
}

fn check_memory() {
    let peak = MEMORY.max_allocated();
    assert!(peak < PEAK_BYTES, "{peak} bytes were allocated at the peak");
}

/// Returns the file offsets of the regions and of the index in an intact trace.
fn places(bytes: &[u8]) -> (Vec<u64>, u64) {
    let trace = Trace::open(bytes).unwrap();
    let starts = trace.regions.iter().map(|region| region.offset).collect();
    (starts, trace.regions.iter().map(|region| region.offset + region.length).max().unwrap())
}

#[test]
fn every_cut_leaves_what_lies_before_it() {
    let (bytes, whole) = small();
    let (starts, index) = places(&bytes);
    for cut in 0..bytes.len() {
        let seen = match read(&bytes[..cut]) {
            Ok(seen) => seen,
            Err(Error::NotATrace { .. }) if cut < 8 => continue,
            Err(Error::Truncated { .. }) if cut < 64 => continue,
            Err(error) => panic!("cut at {cut}: {error}"),
        };
        let cut = cut as u64;
        assert!(cut >= 64 && !seen.complete && seen.problems > 0, "cut at {cut}");
        assert_eq!(seen.expected_regions, Some(2));
        if cut >= starts[0] {
            assert_eq!(seen.job, whole.job, "cut at {cut}");
        }
        for (number, region) in whole.regions.iter().enumerate() {
            let process_end = region.blocks[0].at.0;
            let there = seen.regions.iter().find(|there| there.number as usize == number);
            if cut < process_end {
                assert_eq!(there, None, "cut at {cut}");
                continue;
            }
            let there = there.unwrap();
            let (kept, gone): (Vec<_>, Vec<_>) =
                region.blocks.iter().cloned().partition(|block| block.at.1 <= cut.min(index));
            let lost: usize = gone.iter().map(|block| block.segments.len()).sum();
            assert_eq!(there.process, region.process, "cut at {cut}");
            assert_eq!(there.blocks, kept, "cut at {cut}");
            assert_eq!(there.lost, Some(lost as i64), "cut at {cut}");
        }
    }
    check_memory();
}

/// Checks that a file with one damaged byte range loses at most one frame, and that the loss is reported.
fn check_damaged(bytes: &[u8], whole: &Seen, what: &str) {
    let seen = match read(bytes) {
        Ok(seen) => seen,
        Err(Error::NotATrace { .. }) if bytes[..8] != trace_format::frame::MAGIC => return,
        Err(error) => panic!("{what}: {error}"),
    };
    assert!(seen.problems > 0, "{what}: nobody noticed");
    let mut missing = usize::from(seen.job != whole.job);
    for region in &whole.regions {
        let none = SeenRegion::default();
        let there = seen.regions.iter().find(|there| there.number == region.number).unwrap_or(&none);
        missing += usize::from(there.process != region.process);
        let lost: Vec<_> = region.blocks.iter().filter(|block| !there.blocks.contains(block)).collect();
        assert_eq!(there.blocks.len() + lost.len(), region.blocks.len(), "{what}: segments that nobody wrote");
        missing += lost.len();
        let segments: usize = lost.iter().map(|block| block.segments.len()).sum();
        assert_eq!(there.lost, Some(segments as i64), "{what}");
    }
    assert!(missing <= 1, "{what}: one damage cost {missing} frames");
}

#[test]
fn every_damaged_byte_costs_one_frame_at_most() {
    let (bytes, whole) = small();
    for at in 0..bytes.len() {
        for pattern in [0x01, 0x10, 0x80, 0xff, bytes[at]] {
            if pattern != 0 {
                let mut damaged = bytes.clone();
                damaged[at] ^= pattern;
                check_damaged(&damaged, &whole, &format!("byte {at} ^ {pattern:#04x}"));
            }
        }
    }
    check_memory();
}

#[test]
fn a_run_of_zeros_inside_costs_what_it_covers() {
    let (bytes, whole) = small();
    let second = whole.regions[0].blocks[1].at;
    let mut damaged = bytes;
    damaged[second.0 as usize..second.1 as usize].fill(0);
    let seen = read(&damaged).unwrap();
    assert_eq!(seen.regions[0].blocks, whole.regions[0].blocks[..1]);
    assert_eq!((seen.regions[0].lost, seen.regions[1].lost), (Some(71), Some(0)));
    assert!(seen.complete && seen.problems == 1);
}

#[test]
fn claims_of_large_sizes_allocate_nothing() {
    let (bytes, whole) = small();
    let (starts, index) = places(&bytes);
    let claims = [(kind::JOB, 64), (kind::PROCESS, starts[0]), (kind::SEGMENTS, whole.regions[0].blocks[0].at.0)];
    for (kind, at) in claims {
        let at = at as usize;
        let honest = FrameHeader::decode(&bytes[at..], 0).unwrap();
        assert_eq!(honest.kind, kind);
        for raw in [u32::MAX, limits::METADATA_BYTES, limits::BLOCK_BYTES, 0] {
            for stored in [honest.stored, u32::MAX, 0] {
                let body = at + FRAME_HEADER_BYTES;
                let payload_crc = if stored == 0 { crc(&[]) } else { honest.payload_crc };
                let liar = FrameHeader { raw, stored, payload_crc, codec: codec::ZSTD, ..honest };
                let mut damaged = bytes.clone();
                damaged[at..body].copy_from_slice(&liar.encode());
                let seen = read(&damaged).unwrap();
                assert!(seen.problems > 0, "kind {kind}, raw {raw}, stored {stored}");
            }
        }
    }
    for (index_offset, regions) in [(index, u32::MAX), (u64::MAX, 2), (0, 2), (index, limits::REGIONS), (index, 3)] {
        let mut damaged = bytes.clone();
        let at = damaged.len() - TRAILER_BYTES;
        damaged[at..].copy_from_slice(&Trailer { index_offset, regions }.encode());
        let seen = read(&damaged).unwrap();
        assert!(!seen.complete && seen.problems > 0);
        assert!(seen.regions.iter().all(|region| region.lost == Some(0)));
    }
    check_memory();
}

#[test]
fn a_file_without_its_trailer_is_read_by_walking_its_frames() {
    let (bytes, whole) = small();
    let seen = read(&bytes[..bytes.len() - TRAILER_BYTES]).unwrap();
    assert_eq!((seen.complete, &seen.regions), (false, &whole.regions));
    // Foreign bytes after the header do not matter: only the header has a fixed place.
    let mut garbage = bytes[..64].to_vec();
    garbage.extend_from_slice(&[0xd7; 5000]);
    garbage.extend_from_slice(&bytes[64..bytes.len() - TRAILER_BYTES]);
    let seen = read(&garbage).unwrap();
    assert_eq!(seen.regions.len(), 2);
    assert!(seen.regions.iter().all(|region| region.lost == Some(0)));
    assert_eq!(seen.job, whole.job);
}
