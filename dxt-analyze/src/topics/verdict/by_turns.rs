//! Whether ranks alternate, rather than happen to have something to do when others do not.

use super::counterfactual::DATA;
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::topics::causes::grid::Grid;
use crate::topics::causes::replay::turns;
use rustc_hash::FxHashMap;

/// Part of what they would be by chance that more than one rank are in calls at once, at most, if they alternate.
const CARELESS: f64 = 0.5;
/// Calls that would be beside others by chance up to which it tells nothing that fewer are; and part of the changes from one rank to another in which one begins
/// as the other ends, from which they alternate all the same.
const FEW_BY_CHANCE: f64 = 5.0;
const HANDED_ON: f64 = 0.5;

/// Whether ranks work one after another for most of the time in which any does, and so wait for each other. Of processes that are no ranks of
/// one job, and of those that happen to have something to do when others do not, nobody knows.
pub(super) fn takes_turns(grid: &Grid<'_>, beside_ns: f64, least: f64) -> bool {
    let busy = grid.slots.busy_without_pause().iter().copied().sum::<Sum>().get();
    grid.run.ranks() > 1 && beside_ns >= busy as f64 * least && !are_beside_by_chance(grid)
}

/// Whether ranks are in calls at the same time as often as if none cared when the others are, or half as often.
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
    // How many are in calls while any is, without the one.
    let more = |anybody: f64| (all / anybody.max(f64::MIN_POSITIVE) - 1.0).max(0.0);
    let by_chance = more(1.0 - nobody);
    // Where few would be beside each other anyway, that none are tells nothing, unless one begins as the other ends.
    let calls = grid.entries.iter().filter(|entry| entry.leaf && DATA.contains(&entry.class));
    let calls = calls.map(|entry| entry.cell.calls).fold(0, u64::saturating_add) as f64;
    more(anybody) > by_chance * CARELESS || calls * by_chance < FEW_BY_CHANCE && turns::handed_on(grid) < HANDED_ON
}
