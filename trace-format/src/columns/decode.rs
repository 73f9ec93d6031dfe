//! Decoder from columns of an encoded block to segments.

use super::{
    COLUMNS, EXCEPTION_BYTES, HEAD_BYTES, HEADS_BYTES, MAX_EXCEPTIONS, PREDICTORS, column, prediction, unzigzag,
};
use crate::error::{Error, Result};
use crate::limits;
use crate::segment::MAX_STREAMS;

/// Number of segments (rows) decoded at once, small enough for their columns to stay in the L1 cache.
const TILE: usize = 512;

/// Decoded segments, one vector per field, all of the same length. Times are in ns since the process's epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Stream ids, each of which stands for one operation on one file.
    pub stream: Vec<u32>,
    /// File offsets in bytes; [`crate::segment::NO_OFFSET`] for operations without an offset.
    pub offset: Vec<i64>,
    /// Lengths of the segments' transfers, in bytes.
    pub length: Vec<u64>,
    /// Start times of the segments, in ns since the process's epoch.
    pub start: Vec<u64>,
    /// End times of the segments, in ns since the process's epoch; never before the start.
    pub end: Vec<u64>,
}

impl Columns {
    /// Applies a segment block's clock-rate correction ([`crate::frame::BlockHead::rate`]) to all times.
    pub(crate) fn correct(&mut self, rate: i32) {
        if rate != 0 {
            let times = self.start.iter_mut().chain(&mut self.end);
            times.for_each(|time| *time = crate::frame::corrected(*time, rate));
        }
    }

    /// Returns the number of decoded segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stream.len()
    }

    /// True if the columns contain no segments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stream.is_empty()
    }

    /// Clears all columns and reserves memory for `count` segments in each.
    fn begin(&mut self, count: usize) {
        self.stream.clear();
        self.offset.clear();
        for times in [&mut self.length, &mut self.start, &mut self.end] {
            times.clear();
            times.reserve(count);
        }
        self.stream.reserve(count);
        self.offset.reserve(count);
    }
}

/// Working memory of the column decoder, reused between blocks.
#[derive(Debug)]
pub struct Unpacked {
    tile: Box<[[u64; TILE]; COLUMNS]>,
    times: Box<[[u64; TILE]; 2]>,
    predicted: Box<[i64; PREDICTORS]>,
}

impl Default for Unpacked {
    fn default() -> Self {
        Self {
            tile: Box::new([[0; TILE]; COLUMNS]),
            times: Box::new([[0; TILE]; 2]),
            predicted: Box::new([0; PREDICTORS]),
        }
    }
}

/// One column of an encoded segment block: base (number to add to all values), bytes per value, code of the
/// prediction, exceptions (values stored separately) and byte planes (one byte of every value each).
#[derive(Clone, Copy, Default)]
struct Stored<'a> {
    base: u64,
    width: usize,
    prediction: u8,
    /// Values too large for the byte planes, as pairs of row (u32) and value (u64) in the order of rows.
    exceptions: &'a [u8],
    planes: &'a [u8],
}

/// Decodes the `count` segments of one block into `into`, whose memory is reused. `raw` is the decompressed payload of the frame at file
/// offset `at`. After an error, the contents of `into` are undefined.
///
/// # Errors
/// Returns [`Error::Limit`] if `count` is too large, and [`Error::Malformed`] if the sizes do not add up or a value is out of range.
pub fn decode(raw: &[u8], count: u32, at: u64, work: &mut Unpacked, into: &mut Columns) -> Result<()> {
    limits::check("segment count", u64::from(count), u64::from(limits::BLOCK_SEGMENTS), at)?;
    let malformed = |why: String| Error::Malformed { what: "a segment block", offset: at, why };
    let count = count as usize;
    let mut stored = split(raw, count).map_err(malformed)?;
    into.begin(count);
    work.predicted.fill(0);
    // Must be computed before the first tile: `patch` removes exceptions from the list.
    let one_stream = stored[column::STREAM].width == 0 && stored[column::STREAM].exceptions.is_empty();
    // Constant columns (usually lengths and streams) fill the tile only once.
    let constant = stored.each_ref().map(|stored| stored.width == 0 && stored.exceptions.is_empty());
    for ((stored, values), _) in stored.iter().zip(work.tile.iter_mut()).zip(constant).filter(|(_, constant)| *constant)
    {
        values.fill(stored.base);
    }
    let mut last_end = 0;
    for first in (0..count).step_by(TILE) {
        let rows = TILE.min(count - first);
        let columns = stored.iter_mut().zip(work.tile.iter_mut()).zip(constant);
        for ((stored, values), _) in columns.filter(|(_, constant)| !constant) {
            gather(stored, count, first, &mut values[..rows]);
            patch(stored, first, &mut values[..rows]).map_err(malformed)?;
        }
        let [streams, offsets, lengths, gaps, durations] = work.tile.each_ref().map(|values| &values[..rows]);
        restore_streams(streams, &mut into.stream).map_err(malformed)?;
        into.length.extend_from_slice(lengths);
        if stored[column::OFFSET].prediction == prediction::NONE {
            into.offset.extend(offsets.iter().map(|&value| value as i64));
        } else if one_stream {
            restore_offsets_of_one(offsets, lengths, &mut work.predicted[0], &mut into.offset);
        } else {
            restore_offsets(streams, offsets, lengths, &mut work.predicted, &mut into.offset);
        }
        let [starts, ends] = work.times.each_mut().map(|times| &mut times[..rows]);
        last_end = restore_times(gaps, durations, last_end, starts, ends).map_err(malformed)?;
        into.start.extend_from_slice(starts);
        into.end.extend_from_slice(ends);
    }
    if stored.iter().any(|stored| !stored.exceptions.is_empty()) {
        return Err(malformed(format!("an exception after its last row, {count}")));
    }
    Ok(())
}

