//! Reads and writes that wait behind reads of a block that all ranks want, which arrived at its storage target first.

use crate::model::{Class, FileId};
use crate::topics::causes::grid::{Entry, Grid, weighted_quantile};
use crate::topics::causes::replay::Savings;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest calls that meet no read of the block, for their median to be the usual duration.
const FEWEST: f64 = 8.0;

/// Reads of a block in order of begin: begin, and latest end of the reads so far, ns since the job's start.
struct Reads(Vec<(u64, u64)>);

impl Reads {
    fn of<'g>(entries: impl Iterator<Item = &'g Entry>) -> Self {
        let span = |entry: &Entry| {
            let began = entry.cell.longest_began()?;
            Some((began, began.saturating_add(entry.cell.longest_ns)))
        };
        let mut all: Vec<(u64, u64)> = entries.filter_map(span).collect();
        all.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut all {
            last = last.max(*end);
            *end = last;
        }
        Self(all)
    }

    /// Returns the time until the last read under way at `at` ends, ns.
    fn last_for(&self, at: u64) -> u64 {
        let begun = self.0.partition_point(|(began, _)| *began <= at).checked_sub(1);
        begun.and_then(|last| self.0.get(last)).map_or(0, |(_, end)| end.saturating_sub(at))
    }
}

/// Kind of calls: file, class, size octave.
type Kind = (FileId, Class, u8);

/// Returns the waits of other calls for reads of a block (`block`: indices of cells), ns: at most until the reads that were under way at their
/// begin have ended, and at most their excess over calls that meet none.
#[must_use]
pub fn waits(grid: &Grid<'_>, block: &[u32]) -> Savings {
    let theirs: BTreeSet<u32> = block.iter().copied().collect();
    let of_block = || block.iter().filter_map(|index| grid.entries.get(*index as usize));
    let reads = Reads::of(of_block());
    let targets: BTreeSet<u32> = of_block().flat_map(|entry| entry.targets.iter().copied()).collect();
    // A call that reaches most of the targets reaches that of the block, too.
    let meets = |entry: &Entry| {
        targets.is_empty() || entry.targets.is_empty() || entry.targets.iter().any(|target| targets.contains(target))
    };
    let is = |entry: &Entry| entry.leaf && matches!(entry.class, Class::Read | Class::Write) && entry.cell.bytes > 0;
    let others = || {
        let all = (0_u32..).zip(&grid.entries);
        all.filter(|(index, entry)| is(entry) && !theirs.contains(index))
    };
    let kind = |entry: &Entry| -> Kind { (entry.file, entry.class, entry.size) };
    let may_wait =
        |entry: &Entry| entry.cell.longest_began().filter(|_| meets(entry)).map_or(0, |at| reads.last_for(at));
    let mut apart: BTreeMap<Kind, Vec<(f64, f64)>> = BTreeMap::new();
    for (_, entry) in others().filter(|(_, entry)| may_wait(entry) == 0) {
        let calls = entry.cell.calls as f64;
        apart.entry(kind(entry)).or_default().push((entry.cell.time_ns as f64 / calls.max(1.0), calls));
    }
    let usual = |mut all: Vec<(f64, f64)>| {
        let calls: f64 = all.iter().map(|(_, calls)| calls).sum();
        weighted_quantile(&mut all, 0.5).filter(|_| calls >= FEWEST)
    };
    let usual: BTreeMap<Kind, f64> = apart.into_iter().filter_map(|(kind, all)| Some((kind, usual(all)?))).collect();
    let waits = |(index, entry): (u32, &Entry)| {
        let usual = usual.get(&kind(entry)).copied().unwrap_or(entry.usual_ns);
        let more = (entry.cell.longest_ns as f64 - usual).min(may_wait(entry) as f64).min(entry.left_ns);
        (more > 0.0).then_some((index, more))
    };
    others().filter_map(waits).collect()
}
