//! A block of a file that many ranks read: a header, or a table in which each rank looks something up.

use super::behind_block;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// A block that many processes read.
#[derive(Clone, Debug)]
pub struct SharedBlock {
    /// File with the block, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// File offsets of the block's first byte and of its end (exclusive).
    pub range: (u64, u64),
    /// Number of processes that read the block.
    pub processes: usize,
    /// Number of reads of the block.
    pub calls: u64,
    /// Time saved if one process reads the block and passes it on, ns by cell (group of similar calls).
    pub savings: Savings,
}

/// Creates the claim (finding with its savings) about a block.
#[must_use]
pub fn claim(cube: &Cube<'_>, block: SharedBlock) -> Claim {
    let file = cube.run.file_name(block.file).to_owned();
    let (offset, calls) = (Some(block.range.0), Some(block.calls));
    let about = About { file: Some(file.clone()), offset, calls, ..About::default() };
    let words = words::common_reads(&file, block.range, block.processes as u64, block.calls, about);
    Claim::new(Finding::new(Code::COMMON_READS, words), block.savings)
}

/// Returns blocks that at least half of the processes read, either in small reads or in longer reads of exactly the same bytes.
#[must_use]
pub fn shared_blocks(cube: &Cube<'_>) -> Vec<SharedBlock> {
    let thresholds = &cube.run.thresholds;
    let mut by: BTreeMap<Common, (Vec<u32>, BTreeSet<ProcessId>)> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        if let Some(similar) = similar(thresholds, cell) {
            let (cells, processes) = by.entry(similar).or_default();
            cells.push(index);
            processes.insert(cell.process);
        }
    }
    let least = (thresholds.calls_min as usize).max(cube.run.processes.len() / 2);
    by.into_iter()
        .filter(|(_, (_, processes))| processes.len() >= least && can_pass_on(cube, processes))
        .filter_map(|((file, ..), of)| block(cube, file, of))
        .collect()
}

/// True if `readers` of a block could pass it on: ranks, or processes that run together.
fn can_pass_on(cube: &Cube<'_>, readers: &BTreeSet<ProcessId>) -> bool {
    cube.run.ranks() > 0 || cube.run.are_together(readers.iter().filter_map(|process| cube.run.process(*process)))
}

/// Key of reads that may be of one block: file, size octave (bit length of the bytes), and, for longer reads, their byte range.
type Common = (FileId, u8, Option<(u64, u64)>);

fn similar(thresholds: &Thresholds, cell: &Cell) -> Option<Common> {
    let (from, until) = cell.sums.range;
    if !cell.leaf || cell.class != Class::Read || cell.size == 0 || from >= until {
        return None;
    }
    let the_same =
        cell.sums.bytes == cell.sums.calls.saturating_mul(until - from) && until - from <= thresholds.block_read_bytes;
    let small = cell.is_below(thresholds.block_bytes);
    (small || the_same).then_some((cell.file, cell.size, (!small).then_some((from, until))))
}

/// True if a queue (calls that wait at few storage targets) consists mostly of reads of one of the blocks, and of calls that wait behind
/// these reads.
pub fn joins<'b>(
    thresholds: &Thresholds,
    mut blocks: impl Iterator<Item = &'b mut Savings>,
    queue: &[(u32, f64)],
) -> bool {
    let all: f64 = queue.iter().map(|(_, ns)| ns).sum();
    blocks.any(|block| {
        let theirs: FxHashSet<u32> = block.iter().map(|(index, _)| *index).collect();
        let mine = queue.iter().filter(|(index, _)| theirs.contains(index));
        mine.map(|(_, ns)| ns).sum::<f64>() >= all * thresholds.half_share
    })
}

fn block(cube: &Cube<'_>, file: FileId, (cells, processes): (Vec<u32>, BTreeSet<ProcessId>)) -> Option<SharedBlock> {
    let thresholds = &cube.run.thresholds;
    let of = || cells.iter().filter_map(|index| cube.cells.get(*index as usize));
    let range = (of().map(|cell| cell.sums.range.0).min()?, of().map(|cell| cell.sums.range.1).max()?);
    let (bytes, calls) = of().fold((0_u64, 0_u64), |(bytes, calls), cell| {
        (bytes.saturating_add(cell.sums.bytes), calls.saturating_add(cell.sums.calls))
    });
    let length = range.1 - range.0;
    let by_each = bytes as f64 / processes.len().max(1) as f64;
    // Reads that HDF5 makes itself are reported as HDF5's.
    let in_hdf5 = of().any(|cell| cube.stream(cell).is_some_and(|stream| stream.in_hdf5));
    let whole = length <= thresholds.block_read_bytes && by_each >= length as f64 * thresholds.most_share && !in_hdf5;
    if length > (bytes / calls.max(1)).saturating_mul(thresholds.calls_min) && !whole {
        return None;
    }
    let part = 1.0 - 1.0 / processes.len() as f64;
    let own =
        cells.iter().map(|index| (*index, cube.cells.get(*index as usize).map_or(0.0, |cell| cell.time_ns()) * part));
    let savings = own.chain(behind_block::waits(cube, &cells)).collect();
    Some(SharedBlock { file, range, processes: processes.len(), calls, savings })
}
