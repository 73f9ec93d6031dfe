//! Column encoding of a block of segments: five columns of small numbers, each stored as a base, byte planes and a few exceptions.
//!
// Segments of one thread resemble each other: the same stream, the next offset, the same length, a short gap, a typical duration. Each
// column therefore holds the differences from a prediction, in as many bytes as nearly all of them need. Equal bytes of all values are
// stored side by side, where zstd finds repetitions. Normative description: `FORMAT.md`, "Columns".

#[cfg(feature = "read")]
mod decode;
mod encode;
mod scale;

#[cfg(feature = "read")]
pub use decode::{Columns, Unpacked, decode};
pub use encode::{Scratch, Summary, encode};
pub use scale::TickScale;

/// Number of columns of a block: stream (operation on a file), offset, length, gap to the previous call, duration.
pub const COLUMNS: usize = 5;
/// Size of a column's head, in bytes: base (u64), width (u8), prediction (u8), number of exceptions (u16).
const HEAD_BYTES: usize = 12;
/// Size of all column heads, in bytes.
pub const HEADS_BYTES: usize = COLUMNS * HEAD_BYTES;
/// Size of one exception, in bytes: row (u32) and value (u64).
pub(crate) const EXCEPTION_BYTES: usize = 12;
/// Maximum number of exceptions (values stored separately because they are too large) per column.
pub const MAX_EXCEPTIONS: usize = 1024;
/// Number of entries in the table of predicted offsets; a stream (operation on a file) uses entry `id % PREDICTORS`.
pub const PREDICTORS: usize = 1024;

mod column {
    pub(super) const STREAM: usize = 0;
    pub(super) const OFFSET: usize = 1;
    pub(super) const LENGTH: usize = 2;
    pub(super) const GAP: usize = 3;
    pub(super) const DURATION: usize = 4;
}

/// Codes for the prediction of the offset column; all other columns store 0.
mod prediction {
    /// The predicted offset is the end of the previous segment of the same stream (operation on a file); the column
    /// holds the signed difference, zigzag-encoded.
    pub(super) const LAST_END: u8 = 0;
    /// The column holds the offset itself, without prediction.
    pub(super) const NONE: u8 = 1;
}

/// Encodes signed differences as small unsigned numbers: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
#[inline]
const fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

#[cfg(feature = "read")]
#[inline]
const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// Returns the number of bytes (0 to 8) that `value` needs.
const fn width_of(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).div_ceil(8) as usize
}

#[cfg(test)]
#[cfg(feature = "read")]
mod tests {
    use super::*;
    use crate::Segment;
    use crate::segment::{MAX_LENGTH, MAX_STREAMS, StreamId};
    use proptest::prelude::*;

