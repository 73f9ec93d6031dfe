//! Outliers that no slow unit explains: a single stall, or a tail of many.

use super::stand_still::{StandStill, stand_still};
use crate::effects::residuals::Residuals;
use crate::effects::unit::Unit;
use crate::model::ProcessId;
use crate::model::class::{CLASSES, Class};
use crate::replay::Savings;
use crate::shared::outlier_test::FEWEST;
use crate::shared::ratio::share;
use crate::shared::significance::binomial_tail;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Largest number of calls with most of the excess that are reported separately.
pub(super) const FEW: usize = 3;
/// Fewest outliers that may point to a unit.
const SEVERAL: u64 = 4;
/// Probability of chance above which they do not.
const CHANCE: f64 = 0.01;
/// Least share of the excess in few calls, or of the outliers on one unit.
pub(super) const MOST: f64 = 0.8;
/// Largest share of a cell's time that slow units explain for its outliers to count.
const EXPLAINED: f64 = 0.3;

/// Part of at least `MANY` calls from which outliers are no tail: storage serves in two ways, as from cache and disk.
const TWO_WAYS: f64 = 0.1;
const MANY: u64 = 100;

/// Largest size octave of requests that fit a C stream's buffer: one of several such requests fills or flushes the buffer.
const BUFFERED: u8 = 16;

/// Outliers of a class of calls.
#[derive(Clone, Debug)]
pub struct Tail {
    /// Class of the calls.
    pub class: Class,
    /// Further classes whose outliers were merged into the tail.
    pub also: Vec<Class>,
    /// Number of outliers.
    pub far: u64,
    /// Number of all calls.
    pub calls: u64,
    /// Excess of the outliers, ns, summed over processes.
    pub extra_ns: f64,
    /// Indices of cells with the longest outliers, if few calls have most of the excess.
    pub stalls: Vec<u32>,
    /// Index of the cell with the longest outlier.
    pub longest: u32,
    /// Process or node with nearly all outliers, if it is one of several, its outliers and its calls.
    pub of: Option<(Unit, u64, u64)>,
    /// Stops of storage for most processes, if most of the excess is in them.
    pub at_once: Option<StandStill>,
    /// Saving per cell if outliers took as long as their peers, ns.
    pub savings: Savings,
}

impl Tail {
    /// True if outliers are so many that storage serves in two ways, as from cache and disk.
    #[must_use]
    pub fn is_of_two_ways(&self) -> bool {
        self.calls >= MANY && self.far as f64 > self.calls as f64 * TWO_WAYS
    }

    /// Returns the classes of the calls.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        std::iter::once(self.class).chain(self.also.iter().copied()).collect()
    }
}

/// Returns a tail per class of calls with outliers.
#[must_use]
pub fn tails(cube: &Residuals<'_, '_>) -> Vec<Tail> {
    CLASSES.into_iter().filter_map(|class| tail(cube, class)).collect()
}

fn tail(cube: &Residuals<'_, '_>, class: Class) -> Option<Tail> {
    let (mut calls, mut far, mut extra) = (0_u64, 0_u64, 0.0);
    let mut savings = Vec::new();
    let mut longest: Vec<(u64, u32)> = Vec::new();
    let mut by: BTreeMap<ProcessId, (u64, u64)> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(cube.cells()).filter(|(_, cell)| cell.leaf && cell.class == class) {
        calls = calls.saturating_add(cell.sums.calls);
        let mine = by.entry(cell.process).or_default();
        mine.1 = mine.1.saturating_add(cell.sums.calls);
        let unexplained = cell.left_ns >= cell.sums.time_ns as f64 * (1.0 - EXPLAINED);
        if cell.sums.far_calls == 0 || !unexplained {
            continue;
        }
        let more = cell.beyond_ns(1.0);
        far = far.saturating_add(cell.sums.far_calls);
        mine.0 = mine.0.saturating_add(cell.sums.far_calls);
        extra += more;
        savings.push((index, more));
        longest.push((cell.sums.longest_ns, index));
    }
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let first = longest.first()?.1;
    let few = longest.iter().take(FEW);
    let in_few: f64 = few.clone().map(|(ns, _)| *ns as f64).sum();
    let stalls = if in_few >= extra * MOST { few.map(|(_, index)| *index).collect() } else { Vec::new() };
    // Some waits find their operation complete and others do not: only a single far longer one is an outlier.
    if matches!(class, Class::Wait | Class::HandOver) && stalls.is_empty() {
        return None;
    }
    let buffered = |index: u32| {
        let cell = cube.cells.get(index as usize);
        cell.and_then(|cell| Some((cell.size, cube.stream(cell)?)))
            .is_some_and(|(size, stream)| size <= BUFFERED && cube.run.op(stream).layer == Some(Layer::Stdio))
    };
    let in_buffers: f64 = savings.iter().filter(|(index, _)| buffered(*index)).map(|(_, ns)| ns).sum();
    if stalls.is_empty() && in_buffers >= extra * MOST {
        return None;
    }
    let mut of_nodes: BTreeMap<Unit, (u64, u64)> = BTreeMap::new();
    for (process, (far, calls)) in &by {
        if let Some(process) = cube.run.process(*process) {
            let of = of_nodes.entry(Unit::Node(process.node)).or_default();
            *of = (of.0.saturating_add(*far), of.1.saturating_add(*calls));
        }
    }
    let by: BTreeMap<Unit, (u64, u64)> = by.into_iter().map(|(process, of)| (Unit::Process(process), of)).collect();
    let of = nearly_all(&by, far).or_else(|| nearly_all(&of_nodes, far));
    // Lock waits of several processes, and system calls inside collective calls, overlap in any case.
    let inside = |(index, _): &(u32, f64)| cube.cells.get(*index as usize).is_some_and(|cell| cell.inside);
    let by_nature = matches!(class, Class::Lock | Class::Wait | Class::HandOver) || savings.iter().any(inside);
    let at_once = if of.is_some() || by_nature { None } else { stand_still(cube, class, &savings, by.len()) };
    Some(Tail { class, also: Vec::new(), far, calls, extra_ns: extra, stalls, longest: first, of, at_once, savings })
}

/// Returns the unit with nearly all outliers, its outliers and its calls.
fn nearly_all(by: &BTreeMap<Unit, (u64, u64)>, far: u64) -> Option<(Unit, u64, u64)> {
    let (unit, of) = by.iter().max_by_key(|(unit, of)| (of.0, std::cmp::Reverse(**unit)))?;
    let is = by.len() >= FEWEST && far >= SEVERAL && of.0 as f64 >= far as f64 * MOST;
    let all: u64 = by.values().fold(0, |sum, of| sum.saturating_add(of.1));
    // Each of a few units makes many calls: a few outliers may all be on one by chance.
    let by_chance = || binomial_tail(of.0 as usize, far as usize, share(of.1, all)) * by.len() as f64;
    (is && by_chance() < CHANCE).then_some((*unit, of.0, of.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_long_calls_may_be_one_nodes_by_chance() {
        let of = |far: u64, nodes: u32| {
            let all = (0..nodes).map(|node| (Unit::Node(node), (if node == 1 { far } else { 0 }, 1000))).collect();
            nearly_all(&all, far).map(|(unit, ..)| unit)
        };
        assert_eq!((of(4, 4), of(4, 64)), (None, Some(Unit::Node(1))));
        assert_eq!(of(40, 4), Some(Unit::Node(1)));
    }
}
