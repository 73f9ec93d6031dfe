//! Waits of serialized ranks, which do I/O one after another: pauses of a rank before its calls, less the time that the rank itself
//! computes. A rank that computes while others do I/O loses nothing.

use crate::cube::{Cell, Cube};
use crate::model::{Class, ProcessId};
use crate::sum::Sum;
use std::collections::BTreeMap;

/// Some process is always at work if processes are in calls for at least this part of the time from the first to the last call.
const ALWAYS: f64 = 0.95;
/// Locks serialize a rank's calls if it takes at least this many locks per read or write.
pub const LOCKS_FOR_EACH: f64 = 0.5;

#[derive(Clone, Debug, Default)]
struct Rank {
    /// Begin and end of the rank's calls, ns since the job's start, ascending.
    calls: Vec<(u64, u64)>,
    /// Time in calls that wait for file locks, ns; next fields: number of these calls, and of reads and writes.
    in_locks: f64,
    locks: u64,
    moves: u64,
}

impl Rank {
    /// True if locks serialize the rank's calls.
    fn is_locked(&self) -> bool {
        self.locks > 0 && self.locks as f64 >= self.moves as f64 * LOCKS_FOR_EACH
    }
}

/// True if locks serialize all ranks: their waits are then inside lock calls.
#[must_use]
pub fn are_of_locks(cube: &Cube<'_>) -> bool {
    let ranks = ranks(cube);
    !ranks.is_empty() && ranks.values().all(Rank::is_locked)
}

/// Returns how much earlier the last rank would end if no rank waited for its turn, ns; `None` if it is unknown how long ranks compute.
#[must_use]
pub fn waited(cube: &Cube<'_>) -> Option<f64> {
    let ranks = ranks(cube);
    // A rank that waits for a lock is not working yet.
    let moves = |cell: &&Cell| cell.leaf && matches!(cell.class, Class::Read | Class::Write);
    let mut begins: Vec<(u64, ProcessId)> =
        cube.cells.iter().filter(moves).map(|cell| (cell.sums.first_at, cell.process)).collect();
    begins.sort_unstable();
    let pauses: Vec<(Vec<u64>, &Rank)> =
        ranks.iter().map(|(process, rank)| (pauses(rank, *process, &begins), rank)).collect();
    let first = pauses.iter().filter_map(|(pauses, _)| pauses.first()).min().copied()?;
    let later = pauses.iter().flat_map(|(pauses, _)| pauses.iter().skip(1)).min().copied()?;
    // If all ranks always wait, only the first one to work shows how long it computes.
    if first >= later && somebody_always_works(cube, &begins) {
        return None;
    }
    // If ranks synchronize after each turn, waits are recorded.
    let met = cube.sync_points.waited_by_each();
    let own = first.min(later);
    let end = |rank: &Rank| rank.calls.last().map_or(0, |call| call.1) as f64;
    let lost = |(pauses, rank): &(Vec<u64>, &Rank)| {
        pauses.iter().map(|pause| pause.saturating_sub(own) as f64).sum::<f64>() + rank.in_locks
    };
    let last = pauses.iter().map(|(_, rank)| end(rank)).fold(0.0, f64::max);
    let without = pauses.iter().map(|of| end(of.1) - lost(of)).fold(0.0, f64::max);
    Some((last - without).max(met))
}

/// Returns the share (0 to 1) of calls, by time, that begin soon after another rank's call has ended: within their own duration, as calls
/// of serialized ranks do. Only calls that follow another rank's call count.
#[must_use]
pub fn handed_on(cube: &Cube<'_>) -> f64 {
    handed_on_by(cube.cells.iter().filter(|cell| cell.leaf))
}

/// Computes the result of [`handed_on`] for some of the cells.
#[must_use]
pub fn handed_on_by<'e>(cells: impl Iterator<Item = &'e Cell>) -> f64 {
    let mut calls: Vec<(u64, u64, ProcessId)> = Vec::new();
    for cell in cells {
        calls.extend(span(cell).map(|(begin, end)| (begin, end, cell.process)));
    }
    calls.sort_unstable();
    let (mut last, mut changes, mut soon) = (None::<(u64, ProcessId)>, 0.0, 0.0);
    for (begin, end, process) in calls {
        if let Some((until, _)) = last.filter(|(_, other)| *other != process) {
            // Weighted by duration: nobody waits for short calls, such as libraries make at their start.
            let takes = end.saturating_sub(begin);
            changes += takes as f64;
            soon += if begin.saturating_sub(until) <= takes { takes as f64 } else { 0.0 };
        }
        last = Some((end.max(last.map_or(0, |(until, _)| until)), process));
    }
    if changes > 0.0 { soon / changes } else { 1.0 }
}

/// Returns begin and end of a cell's calls, ns since the job's start, if known.
#[must_use]
pub fn span(cell: &Cell) -> Option<(u64, u64)> {
    let end = cell.sums.longest_began()?.saturating_add(cell.sums.longest_ns);
    Some((cell.sums.first_at, end.max(cell.sums.first_at.saturating_add(cell.sums.time_ns))))
}

/// Returns the calls of each rank, ascending.
fn ranks(cube: &Cube<'_>) -> BTreeMap<ProcessId, Rank> {
    let mut out: BTreeMap<ProcessId, Rank> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        let Some(span) = span(cell) else { continue };
        let rank = out.entry(cell.process).or_default();
        rank.calls.push(span);
        if cell.class == Class::Lock {
            rank.in_locks += cell.time_ns();
            rank.locks = rank.locks.saturating_add(cell.sums.calls);
        }
        if matches!(cell.class, Class::Read | Class::Write) {
            rank.moves = rank.moves.saturating_add(cell.sums.calls);
        }
    }
    out.values_mut().for_each(|rank| rank.calls.sort_unstable());
    out
}

/// Returns the time before a rank's first call, and those of its pauses in which other ranks begin calls, ns.
fn pauses(rank: &Rank, process: ProcessId, begins: &[(u64, ProcessId)]) -> Vec<u64> {
    let mut out: Vec<u64> = rank.calls.first().map(|call| call.0).into_iter().collect();
    let mut until = 0_u64;
    for call in &rank.calls {
        let between = begins.partition_point(|begin| begin.0 < until)..begins.partition_point(|begin| begin.0 < call.0);
        let others = begins.get(between).is_some_and(|all| all.iter().any(|begin| begin.1 != process));
        if until > 0 && call.0 > until && others {
            out.push(call.0 - until);
        }
        until = until.max(call.1);
    }
    out
}

fn somebody_always_works(cube: &Cube<'_>, begins: &[(u64, ProcessId)]) -> bool {
    let (Some(first), Some(last)) = (begins.first(), begins.last()) else { return false };
    let (from, to) = (cube.slots.of(first.0), cube.slots.of(last.0));
    let busy = (from..to).map(|slot| cube.slots.busy(slot)).sum::<Sum>().get();
    let begin = |slot: usize| cube.slots.begin(slot).unwrap_or(0);
    to > from && busy as f64 >= begin(to).saturating_sub(begin(from)) as f64 * ALWAYS
}