    fn round_trip(segments: &[Segment]) -> (Summary, Columns) {
        let (mut out, mut columns) = (Vec::new(), Columns::default());
        let summary = encode(segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        decode(&out, summary.segments, 0, &mut Unpacked::default(), &mut columns).unwrap();
        (summary, columns)
    }

    /// Generates any segment. The two highest bits of the end time stay clear because they are the mark bits (`segment::MARKS`).
    fn any_segment() -> impl Strategy<Value = Segment> {
        (0..MAX_STREAMS, any::<i64>(), 0..=MAX_LENGTH, any::<u64>(), 1..1_u64 << 62).prop_map(
            |(stream, offset, length, start, end)| Segment::new(StreamId(stream), offset, length, start.min(end), end),
        )
    }

    proptest! {
        #[test]
        fn any_segments_come_back(segments in prop::collection::vec(any_segment(), 0..200)) {
            let (summary, columns) = round_trip(&segments);
            prop_assert_eq!(summary.segments as usize, segments.len());
            for (i, segment) in segments.iter().enumerate() {
                let back = Segment::new(
                    StreamId(columns.stream[i]), columns.offset[i], columns.length[i], columns.start[i], columns.end[i]);
                prop_assert_eq!(&back, segment);
            }
        }

        #[test]
        fn any_bytes_decode_or_fail(raw in prop::collection::vec(any::<u8>(), 0..400), count in 0_u32..20) {
            let _ = decode(&raw, count, 0, &mut Unpacked::default(), &mut Columns::default());
        }
    }

    #[test]
    fn unfilled_slots_are_left_out() {
        let filled = Segment::new(StreamId(1), 5, 6, 7, 8);
        let (summary, columns) = round_trip(&[Segment::default(), filled, Segment::default()]);
        assert_eq!((summary.segments, columns.offset.as_slice()), (1, [5].as_slice()));
    }

    #[test]
    fn a_regular_pattern_needs_no_planes_and_one_exception_per_column() {
        let start = |i: i64| 9_000_000_000 + i as u64 * 50;
        let segments: Vec<Segment> =
            (0..1000).map(|i| Segment::new(StreamId(3), (1 << 40) + i * 10, 10, start(i), start(i) + 30)).collect();
        let (mut out, mut columns) = (Vec::new(), Columns::default());
        let summary = encode(&segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        assert_eq!(out.len(), HEADS_BYTES + 2 * EXCEPTION_BYTES, "the first offset and the first gap");
        assert_eq!(summary.planes_at, out.len());
        decode(&out, summary.segments, 0, &mut Unpacked::default(), &mut columns).unwrap();
        assert_eq!((columns.offset[999], columns.end[999]), ((1 << 40) + 9990, start(999) + 30));
    }

    #[test]
    fn scattered_offsets_stand_as_they_are() {
        let mut place = 1_u64;
        let mut next = || {
            place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (place >> 36) as i64
        };
        let segments: Vec<Segment> =
            (0..5000).map(|i| Segment::new(StreamId(3), next(), 1, i * 50 + 1, i * 50 + 30)).collect();
        let (mut out, mut columns) = (Vec::new(), Columns::default());
        let summary = encode(&segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        assert_eq!(out[column::OFFSET * HEAD_BYTES + 8..][..2], [4, prediction::NONE]);
        decode(&out, summary.segments, 0, &mut Unpacked::default(), &mut columns).unwrap();
        assert!(columns.offset.iter().zip(&segments).all(|(offset, segment)| *offset == segment.offset));
    }

    #[test]
    fn pauses_and_hiccups_become_exceptions() {
        let (mut now, mut segments) = (1, Vec::new());
        for i in 0..10_000_u64 {
            now += if i % 900 == 5 { 5_000_000_000 } else { 20 + i % 7 };
            let took = if i % 1100 == 3 { 70_000 } else { 300 + i % 11 };
            let slot = Segment::new(StreamId((i % 3) as u32), i as i64 * 8, 8, now, now + took);
            segments.push(slot);
            if i % 97 == 0 {
                segments.push(Segment::default());
            }
            now += took;
        }
        let (summary, columns) = round_trip(&segments);
        assert_eq!(summary.segments, 10_000);
        let filled: Vec<&Segment> = segments.iter().filter(|segment| segment.end != 0).collect();
        assert!(columns.start.iter().zip(&filled).all(|(start, segment)| *start == segment.start));
        assert!(columns.end.iter().zip(&filled).all(|(end, segment)| *end == segment.end));
        let mut out = Vec::new();
        encode(&segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        let width = |number: usize| out[number * HEAD_BYTES + 8];
        assert_eq!((width(column::GAP), width(column::DURATION)), (1, 1));
    }

    #[test]
    fn one_call_of_another_stream_leaves_the_offsets_of_the_others_alone() {
        // Long run of one stream interrupted by a close, as in a program's last block: one exception in the stream column, in any tile.
        for close in [1, 700, 2000, 2999] {
            let segment = |i: u64| match i == close {
                true => Segment::new(StreamId(8), -1, 0, i * 50 + 1, i * 50 + 9),
                false => Segment::new(StreamId(7), (i * 4096 + 77) as i64, 1024, i * 50 + 1, i * 50 + 30),
            };
            let segments: Vec<Segment> = (0..3000).map(segment).collect();
            let (_, columns) = round_trip(&segments);
            for (i, segment) in segments.iter().enumerate() {
                assert_eq!(
                    (columns.stream[i], columns.offset[i]),
                    (segment.stream().0, segment.offset),
                    "row {i}, {close}"
                );
            }
        }
    }

    #[test]
    fn exceptions_that_make_no_sense_are_refused() {
        let segments: Vec<Segment> = (0..200).map(|i| Segment::new(StreamId(3), i * 10, 10, 5, 6)).collect();
        let mut good = Vec::new();
        encode(&segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut good);
        let decoded = |raw: &[u8]| decode(raw, 200, 0, &mut Unpacked::default(), &mut Columns::default());
        assert!(decoded(&good).is_ok());
        let mut far = good.clone();
        far[HEADS_BYTES + 1] = 1; // row 256 of 200
        assert!(decoded(&far).is_err());
        let mut many = good.clone();
        many[column::GAP * HEAD_BYTES + 11] = 255;
        assert!(decoded(&many).is_err());
    }
}
