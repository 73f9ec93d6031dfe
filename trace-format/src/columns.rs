//! The column encoding of a block of segments: five columns of differences, each stored as a base and planes of bytes.
//!
//! Segments of one thread are alike: the same stream, the next offset, the same length, a short gap, a typical duration.
//! So each column holds what is left after a prediction, takes as many bytes as its largest value needs, and lays equal
//! bytes of all values side by side, where zstd finds them. Normative description: `FORMAT.md`, "Columns".

#[cfg(feature = "read")]
use crate::error::{Error, Result};
use crate::limits;
use crate::segment::Segment;

/// Columns of a block: stream, offset, length, gap, duration.
pub const COLUMNS: usize = 5;
/// Bytes of one column's head: base (u64) and width (u8).
const HEAD_BYTES: usize = 9;
/// Bytes of all column heads.
pub const HEADS_BYTES: usize = COLUMNS * HEAD_BYTES;
/// Slots of the offset predictor; a stream uses slot `id % PREDICTORS`.
pub const PREDICTORS: usize = 1024;

/// Maps the clock ticks of segments in memory to nanoseconds since the process's epoch: `(ticks - base) * mult / 2^52`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickScale {
    /// Ticks at the epoch; earlier ticks count as the epoch.
    pub base: u64,
    /// Nanoseconds per tick in units of 2^-52.
    pub mult: u64,
}

impl TickScale {
    const SHIFT: u32 = 52;

    /// Ticks that already are nanoseconds since the epoch.
    pub const IDENTITY: Self = Self { base: 0, mult: 1 << Self::SHIFT };

    /// From two readings of the clock: `ticks` passed while `nanoseconds` did.
    #[must_use]
    pub fn measured(base: u64, ticks: u64, nanoseconds: u64) -> Self {
        let mult = (u128::from(nanoseconds) << Self::SHIFT) / u128::from(ticks.max(1));
        Self { base, mult: u64::try_from(mult).unwrap_or(u64::MAX) }
    }

    /// Nanoseconds since the epoch.
    #[inline]
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let since = u128::from(ticks.saturating_sub(self.base));
        ((since * u128::from(self.mult)) >> Self::SHIFT) as u64
    }
}

/// Signed differences as small unsigned numbers: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4.
#[inline]
const fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}

#[cfg(feature = "read")]
#[inline]
const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// Bytes needed for `value`: 0 to 8.
const fn width_of(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).div_ceil(8) as usize
}

/// Working memory of the encoder, kept between blocks.
#[derive(Debug, Default)]
pub struct Scratch {
    columns: [Vec<u64>; COLUMNS],
}

/// What the encoder saw on its way, for the block head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Segments encoded.
    pub segments: u32,
    /// Earliest start, ns.
    pub min_start: u64,
    /// Latest end, ns.
    pub max_end: u64,
    /// Lowest offset.
    pub min_offset: i64,
    /// Highest offset plus length.
    pub max_end_offset: i64,
    /// Bit `id % 64` per stream.
    pub stream_mask: u64,
    /// Sum of lengths, wrapping.
    pub bytes: u64,
}

