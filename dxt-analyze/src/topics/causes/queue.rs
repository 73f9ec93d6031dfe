//! Calls that queue at few storage targets. Where calls wait for those before them, the first of each burst is served at once and the
//! rest take as long as the queue is: many alike, and few far below. Without a queue the logarithm of durations spreads as far down as up.

use super::class::Class;
use super::grid::Grid;
use super::replay::{Shortened, Work};
use std::collections::BTreeMap;

/// Calls in flight on a target from which they may queue.
const IN_FLIGHT: f64 = 3.0;
/// Targets that a file may reasonably have more than it has.
const MANY: f64 = 8.0;
/// Spreads of the fast half that the fastest call is below the median, from which it met no queue and the others did.
const FAR_BELOW: f64 = 6.0;
/// Least spread that is told from none.
const LEAST_SPREAD: f64 = 0.1;
/// How much further the fast end is from the median than the slow one, for the same.
const LEANS: f64 = 0.35;

/// What queues.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Reads or writes.
    pub class: Class,
    /// Targets that they go to.
    pub targets: usize,
    /// One of them.
    pub target: u32,
    /// Calls in flight on a target, mean over the time that it has any.
    pub in_flight: f64,
    /// Targets with which there would be none.
    pub enough: f64,
    /// Times that the median call takes of the fastest.
    pub slower: f64,
    /// What more targets would save.
    pub shortened: Shortened,
}

/// Of calls of a kind: fastest, median and sum of their times, spread of the fast half and how far it leans to the fast side.
type Kind = (u64, f64, f64, (f64, f64));

/// Of reads and of writes.
#[must_use]
pub fn queues(grid: &Grid<'_>) -> Vec<Queue> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| queue(grid, class)).collect()
}

fn queue(grid: &Grid<'_>, class: Class) -> Option<Queue> {
    let is = |entry: &&super::grid::Entry| entry.leaf && entry.class == class && !entry.targets.is_empty();
    let mut targets: BTreeMap<u32, f64> = BTreeMap::new();
    // By kind of calls: fastest, and medians with calls.
    let mut kinds: BTreeMap<(u8, u16), Kind> = BTreeMap::new();
    for entry in grid.entries.iter().filter(is) {
        for target in &entry.targets {
            *targets.entry(*target).or_default() += entry.left_ns / entry.targets.len() as f64;
        }
        let op = grid.stream(entry).map_or(0, |stream| stream.op);
        let kind = kinds.entry((entry.size, op)).or_insert((u64::MAX, entry.usual_ns, 0.0, entry.spread));
        if entry.cell.shortest_ns > 0 {
            kind.0 = kind.0.min(entry.cell.shortest_ns);
        }
        kind.2 += entry.left_ns;
    }
    let all: f64 = targets.values().sum();
    // Some targets are barely used.
    let used: Vec<(u32, f64)> = targets.into_iter().filter(|(_, ns)| *ns >= all * 0.02).collect();
    let (_, (fastest, median, _, (spread, leans))) = kinds.into_iter().max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    if fastest == u64::MAX {
        return None;
    }
    let slower = median / fastest.max(1) as f64;
    // The time in which the class is busy: phases last as long as their slowest rank.
    let busy = Work::of_those(grid, |entry| entry.class == class).critical();
    let in_flight = all / busy.max(1.0) / used.len().max(1) as f64;
    let count = used.len() as f64;
    let enough = (count * in_flight).min(MANY.max(count));
    let queued = slower.ln() >= spread.max(LEAST_SPREAD) * FAR_BELOW || leans >= LEANS;
    if in_flight < IN_FLIGHT || enough < count * 2.0 || slower < 2.0 || !queued {
        return None;
    }
    let part = 1.0 - count / enough;
    let shortened = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| is(entry))
        .map(|(index, entry)| (index, entry.left_ns * part))
        .collect();
    Some(Queue { class, targets: used.len(), target: used.first()?.0, in_flight, enough, slower, shortened })
}
