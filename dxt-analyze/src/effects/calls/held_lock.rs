//! Waits for a file lock while a call of the lock's holder stalls (takes far longer than its peers): they last as long as that call, and
//! the lock is not to blame.

use super::span;
use crate::cube::{Cell, Cube};
use crate::model::Class;
use crate::replay::Savings;
use std::collections::BTreeSet;

/// Returns other processes' waits for locks on the file of the longest of the `stalled` calls, by cell (similar calls of one process), ns:
/// of each cell's longest wait, the part during that call. Empty if the stalled processes take no locks on the file.
#[must_use]
pub fn waits(cube: &Cube<'_>, stalled: &[(u32, &Cell)]) -> Savings {
    let longest = stalled.iter().map(|(_, cell)| *cell).max_by_key(|cell| cell.sums.longest_ns);
    let Some((holder, (from, until))) = longest.and_then(|cell| Some((cell, span(cell)?))) else {
        return Savings::new();
    };
    let is_lock = |cell: &Cell| cell.leaf && cell.class == Class::Lock && cell.file == holder.file;
    let who: BTreeSet<_> = stalled.iter().map(|(_, cell)| cell.process).collect();
    let takes_locks = cube.cells.iter().any(|cell| is_lock(cell) && who.contains(&cell.process));
    if holder.class == Class::Lock || !takes_locks {
        return Savings::new();
    }
    let least = ((until - from) as f64 * cube.run.thresholds.nearly_all_share) as u64;
    let waits = |(index, cell): (u32, &Cell)| {
        let (began, end) = span(cell).filter(|_| is_lock(cell) && !who.contains(&cell.process))?;
        let until_its_end = began < until && end >= from.saturating_add(least);
        let meanwhile = end.min(until).saturating_sub(began.max(from));
        until_its_end.then_some((index, (meanwhile as f64).min(cell.time_ns())))
    };
    (0_u32..).zip(&cube.cells).filter_map(waits).collect()
}
