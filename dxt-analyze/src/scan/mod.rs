//! One pass over all segments, in parallel, that serves every analysis asked for. An analysis keeps one partial result per
//! thread; partials merge into the same result whatever the threads did, because they hold whole numbers, sets and
//! bounded lists with a total order only.

mod together;

pub(crate) use together::together;

use crate::model::select::overlaps;
use crate::model::{Problem, Process, ProcessId, Run, StreamIx};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::frame::BlockHead;
use trace_format::read::{Columns, Decoder};

/// Blocks that a thread takes from the queue at a time: neighbours, which are mostly of one process.
const BLOCKS_AT_A_TIME: usize = 4;
/// Most groups of processes of an ordered scan.
const MAX_GROUPS: usize = 512;
/// Problems that are kept; more are counted.
const MAX_PROBLEMS: usize = 1000;

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
    /// Adds what another thread found.
    fn merge(&self, into: &mut Self::Partial, other: Self::Partial);
}

/// Two analyses in one pass; nest for more.
impl<A: Analysis, B: Analysis> Analysis for (A, B) {
    type Partial = (A::Partial, B::Partial);

    fn start(&self) -> Self::Partial {
        (self.0.start(), self.1.start())
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        self.0.wants(run, process, head) || self.1.wants(run, process, head)
    }

    fn ordered(&self) -> bool {
        self.0.ordered() || self.1.ordered()
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        self.0.block(&mut partial.0, block);
        self.1.block(&mut partial.1, block);
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        self.0.merge(&mut into.0, other.0);
        self.1.merge(&mut into.1, other.1);
    }
}

/// No analysis: the part in a pass of what needs none.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Analysis for Nothing {
    type Partial = ();

    fn start(&self) {}

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        false
    }

    fn block(&self, _partial: &mut (), _block: &Block<'_>) {}

    fn merge(&self, _into: &mut (), _other: ()) {}
}

/// An analysis that is needed again after the pass.
impl<A: Analysis> Analysis for &A {
    type Partial = A::Partial;

    fn start(&self) -> Self::Partial {
        (**self).start()
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        (**self).wants(run, process, head)
    }

    fn ordered(&self) -> bool {
        (**self).ordered()
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        (**self).block(partial, block);
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        (**self).merge(into, other);
    }
}

/// An analysis that may not be asked for.
impl<A: Analysis> Analysis for Option<A> {
    type Partial = Option<A::Partial>;

    fn start(&self) -> Self::Partial {
        self.as_ref().map(Analysis::start)
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        self.as_ref().is_some_and(|analysis| analysis.wants(run, process, head))
    }

    fn ordered(&self) -> bool {
        self.as_ref().is_some_and(Analysis::ordered)
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        if let (Some(analysis), Some(partial)) = (self, partial) {
            analysis.block(partial, block);
        }
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        if let (Some(analysis), Some(into), Some(other)) = (self, into, other) {
            analysis.merge(into, other);
        }
    }
}

/// What the pass itself found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Segments in blocks that could not be decoded.
    pub segments: u64,
    /// Segments that name a stream which their process's table lacks.
    pub without_stream: u64,
    /// Blocks that could not be decoded.
    pub blocks: u64,
    /// The first of what went wrong, by place.
    pub problems: Vec<Problem>,
}

impl Lost {
    /// Adds what another thread lost.
    pub fn merge(&mut self, other: Self) {
        self.segments = self.segments.saturating_add(other.segments);
        self.without_stream = self.without_stream.saturating_add(other.without_stream);
        self.blocks += other.blocks;
        self.problems.extend(other.problems);
    }

    /// With problems in order, the first of them.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.problems.sort();
        self.problems.truncate(MAX_PROBLEMS);
        self
    }
}

/// Told how many segments are done.
pub trait Progress: Sync {
    /// `segments` more are done.
    fn advance(&self, segments: u64);

    /// Whether nobody wants the result any more: what is left is not read then.
    fn stopped(&self) -> bool {
        false
    }
}

