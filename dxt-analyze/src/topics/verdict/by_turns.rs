//! Distinguishes ranks that wait for each other's I/O from ranks that happen to do I/O at different times.

use crate::cube::Cube;
use crate::model::ProcessId;
use crate::replay::turns;
use crate::sum::Sum;
use rustc_hash::FxHashMap;

/// True if ranks wait for each other's I/O: they work one after another, and not by chance, for at least the part `least` of the time with
/// any rank in calls. Always false for processes that are not ranks of one job.
///
/// `beside_ns`: time saved if all ranks' calls overlapped.
pub(super) fn takes_turns(cube: &Cube<'_>, beside_ns: f64, least: f64) -> bool {
    let busy = cube.slots.busy_without_pause().iter().copied().sum::<Sum>().get();
    // Ranks that share processors cannot all work at once, but are rarely one after another throughout.
    let (thresholds, ranks) = (&cube.run.thresholds, cube.run.ranks().max(1) as f64);
    let throughout = beside_ns >= busy as f64 * (1.0 - 1.0 / ranks) * thresholds.most_share;
    cube.run.ranks() > 1
        && beside_ns >= busy as f64 * least
        && !are_beside_by_chance(cube)
        && (throughout || waits_for_processors_ns(cube) < busy as f64 * thresholds.half_share)
}

/// Returns the mean time in which a process was ready but waited for a processor, ns: processes that share processors work one after
/// another, too.
fn waits_for_processors_ns(cube: &Cube<'_>) -> f64 {
    let intervals = cube.run.processes.iter().flat_map(|process| process.cpu.threads()).flatten();
    intervals.map(|of| of.wait_ns).sum::<Sum>().get() as f64 / cube.run.processes.len().max(1) as f64
}

/// True if the overlap of ranks' calls, or the lack of it, may be due to chance: then the ranks do not wait for each other.
fn are_beside_by_chance(cube: &Cube<'_>) -> bool {
    let thresholds = &cube.run.thresholds;
    let length = cube.run.length_ns() as f64;
    let mut of_rank: FxHashMap<ProcessId, f64> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        *of_rank.entry(cell.process).or_default() += cube.wall(cell, cell.sums.time_ns as f64) / length;
    }
    let all: f64 = of_rank.values().map(|share| share.min(1.0)).sum();
    let nobody: f64 = of_rank.values().map(|share| 1.0 - share.min(1.0)).product();
    let slots = 0..cube.slots.len();
    let anybody = slots.map(|slot| cube.slots.busy(slot)).sum::<Sum>().get() as f64 / length;
    // Mean number of other ranks in calls while any rank is.
    let more = |anybody: f64| (all / anybody.max(f64::MIN_POSITIVE) - 1.0).max(0.0);
    let by_chance = more(1.0 - nobody);
    // If few turns are expected to coincide, none coinciding proves nothing, unless one rank begins as another ends.
    more(anybody) > by_chance * thresholds.half_share
        || turns::turns(cube) as f64 * by_chance < thresholds.few_min as f64
            && turns::handed_on(cube) < thresholds.half_share
}
