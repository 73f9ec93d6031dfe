//! Tests of recovery from a spill file: each block is recovered once, in the order of its thread, regardless of the order in the file.
#![expect(clippy::unwrap_used, reason = "tests end where something fails")]

#[path = "common/spool.rs"]
mod built;

use trace_format::columns::TickScale;
use trace_format::read::{Decoder, Trace};
use trace_format::segment::{Segment, StreamId};
use trace_format::spool::{Spool, block};
use trace_format::write::{self, Encoder};

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Builds a spool with one chunk of two segments that end at `ends`.
fn spool(sequence: u32, ends: [u64; 2]) -> Vec<u8> {
    built::spool(&[(sequence, ends.to_vec())])
}

fn packed(sequence: u32, ends: &[u64]) -> Vec<u8> {
    let segments: Vec<_> = ends.iter().map(|&end| Segment::new(StreamId(1), 0, 5, end - 1, end)).collect();
    let mut out = vec![0; block::HEADER_BYTES];
    Encoder::new().unwrap().block(0, 0, &segments, &TickScale::IDENTITY, &mut out).unwrap();
    let length = (out.len() - block::HEADER_BYTES) as u32;
    put(&mut out, block::BYTES, &length.to_le_bytes());
    put(&mut out, block::SEQUENCE, &sequence.to_le_bytes());
    put(&mut out, block::MULT, &TickScale::IDENTITY.mult.to_le_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// Returns the end times of all segments recovered from a spool and its spill file, one list per block.
fn recovered(spool: &[u8], spill: &[u8]) -> Vec<Vec<u64>> {
    let spill = spill.to_vec();
    let mut found = Spool::read(&spool).unwrap().recover(&spill, None, false).unwrap();
    let mut encoder = Encoder::new().unwrap();
    let region = found.region(&mut encoder, 0, &spill).unwrap();
    assert_eq!(region.bytes.len() as u64, region.entry.length);
    let trace = Trace::open(write::file(&mut encoder, &found.job, vec![region]).unwrap()).unwrap();
    assert!(trace.complete && trace.problems.is_empty(), "{:?}", trace.problems);
    let read = trace.region(&trace.regions[0]);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let info = read.process.unwrap().info;
    let mut decoder = Decoder::default();
    let ends: Vec<Vec<u64>> =
        read.blocks.iter().map(|block| decoder.block(trace.source(), block).unwrap().end.clone()).collect();
    assert_eq!((info.blocks as usize, info.segments as usize), (ends.len(), ends.iter().flatten().count()));
    ends
}

#[test]
fn blocks_come_in_the_order_of_their_chunks_and_each_once() {
    let ends = |first: u64| [first, first + 1];
    let block = |sequence: u32, first: u64| packed(sequence, &ends(first));
    let hole = vec![0; 48];
    let spill = [block(3, 300), hole, block(1, 999), block(5, 500), block(1, 100)].concat();
    // The chunk in memory is sorted into the blocks of the spill file; a chunk whose block is in the spill file too is recovered once.
    for (sequence, expected) in [
        (2, [100, 200, 300, 500].as_slice()),
        (6, &[100, 300, 500, 200]),
        (0, &[200, 100, 300, 500]),
        (3, &[100, 300, 500]),
    ] {
        let expected: Vec<Vec<u64>> = expected.iter().map(|&first| ends(first).to_vec()).collect();
        assert_eq!(recovered(&spool(sequence, [200, 201]), &spill), expected, "{sequence}");
    }
    // A block that was incomplete when the process was killed is ignored.
    let whole = block(1, 100);
    for length in 0..whole.len() - 8 {
        assert_eq!(recovered(&spool(0, [200, 201]), &whole[..length]), [[200, 201]], "{length}");
    }
    assert_eq!(recovered(&spool(0, [200, 201]), &[]), [[200, 201]]);
}

#[test]
fn a_spill_is_longer_than_what_is_read_of_it_at_once() {
    let ends: Vec<u64> = (0..2000).map(|i| 10 + i * 7919 % 100_000).collect();
    let block = |sequence: u32| packed(sequence, &ends);
    let count = (6 << 20) / block(0).len() as u32;
    let spill: Vec<u8> = (1..=count).flat_map(block).collect();
    let found = recovered(&spool(0, [200, 201]), &spill);
    assert_eq!(found.len(), count as usize + 1);
    assert!(found[1..].iter().all(|block| *block == ends));
}
