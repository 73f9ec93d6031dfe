//! Calls that queue at few storage targets. Where calls wait for those before them, the first of each burst is served at once and the
//! rest take as long as the queue is: many similar, and few far below. Without a queue the logarithm of durations spreads as far down as up.

use super::placed::{BARELY, Placed, stripes_of_most};
use super::shared_block::{SharedBlock, joins};
use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::sum::Sum;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid, weighted_quantile};
use crate::topics::causes::reading::served::Served;
use crate::topics::causes::replay::{Savings, Work};
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Calls in flight on a target from which they may queue.
const IN_FLIGHT: f64 = 3.0;
/// Targets that a file may reasonably have more than it has.
const MANY: f64 = 8.0;
/// Spreads of the fast half that the fastest call is below the median, from which it met no queue and the others did.
const FAR_BELOW: f64 = 6.0;
/// Least spread that is distinguished from none.
const LEAST_SPREAD: f64 = 0.1;
/// How much further the fast end is from the median than the slow one, for the same.
pub const LEANS: f64 = 0.35;

/// Times that the median call takes of the fastest at least; and where calls take the longer the more are in flight, so that half may meet few.
const SLOWER: f64 = 2.0;
const SLOWER_IF_GROWS: f64 = 1.5;

/// Part of the time of calls in which they wait for others from which they queue.
const WAITS: f64 = 0.48;

/// Times that the work of targets in turn differs from that of calls alone, at most.
const SIMILAR: f64 = 1.35;
/// Quantile of the shortest calls of cells that met no other.
const ALONE: f64 = 0.03;
/// Part of the time that calls of one size take, for these to tell; and calls.
const MOST: f64 = 0.8;
const MANY_CALLS: f64 = 32.0;

/// Calls of one size.
#[derive(Debug, Default)]
struct OfSize {
    calls: f64,
    ns: f64,
    longest: u64,
    shortest: Vec<(f64, f64)>,
    processes: BTreeSet<ProcessId>,
}

/// What queues.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Facts for words.
    pub(crate) facts: words::Queued,
    /// What more targets would save.
    pub savings: Savings,
}

/// Of calls of a kind: fastest, median and sum of their times, spread of the fast half and how far it leans to the fast side.
type Kind = (u64, f64, f64, (f64, f64));

/// Of reads and of writes, but for reads of `blocks` that all want: what waits behind those is theirs.
#[must_use]
pub fn claims(grid: &Grid<'_>, blocks: &mut [SharedBlock]) -> Vec<Claim> {
    let queues = queues(grid).into_iter();
    queues
        .filter(|queue| !joins(blocks.iter_mut().map(|block| &mut block.savings), &queue.savings))
        .map(|queue| claim(grid, queue))
        .collect()
}

/// All of reads and of writes.
#[must_use]
pub fn queues(grid: &Grid<'_>) -> Vec<Queue> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| queue(grid, class)).collect()
}

fn claim(grid: &Grid<'_>, queue: Queue) -> Claim {
    let of = &queue.facts;
    let about = About { ost: (of.targets == 1 && !of.steps).then_some(of.target), ..About::default() };
    let words = |lost| words::few_targets(of, about, lost);
    Claim { is_load: true, ..Claim::on_files(grid, Code::FEW_TARGETS, queue.savings, words) }
}

