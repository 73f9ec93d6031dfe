//! One pass over all segments, in parallel, that serves every analysis asked for. An analysis keeps one partial result per
//! thread; partials merge into the same result whatever the threads did, because they hold whole numbers, sets and
//! bounded lists with a total order only.

pub mod chosen;
mod combined;
mod pass;
mod reader;
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

/// Segments of a stretch on the mean of a block, from which their sums are made once for all analyses.
const SHORT: usize = 8;

/// One decoded block and what its numbers refer to.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The run.
    pub run: &'a Run,
    /// Index into [`Run::processes`].
    pub number: ProcessId,
    /// The process.
    pub process: &'a Process,
    /// Index of its thread in the process's table.
    pub thread: u32,
    /// Its segments; times in ns since the process's epoch.
    pub columns: &'a Columns,
    /// Per segment: which stream of the process it is of, or none: [`StreamIx`].
    pub streams: &'a [StreamIx],
    /// Where the stretches of neighbours of one stream end.
    pub ends: &'a [u32],
    /// See [`Block::alone`].
    alone: &'a OnceLock<Vec<Counters>>,
}

/// Neighbouring segments of one stream. What depends on the stream alone is asked once for all of them: a process mostly does the same
/// again and again.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Which stream of the process they are of, or none.
    pub stream: StreamIx,
    /// Byte offsets, or -1.
    pub offset: &'a [i64],
    /// Bytes.
    pub length: &'a [u64],
    /// Starts, ns since the process's epoch.
    pub start: &'a [u64],
    /// Ends, ns since the process's epoch.
    pub end: &'a [u64],
}

impl<'a> Stretch<'a> {
    /// The segments, in order.
    #[inline]
    pub fn rows(self) -> impl Iterator<Item = Row> + 'a {
        let Self { stream, offset, length, start, end } = self;
        let places = offset.iter().zip(length);
        places.zip(start.iter().zip(end)).map(move |((&offset, &length), (&start, &end))| Row {
            stream,
            offset,
            length,
            start,
            end,
        })
    }

    /// Those from a place to before another.
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

/// One segment of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which stream of the process it is of, or none: [`StreamIx`].
    pub stream: StreamIx,
    /// Byte offset, or -1.
    pub offset: i64,
    /// Bytes.
    pub length: u64,
    /// Start, ns since the process's epoch.
    pub start: u64,
    /// End, ns since the process's epoch.
    pub end: u64,
}

impl Row {
    /// Duration in ns.
    #[inline]
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end - self.start
    }
}

impl Block<'_> {
    /// The segment at a place.
    #[inline]
    #[must_use]
    pub fn row(&self, place: usize) -> Option<Row> {
        let columns = self.columns;
        Some(Row {
            stream: *self.streams.get(place)?,
            offset: *columns.offset.get(place)?,
            length: *columns.length.get(place)?,
            start: *columns.start.get(place)?,
            end: *columns.end.get(place)?,
        })
    }

    /// The segments in order, those of one stream that follow each other together.
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

    /// Of each stretch what [`Counters::fold_alone`] makes of its segments: several analyses want these sums, so they are made once, by whoever asks
    /// first. `None` where stretches are so short that adding the sums up takes longer than adding the segments.
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

    /// The stretches in order, each with what [`Block::alone`] has of it.
    pub fn summed(&self) -> impl Iterator<Item = (Stretch<'_>, Option<&Counters>)> {
        let alone = self.alone();
        self.stretches().enumerate().map(move |(place, stretch)| (stretch, alone.and_then(|alone| alone.get(place))))
    }

    /// The segments, in order.
    #[inline]
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let columns = self.columns;
        let places = self.streams.iter().zip(&columns.offset).zip(&columns.length);
        places.zip(columns.start.iter().zip(&columns.end)).map(|(((&stream, &offset), &length), (&start, &end))| Row {
            stream,
            offset,
            length,
            start,
            end,
        })
    }
}

/// Adds the segments of a stretch to `counters`, compared with no others.
pub fn fold_alone(counters: &mut Counters, stretch: Stretch<'_>) {
    for row in stretch.rows() {
        counters.fold_alone_unsized(row.offset, row.length, row.start, row.end);
    }
    add_sizes(&mut counters.sizes, stretch.length);
}

/// What is computed from segments.
pub trait Analysis: Sync {
    /// What a thread keeps.
    type Partial: Send;
    /// An empty partial.
    fn start(&self) -> Self::Partial;
    /// Whether a block can matter, by its head alone. Blocks that matter to no analysis are not decoded; one that
    /// matters to another is still given to this one.
    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        true
    }
    /// Whether it must see the blocks of a process one after another: thread by thread, each in the order of its buffer,
    /// none given to another partial; and the processes of a group ([`group_of_process`]) one after another.
    fn ordered(&self) -> bool {
        false
    }
    /// Adds a block.
    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>);
    /// The analyses that it is made of, each with its part of `partial`: they know nothing of each other, so that several threads
    /// can give them the same blocks at the same time.
    fn each<'p>(&'p self, partial: &'p mut Self::Partial, into: &mut Vec<Alone<'p>>) {
        into.push(Box::new(move |block| self.block(partial, block)));
    }
    /// Adds what another thread found.
    fn merge(&self, into: &mut Self::Partial, other: Self::Partial);
}

/// One analysis with its partial, which takes blocks.
pub type Alone<'p> = Box<dyn FnMut(&Block<'_>) + Send + 'p>;

/// Gives a block to an analysis: a function of its own for each, so that a profile tells them apart.
#[inline(never)]
pub(crate) fn give<A: Analysis>(analysis: &A, partial: &mut A::Partial, block: &Block<'_>) {
    analysis.block(partial, block);
}