/// Decodes every block that `analysis` wants and gives it to `analysis`.
pub fn scan<A: Analysis>(run: &Run, analysis: &A, progress: &dyn Progress) -> (A::Partial, Lost) {
    let queue: Vec<(ProcessId, u32)> = run
        .numbered_processes()
        .flat_map(|(number, process)| {
            let blocks = process.blocks.iter().enumerate();
            let wanted = blocks.filter(move |(_, block)| analysis.wants(run, number, &block.head));
            wanted.map(move |(index, _)| (number, index as u32))
        })
        .collect();
    let items = if analysis.ordered() { by_group(run, &queue) } else { queue.chunks(BLOCKS_AT_A_TIME).collect() };
    let next = AtomicUsize::new(0);
    let workers = rayon::current_num_threads().min(items.len()).max(1);
    let parts: Vec<(A::Partial, Lost)> = (0..workers)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut reader = Reader::default();
            let (mut partial, mut lost) = (analysis.start(), Lost::default());
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !progress.stopped()) {
                for &(process, block) in *item {
                    if let Some(block) = reader.block(run, process, block, &mut lost) {
                        analysis.block(&mut partial, &block);
                    }
                    progress.advance(segments_of(run, process, block));
                }
            }
            (partial, lost)
        })
        .collect();
    let (mut total, mut lost) = (analysis.start(), Lost::default());
    for (partial, part_lost) in parts {
        analysis.merge(&mut total, partial);
        lost.merge(part_lost);
    }
    (total, lost.sorted())
}

/// Number of the group of neighbouring processes that `process` belongs to. An ordered scan reads a group with one thread, one
/// process after another: so what does not merge in any order can be kept by group, and there are not too many of them.
#[must_use]
pub fn group_of_process(run: &Run, process: ProcessId) -> u32 {
    process.0 / run.processes.len().div_ceil(MAX_GROUPS).max(1) as u32
}

/// One item per group, those with most blocks first, so that no long one is left for the end.
fn by_group<'a>(run: &Run, queue: &'a [(ProcessId, u32)]) -> Vec<&'a [(ProcessId, u32)]> {
    let group = |block: &(ProcessId, u32)| group_of_process(run, block.0);
    let mut items: Vec<&[(ProcessId, u32)]> = queue.chunk_by(|a, b| group(a) == group(b)).collect();
    items.sort_by_key(|item| std::cmp::Reverse(item.len()));
    items
}

/// Decodes blocks one by one; its memory is kept from block to block.
#[derive(Default)]
pub struct Reader {
    decoder: Decoder,
    streams: Vec<StreamIx>,
}

impl Reader {
    /// Block `block` of process `number` of `run`; `None`, and what is lost, if it cannot be decoded.
    pub fn block<'a>(&'a mut self, run: &'a Run, number: ProcessId, block: u32, lost: &mut Lost) -> Option<Block<'a>> {
        let process = run.process(number)?;
        let block = process.blocks.get(block as usize)?;
        let input = run.inputs.get(process.input as usize)?;
        match self.decoder.block(input.trace.source(), block) {
            Ok(columns) => {
                lost.without_stream += resolve(run, process, columns, &mut self.streams);
                let (thread, streams) = (block.head.thread, self.streams.as_slice());
                Some(Block { run, number, process, thread, columns, streams })
            }
            Err(error) => {
                lost.segments += u64::from(block.head.segments);
                lost.blocks += 1;
                if lost.problems.len() < MAX_PROBLEMS {
                    let file = input.path.display().to_string();
                    lost.problems.push(Problem { file, offset: block.offset, what: error.to_string() });
                }
                None
            }
        }
    }
}

/// Segments that block `block` of process `number` has by its head.
#[must_use]
pub fn segments_of(run: &Run, number: ProcessId, block: u32) -> u64 {
    let process = run.process(number);
    let block = process.and_then(|process| process.blocks.get(block as usize));
    block.map_or(0, |block| u64::from(block.head.segments))
}

/// The indices in the process's table that a block's segments have: [`Block::streams`]. Returns how many are not in it.
pub fn resolve(run: &Run, process: &Process, columns: &Columns, into: &mut Vec<StreamIx>) -> u64 {
    into.clear();
    into.reserve(columns.stream.len());
    let (mut last, mut index, mut unknown) = (None, StreamIx::NONE, 0);
    for &id in &columns.stream {
        if last != Some(id) {
            index = process.stream_index(id).unwrap_or(StreamIx::NONE);
            match process.stream(index) {
                Some(stream) if !stream.chosen => index = StreamIx::LEFT_OUT,
                Some(stream) if stream.meets => index = index.meeting(),
                _ => {}
            }
            last = Some(id);
        }
        unknown += u64::from(index == StreamIx::NONE);
        into.push(index);
    }
    if let Some(window) = run.window {
        let place = |time: u64| time.saturating_add(process.shift_ns);
        for (index, (&start, &end)) in into.iter_mut().zip(columns.start.iter().zip(&columns.end)) {
            if !overlaps(place(start), place(end), window) {
                *index = StreamIx::LEFT_OUT;
            }
        }
    }
    unknown
}
