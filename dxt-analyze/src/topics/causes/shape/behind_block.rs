//! Reads and writes that queue at a storage target behind reads of a block that all ranks read: the block's reads arrived there first.

use crate::cube::{Cell, Cube, weighted_quantile};
use crate::model::{Class, FileId};
use crate::replay::Savings;
use std::collections::{BTreeMap, BTreeSet};

/// Reads of the block in order of begin, each as (begin, latest end of this read and of all reads before), ns since the job's start.
struct Reads(Vec<(u64, u64)>);

impl Reads {
    fn of<'g>(cells: impl Iterator<Item = &'g Cell>) -> Self {
        let span = |cell: &Cell| {
            let began = cell.sums.longest_began()?;
            Some((began, began.saturating_add(cell.sums.longest_ns)))
        };
        let mut all: Vec<(u64, u64)> = cells.filter_map(span).collect();
        all.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut all {
            last = last.max(*end);
            *end = last;
        }
        Self(all)
    }

    /// Returns the time from `at` until all reads begun by then have ended, ns; 0 if none is under way.
    fn last_for(&self, at: u64) -> u64 {
        let begun = self.0.partition_point(|(began, _)| *began <= at).checked_sub(1);
        begun.and_then(|last| self.0.get(last)).map_or(0, |(_, end)| end.saturating_sub(at))
    }
}

/// Kind of calls: file, class (reads, writes, ...), size octave (bit length of the bytes).
type Kind = (FileId, Class, u8);

/// Returns how long other calls wait for reads of a block, ns by cell (group of similar calls of a process). `block`: indices of the cells
/// with the block's reads.
///
/// Wait = excess over the median of calls that meet no read of the block, at most the time until the reads that were under way at the
/// call's begin have ended.
#[must_use]
pub fn waits(cube: &Cube<'_>, block: &[u32]) -> Savings {
    let theirs: BTreeSet<u32> = block.iter().copied().collect();
    let of_block = || block.iter().filter_map(|index| cube.cells.get(*index as usize));
    let reads = Reads::of(of_block());
    let targets: BTreeSet<u32> = of_block().flat_map(|cell| cell.targets.iter().copied()).collect();
    // A call that reaches most of the targets reaches that of the block, too.
    let meets = |cell: &Cell| {
        targets.is_empty() || cell.targets.is_empty() || cell.targets.iter().any(|target| targets.contains(target))
    };
    let is = |cell: &Cell| cell.leaf && matches!(cell.class, Class::Read | Class::Write) && cell.sums.bytes > 0;
    let others = || {
        let all = (0_u32..).zip(&cube.cells);
        all.filter(|(index, cell)| is(cell) && !theirs.contains(index))
    };
    let kind = |cell: &Cell| -> Kind { (cell.file, cell.class, cell.size) };
    let may_wait = |cell: &Cell| cell.sums.longest_began().filter(|_| meets(cell)).map_or(0, |at| reads.last_for(at));
    let mut apart: BTreeMap<Kind, Vec<(f64, f64)>> = BTreeMap::new();
    for (_, cell) in others().filter(|(_, cell)| may_wait(cell) == 0) {
        let calls = cell.sums.calls as f64;
        apart.entry(kind(cell)).or_default().push((cell.sums.time_ns as f64 / calls.max(1.0), calls));
    }
    let usual = |mut all: Vec<(f64, f64)>| {
        let calls: f64 = all.iter().map(|(_, calls)| calls).sum();
        weighted_quantile(&mut all, 0.5).filter(|_| calls >= cube.run.thresholds.calls_min as f64)
    };
    let usual: BTreeMap<Kind, f64> = apart.into_iter().filter_map(|(kind, all)| Some((kind, usual(all)?))).collect();
    let waits = |(index, cell): (u32, &Cell)| {
        let usual = usual.get(&kind(cell)).copied().unwrap_or(cell.usual_ns);
        let more = (cell.sums.longest_ns as f64 - usual).min(may_wait(cell) as f64).min(cell.time_ns());
        (more > 0.0).then_some((index, more))
    };
    others().filter_map(waits).collect()
}
