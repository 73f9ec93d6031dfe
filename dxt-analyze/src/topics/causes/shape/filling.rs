//! Reads that only complete blocks of which writes change a part.

use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Size of a file, bytes, up to which it is one block that is read to be rewritten.
const ONE_BLOCK: u64 = 4096;
/// Largest size octave of reads that complete a block: below 128 KiB.
const BLOCK: u8 = 17;

/// Returns one claim about such reads in all files.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let found = filling(grid)?;
    Some(Claim::on_files(grid, Code::READ_MODIFY_WRITE, found.savings, |lost| {
        words::read_modify_write(found.reads, found.writes, lost)
    }))
}

#[derive(Clone, Debug)]
struct Filling {
    reads: u64,
    /// Number of writes to the same files.
    writes: u64,
    /// Savings of writing whole blocks.
    savings: Savings,
}

/// Finds files where a process makes about one or two small reads per write and no larger reads.
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
