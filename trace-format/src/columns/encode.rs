//! Encoder from segments to the columns of a block.

use super::{COLUMNS, MAX_EXCEPTIONS, PREDICTORS, TickScale, column, prediction, width_of, zigzag};
use crate::limits;
use crate::segment::Segment;
use std::ops::Range;

/// Number of segments (rows) encoded at once, small enough for their columns to stay in the L1 cache.
const TILE: usize = 256;
/// Minimum number of segments in a block with exceptions (values stored separately): in smaller blocks, exceptions take more bytes than they save.
const EXCEPTIONS_FROM: usize = 64;
/// Segments per exception (value stored separately): a column has at most `1 + segments / ROWS_PER_EXCEPTION` exceptions, because with more
/// of them one more byte per segment would be cheaper.
const ROWS_PER_EXCEPTION: usize = 512;

/// Working memory of the column encoder, reused between blocks.
#[derive(Debug, Default)]
pub struct Scratch {
    columns: [Vec<u64>; COLUMNS],
    tiles: Vec<Tile>,
    exceptions: Vec<(u32, u64)>,
}

/// Summary of the encoded segments of one block, for the block's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of segments (recorded calls) encoded in the block.
    pub segments: u32,
    /// Earliest start of a segment in the block, in ns since the process's epoch.
    pub min_start: u64,
    /// Latest end of a segment in the block, in ns since the process's epoch.
    pub max_end: u64,
    /// Lowest file offset of a segment in the block, in bytes.
    pub min_offset: i64,
    /// Highest end offset (offset plus length) of a segment, in bytes.
    pub max_end_offset: i64,
    /// Set of stream ids in the block as a 64-bit filter: bit `id % 64` is set for each id.
    pub stream_mask: u64,
    /// Sum of the segments' lengths in bytes, modulo 2^64.
    pub bytes: u64,
    /// True if all segments have the same stream (operation on a file) and the same length, apart from a few
    /// exceptions: the remaining columns are mostly noise, in which zstd finds few repetitions.
    pub noise_only: bool,
    /// Size of the encoded columns before the byte planes (heads and exceptions), in bytes. Each plane has one byte per segment.
    pub planes_at: usize,
}

/// Range of consecutive rows, with the highest value of each column in that range.
#[derive(Clone, Debug)]
struct Tile {
    rows: Range<usize>,
    high: [u64; COLUMNS],
}

/// Head of an encoded column: base (number subtracted from all values), bytes per value, code of the prediction,
/// number of exceptions (values stored separately).
#[derive(Clone, Copy, Default)]
struct Shape {
    base: u64,
    width: usize,
    prediction: u8,
    exceptions: usize,
}

/// Encodes `segments` as columns, appends the columns to `out` and returns their summary. Takes at most [`limits::BLOCK_SEGMENTS`]
/// segments, skips slots that the tracer never filled (`end` is zero) and ignores the mark bits in `end`, which state if a segment is in a
/// trace.
pub fn encode(segments: &[Segment], scale: &TickScale, scratch: &mut Scratch, out: &mut Vec<u8>) -> Summary {
    let segments = &segments[..segments.len().min(limits::BLOCK_SEGMENTS as usize)];
    let Scratch { columns, tiles, exceptions } = scratch;
    columns.iter_mut().for_each(|column| column.resize(segments.len(), 0));
    tiles.clear();
    exceptions.clear();
    let (mut summary, low) = predict(segments, scale, columns, tiles);
    let count = summary.segments as usize;
    let begin = out.len();
    let mut shapes = [Shape::default(); COLUMNS];
    for (number, (column, shape)) in columns.iter_mut().zip(shapes.iter_mut()).enumerate() {
        *shape = if number == column::OFFSET && scattered(segments, &column[..count]) {
            offsets_themselves(segments, &mut column[..count])
        } else {
            narrow(number, &mut column[..count], low[number], tiles, exceptions)
        };
    }
    for shape in shapes {
        out.extend_from_slice(&shape.base.to_le_bytes());
        out.extend_from_slice(&[shape.width as u8, shape.prediction]);
        out.extend_from_slice(&(shape.exceptions as u16).to_le_bytes());
    }
    for (row, value) in exceptions {
        out.extend_from_slice(&row.to_le_bytes());
        out.extend_from_slice(&value.to_le_bytes());
    }
    summary.noise_only = shapes[column::STREAM].width == 0 && shapes[column::LENGTH].width == 0;
    summary.planes_at = out.len() - begin;
    for (column, shape) in columns.iter().zip(shapes) {
        shuffle(&column[..count], shape.base, shape.width, out);
    }
    summary
}

