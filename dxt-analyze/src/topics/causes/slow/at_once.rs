//! What storage targets do while they have anything to do. Where all ranks come to some targets first and to others later, one at a time, calls take longer on the first,
//! and yet all serve similar: each moves as many bytes in the time that it is busy. A target that is slow moves fewer.

use crate::model::Class;
use crate::topics::causes::grid::Grid;
use std::collections::{BTreeMap, BTreeSet};

/// Times the bytes that others move in a second that they are busy which a target moves fewer of, from which it is slow.
const FEWER: f64 = 1.3;
/// Calls in flight on others while they are busy, up to which these show what a target does that serves one after another.
const ALONE: f64 = 2.5;
/// Times as many as on others that are in flight on a target which only looks slow, at least.
const MORE: f64 = 2.0;

/// Times as long as others' shortest call that its own is, at most, for the same.
const AS_QUICK: f64 = 1.5;
/// Bytes that other calls move on some of the same targets, as a part, which matter little.
const BESIDE: f64 = 0.3;

/// A group of targets that calls begin on the first of.
#[derive(Clone, Debug, Default)]
struct Group {
    all: BTreeSet<u32>,
    bytes: f64,
    time_ns: f64,
    busy_ns: f64,
    /// The shortest call.
    shortest_ns: f64,
}

impl Group {
    /// Bytes per ns that it is busy.
    fn rate(&self) -> f64 {
        self.bytes / self.busy_ns.max(1.0)
    }

    /// Calls in flight while it is busy, on the mean.
    fn depth(&self) -> f64 {
        self.time_ns / self.busy_ns.max(1.0)
    }
}

/// By the first target of calls.
#[derive(Clone, Debug, Default)]
pub struct AtOnce(BTreeMap<u32, Group>);

impl AtOnce {
    /// Of the calls of a class.
    #[must_use]
    pub fn of(grid: &Grid<'_>, class: Class) -> Self {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        let Some(busy) = grid.busy.get(&class).filter(|busy| busy.len() > 1) else { return Self::default() };
        for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == class) {
            let Some(first) = entry.targets.first() else { continue };
            let Some(busy_ns) = busy.get(first) else { continue };
            let group = groups.entry(*first).or_default();
            group.all.extend(&entry.targets);
            group.bytes += entry.cell.bytes as f64;
            group.time_ns += entry.cell.time_ns as f64;
            group.busy_ns = *busy_ns;
            if entry.cell.shortest_ns > 0 {
                let shortest = entry.cell.shortest_ns as f64;
                group.shortest_ns = if group.shortest_ns > 0.0 { group.shortest_ns.min(shortest) } else { shortest };
            }
        }
        Self(groups)
    }

    /// The group that reaches a target, and the medians of others' rates, calls in flight, busy times and shortest calls. `None` if several groups reach it or its neighbours:
    /// then none of them tells for how long it is busy.
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

    /// Whether calls on a target take long only since many are in flight there at once: it moves as many bytes as others that serve one call at a time, and is as
    /// quick to serve the first that comes. Of calls that are all slow, many are in flight as well.
    #[must_use]
    pub fn is_only_busy(&self, target: u32) -> bool {
        self.against(target).is_some_and(|(mine, [rate, depth, _, shortest])| {
            let first_is_quick = mine.shortest_ns <= shortest * AS_QUICK;
            mine.rate() * FEWER >= rate && depth <= ALONE && mine.depth() >= depth * MORE && first_is_quick
        })
    }

    /// For how much longer than others a target is busy, ns, if it is as quick as these to serve the first that comes: the run can be no more shorter then. Behind one
    /// that serves each slowly others have less to do at once, and are busy for longer.
    #[must_use]
    pub fn longer_ns(&self, target: u32) -> Option<f64> {
        let (mine, [_, _, busy, shortest]) = self.against(target)?;
        (mine.shortest_ns <= shortest * AS_QUICK).then(|| (mine.busy_ns - busy).max(0.0))
    }
}
