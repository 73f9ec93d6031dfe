//! Scan: one parallel pass over all segments that serves every requested analysis. Each analysis keeps one partial result per thread.
//! Partial results hold only integers, sets and bounded lists with a total order, so merging gives the same result for any thread schedule.

mod combined;
mod pass;
mod reader;
pub mod selection;
mod together;

pub use combined::Nothing;
pub use pass::{Progress, group_of_process, scan};
pub use reader::{Lost, Reader, resolve, segments_of};
pub(crate) use together::together;

use crate::model::{Process, ProcessId, Run, StreamIx};
use std::sync::OnceLock;
use trace_format::counters::{Counters, add_sizes};
use trace_format::frame::BlockHead;
use trace_format::read::Columns;
use trace_format::segment::NO_OFFSET;

/// Minimum average length, in segments, of a block's stretches (consecutive segments of one stream) for which sums per stretch are computed
/// and shared by all analyses.
const SHORT: usize = 8;

/// Decoded segment block, and the tables that its indices refer to.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Run whose trace contains the block.
    pub run: &'a Run,
    /// Process that recorded the block: index into [`Run::processes`].
    pub number: ProcessId,
    /// Process that recorded the block.
    pub process: &'a Process,
    /// Index of the recording thread in the process's thread table.
    pub thread: u32,
    /// Decoded segments, as columns; times in ns since the process's time zero.
    pub columns: &'a Columns,
    /// Call stream (one operation on one file) of each segment, as an index into the process's streams; for special values see
    /// [`StreamIx`].
    pub streams: &'a [StreamIx],
    /// End (exclusive) of each stretch (consecutive segments of one stream), as a segment index.
    pub ends: &'a [u32],
    /// Cache of the counters that [`Block::alone`] computes for all analyses.
    alone: &'a OnceLock<Vec<Counters>>,
}

/// Stretch: consecutive segments of one stream (one operation on one file). Processes mostly repeat one operation, so data of the stream is
/// looked up once per stretch.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Call stream (one operation on one file) of the segments, as an index into the process's streams; for special values see
    /// [`StreamIx`].
    pub stream: StreamIx,
    /// File offset of each segment, bytes; -1 for calls without an offset.
    pub offset: &'a [i64],
    /// Number of bytes that each call moved.
    pub length: &'a [u64],
    /// Start of each segment, ns since the process's time zero.
    pub start: &'a [u64],
    /// End of each segment, ns since the process's time zero.
    pub end: &'a [u64],
}

impl<'a> Stretch<'a> {
    /// Iterates over the segments of the stretch, in order.
    #[inline]
    pub fn rows(self) -> impl Iterator<Item = Row> + 'a {
        let Self { stream, offset, length, start, end } = self;
        let places = offset.iter().zip(length);
        places.zip(start.iter().zip(end)).map(move |((&offset, &length), (&start, &end))| Row {
            stream,
            offset: offset.max(NO_OFFSET),
            length,
            start,
            end,
        })
    }

    /// Returns the segments with indices `from..until` of the stretch, as a shorter stretch.
    #[inline]
    #[must_use]
    pub fn part(self, from: usize, until: usize) -> Self {
        let Self { stream, offset, length, start, end } = self;
        Self {
            stream,
            offset: offset.get(from..until).unwrap_or_default(),
            length: length.get(from..until).unwrap_or_default(),
            start: start.get(from..until).unwrap_or_default(),
            end: end.get(from..until).unwrap_or_default(),
        }
    }
}

/// One segment (recorded call) of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Call stream (one operation on one file) of the segment, as an index into the process's streams; for special values see [`StreamIx`].
    pub stream: StreamIx,
    /// File offset, bytes; -1 for calls without an offset. (The new name that renames carry in its place is in [`Stretch::offset`] only.)
    pub offset: i64,
    /// Number of bytes that the call moved.
    pub length: u64,
    /// Start of the segment, ns since the process's time zero.
    pub start: u64,
    /// End of the segment, ns since the process's time zero.
    pub end: u64,
}

impl Row {
    /// Returns the duration of the segment, ns.
    #[inline]
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end - self.start
    }
}