/// Locates the five columns in a block's payload and checks that they fill it exactly.
fn split(raw: &[u8], count: usize) -> std::result::Result<[Stored<'_>; COLUMNS], String> {
    let Some((heads, mut rest)) = raw.split_at_checked(HEADS_BYTES) else {
        return Err(format!("{} bytes are too few for the column heads", raw.len()));
    };
    let mut columns = [Stored::default(); COLUMNS];
    for (number, (head, column)) in heads.chunks_exact(HEAD_BYTES).zip(columns.iter_mut()).enumerate() {
        let number_at =
            |from: usize, to: usize| head[from..to].iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        (column.base, column.width, column.prediction) = (number_at(0, 8), usize::from(head[8]), head[9]);
        let exceptions = number_at(10, 12) as usize;
        let known = column.prediction == 0 || number == column::OFFSET && column.prediction == prediction::NONE;
        if column.width > 8 || !known || exceptions > MAX_EXCEPTIONS {
            let Stored { width, prediction, .. } = *column;
            return Err(format!("a column of {width} bytes with prediction {prediction} and {exceptions} exceptions"));
        }
        // Only the number of exceptions matters until all column heads have been read.
        column.exceptions = rest.get(..exceptions * EXCEPTION_BYTES).ok_or("its exceptions are cut short")?;
    }
    for column in &mut columns {
        let bytes = column.exceptions.len();
        (column.exceptions, rest) = rest.split_at_checked(bytes).ok_or("its exceptions are cut short")?;
    }
    let expected = count * columns.iter().map(|column| column.width).sum::<usize>();
    if rest.len() != expected {
        return Err(format!("{} bytes of planes where {expected} were expected", rest.len()));
    }
    for column in &mut columns {
        (column.planes, rest) = rest.split_at(count * column.width);
    }
    Ok(columns)
}

/// Assembles a column's values from byte planes (plane *n* holds the *n*-th byte of every value), starting at row `first`, and adds the
/// column's base.
fn gather(stored: &Stored<'_>, count: usize, first: usize, values: &mut [u64]) {
    match stored.width {
        0 => values.fill(stored.base),
        1 => gather_planes::<1>(stored, count, first, values),
        2 => gather_planes::<2>(stored, count, first, values),
        3 => gather_planes::<3>(stored, count, first, values),
        4 => gather_planes::<4>(stored, count, first, values),
        5 => gather_planes::<5>(stored, count, first, values),
        6 => gather_planes::<6>(stored, count, first, values),
        7 => gather_planes::<7>(stored, count, first, values),
        _ => gather_planes::<8>(stored, count, first, values),
    }
}

/// Assembles values from `WIDTH` byte planes (plane *n* holds the *n*-th byte of every value). Planes are merged in pairs into numbers
/// twice as wide, which handles many rows per instruction; merging byte by byte takes several times as many instructions.
#[inline]
fn gather_planes<const WIDTH: usize>(stored: &Stored<'_>, count: usize, first: usize, values: &mut [u64]) {
    let rows = values.len().min(TILE);
    let plane = |number: usize| (number < WIDTH).then(|| &stored.planes[number * count + first..][..rows]);
    let (mut low, mut high) = ([0_u32; TILE], [0_u32; TILE]);
    gather_four(plane(0), plane(1), plane(2), plane(3), &mut low[..rows]);
    if WIDTH <= 4 {
        for (value, &low) in values.iter_mut().zip(&low[..rows]) {
            *value = u64::from(low).wrapping_add(stored.base);
        }
        return;
    }
    gather_four(plane(4), plane(5), plane(6), plane(7), &mut high[..rows]);
    for ((value, &low), &high) in values.iter_mut().zip(&low[..rows]).zip(&high[..rows]) {
        *value = (u64::from(high) << 32 | u64::from(low)).wrapping_add(stored.base);
    }
}

