//! Blocks decoded one by one, and what of them could not be.

use super::Block;
use crate::model::select::overlaps;
use crate::model::{Problem, Process, ProcessId, Run, StreamIx};
use trace_format::read::{Columns, Decoder};

/// Problems that are kept; more are counted.
const MAX_PROBLEMS: usize = 1000;

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

/// Decodes blocks one by one; its memory is kept from block to block.
#[derive(Default)]
pub struct Reader {
    decoder: Decoder,
    streams: Vec<StreamIx>,
    ends: Vec<u32>,
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
                self.ends.clear();
                self.ends.extend(self.streams.chunk_by(|a, b| a == b).scan(0, |end, stretch| {
                    *end += stretch.len() as u32;
                    Some(*end)
                }));
                let (thread, streams, ends) = (block.head.thread, self.streams.as_slice(), self.ends.as_slice());
                Some(Block { run, number, process, thread, columns, streams, ends })
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
    let mut unknown = 0;
    for same in columns.stream.chunk_by(|a, b| a == b) {
        let mut index = same.first().and_then(|id| process.stream_index(*id)).unwrap_or(StreamIx::NONE);
        match process.stream(index) {
            Some(stream) if !stream.chosen => index = StreamIx::LEFT_OUT,
            Some(stream) if stream.meets => index = index.meeting(),
            _ => {}
        }
        unknown += if index == StreamIx::NONE { same.len() as u64 } else { 0 };
        into.resize(into.len() + same.len(), index);
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
