//! Waits for a file lock while a call of its holder stalls: they last as long as that call, and the lock is not to blame.

use crate::model::Class;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use std::collections::BTreeSet;

/// Part of a stall after which a lock wait must end to count: one that ends earlier was for another holder.
const UNTIL_ITS_END: f64 = 0.9;

/// Returns lock waits of other processes on the file of `stalled` calls, per cell, limited to the duration of the stall, ns.
#[must_use]
pub fn waits(grid: &Grid<'_>, stalled: &[(u32, &Entry)]) -> Savings {
    let span = |entry: &Entry| {
        let began = entry.cell.longest_began()?;
        Some((began, began.saturating_add(entry.cell.longest_ns)))
    };
    let longest = stalled.iter().map(|(_, entry)| *entry).max_by_key(|entry| entry.cell.longest_ns);
    let Some((holder, (from, until))) = longest.and_then(|entry| Some((entry, span(entry)?))) else {
        return Savings::new();
    };
    let is_lock = |entry: &Entry| entry.leaf && entry.class == Class::Lock && entry.file == holder.file;
    let who: BTreeSet<_> = stalled.iter().map(|(_, entry)| entry.process).collect();
    let takes_locks = grid.entries.iter().any(|entry| is_lock(entry) && who.contains(&entry.process));
    if holder.class == Class::Lock || !takes_locks {
        return Savings::new();
    }
    let least = ((until - from) as f64 * UNTIL_ITS_END) as u64;
    let waits = |(index, entry): (u32, &Entry)| {
        let (began, end) = span(entry).filter(|_| is_lock(entry) && !who.contains(&entry.process))?;
        let until_its_end = began < until && end >= from.saturating_add(least);
        let meanwhile = end.min(until).saturating_sub(began.max(from));
        until_its_end.then_some((index, (meanwhile as f64).min(entry.left_ns)))
    };
    (0_u32..).zip(&grid.entries).filter_map(waits).collect()
}
