//! Distinguishes ranks that wait for each other's I/O from ranks that happen to do I/O at different times.

use super::counterfactual::DATA;
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::topics::causes::grid::Grid;
use crate::topics::causes::replay::turns;
use rustc_hash::FxHashMap;

/// Ranks alternate if the number of other ranks in calls, while any is, is at most this part of the number expected by chance.
const CARELESS: f64 = 0.5;
/// Below this many calls expected to coincide by chance, their absence proves nothing: then ranks alternate only if one begins as another ends in
/// at least the part `HANDED_ON` of the changes from rank to rank.
const FEW_BY_CHANCE: f64 = 5.0;
const HANDED_ON: f64 = 0.5;

/// True if ranks wait for each other: they work one after another for at least the part `least` of the time with any rank in calls, and not by
/// chance. Always false for processes that are not ranks of one job.
pub(super) fn takes_turns(grid: &Grid<'_>, beside_ns: f64, least: f64) -> bool {
    let busy = grid.slots.busy_without_pause().iter().copied().sum::<Sum>().get();
    grid.run.ranks() > 1 && beside_ns >= busy as f64 * least && !are_beside_by_chance(grid)
}

/// True if ranks are in calls at the same time at least half as often as independent ranks would be.
fn are_beside_by_chance(grid: &Grid<'_>) -> bool {
    let length = grid.run.length_ns() as f64;
    let mut of_rank: FxHashMap<ProcessId, f64> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf) {
        *of_rank.entry(entry.process).or_default() += grid.wall(entry, entry.cell.time_ns as f64) / length;
    }
    let all: f64 = of_rank.values().map(|share| share.min(1.0)).sum();
    let nobody: f64 = of_rank.values().map(|share| 1.0 - share.min(1.0)).product();
    let slots = 0..grid.slots.len();
    let anybody = slots.map(|slot| grid.slots.busy(slot)).sum::<Sum>().get() as f64 / length;
    // Mean number of other ranks in calls while any rank is.
    let more = |anybody: f64| (all / anybody.max(f64::MIN_POSITIVE) - 1.0).max(0.0);
    let by_chance = more(1.0 - nobody);
    // If few calls are expected to coincide, none coinciding proves nothing, unless one rank begins as another ends.
    let calls = grid.entries.iter().filter(|entry| entry.leaf && DATA.contains(&entry.class));
    let calls = calls.map(|entry| entry.cell.calls).fold(0, u64::saturating_add) as f64;
    more(anybody) > by_chance * CARELESS || calls * by_chance < FEW_BY_CHANCE && turns::handed_on(grid) < HANDED_ON
}