/// Fills the columns with differences between the segments' fields and predicted values; returns the summary and the lowest value of each
/// column.
fn predict(
    segments: &[Segment],
    scale: &TickScale,
    columns: &mut [Vec<u64>; COLUMNS],
    tiles: &mut Vec<Tile>,
) -> (Summary, [u64; COLUMNS]) {
    let [streams, offsets, lengths, gaps, durations] = columns.each_mut().map(Vec::as_mut_slice);
    let mut predicted = [0_i64; PREDICTORS];
    let (mut last_end, mut count) = (0_u64, 0_usize);
    let mut low = [u64::MAX; COLUMNS];
    let mut summary = Summary {
        segments: 0,
        min_start: u64::MAX,
        max_end: 0,
        min_offset: i64::MAX,
        max_end_offset: i64::MIN,
        stream_mask: 0,
        bytes: 0,
        noise_only: false,
        planes_at: 0,
    };
    for tile in segments.chunks(TILE) {
        let first = count;
        let mut high = [0_u64; COLUMNS];
        let mut last_word = None;
        for segment in tile.iter().filter(|segment| segment.end != 0) {
            let (stream, length) = (u64::from(segment.stream().0), segment.length());
            if last_word != Some(segment.word) {
                // Consecutive segments usually have the same stream and length: values that depend on both only are computed once per run.
                last_word = Some(segment.word);
                low[column::STREAM] = low[column::STREAM].min(stream);
                high[column::STREAM] = high[column::STREAM].max(stream);
                low[column::LENGTH] = low[column::LENGTH].min(length);
                high[column::LENGTH] = high[column::LENGTH].max(length);
                summary.stream_mask |= 1 << (stream % 64);
            }
            let start = scale.nanoseconds(segment.started());
            let end = scale.nanoseconds(segment.ended()).max(start);
            let slot = &mut predicted[stream as usize % PREDICTORS];
            let offset = zigzag(segment.offset.wrapping_sub(*slot) as u64);
            let end_offset = segment.offset.wrapping_add_unsigned(length);
            let (gap, duration) = (zigzag(start.wrapping_sub(last_end)), end - start);
            (*slot, last_end) = (end_offset, end);
            streams[count] = stream;
            offsets[count] = offset;
            lengths[count] = length;
            gaps[count] = gap;
            durations[count] = duration;
            count += 1;
            summary.min_start = summary.min_start.min(start);
            summary.max_end = summary.max_end.max(end);
            summary.min_offset = summary.min_offset.min(segment.offset);
            summary.max_end_offset = summary.max_end_offset.max(end_offset);
            summary.bytes = summary.bytes.wrapping_add(length);
        }
        // Separate loop, because the loop above uses all registers.
        for (number, column) in [(column::OFFSET, &*offsets), (column::GAP, gaps), (column::DURATION, durations)] {
            let (least, most) = range(&column[first..count]);
            low[number] = low[number].min(least);
            high[number] = most;
        }
        tiles.push(Tile { rows: first..count, high });
    }
    summary.segments = count as u32;
    (summary, low)
}

/// Returns (minimum, maximum) of the values, computed in four independent chains of comparisons, which a processor runs in parallel.
fn range(values: &[u64]) -> (u64, u64) {
    let (mut low, mut high) = ([u64::MAX; 4], [0; 4]);
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        for (lane, &value) in four.iter().enumerate() {
            low[lane] = low[lane].min(value);
            high[lane] = high[lane].max(value);
        }
    }
    let rest = rest.iter().fold((u64::MAX, 0), |(low, high), &value| (value.min(low), value.max(high)));
    (low.into_iter().fold(rest.0, u64::min), high.into_iter().fold(rest.1, u64::max))
}

