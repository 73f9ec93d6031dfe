//! Calls that queue at few storage targets. In a queue, the first call of each burst is served at once and the others wait: many durations
//! are similar, and few are far below. Without a queue, log durations spread as far down as up.

use super::placed::{Placed, stripes_of_most};
use super::shared_block::{SharedBlock, joins};
use crate::cube::reading::served::Served;
use crate::cube::{Cell, Cube, weighted_quantile};
use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::replay::{Savings, Work};
use crate::sum::Sum;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
struct OfSize {
    calls: f64,
    ns: f64,
    longest: u64,
    shortest: Vec<(f64, f64)>,
    processes: BTreeSet<ProcessId>,
}

/// Queue of reads or of writes at few storage targets.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Facts about the queue (how many calls, how long, on which targets), for the words of the finding.
    pub(crate) facts: words::Queued,
    /// Time saved with more targets, ns by cell (group of similar calls).
    pub savings: Savings,
}

/// Kind of calls (size and operation): fastest, median and summed durations, ns; spread of the faster half of log durations, and their skew
/// to the fast side.
type Kind = (u64, f64, f64, (f64, f64));

/// Returns one claim (finding with its saving) for reads and one for writes. A queue that consists of reads of one of `blocks` (read by all
/// ranks) adds its savings to the block instead.
#[must_use]
pub fn claims(cube: &Cube<'_>, blocks: &mut [SharedBlock]) -> Vec<Claim> {
    let queues = queues(cube).into_iter();
    queues
        .filter(|queue| !joins(&cube.run.thresholds, blocks.iter_mut().map(|block| &mut block.savings), &queue.savings))
        .map(|queue| claim(cube, queue))
        .collect()
}

/// Returns the queues of reads and of writes.
#[must_use]
pub fn queues(cube: &Cube<'_>) -> Vec<Queue> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| queue(cube, class)).collect()
}

fn claim(cube: &Cube<'_>, queue: Queue) -> Claim {
    let of = &queue.facts;
    let about = About { ost: (of.targets == 1 && !of.steps).then_some(of.target), ..About::default() };
    let words = |lost| words::few_targets(of, about, lost);
    Claim::on_files(cube, Code::FEW_TARGETS, queue.savings, words)
}

/// True if targets serve calls of a class one after another. Conditions, with T as the duration of a call that meets no other: each target
/// completes about one call per T, and no call takes much longer than T times the number of processes.
fn is_served_in_turn(cube: &Cube<'_>, class: Class, targets: f64) -> bool {
    let thresholds = &cube.run.thresholds;
    let is = |cell: &&Cell| cell.leaf && cell.class == class && !cell.targets.is_empty();
    let mut of: BTreeMap<u8, OfSize> = BTreeMap::new();
    for cell in cube.cells.iter().filter(is) {
        let size = of.entry(cell.size).or_default();
        size.calls += cell.sums.calls as f64;
        size.ns += cell.time_ns();
        size.longest = size.longest.max(cell.sums.longest_ns);
        size.processes.insert(cell.process);
        if cell.sums.shortest_ns > 0 {
            size.shortest.push((cell.sums.shortest_ns as f64, 1.0));
        }
    }
    let all: f64 = of.values().map(|size| size.ns).sum();
    let Some(mut most) = of.into_values().max_by(|a, b| a.ns.total_cmp(&b.ns)) else { return false };
    let Some(alone) = weighted_quantile(&mut most.shortest, thresholds.fastest_quantile) else { return false };
    // Time windows in which such calls begin, where any process is in a call.
    let slots: BTreeSet<u16> = cube.cells.iter().filter(is).map(|cell| cell.slot).collect();
    let busy = slots.iter().map(|slot| cube.slots.busy(usize::from(*slot))).sum::<Sum>().get() as f64;
    let each = busy * targets / most.calls.max(1.0);
    let as_alone = (alone / each.max(1.0)).ln().abs() <= thresholds.similar_ratio.ln();
    let longest = alone * most.processes.len() as f64 * thresholds.similar_ratio;
    most.ns >= all * thresholds.most_share
        && most.calls >= thresholds.more_calls_min as f64
        && as_alone
        && most.longest as f64 <= longest
}