/// Merges up to four byte planes (each has one byte of every value), lowest byte first, into 32-bit numbers. `into` must be zero and as
/// long as each plane.
#[inline]
fn gather_four(
    first: Option<&[u8]>,
    second: Option<&[u8]>,
    third: Option<&[u8]>,
    fourth: Option<&[u8]>,
    into: &mut [u32],
) {
    let (mut low, mut high) = ([0_u16; TILE], [0_u16; TILE]);
    let rows = into.len().min(TILE);
    gather_two(first, second, &mut low[..rows]);
    if third.is_none() {
        into.iter_mut().zip(&low[..rows]).for_each(|(into, &low)| *into = u32::from(low));
        return;
    }
    gather_two(third, fourth, &mut high[..rows]);
    for ((into, &low), &high) in into.iter_mut().zip(&low[..rows]).zip(&high[..rows]) {
        *into = u32::from(high) << 16 | u32::from(low);
    }
}

/// Merges up to two byte planes (each has one byte of every value), lowest byte first, into 16-bit numbers.
#[inline]
fn gather_two(first: Option<&[u8]>, second: Option<&[u8]>, into: &mut [u16]) {
    match (first, second) {
        (Some(first), Some(second)) => {
            for ((into, &low), &high) in into.iter_mut().zip(first).zip(second) {
                *into = u16::from(high) << 8 | u16::from(low);
            }
        }
        (Some(first), None) => into.iter_mut().zip(first).for_each(|(into, &low)| *into = u16::from(low)),
        _ => {}
    }
}

/// Writes the exceptions (values too large for the byte planes) of the rows from `first` on into `values`, and removes them from the column's list.
fn patch(stored: &mut Stored<'_>, first: usize, values: &mut [u64]) -> std::result::Result<(), String> {
    while let Some((row, rest)) = stored.exceptions.split_first_chunk::<4>() {
        let row = u32::from_le_bytes(*row) as usize;
        if row >= first + values.len() {
            break;
        }
        let (value, rest) = rest.split_first_chunk::<8>().ok_or("an exception is cut short")?;
        let place = row.checked_sub(first).and_then(|row| values.get_mut(row));
        *place.ok_or("its exceptions are out of order")? = u64::from_le_bytes(*value);
        stored.exceptions = rest;
    }
    Ok(())
}

fn restore_streams(values: &[u64], into: &mut Vec<u32>) -> std::result::Result<(), String> {
    let all = values.iter().fold(0, |all, &value| all | value);
    if all >= u64::from(MAX_STREAMS) {
        return Err(format!("a stream id over {}", MAX_STREAMS - 1));
    }
    into.extend(values.iter().map(|&value| value as u32));
    Ok(())
}

/// Restores file offsets from differences to predicted offsets if all rows belong to one stream, so that one predicted offset replaces the
/// table of predictions by stream.
fn restore_offsets_of_one(values: &[u64], lengths: &[u64], predicted: &mut i64, into: &mut Vec<i64>) {
    let mut next = *predicted;
    into.extend(values.iter().zip(lengths).map(|(&value, &length)| {
        let offset = next.wrapping_add(unzigzag(value) as i64);
        next = offset.wrapping_add_unsigned(length);
        offset
    }));
    *predicted = next;
}

fn restore_offsets(
    streams: &[u64],
    values: &[u64],
    lengths: &[u64],
    predicted: &mut [i64; PREDICTORS],
    into: &mut Vec<i64>,
) {
    into.extend(streams.iter().zip(values).zip(lengths).map(|((&stream, &value), &length)| {
        let slot = &mut predicted[stream as usize % PREDICTORS];
        let offset = slot.wrapping_add(unzigzag(value) as i64);
        *slot = offset.wrapping_add_unsigned(length);
        offset
    }));
}

/// Restores start and end times from gaps and durations; returns the end time of the last row.
fn restore_times(
    gaps: &[u64],
    durations: &[u64],
    mut last_end: u64,
    starts: &mut [u64],
    ends: &mut [u64],
) -> std::result::Result<u64, String> {
    let mut backwards = false;
    for (((&gap, &duration), into_start), into_end) in gaps.iter().zip(durations).zip(starts).zip(ends) {
        let start = last_end.wrapping_add(unzigzag(gap));
        last_end = start.wrapping_add(duration);
        backwards |= last_end < start;
        *into_start = start;
        *into_end = last_end;
    }
    if backwards { Err("a segment ends before its start".into()) } else { Ok(last_end) }
}
