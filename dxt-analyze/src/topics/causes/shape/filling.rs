//! Reads that only serve writes of less than a block.

use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Bytes of a file that is a block or less: what is read of it is what is written.
const ONE_BLOCK: u64 = 4096;
/// Octave of the longest reads that fill the rest of a block: 64 KiB.
const BLOCK: u8 = 17;

/// What they cost.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let found = filling(grid)?;
    Some(Claim::on_files(grid, Code::READ_MODIFY_WRITE, found.savings, |lost| {
        words::read_modify_write(found.reads, found.writes, lost)
    }))
}

/// Reads that fill up blocks that are written in part.
#[derive(Clone, Debug)]
struct Filling {
    /// Such reads, and the writes beside them.
    reads: u64,
    /// See above.
    writes: u64,
    /// What whole blocks would save.
    savings: Savings,
}

/// Small reads, about one or two for each write of the same process on the same file.
fn filling(grid: &Grid<'_>) -> Option<Filling> {
    let mut of: BTreeMap<(ProcessId, FileId), (u64, u64, u64)> = BTreeMap::new();
    let mut until: BTreeMap<FileId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && !entry.inside) {
        let reaches = until.entry(entry.file).or_default();
        *reaches = (*reaches).max(entry.cell.range.1);
        let sums = of.entry((entry.process, entry.file)).or_default();
        match entry.class {
            Class::Read if entry.size <= BLOCK => add(&mut sums.0, entry.cell.calls),
            Class::Read => add(&mut sums.2, entry.cell.calls),
            Class::Write => add(&mut sums.1, entry.cell.calls),
            _ => {}
        }
    }
    of.retain(|(_, file), (small, writes, large)| {
        until.get(file).is_none_or(|bytes| *bytes == 0 || *bytes > ONE_BLOCK)
            && *large == 0
            && *writes >= 4
            && (0.8..=2.2).contains(&(*small as f64 / *writes as f64))
    });
    let (reads, writes) =
        of.values().fold((0_u64, 0_u64), |sum, of| (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1)));
    let is = |entry: &Entry| entry.leaf && entry.class == Class::Read && of.contains_key(&(entry.process, entry.file));
    let savings: Savings = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| is(entry))
        .map(|(index, entry)| (index, entry.left_ns))
        .collect();
    (!savings.is_empty()).then_some(Filling { reads, writes, savings })
}
