//! What ranks that alternate wait for them: the pauses of each before its turns, beyond what it computes by itself. Who computes while others have
//! their turns loses nothing by that.

use crate::model::{Class, ProcessId};
use crate::sum::Sum;
use crate::topics::causes::grid::{Entry, Grid};
use std::collections::BTreeMap;

/// Part of the time between the first call and the last in which any process is in one, from which somebody always has a turn.
const ALWAYS: f64 = 0.95;
/// Locks for each read or write of a rank, at least, if these make its turns.
pub const LOCKS_FOR_EACH: f64 = 0.5;

/// A rank's calls.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// From when to when they are made, ns since the job's start, in order.
    calls: Vec<(u64, u64)>,
    /// Time in calls that wait for file locks, ns, and how many.
    in_locks: f64,
    locks: u64,
    /// Reads and writes.
    moves: u64,
}

impl Rank {
    /// Whether its turns are those of locks.
    fn is_locked(&self) -> bool {
        self.locks > 0 && self.locks as f64 >= self.moves as f64 * LOCKS_FOR_EACH
    }
}

/// Whether it is locks that make turns: then what ranks wait is in these.
#[must_use]
pub fn are_of_locks(grid: &Grid<'_>) -> bool {
    let ranks = ranks(grid);
    !ranks.is_empty() && ranks.values().all(Rank::is_locked)
}

/// What the run would be shorter by, at most, if no rank waited for its turn, ns; `None` if nothing tells what ranks compute between their turns.
#[must_use]
pub fn waited(grid: &Grid<'_>) -> Option<f64> {
    let ranks = ranks(grid);
    // Who waits for a lock does not have its turn yet.
    let moves = |entry: &&Entry| entry.leaf && matches!(entry.class, Class::Read | Class::Write);
    let mut begins: Vec<(u64, ProcessId)> =
        grid.entries.iter().filter(moves).map(|entry| (entry.cell.first_at, entry.process)).collect();
    begins.sort_unstable();
    let pauses: Vec<(Vec<u64>, &Rank)> =
        ranks.iter().map(|(process, rank)| (pauses(rank, *process, &begins), rank)).collect();
    let first = pauses.iter().filter_map(|(pauses, _)| pauses.first()).min().copied()?;
    let later = pauses.iter().flat_map(|(pauses, _)| pauses.iter().skip(1)).min().copied()?;
    // Where all always wait, only who has the first turn tells for how long it computes.
    if first >= later && somebody_always_works(grid, &begins) {
        return None;
    }
    // Behind each turn all may meet: then it is on record what each waits for those of others.
    let met = grid.sync_points.waited_by_each();
    let own = first.min(later);
    let end = |rank: &Rank| rank.calls.last().map_or(0, |call| call.1) as f64;
    let lost = |(pauses, rank): &(Vec<u64>, &Rank)| {
        pauses.iter().map(|pause| pause.saturating_sub(own) as f64).sum::<f64>() + rank.in_locks
    };
    let last = pauses.iter().map(|(_, rank)| end(rank)).fold(0.0, f64::max);
    let without = pauses.iter().map(|of| end(of.1) - lost(of)).fold(0.0, f64::max);
    Some((last - without).max(met))
}

/// Part of the calls of ranks behind another rank's that begin as that ends, no later than they take: as who alternates does.
#[must_use]
pub fn handed_on(grid: &Grid<'_>) -> f64 {
    handed_on_by(grid.entries.iter().filter(|entry| entry.leaf))
}

/// The same of some of the calls.
#[must_use]
pub fn handed_on_by<'e>(entries: impl Iterator<Item = &'e Entry>) -> f64 {
    let mut calls: Vec<(u64, u64, ProcessId)> = Vec::new();
    for entry in entries {
        calls.extend(span(entry).map(|(begin, end)| (begin, end, entry.process)));
    }
    calls.sort_unstable();
    let (mut last, mut changes, mut soon) = (None::<(u64, ProcessId)>, 0.0, 0.0);
    for (begin, end, process) in calls {
        if let Some((until, _)) = last.filter(|(_, other)| *other != process) {
            // Of short calls, as of how libraries begin, nothing is waited for.
            let takes = end.saturating_sub(begin);
            changes += takes as f64;
            soon += if begin.saturating_sub(until) <= takes { takes as f64 } else { 0.0 };
        }
        last = Some((end.max(last.map_or(0, |(until, _)| until)), process));
    }
    if changes > 0.0 { soon / changes } else { 1.0 }
}

/// From when to when the calls of an entry are made, ns since the job's start, as far as that is known.
#[must_use]
pub fn span(entry: &Entry) -> Option<(u64, u64)> {
    let end = entry.cell.longest_began()?.saturating_add(entry.cell.longest_ns);
    Some((entry.cell.first_at, end.max(entry.cell.first_at.saturating_add(entry.cell.time_ns))))
}

/// Ranks and their calls, in order.
fn ranks(grid: &Grid<'_>) -> BTreeMap<ProcessId, Rank> {
    let mut out: BTreeMap<ProcessId, Rank> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf) {
        let Some(span) = span(entry) else { continue };
        let rank = out.entry(entry.process).or_default();
        rank.calls.push(span);
        if entry.class == Class::Lock {
            rank.in_locks += entry.left_ns;
            rank.locks = rank.locks.saturating_add(entry.cell.calls);
        }
        if matches!(entry.class, Class::Read | Class::Write) {
            rank.moves = rank.moves.saturating_add(entry.cell.calls);
        }
    }
    out.values_mut().for_each(|rank| rank.calls.sort_unstable());
    out
}

/// A rank's pauses in which others have turns, and the one before its first call, ns.
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

fn somebody_always_works(grid: &Grid<'_>, begins: &[(u64, ProcessId)]) -> bool {
    let (Some(first), Some(last)) = (begins.first(), begins.last()) else { return false };
    let (from, to) = (grid.slots.of(first.0), grid.slots.of(last.0));
    let busy = (from..to).map(|slot| grid.slots.busy(slot)).sum::<Sum>().get();
    let begin = |slot: usize| grid.slots.begin(slot).unwrap_or(0);
    to > from && busy as f64 >= begin(to).saturating_sub(begin(from)) as f64 * ALWAYS
}