/// Appends the columns of `segments` to `out`. Slots that were never filled (`end` of zero) are left out; at most
/// [`limits::BLOCK_SEGMENTS`] slots are taken.
pub fn encode(segments: &[Segment], scale: &TickScale, scratch: &mut Scratch, out: &mut Vec<u8>) -> Summary {
    let segments = &segments[..segments.len().min(limits::BLOCK_SEGMENTS as usize)];
    let columns = &mut scratch.columns;
    for column in columns.iter_mut() {
        column.clear();
        column.resize(segments.len(), 0);
    }
    let [streams, offsets, lengths, gaps, durations] = columns;
    let mut predicted = [0_i64; PREDICTORS];
    let (mut last_stream, mut last_end, mut count) = (0_u64, 0_u64, 0_usize);
    let (mut low, mut high) = ([u64::MAX; COLUMNS], [0_u64; COLUMNS]);
    let mut summary = Summary {
        segments: 0,
        min_start: u64::MAX,
        max_end: 0,
        min_offset: i64::MAX,
        max_end_offset: i64::MIN,
        stream_mask: 0,
        bytes: 0,
    };
    for segment in segments.iter().filter(|segment| segment.end != 0) {
        let (stream, length) = (u64::from(segment.stream().0), segment.length());
        let start = scale.nanoseconds(segment.start);
        let end = scale.nanoseconds(segment.end).max(start);
        let slot = &mut predicted[stream as usize % PREDICTORS];
        let row = [
            zigzag(stream.wrapping_sub(last_stream)),
            zigzag(segment.offset.wrapping_sub(*slot) as u64),
            length,
            zigzag(start.wrapping_sub(last_end)),
            end - start,
        ];
        let end_offset = segment.offset.wrapping_add_unsigned(length);
        (*slot, last_stream, last_end) = (end_offset, stream, end);
        streams[count] = row[0];
        offsets[count] = row[1];
        lengths[count] = row[2];
        gaps[count] = row[3];
        durations[count] = row[4];
        for (i, value) in row.into_iter().enumerate() {
            low[i] = low[i].min(value);
            high[i] = high[i].max(value);
        }
        count += 1;
        summary.min_start = summary.min_start.min(start);
        summary.max_end = summary.max_end.max(end);
        summary.min_offset = summary.min_offset.min(segment.offset);
        summary.max_end_offset = summary.max_end_offset.max(end_offset);
        summary.stream_mask |= 1 << (stream % 64);
        summary.bytes = summary.bytes.wrapping_add(length);
    }
    summary.segments = count as u32;
    let widths: [usize; COLUMNS] = std::array::from_fn(|i| if count == 0 { 0 } else { width_of(high[i] - low[i]) });
    for (base, width) in low.iter().zip(widths) {
        out.extend_from_slice(&base.to_le_bytes());
        out.push(width as u8);
    }
    for ((column, base), width) in columns.iter().zip(low).zip(widths) {
        shuffle(&column[..count], base, width, out);
    }
    summary
}

/// Appends `width` planes: the lowest byte of every value less `base`, then the next byte of every value, ...
fn shuffle(values: &[u64], base: u64, width: usize, out: &mut Vec<u8>) {
    for plane in 0..width {
        let shift = 8 * plane as u32;
        out.extend(values.iter().map(|value| (value.wrapping_sub(base) >> shift) as u8));
    }
}

/// Decoded segments, one vector per field; all have the same length. Times in ns since the process's epoch.
#[cfg(feature = "read")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Stream ids.
    pub stream: Vec<u32>,
    /// Byte offsets, or [`crate::segment::NO_OFFSET`].
    pub offset: Vec<i64>,
    /// Lengths in bytes.
    pub length: Vec<u64>,
    /// Starts.
    pub start: Vec<u64>,
    /// Ends, never before the start.
    pub end: Vec<u64>,
}

#[cfg(feature = "read")]
impl Columns {
    /// Number of segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stream.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stream.is_empty()
    }
}

/// Decodes `count` segments from `raw`, the decompressed payload of the frame at file offset `at`, into `into`, whose
/// memory is used again.
///
/// # Errors
/// [`Error::Limit`] for too many segments, [`Error::Malformed`] if the sizes do not add up or a stream id does not fit.
#[cfg(feature = "read")]
pub fn decode(raw: &[u8], count: u32, at: u64, work: &mut Unpacked, into: &mut Columns) -> Result<()> {
    let what = "a segment block";
    limits::check("segment count", u64::from(count), u64::from(limits::BLOCK_SEGMENTS), at)?;
    let malformed = |why: String| Error::Malformed { what, offset: at, why };
    let count = count as usize;
    let Some((heads, mut planes)) = raw.split_at_checked(HEADS_BYTES) else {
        return Err(malformed(format!("{} bytes hold no column heads", raw.len())));
    };
    let mut shape = [(0_u64, 0_usize); COLUMNS];
    for (head, (base, width)) in heads.chunks_exact(HEAD_BYTES).zip(shape.iter_mut()) {
        let (low, wide) = head.split_at(8);
        *base = low.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        *width = usize::from(wide[0]);
        if *width > 8 {
            return Err(malformed(format!("a column of {width} bytes")));
        }
    }
    let expected = count * shape.iter().map(|(_, width)| width).sum::<usize>();
    if planes.len() != expected {
        return Err(malformed(format!("{} bytes of columns where {expected} were expected", planes.len())));
    }
    for (column, (base, width)) in work.columns.iter_mut().zip(shape) {
        let (mine, rest) = planes.split_at(count * width);
        planes = rest;
        unshuffle(mine, count, base, column);
    }
    restore(&work.columns, into).map_err(malformed)
}

