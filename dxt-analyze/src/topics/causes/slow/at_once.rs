//! Throughput of storage targets while they are busy. If all ranks reach some targets first and others later, one at a time, calls take longer on
//! the first ones although all serve equally fast: bytes per busy time are the same. A slow target has fewer.

use crate::cube::Cube;
use crate::model::Class;
use std::collections::{BTreeMap, BTreeSet};

/// Factor by which the throughput of a slow target, while busy, is below that of others.
const FEWER: f64 = 1.3;
/// Largest mean number of calls in flight on other targets while busy, for their throughput to be that of one call at a time.
const ALONE: f64 = 2.5;
/// Least number of calls in flight on a target that only looks slow, relative to others.
const MORE: f64 = 2.0;

/// Largest shortest call of a target that only looks slow, relative to others' shortest call.
const AS_QUICK: f64 = 1.5;
/// Largest part of bytes that other calls move on some targets of a group.
const BESIDE: f64 = 0.3;

/// Targets that calls with one first target reach.
#[derive(Clone, Debug, Default)]
struct Group {
    all: BTreeSet<u32>,
    bytes: f64,
    time_ns: f64,
    busy_ns: f64,
    shortest_ns: f64,
}

impl Group {
    /// Bytes per ns of busy time.
    fn rate(&self) -> f64 {
        self.bytes / self.busy_ns.max(1.0)
    }

    /// Mean number of calls in flight while busy.
    fn depth(&self) -> f64 {
        self.time_ns / self.busy_ns.max(1.0)
    }
}

/// Groups by the first target of calls.
#[derive(Clone, Debug, Default)]
pub struct AtOnce(BTreeMap<u32, Group>);

impl AtOnce {
    /// Groups the calls of a class.
    #[must_use]
    pub fn of(cube: &Cube<'_>, class: Class) -> Self {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let Some(busy) = cube.busy.get(&class).filter(|busy| busy.len() > 1) else { return Self::default() };
        for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
            let Some(first) = cell.targets.first() else { continue };
            let Some(busy_ns) = busy.get(first) else { continue };
            let group = groups.entry(*first).or_default();
            group.all.extend(&cell.targets);
            group.bytes += cell.sums.bytes as f64;
            group.time_ns += cell.sums.time_ns as f64;
            group.busy_ns = *busy_ns;
            if cell.sums.shortest_ns > 0 {
                let shortest = cell.sums.shortest_ns as f64;
                group.shortest_ns = if group.shortest_ns > 0.0 { group.shortest_ns.min(shortest) } else { shortest };
            }
        }
        Self(groups)
    }

    /// Returns the group that reaches a target, and medians of the others: throughput, calls in flight, busy time, shortest call. `None` if
    /// several groups share targets: their busy times are then unknown.
    fn against(&self, target: u32) -> Option<(&Group, [f64; 4])> {
        let with = self.0.values().filter(|group| group.all.contains(&target));
        let mine = with.max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        let (others, near): (Vec<&Group>, Vec<&Group>) =
            self.0.values().partition(|group| group.all.is_disjoint(&mine.all));
        if near.iter().map(|group| group.bytes).sum::<f64>() > mine.bytes * (1.0 + BESIDE) {
            return None;
        }
        let median = |value: &dyn Fn(&Group) -> f64| {
            crate::shared::stats::median(&mut others.iter().map(|group| value(group)).collect::<Vec<f64>>())
        };
        Some((
            mine,
            [
                median(&Group::rate)?,
                median(&Group::depth)?,
                median(&|group| group.busy_ns)?,
                median(&|group| group.shortest_ns)?,
            ],
        ))
    }

    /// True if calls on a target are long only because many are in flight: its throughput equals that of targets with one call at a time, and its
    /// shortest call is as short. On a slow target many calls are in flight, too.
    #[must_use]
    pub fn is_only_busy(&self, target: u32) -> bool {
        self.against(target).is_some_and(|(mine, [rate, depth, _, shortest])| {
            let first_is_quick = mine.shortest_ns <= shortest * AS_QUICK;
            mine.rate() * FEWER >= rate && depth <= ALONE && mine.depth() >= depth * MORE && first_is_quick
        })
    }

    /// Returns the time that a target is busy longer than others, ns, an upper bound of the run's saving. `None` if even its shortest call is
    /// slow: calls then reach the other targets more sparsely, which are busy for longer.
    #[must_use]
    pub fn longer_ns(&self, target: u32) -> Option<f64> {
        let (mine, [_, _, busy, shortest]) = self.against(target)?;
        (mine.shortest_ns <= shortest * AS_QUICK).then(|| (mine.busy_ns - busy).max(0.0))
    }
}
