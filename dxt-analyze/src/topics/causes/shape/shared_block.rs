//! A small block of a file that many ranks read: a header, or a table that each of them looks up.

use super::behind_block;
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Longest reads that are looked at, as an octave: 64 KiB.
const SMALL: u8 = 17;
/// Fewest processes that read it.
const FEWEST: usize = 8;
/// Reads that fit into what is read by all.
const BLOCKS: u64 = 8;
/// Bytes of a block that each process reads piece by piece, at most; and part of it that each does on the mean.
const LARGEST: u64 = 4 << 20;
const WHOLE: f64 = 0.8;

/// A block that many read.
#[derive(Clone, Debug)]
pub struct SharedBlock {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Its bytes.
    pub range: (u64, u64),
    /// Processes that read it, and how often.
    pub processes: usize,
    /// See above.
    pub calls: u64,
    /// What one reader that hands it on would save.
    pub savings: Savings,
}

/// What is said of one.
#[must_use]
pub fn claim(grid: &Grid<'_>, block: SharedBlock) -> Claim {
    let file = grid.run.file_name(block.file).to_owned();
    let (offset, calls) = (Some(block.range.0), Some(block.calls));
    let about = About { file: Some(file.clone()), offset, calls, ..About::default() };
    let words = words::common_reads(&file, block.range, block.processes as u64, block.calls, about);
    Claim::new(Finding::new(Code::COMMON_READS, words), block.savings)
}

/// Blocks that at least half of the processes read: by small reads, or by longer ones of just the same bytes.
#[must_use]
pub fn shared_blocks(grid: &Grid<'_>) -> Vec<SharedBlock> {
    let mut by: BTreeMap<Common, (Vec<u32>, BTreeSet<ProcessId>)> = BTreeMap::new();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if let Some(similar) = similar(entry) {
            let (entries, processes) = by.entry(similar).or_default();
            entries.push(index);
            processes.insert(entry.process);
        }
    }
    let least = FEWEST.max(grid.run.processes.len() / 2);
    by.into_iter()
        .filter(|(_, (_, processes))| processes.len() >= least)
        .filter_map(|((file, ..), of)| block(grid, file, of))
        .collect()
}

/// Reads of one file that may be of one block: octave of their length, and of longer ones their bytes.
type Common = (FileId, u8, Option<(u64, u64)>);

fn similar(entry: &Entry) -> Option<Common> {
    let (from, until) = entry.cell.range;
    if !entry.leaf || entry.class != Class::Read || entry.size == 0 || from >= until {
        return None;
    }
    let the_same = entry.cell.bytes == entry.cell.calls.saturating_mul(until - from) && until - from <= LARGEST;
    let small = entry.size <= SMALL;
    (small || the_same).then_some((entry.file, entry.size, (!small).then_some((from, until))))
}

/// Part of what queues that reads of one block are, from which the others wait for these.
const OF_BLOCK: f64 = 0.5;

/// Whether a queue is one of reads of a block that all want, and of what waits behind them.
pub fn joins<'b>(mut blocks: impl Iterator<Item = &'b mut Savings>, queue: &[(u32, f64)]) -> bool {
    let all: f64 = queue.iter().map(|(_, ns)| ns).sum();
    blocks.any(|block| {
        let theirs: FxHashSet<u32> = block.iter().map(|(index, _)| *index).collect();
        let mine = queue.iter().filter(|(index, _)| theirs.contains(index));
        mine.map(|(_, ns)| ns).sum::<f64>() >= all * OF_BLOCK
    })
}

fn block(grid: &Grid<'_>, file: FileId, (entries, processes): (Vec<u32>, BTreeSet<ProcessId>)) -> Option<SharedBlock> {
    let of = || entries.iter().filter_map(|index| grid.entries.get(*index as usize));
    let range = (of().map(|entry| entry.cell.range.0).min()?, of().map(|entry| entry.cell.range.1).max()?);
    let (bytes, calls) = of().fold((0_u64, 0_u64), |(bytes, calls), entry| {
        (bytes.saturating_add(entry.cell.bytes), calls.saturating_add(entry.cell.calls))
    });
    let length = range.1 - range.0;
    let by_each = bytes as f64 / processes.len().max(1) as f64;
    // What HDF5 reads of its own is reported as that.
    let in_hdf5 = of().any(|entry| grid.stream(entry).is_some_and(|stream| stream.in_hdf5));
    let whole = length <= LARGEST && by_each >= length as f64 * WHOLE && !in_hdf5;
    if length > (bytes / calls.max(1)).saturating_mul(BLOCKS) && !whole {
        return None;
    }
    let part = 1.0 - 1.0 / processes.len() as f64;
    let own = entries
        .iter()
        .map(|index| (*index, grid.entries.get(*index as usize).map_or(0.0, |entry| entry.left_ns) * part));
    let savings = own.chain(behind_block::waits(grid, &entries)).collect();
    Some(SharedBlock { file, range, processes: processes.len(), calls, savings })
}
