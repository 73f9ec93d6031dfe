//! The units that are slow, the one that explains most time first; what it explains is taken away before the next is looked for.
//!
//! * [`unit`]: what can be slow; [`members`], by [`mean`]s: how far each of a sort is above its peers, [`served`]: storage targets, [`load`]: by what they are asked for, [`at_once`]: by what they do while they are busy, [`by_folder`]: folders.
//! * [`odd`]: whether that is more than chance; [`apart`]: whether they fall into two groups; [`of_two`]: which of two is slow.
//! * [`stands_off`]: ranks and nodes that are far from all others, however these are distributed; [`by_time`]: by the time in calls, where the usual one tells nothing.
//! * [`joined`]: several that are one finding.
//! * [`candidates`]: units that are odd by some class of calls; [`halves`]: several that only together are; [`moments`]: which count; [`known`]: what is slow by another.

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
pub mod odd;
pub mod of_two;
mod served;
mod stands_off;
pub mod unit;

use super::grid::Grid;
use super::replay::Savings;
use crate::model::Class;
use candidates::candidates;
use halves::{halves, several_of_few};
use members::sorts;
use odd::Odd;
use std::collections::{BTreeMap, BTreeSet};
use unit::Unit;

/// Most units that are looked for.
const ROUNDS: usize = 12;
/// Share of the time in calls that a unit must explain to be taken.
const LEAST_SHARE: f64 = 0.001;
/// Part of what a region explains that counts when it stands against others.
const OF_REGION: f64 = 0.8;
/// Part of what several ranks explain that something else explains, from which that is what they have in common.
const IN_COMMON: f64 = 0.4;
/// Fewest slow targets that may be most of all.
const SEVERAL: usize = 2;

/// A slow unit.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Which.
    pub unit: Unit,
    /// Others of its sort that are slow too.
    pub more: Vec<Unit>,
    /// By class of calls: how it stands, among how many, and its calls.
    pub by: Vec<(Class, Odd, usize, u64)>,
    /// Of a moment: whether calls take longer and longer to its end.
    pub grows: bool,
    /// What its calls would save if they took what their peers take.
    pub savings: Savings,
}

impl Slow {
    /// Time that it explains, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.savings.iter().map(|(_, ns)| ns).sum()
    }

    /// What it is compared with others by. Who goes through a file in order is at one part of it at a time: then the moment is the better guess.
    fn weight(&self) -> f64 {
        self.time_ns() * if matches!(self.unit, Unit::Region(_)) { OF_REGION } else { 1.0 }
    }
}

/// All of them, taken from what is left of the cells' times. More slow targets than others are no slow targets: what they share is how they are
/// used.
pub fn slow_units(grid: &mut Grid<'_>) -> Vec<Slow> {
    if targets(grid) < SEVERAL {
        return search(grid, true);
    }
    let before: Vec<(f64, f64, f64)> =
        grid.entries.iter().map(|entry| (entry.left_ns, entry.above, entry.above_kind)).collect();
    let regions = grid.regions.clone();
    let found = search(grid, true);
    let slow: BTreeSet<Unit> = found.iter().flat_map(|slow| slow.more.iter().copied().chain([slow.unit])).collect();
    let slow = slow.iter().filter(|unit| matches!(unit, Unit::Target(_))).count();
    if slow < SEVERAL || slow * 2 <= targets(grid) {
        return found;
    }
    for (entry, (left_ns, above, above_kind)) in grid.entries.iter_mut().zip(before) {
        (entry.left_ns, entry.above, entry.above_kind) = (left_ns, above, above_kind);
    }
    grid.regions = regions;
    search(grid, false)
}

/// All targets that calls reach.
fn targets(grid: &Grid<'_>) -> usize {
    let all: BTreeSet<u32> =
        grid.entries.iter().filter(|entry| entry.leaf).flat_map(|entry| entry.targets.iter().copied()).collect();
    all.len()
}

/// One after the other, storage targets among them or not.
fn search(grid: &mut Grid<'_>, with_targets: bool) -> Vec<Slow> {
    let least: f64 =
        grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.left_ns).sum::<f64>() * LEAST_SHARE;
    let looked_at = |slow: &Slow| with_targets || !matches!(slow.unit, Unit::Target(_));
    let mut out: Vec<Slow> = Vec::new();
    let mut known: BTreeSet<(Unit, Class)> = BTreeSet::new();
    while out.len() < ROUNDS {
        // Only where none is odd is it a half: what is odd on one side looks like halves on another. Parts of a file that all go through in order
        // look like moments.
        let sorts = sorts(grid);
        let half = |grid: &Grid<'_>| most(halves(grid, &known, &sorts).into_iter().filter(looked_at), least);
        let (odd, few) = rayon::join(|| candidates(grid, &known, &sorts), || several_of_few(grid, &known, &sorts));
        let best = match most(odd.into_iter().chain(few).filter(looked_at), least) {
            Some(best) if matches!(best.unit, Unit::Region(_)) => {
                half(grid).filter(|half| half.weight() >= best.weight()).or(Some(best))
            }
            best => best.or_else(|| half(grid)),
        };
        let Some(best) = best else { break };
        take(grid, &best);
        let units = best.more.iter().chain([&best.unit]);
        known.extend(units.flat_map(|unit| best.by.iter().map(move |(class, ..)| (*unit, *class))));
        out.push(best);
    }
    out
}

/// The one that explains most, if it explains enough. What several ranks have in common goes before them.
fn most(all: impl IntoIterator<Item = Slow>, least: f64) -> Option<Slow> {
    let best_of = |all: Vec<Slow>| {
        all.into_iter().max_by(|a, b| {
            // Of two that explain the same, the one that says more: the earlier sort.
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

/// Takes what a unit explains away.
fn take(grid: &mut Grid<'_>, slow: &Slow) {
    let above: BTreeMap<Class, f64> = slow.by.iter().map(|(class, odd, ..)| (*class, odd.above)).collect();
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    for &(index, ns) in &slow.savings {
        let share = grid.entries.get(index as usize).map_or(1.0, |entry| slow.unit.share(grid, entry));
        if let Some(entry) = grid.entries.get_mut(index as usize) {
            entry.left_ns -= ns;
            let above = above.get(&entry.class).copied().unwrap_or_default() * share;
            entry.above_kind -= above;
            if !(entry.by_file && matches!(slow.unit, Unit::File(_) | Unit::Folder(_))) {
                entry.above -= above;
            }
        }
    }
    if let Unit::Region(region) = slow.unit {
        grid.regions.take(region, &classes);
    }
}
