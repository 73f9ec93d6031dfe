//! Fuzz target: decodes any bytes as the payload of a segment block, and encodes and decodes any segments. In whole files, checksums would
//! keep mutated bytes from this code.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::columns::{Columns, Scratch, TickScale, Unpacked, decode, encode};
use trace_format::segment::{MAX_LENGTH, MAX_STREAMS};
use trace_format::{Segment, StreamId};

fuzz_target!(|input: (u16, &[u8])| {
    let (count, bytes) = input;
    let (mut work, mut columns) = (Unpacked::default(), Columns::default());
    let _ = decode(bytes, u32::from(count), 0, &mut work, &mut columns);

    let number = |part: &[u8]| part.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
    let segments: Vec<Segment> = bytes
        .chunks_exact(18)
        .map(|part| {
            let stream = StreamId(number(&part[..3]) as u32 % MAX_STREAMS);
            let (offset, length) = (number(&part[3..8]) as i64 - (1 << 38), number(&part[8..11]) & MAX_LENGTH);
            let start = number(&part[11..16]);
            Segment::new(stream, offset, length, start, start + number(&part[16..]) + 1)
        })
        .collect();
    let mut raw = Vec::new();
    let summary = encode(&segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut raw);
    decode(&raw, summary.segments, 0, &mut work, &mut columns).expect("what was encoded");
    for (i, segment) in segments.iter().enumerate() {
        assert_eq!((columns.stream[i], columns.offset[i]), (segment.stream().0, segment.offset));
        assert_eq!(
            (columns.length[i], columns.start[i], columns.end[i]),
            (segment.length(), segment.start, segment.end)
        );
    }
});
