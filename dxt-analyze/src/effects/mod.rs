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
use crate::model::Class;
use crate::model::class::CLASSES;
use crate::replay::{Savings, Work};
use crate::shared::outlier_test::Odd;
use crate::thresholds::effects::{LEAST_SHARE, NEARLY_AS_MUCH, ROUNDS};
use candidates::candidates;
use of_class::OfClass;
use rayon::prelude::*;
use residuals::Residuals;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use unit::{Slowdowns, Unit};

/// Class of calls, slowdown, number of units compared, calls.
pub type By = (Class, Odd, usize, u64);

/// A slow unit, or several of one sort that are slow together.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The unit.
    pub unit: Unit,
    /// Further slow units of its sort.
    pub more: Vec<Unit>,
    /// Slowdown by class of calls.
    pub by: Vec<By>,
    /// Log slowdown of each unit.
    pub slowdowns: Slowdowns,
    /// True if calls in the time windows get slower and slower to their end.
    pub grows: bool,
    /// Saving per cell if its calls took as long as their peers, ns.
    pub savings: Savings,
}

impl Effect {
    /// Returns all slow units.
    pub fn units(&self) -> impl Iterator<Item = Unit> {
        std::iter::once(self.unit).chain(self.more.iter().copied())
    }

    /// Returns the explained time, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.savings.iter().map(|(_, ns)| ns).sum()
    }
}

/// Returns all effects, the one that saves most run time first, and what they leave unexplained. `phases`, `slots`: times of the replay.
pub fn effects<'c, 'a>(cube: &'c Cube<'a>, phases: &Work, slots: &Work) -> (Vec<Effect>, Residuals<'c, 'a>) {
    let mut left = Residuals::new(cube);
    let least: f64 = left.cells().filter(|cell| cell.leaf).map(|cell| cell.left_ns).sum::<f64>() * LEAST_SHARE;
    let classes: Vec<OfClass> =
        CLASSES.into_par_iter().with_max_len(1).map(|class| OfClass::new(cube, class)).collect();
    let mut out: Vec<Effect> = Vec::new();
    let mut known: BTreeSet<(Unit, Class)> = BTreeSet::new();
    while out.len() < ROUNDS {
        let priced = |effect: Effect| {
            let (low, high) = (phases.saved(cube, &effect.savings), slots.saved(cube, &effect.savings));
            ((low.max(1.0) * high.max(low).max(1.0)).sqrt() as u64, effect)
        };
        let all = candidates(&left, &classes, &known, least);
        let enough = all.into_par_iter().filter(|effect| effect.time_ns() > least);
        let priced: Vec<(u64, Effect)> = enough.map(priced).collect();
        let most = priced.iter().map(|(ns, _)| *ns).max().unwrap_or(0);
        let near = priced.into_iter().filter(|(ns, _)| *ns as f64 >= most as f64 * NEARLY_AS_MUCH);
        let fewest =
            |(ns, effect): &(u64, Effect)| (effect.units().map(Unit::parts).sum::<usize>(), Reverse(*ns), effect.unit);
        let Some((_, best)) = near.min_by_key(fewest) else { break };
        left.take(&best);
        known.extend(best.units().flat_map(|unit| best.by.iter().map(move |(class, ..)| (unit, *class))));
        out.push(best);
    }
    (out, left)
}