/// True if a sample shows that storing the offsets takes fewer bits than storing their differences from the predicted offsets.
fn scattered(segments: &[Segment], differences: &[u64]) -> bool {
    const STEP: usize = 16;
    let bits = |value: u64| u64::from(u64::BITS - value.leading_zeros());
    let sampled = differences.len() / STEP;
    let of_differences: u64 = differences.iter().step_by(STEP).take(sampled).map(|&value| bits(value)).sum();
    let of_offsets: u64 = segments.iter().step_by(STEP).take(sampled).map(|segment| bits(segment.offset as u64)).sum();
    of_offsets < of_differences
}

/// Fills the offset column with the offsets themselves, without prediction.
fn offsets_themselves(segments: &[Segment], column: &mut [u64]) -> Shape {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for (value, segment) in column.iter_mut().zip(segments.iter().filter(|segment| segment.end != 0)) {
        *value = segment.offset as u64;
        low = low.min(segment.offset);
        high = high.max(segment.offset);
    }
    let width = width_of(high.wrapping_sub(low) as u64);
    Shape { base: low as u64, width, prediction: prediction::NONE, exceptions: 0 }
}

/// Finds the smallest number of bytes per value that holds all values except a few, which become exceptions and are stored separately.
fn narrow(number: usize, column: &mut [u64], base: u64, tiles: &[Tile], exceptions: &mut Vec<(u32, u64)>) -> Shape {
    if column.is_empty() {
        return Shape::default();
    }
    let highest = tiles.iter().map(|tile| tile.high[number]).fold(base, u64::max);
    let mut shape = Shape { base, width: width_of(highest - base), prediction: prediction::LAST_END, exceptions: 0 };
    let allowed = if column.len() < EXCEPTIONS_FROM { 0 } else { 1 + column.len() / ROWS_PER_EXCEPTION };
    let allowed = allowed.min(MAX_EXCEPTIONS);
    let begin = exceptions.len();
    while shape.width > 0 && allowed > 0 {
        // Searches only tiles with a value too large for the narrower width; few tiles have one.
        let fits = |value: u64| width_of(value.wrapping_sub(base)) < shape.width;
        let wide_tiles = tiles.iter().filter(|tile| !fits(tile.high[number].max(base)));
        if wide_tiles.clone().count() > allowed {
            break;
        }
        let found = wide_tiles.flat_map(|tile| tile.rows.clone());
        let kept = exceptions.len();
        exceptions.extend(found.filter(|&row| !fits(column[row])).map(|row| (row as u32, column[row])));
        if exceptions.len() - begin > allowed {
            exceptions.truncate(kept);
            break;
        }
        for &(row, _) in &exceptions[kept..] {
            column[row as usize] = base;
        }
        shape.width -= 1;
    }
    exceptions[begin..].sort_unstable_by_key(|&(row, _)| row);
    shape.exceptions = exceptions.len() - begin;
    shape
}

/// Appends `width` byte planes: the lowest byte of every value minus `base`, then the next byte of every value, and so on.
fn shuffle(values: &[u64], base: u64, width: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + width * values.len(), 0);
    for (number, tile) in values.chunks(TILE).enumerate() {
        for (plane, bytes) in out[begin..].chunks_exact_mut(values.len()).enumerate() {
            let bytes = &mut bytes[number * TILE..][..tile.len()];
            match plane {
                0 => one_plane::<0>(tile, base, bytes),
                1 => one_plane::<8>(tile, base, bytes),
                2 => one_plane::<16>(tile, base, bytes),
                3 => one_plane::<24>(tile, base, bytes),
                4 => one_plane::<32>(tile, base, bytes),
                5 => one_plane::<40>(tile, base, bytes),
                6 => one_plane::<48>(tile, base, bytes),
                _ => one_plane::<56>(tile, base, bytes),
            }
        }
    }
}

/// Extracts one byte of every value: bits `SHIFT` to `SHIFT + 7` of the value minus `base`. The constant shift lets the compiler use vector
/// instructions.
fn one_plane<const SHIFT: u32>(values: &[u64], base: u64, bytes: &mut [u8]) {
    for (byte, value) in bytes.iter_mut().zip(values) {
        *byte = (value.wrapping_sub(base) >> SHIFT) as u8;
    }
}
