//! Decoding of single segment blocks; counts segments that are lost because a block is damaged.

use super::Block;
use crate::model::select::overlaps;
use crate::model::{Problem, Process, ProcessId, Run, StreamIx};
use std::sync::OnceLock;
use trace_format::counters::Counters;
use trace_format::read::{Columns, Decoder};

/// Maximum problems whose description is kept; further problems are only counted.
const MAX_PROBLEMS: usize = 1000;

/// Segments and blocks that a scan could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Number of segments in blocks that could not be decoded.
    pub segments: u64,
    /// Number of segments whose stream id is not defined in their process's tables.
    pub without_stream: u64,
    /// Number of blocks that could not be decoded.
    pub blocks: u64,
    /// Descriptions of the first problems, sorted by file and offset; at most 1,000 after [`Self::sorted`].
    pub problems: Vec<Problem>,
}

impl Lost {
    /// Adds the lost segments and blocks that another thread counted.
    pub fn merge(&mut self, other: Self) {
        self.segments = self.segments.saturating_add(other.segments);
        self.without_stream = self.without_stream.saturating_add(other.without_stream);
        self.blocks += other.blocks;
        self.problems.extend(other.problems);
    }

    /// Sorts the problem descriptions by file and offset, and keeps the first 1,000.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.problems.sort();
        self.problems.truncate(MAX_PROBLEMS);
        self
    }
}

/// Decoder of single segment blocks; reuses its buffers for the next block.
#[derive(Default)]
pub struct Reader {
    decoder: Decoder,
    streams: Vec<StreamIx>,
    ends: Vec<u32>,
    alone: OnceLock<Vec<Counters>>,
}

impl Reader {
    /// Decodes block `block` of process `number` of `run`; on failure adds the block's segments to `lost` and returns `None`.
    pub fn block<'a>(&'a mut self, run: &'a Run, number: ProcessId, block: u32, lost: &mut Lost) -> Option<Block<'a>> {
        let process = run.process(number)?;
        let block = process.blocks.get(block as usize)?;
        let input = run.inputs.get(process.input as usize)?;
        match self.decoder.block(input.trace.source(), block) {
            Ok(columns) => {
                lost.without_stream += resolve(run, process, columns, &mut self.streams);
                self.ends.clear();
                let (mut rest, mut end) = (self.streams.as_slice(), 0);
                while let Some((_, others)) = rest.split_at_checked(similar(rest)).filter(|_| !rest.is_empty()) {
                    end += (rest.len() - others.len()) as u32;
                    self.ends.push(end);
                    rest = others;
                }
                let (thread, streams, ends) = (block.head.thread, self.streams.as_slice(), self.ends.as_slice());
                self.alone = OnceLock::new();
                Some(Block { run, number, process, thread, columns, streams, ends, alone: &self.alone })
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

/// Number of values compared at a time to find the end of a run of equal values.
const AT_ONCE: usize = 64;

/// Returns the number of leading values equal to the first. Many are compared at once, because in most blocks all values are equal.
#[inline]
fn similar<T: Copy + PartialEq>(values: &[T]) -> usize {
    let Some(&first) = values.first() else { return 0 };
    let few = values.iter().take(AT_ONCE / 8).take_while(|value| **value == first).count();
    if few < AT_ONCE / 8 {
        return few;
    }
    let is_similar = |some: &[T]| some.iter().fold(true, |all, value| all & (*value == first));
    let many = values.chunks_exact(AT_ONCE).take_while(|some| is_similar(some)).count() * AT_ONCE;
    let rest = values.get(many..).unwrap_or_default();
    many + rest.iter().take_while(|value| **value == first).count()
}

/// Returns the number of segments in block `block` of process `number`, as given in the block's head.
#[must_use]
pub fn segments_of(run: &Run, number: ProcessId, block: u32) -> u64 {
    let process = run.process(number);
    let block = process.and_then(|process| process.blocks.get(block as usize));
    block.map_or(0, |block| u64::from(block.head.segments))
}

/// Computes the stream index of each segment of a block, see [`Block::streams`]. Returns the number of segments without a known stream.
pub fn resolve(run: &Run, process: &Process, columns: &Columns, into: &mut Vec<StreamIx>) -> u64 {
    into.clear();
    into.reserve(columns.stream.len());
    let mut unknown = 0;
    let mut rest = columns.stream.as_slice();
    while let Some((same, others)) = rest.split_at_checked(similar(rest)).filter(|_| !rest.is_empty()) {
        rest = others;
        let mut index = same.first().and_then(|id| process.stream_index(*id)).unwrap_or(StreamIx::NONE);
        match process.stream(index) {
            Some(stream) if !stream.chosen => index = StreamIx::LEFT_OUT,
            Some(stream) if stream.meets => index = index.sync_point(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_similar_are_counted() {
        for length in (0..20).chain([63, 64, 65, 127, 128, 200]) {
            let mut values = vec![7_u32; length];
            assert_eq!(similar(&values), length);
            values.push(8);
            values.extend([7; 100]);
            assert_eq!(similar(&values), if length == 0 { 1 } else { length }, "{length}");
        }
    }
}
