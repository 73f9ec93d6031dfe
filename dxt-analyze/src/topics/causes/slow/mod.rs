//! Finds slow units, the one that explains most time first; its time is subtracted before the next search.
//!
//! * [`unit`]: units that can be slow; [`members`], [`mean`]: their log slowdowns, for folders [`by_folder`]; storage targets by fastest calls
//!   ([`served`]), [`load`] and throughput while busy ([`at_once`]).
//! * [`apart`]: two groups; [`of_two`]: the slower of two.
//! * [`stands_off`]: ranks and nodes clear of all others, for any distribution; [`by_time`]: units slow by total time, not by the typical call.
//! * [`joined`]: merges several into one finding.
//! * [`candidates`]: units that are outliers for a class of calls; [`halves`]: those slow only as a group; [`moments`]: conditions for slow
//!   periods; [`known`]: units explained by slow targets.

pub mod apart;
pub mod at_once;
mod by_folder;
mod by_time;
mod candidates;
mod halves;
pub mod joined;
mod known;
pub mod load;
pub mod mean;
pub mod members;
mod moments;
pub mod of_two;
pub mod remaining;
mod served;
mod stands_off;
pub mod unit;

use crate::cube::Cube;
use crate::model::Class;
use crate::replay::Savings;
use crate::shared::outlier_test::Odd;
use candidates::candidates;
use halves::{halves, several_of_few};
use members::sorts;
use remaining::Remaining;
use std::collections::BTreeSet;
use unit::Unit;

/// Most slow units that are searched for.
const ROUNDS: usize = 12;
/// Least share of the time in calls that a slow unit explains.
const LEAST_SHARE: f64 = 0.001;
/// Factor on a file region's explained time when compared with other units.
const OF_REGION: f64 = 0.8;
/// Part of the time explained by several slow ranks that another unit must explain to be their common cause.
const IN_COMMON: f64 = 0.4;
/// Fewest slow targets for the rule that most targets cannot be slow.
const SEVERAL: usize = 2;

/// A slow unit.
#[derive(Clone, Debug)]
pub struct Slow {
    /// The unit.
    pub unit: Unit,
    /// Further slow units of its sort.
    pub more: Vec<Unit>,
    /// By class of calls: slowdown, number of units compared, calls.
    pub by: Vec<(Class, Odd, usize, u64)>,
    /// True if calls in the time windows get slower and slower to their end.
    pub grows: bool,
    /// Saving per cell if its calls took as long as their peers, ns.
    pub savings: Savings,
}

impl Slow {
    /// Returns the explained time, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.savings.iter().map(|(_, ns)| ns).sum()
    }

    /// Returns the time by which units are compared, ns. Regions count less: a process that reads a file in order is in one region at a time, and
    /// then the time window is the better guess.
    fn weight(&self) -> f64 {
        self.time_ns() * if matches!(self.unit, Unit::Region(_)) { OF_REGION } else { 1.0 }
    }
}

/// Returns all slow units, and what they leave unexplained. If most targets look slow, none is: the search is repeated without
/// targets, as their common use is the cause.
pub fn slow_units<'c, 'a>(cube: &'c Cube<'a>) -> (Vec<Slow>, Remaining<'c, 'a>) {
    let (found, left) = search(Remaining::new(cube), true);
    let slow: BTreeSet<Unit> = found.iter().flat_map(|slow| slow.more.iter().copied().chain([slow.unit])).collect();
    let slow = slow.iter().filter(|unit| matches!(unit, Unit::Target(_))).count();
    if slow < SEVERAL || slow * 2 <= targets(cube) { (found, left) } else { search(Remaining::new(cube), false) }
}

/// Returns the number of targets that calls reach.
fn targets(cube: &Cube<'_>) -> usize {
    let all: BTreeSet<u32> =
        cube.cells.iter().filter(|cell| cell.leaf).flat_map(|cell| cell.targets.iter().copied()).collect();
    all.len()
}

/// Finds slow units one after another, with or without storage targets.
fn search<'c, 'a>(mut cube: Remaining<'c, 'a>, with_targets: bool) -> (Vec<Slow>, Remaining<'c, 'a>) {
    let least: f64 = cube.cells().filter(|cell| cell.leaf).map(|cell| cell.left_ns).sum::<f64>() * LEAST_SHARE;
    let looked_at = |slow: &Slow| with_targets || !matches!(slow.unit, Unit::Target(_));
    let mut out: Vec<Slow> = Vec::new();
    let mut known: BTreeSet<(Unit, Class)> = BTreeSet::new();
    while out.len() < ROUNDS {
        // Halves are searched only if no unit is an outlier: outliers on one side look like halves on another. Regions that all processes pass in
        // order look like time windows.
        let sorts = sorts(&cube);
        let half = |cube: &Remaining<'_, '_>| most(halves(cube, &known, &sorts).into_iter().filter(looked_at), least);
        let (odd, few) = rayon::join(|| candidates(&cube, &known, &sorts), || several_of_few(&cube, &known, &sorts));
        let best = match most(odd.into_iter().chain(few).filter(looked_at), least) {
            Some(best) if matches!(best.unit, Unit::Region(_)) => {
                half(&cube).filter(|half| half.weight() >= best.weight()).or(Some(best))
            }
            best => best.or_else(|| half(&cube)),
        };
        let Some(best) = best else { break };
        cube.take(&best);
        let units = best.more.iter().chain([&best.unit]);
        known.extend(units.flat_map(|unit| best.by.iter().map(move |(class, ..)| (*unit, *class))));
        out.push(best);
    }
    (out, cube)
}

/// Returns the unit that explains most, if enough; a common cause of several ranks goes before the ranks.
fn most(all: impl IntoIterator<Item = Slow>, least: f64) -> Option<Slow> {
    let best_of = |all: Vec<Slow>| {
        all.into_iter().max_by(|a, b| {
            // If two explain the same, the earlier sort is more specific.
            a.weight().total_cmp(&b.weight()).then_with(|| b.unit.cmp(&a.unit))
        })
    };
    let are_ranks = |slow: &Slow| matches!(slow.unit, Unit::Process(_)) && !slow.more.is_empty();
    let (ranks, others): (Vec<Slow>, Vec<Slow>) = all.into_iter().partition(are_ranks);
    let (ranks, other) = (best_of(ranks), best_of(others));
    let weight = |slow: &Option<Slow>| slow.as_ref().map_or(0.0, Slow::weight);
    let best = if weight(&other) >= weight(&ranks) * IN_COMMON { other } else { ranks };
    best.filter(|best| best.time_ns() > least)
}