/// Whether targets serve the calls of a class one after another: then one is done each time that a call takes which meets no other, and none takes longer
/// than all that can be before it.
fn is_served_in_turn(grid: &Grid<'_>, class: Class, targets: f64) -> bool {
    let is = |entry: &&Entry| entry.leaf && entry.class == class && !entry.targets.is_empty();
    let mut of: BTreeMap<u8, OfSize> = BTreeMap::new();
    for entry in grid.entries.iter().filter(is) {
        let size = of.entry(entry.size).or_default();
        size.calls += entry.cell.calls as f64;
        size.ns += entry.left_ns;
        size.longest = size.longest.max(entry.cell.longest_ns);
        size.processes.insert(entry.process);
        if entry.cell.shortest_ns > 0 {
            size.shortest.push((entry.cell.shortest_ns as f64, 1.0));
        }
    }
    let all: f64 = of.values().map(|size| size.ns).sum();
    let Some(mut most) = of.into_values().max_by(|a, b| a.ns.total_cmp(&b.ns)) else { return false };
    let Some(alone) = weighted_quantile(&mut most.shortest, ALONE) else { return false };
    // Slots in which such calls begin, as far as any process is in a call.
    let slots: BTreeSet<u16> = grid.entries.iter().filter(is).map(|entry| entry.slot).collect();
    let busy = slots.iter().map(|slot| grid.slots.busy(usize::from(*slot))).sum::<Sum>().get() as f64;
    let each = busy * targets / most.calls.max(1.0);
    let as_alone = (alone / each.max(1.0)).ln().abs() <= SIMILAR.ln();
    let longest = alone * most.processes.len() as f64 * SIMILAR;
    most.ns >= all * MOST && most.calls >= MANY_CALLS && as_alone && most.longest as f64 <= longest
}

fn queue(grid: &Grid<'_>, class: Class) -> Option<Queue> {
    let is = |entry: &&Entry| entry.leaf && entry.class == class && !entry.targets.is_empty();
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
    let used: Vec<(u32, f64)> = targets.into_iter().filter(|(_, ns)| *ns >= all * BARELY).collect();
    let (_, (fastest, median, _, (spread, leans))) = kinds.into_iter().max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    if fastest == u64::MAX {
        return None;
    }
    let slower = median / fastest.max(1) as f64;
    let placed = Placed::of(grid, class);
    if placed.is_all_there_is(used.len()) {
        return None;
    }
    // The time in which the class is busy: phases last as long as their slowest rank.
    let busy = Work::of_those(grid, |entry| entry.class == class).critical();
    // Those in use at a time: a file for each step may lie on others each time.
    let count = placed.at_once.clamp(1.0, used.len().max(1) as f64);
    let in_flight = all / busy.max(1.0) / count;
    let enough = (count * in_flight).min(MANY.max(count));
    let queued = slower.ln() >= spread.max(LEAST_SPREAD) * FAR_BELOW || leans >= LEANS;
    let grows = grid.grow_with_depth.contains(&class);
    let queued = queued || grows || is_served_in_turn(grid, class, count);
    // What targets serve by how many they have tells best, where that is known.
    let served = grid.served.get(&class);
    let waits = served.and_then(Served::waits);
    let queued = waits.map_or(queued, |part| part >= WAITS);
    // And it tells that though no call ever had a target for itself.
    let always = waits.is_some() && served.is_some_and(Served::is_busy_evenly);
    let least = match grows {
        _ if always => 0.0,
        true => SLOWER_IF_GROWS,
        false => SLOWER,
    };
    if in_flight < IN_FLIGHT || enough < count * 2.0 || slower < least || !queued {
        return None;
    }
    let part = served.and_then(Served::gone).unwrap_or(1.0).min(1.0 - count / enough);
    let savings = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| is(entry))
        .map(|(index, entry)| (index, entry.left_ns * part))
        .collect();
    let targets = (count.round() as usize).max(1);
    let steps = used.len() >= targets.saturating_mul(2);
    let cost = match waits {
        Some(part) if slower < SLOWER => words::QueueCost::Share(part),
        _ => words::QueueCost::Times(slower),
    };
    let stripes = stripes_of_most(grid, class);
    // Where files have more stripes than calls meet at a time, more would not help.
    let wide = stripes.is_some_and(|count| f64::from(count) >= enough);
    let (targets, target) = (targets as u64, used.first()?.0);
    let facts = words::Queued { class, targets, target, steps, in_flight, cost, stripes, enough, wide };
    Some(Queue { facts, savings })
}
