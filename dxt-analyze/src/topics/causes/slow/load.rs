//! Relative load of storage targets: under more load, calls wait for each other.

use crate::cube::Cube;
use crate::model::Class;
use crate::shared::stats::median;
use std::collections::BTreeMap;

/// Relative load from which a target is overloaded.
pub const OVERLOADED: f64 = 2.0;

/// Load by storage target.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    /// Usual duration of all calls of the classes on the target, ns.
    asked: BTreeMap<u32, f64>,
    /// Mean number of processes that begin calls there together.
    together: BTreeMap<u32, f64>,
}

impl Loads {
    /// Sums the load by calls of `classes`.
    #[must_use]
    pub fn of(cube: &Cube<'_>, classes: &[Class]) -> Self {
        let mut asked: BTreeMap<u32, f64> = BTreeMap::new();
        for cell in cube.cells.iter().filter(|cell| cell.leaf && classes.contains(&cell.class)) {
            // Usual durations over all files: a slow file is no load.
            let each = cell.sums.calls as f64 * cell.usual_of_kind_ns / cell.targets.len().max(1) as f64;
            cell.targets.iter().for_each(|target| *asked.entry(*target).or_default() += each);
        }
        let here = |(target, _): &(&u32, &f64)| asked.contains_key(target);
        let together = cube.begin_together.iter().filter(here).map(|(target, of)| (*target, *of)).collect();
        Self { asked, together }
    }

    /// Returns a target's load relative to the median of the others.
    #[must_use]
    pub fn asked(&self, target: u32) -> f64 {
        against_others(&self.asked, target)
    }

    /// Returns the number of processes that begin calls together on a target, relative to the median of the others; 1 if unknown.
    #[must_use]
    pub fn together(&self, target: u32) -> f64 {
        if self.together.contains_key(&target) { against_others(&self.together, target) } else { 1.0 }
    }
}

fn against_others(of: &BTreeMap<u32, f64>, target: u32) -> f64 {
    let mut others: Vec<f64> = of.iter().filter(|(other, _)| **other != target).map(|(_, value)| *value).collect();
    let mine = of.get(&target).copied().unwrap_or_default();
    median(&mut others).map_or(0.0, |median| mine / median.max(f64::MIN_POSITIVE))
}
