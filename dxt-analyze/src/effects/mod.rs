//! Effects: units whose calls are slower than their peers', proven within the run. One additive model: log(time of a call against its kind) is the
//! sum of the effects of rank, node, storage target, time window, folder, file and file region; a target's queue is a term as well. The effect
//! that saves most run time is taken away before the next one is searched; of those that save nearly as much, the one of fewest units wins.
//!
//! * [`unit`]: units and their log slowdowns; [`terms`]: log slowdowns by median; [`total`]: by total time; [`windows`]: ranges of time windows;
//!   [`queue`]: waits at storage targets; [`of_class`]: what stays the same while effects are taken; [`mean`].
//! * [`calls`]: single calls that no unit explains, the last term.
//! * [`candidate`], [`candidates`]: units that are outliers ([`crate::shared::outlier_test`]); [`residuals`]: what no effect explains yet.
//! * [`joined`]: effects with one cause.

pub mod calls;
mod candidate;
mod candidates;
pub mod joined;
mod mean;
mod of_class;
pub mod queue;
pub mod residuals;
mod terms;
mod total;
pub mod unit;
mod windows;

use crate::cube::Cube;
use crate::limits::EFFECTS;
use crate::model::Class;
use crate::model::class::CLASSES;
use crate::replay::{Savings, Work};
use crate::shared::outlier_test::Odd;
use candidates::candidates;
use of_class::OfClass;
use rayon::prelude::*;
use residuals::Residuals;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use unit::{Slowdowns, Unit};

/// Slowdown of units in one class of calls: (class, slowdown, number of units compared, number of calls of the slow units).
pub type By = (Class, Odd, usize, u64);

/// A slow unit (rank, node, storage target, time windows, folder, file or part of a file), or several of one sort that are slow together.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The slow unit; the first one if several are slow together.
    pub unit: Unit,
    /// Further slow units of the same sort.
    pub more: Vec<Unit>,
    /// Slowdown by class of calls.
    pub by: Vec<By>,
    /// Log slowdown of each unit.
    pub slowdowns: Slowdowns,
    /// True for a range of time windows in which calls get slower and slower to its end.
    pub grows: bool,
    /// Time saved if the units' calls took as long as their peers, by cell (similar calls of one process), ns.
    pub savings: Savings,
}

impl Effect {
    /// Returns all slow units.
    pub fn units(&self) -> impl Iterator<Item = Unit> {
        std::iter::once(self.unit).chain(self.more.iter().copied())
    }

    /// Returns the time that the slow units explain, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.savings.iter().map(|(_, ns)| ns).sum()
    }
}

/// Returns all effects (slow units), the one that saves most run time first, and the time that they leave unexplained. `phases`, `slots`:
/// each process's time in calls by phase and by time window, from which the saved run time is computed.
pub fn effects<'c, 'a>(cube: &'c Cube<'a>, phases: &Work, slots: &Work) -> (Vec<Effect>, Residuals<'c, 'a>) {
    let mut left = Residuals::new(cube);
    let least: f64 = left.cells().filter(|cell| cell.leaf).map(|cell| cell.left_ns).sum::<f64>()
        * cube.run.thresholds.negligible_share;
    let classes: Vec<OfClass> =
        CLASSES.into_par_iter().with_max_len(1).map(|class| OfClass::new(cube, class)).collect();
    let mut out: Vec<Effect> = Vec::new();
    let mut known: BTreeSet<(Unit, Class)> = BTreeSet::new();
    while out.len() < EFFECTS {
        let priced = |effect: Effect| {
            let (low, high) = (phases.saved(cube, &effect.savings), slots.saved(cube, &effect.savings));
            ((low.max(1.0) * high.max(low).max(1.0)).sqrt() as u64, effect)
        };
        let all = candidates(&left, &classes, &known, least);
        let enough = all.into_par_iter().filter(|effect| effect.time_ns() > least);
        let priced: Vec<(u64, Effect)> = enough.map(priced).collect();
        let most = priced.iter().map(|(ns, _)| *ns).max().unwrap_or(0);
        let near = priced.into_iter().filter(|(ns, _)| *ns as f64 >= most as f64 * cube.run.thresholds.majority_share);
        let fewest =
            |(ns, effect): &(u64, Effect)| (effect.units().map(Unit::parts).sum::<usize>(), Reverse(*ns), effect.unit);
        let Some((_, best)) = near.min_by_key(fewest) else { break };
        left.take(&best);
        known.extend(best.units().flat_map(|unit| best.by.iter().map(move |(class, ..)| (unit, *class))));
        out.push(best);
    }
    (out, left)
}