/// Working memory of the decoder, kept between blocks.
#[cfg(feature = "read")]
#[derive(Debug, Default)]
pub struct Unpacked {
    columns: [Vec<u64>; COLUMNS],
}

/// Gathers the planes of `count` values and adds `base`.
#[cfg(feature = "read")]
fn unshuffle(planes: &[u8], count: usize, base: u64, values: &mut Vec<u64>) {
    values.clear();
    values.resize(count, 0);
    for (plane, bytes) in planes.chunks_exact(count.max(1)).enumerate() {
        let shift = 8 * plane as u32;
        values.iter_mut().zip(bytes).for_each(|(value, &byte)| *value |= u64::from(byte) << shift);
    }
    values.iter_mut().for_each(|value| *value = value.wrapping_add(base));
}

/// Undoes the predictions.
#[cfg(feature = "read")]
fn restore(columns: &[Vec<u64>; COLUMNS], into: &mut Columns) -> std::result::Result<(), String> {
    let [streams, offsets, lengths, gaps, durations] = columns;
    let count = streams.len();
    into.stream.clear();
    into.offset.clear();
    into.start.clear();
    into.end.clear();
    into.stream.reserve(count);
    into.offset.reserve(count);
    into.start.reserve(count);
    into.end.reserve(count);
    into.length.clone_from(lengths);
    let mut predicted = [0_i64; PREDICTORS];
    let (mut last_stream, mut last_end) = (0_u64, 0_u64);
    for ((((&stream, &offset), &length), &gap), &duration) in
        streams.iter().zip(offsets).zip(lengths).zip(gaps).zip(durations)
    {
        last_stream = last_stream.wrapping_add(unzigzag(stream));
        if last_stream >= u64::from(crate::segment::MAX_STREAMS) {
            return Err(format!("stream id {last_stream}"));
        }
        let slot = &mut predicted[last_stream as usize % PREDICTORS];
        let offset = slot.wrapping_add(unzigzag(offset) as i64);
        *slot = offset.wrapping_add_unsigned(length);
        let start = last_end.wrapping_add(unzigzag(gap));
        last_end = start.wrapping_add(duration);
        if last_end < start {
            return Err(format!("a segment that ends at {last_end}, before its start at {start}"));
        }
        into.stream.push(last_stream as u32);
        into.offset.push(offset);
        into.start.push(start);
        into.end.push(last_end);
    }
    Ok(())
}

#[cfg(all(test, feature = "read"))]
mod tests {
    use super::*;
    use crate::segment::{MAX_LENGTH, MAX_STREAMS, StreamId};
    use proptest::prelude::*;

    fn round_trip(segments: &[Segment]) -> (Summary, Columns) {
        let (mut out, mut columns) = (Vec::new(), Columns::default());
        let summary = encode(segments, &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        decode(&out, summary.segments, 0, &mut Unpacked::default(), &mut columns).unwrap();
        (summary, columns)
    }

    fn any_segment() -> impl Strategy<Value = Segment> {
        (0..MAX_STREAMS, any::<i64>(), 0..=MAX_LENGTH, any::<u64>(), 1..=u64::MAX).prop_map(
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
    fn a_regular_pattern_needs_no_bytes_before_compression() {
        let segments: Vec<Segment> =
            (0..1000).map(|i| Segment::new(StreamId(3), i * 10, 10, i as u64 * 50 + 10, i as u64 * 50 + 40)).collect();
        let mut out = Vec::new();
        encode(&segments[1..], &TickScale::IDENTITY, &mut Scratch::default(), &mut out);
        // Only the first row differs from the prediction: stream, offset and gap keep planes, length and duration none.
        assert_eq!((out[2 * 9 + 8], out[4 * 9 + 8]), (0, 0));
    }

    #[test]
    fn ticks_scale_exactly_over_a_month() {
        let month_ns = 30 * 86_400 * 1_000_000_000_u64;
        let scale = TickScale::measured(1000, month_ns * 26 / 10, month_ns);
        let error = scale.nanoseconds(1000 + month_ns * 26 / 10).abs_diff(month_ns);
        assert!(error <= 10, "{error} ns off");
        assert_eq!(scale.nanoseconds(3), 0);
        assert_eq!(TickScale::IDENTITY.nanoseconds(12345), 12345);
    }
}
