//! Waits of ranks whose calls are serialized (only one rank is in calls at a time): the pauses of each rank before its calls, minus its own
//! computation. A rank that computes while others do I/O loses nothing.

use crate::cube::{Cell, Cube};
use crate::model::{Class, ProcessId};
use crate::sum::Sum;
use std::collections::BTreeMap;

/// Minimum share of the time between the first and the last call with any process in a call, for some process to always work.
const ALWAYS: f64 = 0.95;
/// Minimum number of file locks per read or write of a rank, for locks to be the reason why its calls are serialized.
pub const LOCKS_FOR_EACH: f64 = 0.5;

#[derive(Clone, Debug, Default)]
struct Rank {
    /// Start and end of the rank's calls, one entry per cell (similar calls of one process in a time window), ns since the job's start,
    /// ascending.
    calls: Vec<(u64, u64)>,
    /// Time of the rank in calls that wait for file locks, ns.
    in_locks: f64,
    /// Number of the rank's calls that wait for file locks.
    locks: u64,
    /// Number of reads and writes of the rank.
    moves: u64,
}

impl Rank {
    /// Returns true if file locks serialize this rank's calls.
    fn is_locked(&self) -> bool {
        self.locks > 0 && self.locks as f64 >= self.moves as f64 * LOCKS_FOR_EACH
    }
}

/// Returns true if file locks serialize the calls of all ranks: the ranks then wait inside lock calls, not between calls.
#[must_use]
pub fn are_of_locks(cube: &Cube<'_>) -> bool {
    let ranks = ranks(cube);
    !ranks.is_empty() && ranks.values().all(Rank::is_locked)
}

/// Returns an upper bound of the run time saved if no rank waited until other ranks' calls are over, ns; `None` if the ranks' own
/// computation is unknown.
#[must_use]
pub fn waited(cube: &Cube<'_>) -> Option<f64> {
    let ranks = ranks(cube);
    // A rank that waits for a lock is not working yet.
    let begins = begins(cube);
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

/// Returns how often another rank than before reads or writes, in the order of the calls: consecutive calls of one rank are one turn.
#[must_use]
pub fn turns(cube: &Cube<'_>) -> usize {
    1 + begins(cube).windows(2).filter(|two| matches!(two, [(_, one), (_, next)] if one != next)).count()
}

/// Returns the begin and the process of all cells with reads and writes, in the order of begins.
fn begins(cube: &Cube<'_>) -> Vec<(u64, ProcessId)> {
    let moves = |cell: &&Cell| cell.leaf && matches!(cell.class, Class::Read | Class::Write);
    let mut begins: Vec<(u64, ProcessId)> =
        cube.cells.iter().filter(moves).map(|cell| (cell.sums.first_at, cell.process)).collect();
    begins.sort_unstable();
    begins
}

/// Returns the share, by duration, of calls that begin soon after another rank's call ends (within their own duration), as serialized calls
/// do; calls that overlap do not. Only calls that follow another rank's call before the same synchronization point count; 1 if there are none.
#[must_use]
pub fn handed_on(cube: &Cube<'_>) -> f64 {
    handed_on_by(cube, cube.cells.iter().filter(|cell| cell.leaf))
}

/// Returns the share of calls that begin soon after another rank's call, as [`handed_on`] does, over the calls of `cells` only.
#[must_use]
pub fn handed_on_by<'e>(cube: &Cube<'_>, cells: impl Iterator<Item = &'e Cell>) -> f64 {
    let mut calls: Vec<(u64, u64, ProcessId, Option<usize>)> = Vec::new();
    for cell in cells {
        let phase = cube.sync_points.far_after(cube.phase(cell));
        calls.extend(span(cell).map(|(begin, end)| (begin, end, cell.process, phase)));
    }
    calls.sort_unstable();
    let (mut last, mut changes, mut soon) = (None::<(u64, ProcessId, Option<usize>)>, 0.0, 0.0);
    for (begin, end, process, phase) in calls {
        if let Some((until, ..)) = last.filter(|(_, other, before)| *other != process && *before == phase) {
            // Weighted by duration: nobody waits for short calls, such as libraries make at their start.
            let takes = end.saturating_sub(begin) as f64;
            let overlap = until.saturating_sub(begin) as f64;
            let is_soon =
                begin.saturating_sub(until) as f64 <= takes && overlap <= takes * cube.run.thresholds.quarter_share;
            changes += takes;
            soon += if is_soon { takes } else { 0.0 };
        }
        last = Some((end.max(last.map_or(0, |(until, ..)| until)), process, phase));
    }
    if changes > 0.0 { soon / changes } else { 1.0 }
}

/// Returns the start and end of the calls of a cell (similar calls of one process in a time window), ns since the job's start; `None` if
/// unknown.
#[must_use]
pub fn span(cell: &Cell) -> Option<(u64, u64)> {
    let end = cell.sums.longest_began()?.saturating_add(cell.sums.longest_ns);
    Some((cell.sums.first_at, end.max(cell.sums.first_at.saturating_add(cell.sums.time_ns))))
}

/// Collects the start and end of each rank's calls, sorted, and its locks, reads and writes.
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

/// Returns the time before a rank's first call, if it has calls, and its pauses between calls during which other ranks read or write, ns.
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