impl Block<'_> {
    /// Returns the segment at index `place` of the block; `None` beyond the end.
    #[inline]
    #[must_use]
    pub fn row(&self, place: usize) -> Option<Row> {
        let columns = self.columns;
        Some(Row {
            stream: *self.streams.get(place)?,
            offset: (*columns.offset.get(place)?).max(NO_OFFSET),
            length: *columns.length.get(place)?,
            start: *columns.start.get(place)?,
            end: *columns.end.get(place)?,
        })
    }

    /// Iterates over the stretches (consecutive segments of one stream), in order.
    #[inline]
    pub fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let Columns { offset, length, start, end, .. } = self.columns;
        let mut from = 0;
        self.ends.iter().filter_map(move |&until| {
            let first = std::mem::replace(&mut from, until as usize);
            let stream = *self.streams.get(first)?;
            Some(Stretch { stream, offset, length, start, end }.part(first, until as usize))
        })
    }

    /// Returns the counters of each stretch, summed by [`fold_alone`]. The first call computes them for all analyses. Returns `None` if
    /// stretches are so short that adding these sums would be slower than adding the segments.
    #[must_use]
    pub fn alone(&self) -> Option<&[Counters]> {
        if self.ends.len() * SHORT > self.streams.len() {
            return None;
        }
        let of = |stretch: Stretch<'_>| {
            let mut counters = Counters::default();
            fold_alone(&mut counters, stretch);
            counters
        };
        Some(self.alone.get_or_init(|| self.stretches().map(of).collect()))
    }

    /// Iterates over the stretches of the block, each with its counters from [`Block::alone`] if available.
    pub fn summed(&self) -> impl Iterator<Item = (Stretch<'_>, Option<&Counters>)> {
        let alone = self.alone();
        self.stretches().enumerate().map(move |(place, stretch)| (stretch, alone.and_then(|alone| alone.get(place))))
    }

    /// Iterates over the segments of the block, in order.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let columns = self.columns;
        let places = self.streams.iter().zip(&columns.offset).zip(&columns.length);
        places.zip(columns.start.iter().zip(&columns.end)).map(|(((&stream, &offset), &length), (&start, &end))| Row {
            stream,
            offset: offset.max(NO_OFFSET),
            length,
            start,
            end,
        })
    }
}

/// Adds the segments of a stretch (consecutive segments of one stream) to `counters` without looking at preceding segments, so that
/// sequential and consecutive accesses are not counted.
pub fn fold_alone(counters: &mut Counters, stretch: Stretch<'_>) {
    for row in stretch.rows() {
        counters.fold_alone_unsized(row.offset, row.length, row.start, row.end);
    }
    add_sizes(&mut counters.sizes, stretch.length);
}

/// Analysis: a computation over all segments of a run.
pub trait Analysis: Sync {
    /// Partial result of the analysis on one thread.
    type Partial: Send;
    /// Returns an empty partial result, to which one thread adds blocks.
    fn start(&self) -> Self::Partial;
    /// Returns true if the analysis needs the block with this head. A block that any analysis needs is decoded and given to all analyses.
    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        true
    }
    /// Returns true if blocks must arrive in order. One partial result then gets all blocks of a process, thread by thread, each thread's
    /// in the order of recording. The processes of a group ([`group_of_process`]) follow one another.
    fn ordered(&self) -> bool {
        false
    }
    /// Adds the segments of a block to the partial result.
    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>);
    /// Appends the independent analyses that this analysis consists of, each with its part of the partial result. They may get blocks concurrently.
    fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<Alone<'p>>) {
        into.push(Box::new(move |block| self.block(partial, block)));
    }
    /// Merges another thread's partial result into `into`.
    fn merge(&self, into: &mut Self::Partial, other: Self::Partial);
}

/// Function that gives a block to one analysis and updates its partial result.
pub type Alone<'p> = Box<dyn FnMut(&Block<'_>) + Send + 'p>;

/// Gives a block to an analysis. Never inlined, so that each analysis has a separate symbol in profiles.
#[inline(never)]
pub(crate) fn give<A: Analysis>(analysis: &A, partial: &mut A::Partial, block: &Block<'_>) {
    analysis.block(partial, block);
}