fn queue(cube: &Cube<'_>, class: Class) -> Option<Queue> {
    let thresholds = &cube.run.thresholds;
    let is = |cell: &&Cell| cell.leaf && cell.class == class && !cell.targets.is_empty();
    let mut targets: BTreeMap<u32, f64> = BTreeMap::new();
    let mut kinds: BTreeMap<(u8, u16), Kind> = BTreeMap::new();
    for cell in cube.cells.iter().filter(is) {
        for target in &cell.targets {
            *targets.entry(*target).or_default() += cell.time_ns() / cell.targets.len() as f64;
        }
        let op = cube.stream(cell).map_or(0, |stream| stream.op);
        let kind = kinds.entry((cell.size, op)).or_insert((u64::MAX, cell.usual_ns, 0.0, cell.spread));
        if cell.sums.shortest_ns > 0 {
            kind.0 = kind.0.min(cell.sums.shortest_ns);
        }
        kind.2 += cell.time_ns();
    }
    let all: f64 = targets.values().sum();
    // Targets with little of the time do not count.
    let used: Vec<(u32, f64)> = targets.into_iter().filter(|(_, ns)| *ns >= all * thresholds.barely_share).collect();
    let (_, (fastest, median, _, (spread, leans))) = kinds.into_iter().max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    if fastest == u64::MAX {
        return None;
    }
    let slower = median / fastest.max(1) as f64;
    let placed = Placed::of(cube, class);
    if placed.is_all_there_is(thresholds, used.len()) {
        return None;
    }
    // Busy time of the class: a phase lasts as long as its slowest rank.
    let busy = Work::of_those(cube, |cell| cell.class == class).critical(cube);
    // Mean number of targets in use at a time: calls may move from some targets to others over the run.
    let count = placed.at_once.clamp(1.0, used.len().max(1) as f64);
    let in_flight = all / busy.max(1.0) / count;
    let enough = (count * in_flight).min(thresholds.far_ratio.max(count));
    let queued = slower.ln() >= spread * thresholds.far_ratio || leans >= thresholds.log_gap;
    let grows = cube.grow_with_depth.contains(&class);
    let queued = queued || grows || is_served_in_turn(cube, class, count);
    // Throughput by number of calls in flight is the best evidence, if known.
    let served = cube.served.get(&class);
    let waits = served.and_then(Served::waits);
    let queued = waits.map_or(queued, |part| part >= thresholds.half_share);
    // If targets complete as many calls with few in flight as with many, even the fastest call may have waited: its duration is no measure.
    let always = waits.is_some() && served.is_some_and(Served::is_busy_evenly);
    let least = match grows {
        _ if always => 0.0,
        true => thresholds.slower_ratio,
        false => thresholds.double_ratio,
    };
    if in_flight < thresholds.treble_ratio || enough < count * 2.0 || slower < least || !queued {
        return None;
    }
    let part = served.and_then(Served::gone).unwrap_or(1.0).min(1.0 - count / enough);
    let savings = (0_u32..)
        .zip(&cube.cells)
        .filter(|(_, cell)| is(cell))
        .map(|(index, cell)| (index, cell.time_ns() * part))
        .collect();
    let targets = (count.round() as usize).max(1);
    let steps = used.len() >= targets.saturating_mul(2);
    let cost = match waits {
        Some(part) if slower < thresholds.double_ratio => words::QueueCost::Share(part),
        _ => words::QueueCost::Times(slower),
    };
    let stripes = stripes_of_most(cube, class);
    // If files have more stripes than calls use at a time, more would not help.
    let wide = stripes.is_some_and(|count| f64::from(count) >= enough);
    let (targets, target) = (targets as u64, used.first()?.0);
    let facts = words::Queued { class, targets, target, steps, in_flight, cost, stripes, enough, wide };
    Some(Queue { facts, savings })
}
