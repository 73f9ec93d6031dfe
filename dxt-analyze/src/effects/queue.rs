//! Queues at storage targets: under more load, calls on a target wait for each other although it serves as fast as the others. A slow
//! target is slow even for its fastest calls, for as many calls in flight, and moves fewer bytes while it is busy.

use crate::cube::{Cube, weighted_quantile};
use crate::model::Class;
use crate::shared::outlier_test::FEW;
use crate::thresholds::Thresholds;
use std::collections::{BTreeMap, BTreeSet};

/// Queues of the storage targets that calls of a class reach.
pub(super) struct Queues {
    thresholds: Thresholds,
    loads: Loads,
    busy: Busy,
    /// Log slowdown of each target's fastest calls.
    fastest: BTreeMap<u32, f64>,
}

impl Queues {
    /// Computes load and fastest calls of each storage target from the calls of `class`.
    pub(super) fn of(cube: &Cube<'_>, class: Class) -> Self {
        let mut served: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
        for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class && cell.sums.shortest_ns > 0) {
            let fastest = (cell.sums.shortest_ns as f64 / cell.usual_ns.max(1.0)).ln();
            let each = (fastest, cell.sums.calls as f64);
            cell.targets.iter().for_each(|target| served.entry(*target).or_default().push(each));
        }
        let fastest = fastest(cube, &mut served);
        let thresholds = cube.run.thresholds.clone();
        Self { thresholds, loads: Loads::of(cube, &[class]), busy: Busy::of(cube, class), fastest }
    }

    /// True if a target has no more load than others.
    pub(super) fn is_asked_as_much(&self, target: u32) -> bool {
        self.loads.asked(target) <= self.thresholds.similar_ratio
    }

    /// True if a target with long calls has no more load than others, and no more processes begin calls there together.
    pub(super) fn is_slow_by_itself(&self, target: u32) -> bool {
        self.is_asked_as_much(target)
            && self.loads.together(target) <= self.thresholds.similar_ratio
            && !self.is_only_busy(target)
    }

    /// True if calls on a target are long only because many are in flight ([`Busy::is_only_busy`]).
    pub(super) fn is_only_busy(&self, target: u32) -> bool {
        self.busy.is_only_busy(target)
    }

    /// True if a target's load explains that its calls are long.
    pub(super) fn is_overloaded(&self, target: u32) -> bool {
        self.loads.asked(target) >= self.thresholds.double_ratio
    }

    /// Returns a target's log slowdown without the time that its calls wait for each other. `above`: log slowdown that includes this time.
    pub(super) fn without_waits(&self, target: u32, above: f64) -> f64 {
        // With counters only, the fastest calls are unknown.
        let fastest = self.fastest.get(&target).copied().unwrap_or(above);
        let (asked, together) = (self.loads.asked(target), self.loads.together(target));
        let above = if above < 0.0 {
            // A target that is only less busy is not fast.
            let by_far = above <= -self.thresholds.double_ratio.ln()
                && asked.min(together) * self.thresholds.similar_ratio > 1.0;
            if by_far { above } else { above.max(fastest.min(0.0)) }
        } else if fastest >= above * self.thresholds.majority_share || asked >= self.thresholds.double_ratio {
            above
        } else {
            // If calls are long on the way to the target, only waiting calls show a slow one: as many wait on others, but for less time.
            let waits = above - self.thresholds.queue_exponent * asked.max(together).max(1.0).ln();
            if waits >= self.thresholds.double_ratio.ln() { waits.max(fastest) } else { above.min(fastest.max(0.0)) }
        };
        if !self.is_overloaded(target) && self.is_only_busy(target) { above.min(0.0) } else { above }
    }
}

/// Load of each storage target by calls of some classes.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    /// Load of each target, ns: calls of the classes times their usual duration; a call on several targets counts in equal parts.
    asked: ByTarget,
    /// Mean number of processes that begin calls on a target together, by target.
    together: ByTarget,
}

impl Loads {
    /// Computes the load of each storage target by calls of `classes`.
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
        Self { asked: ByTarget::new(asked), together: ByTarget::new(together) }
    }

    /// Returns a target's load relative to the median of the others.
    #[must_use]
    pub fn asked(&self, target: u32) -> f64 {
        self.asked.against_others(target)
    }

    /// Returns the number of processes that begin calls together on a target, relative to the median of the others; 1 if unknown.
    #[must_use]
    pub fn together(&self, target: u32) -> f64 {
        if self.together.of.contains_key(&target) { self.together.against_others(target) } else { 1.0 }
    }
}

/// One value per storage target (`of`), and the values in ascending order.
#[derive(Clone, Debug, Default)]
struct ByTarget {
    of: BTreeMap<u32, f64>,
    sorted: Vec<f64>,
}

impl ByTarget {
    fn new(of: BTreeMap<u32, f64>) -> Self {
        let mut sorted: Vec<f64> = of.values().copied().collect();
        sorted.sort_by(f64::total_cmp);
        Self { of, sorted }
    }

    /// Returns a target's value relative to the median of the others; 0 if it has none.
    fn against_others(&self, target: u32) -> f64 {
        let Some(mine) = self.of.get(&target) else { return 0.0 };
        let own = self.sorted.partition_point(|value| value.total_cmp(mine).is_lt());
        let other = |at: usize| self.sorted.get(at + usize::from(at >= own));
        let others = self.sorted.len() - 1;
        let (Some(low), Some(high)) = (other(others.saturating_sub(1) / 2), other(others / 2)) else { return 0.0 };
        mine / (low + (high - low) / 2.0).max(f64::MIN_POSITIVE)
    }
}

/// Returns the log slowdown of each target's fastest calls. If many calls begin together on a target, even its fastest calls have waited.
/// They are then compared with the fastest calls on targets where about as many begin together; without such targets, the expected wait is
/// subtracted.
fn fastest(cube: &Cube<'_>, served: &mut BTreeMap<u32, Vec<(f64, f64)>>) -> BTreeMap<u32, f64> {
    let octave_of = |target: &u32| {
        let together = cube.begin_together.get(target).copied().unwrap_or(1.0).max(1.0);
        together.log2().round() as u32
    };
    let mut by_begin: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    served.keys().for_each(|target| by_begin.entry(octave_of(target)).or_default().push(*target));
    let mut out: BTreeMap<u32, f64> = BTreeMap::new();
    for (octave, theirs) in by_begin {
        let quantile =
            cube.run.thresholds.fastest_quantile.min(cube.run.thresholds.third_share / f64::from(octave).exp2());
        let at = |(target, of): (&u32, &mut Vec<(f64, f64)>)| Some((*target, weighted_quantile(of, quantile)?));
        let all: BTreeMap<u32, f64> = served.iter_mut().filter_map(at).collect();
        let median = |mut values: Vec<(f64, f64)>| weighted_quantile(&mut values, 0.5);
        let usual = median(all.values().map(|value| (*value, 1.0)).collect()).unwrap_or(0.0);
        let many = all.iter().filter(|(target, _)| octave_of(target) + 1 >= octave);
        let many: Vec<(u32, f64)> = many.map(|(target, fastest)| (*target, *fastest)).collect();
        let of_many = median(many.iter().map(|(_, value)| (*value, 1.0)).collect());
        for target in theirs {
            let Some(fastest) = all.get(&target).copied() else { continue };
            let above = fastest - usual;
            if quantile >= cube.run.thresholds.fastest_quantile {
                out.insert(target, above);
                continue;
            }
            let calls: f64 = served.get(&target).into_iter().flatten().map(|(_, weight)| weight).sum();
            let error = cube.spread / (calls * quantile).max(1.0).sqrt();
            // One of many targets hardly changes the median.
            let others = if many.len() > FEW {
                of_many
            } else {
                median(many.iter().filter(|(other, _)| *other != target).map(|(_, value)| (*value, 1.0)).collect())
            };
            let against = others.map_or_else(|| above - f64::from(octave).exp2().ln(), |others| fastest - others);
            out.insert(target, above.min(against) - error);
        }
    }
    out
}

/// Storage targets that are reached by calls with the same first target, with sums over these calls.
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

    /// Mean number of calls in flight while any is.
    fn depth(&self) -> f64 {
        self.time_ns / self.busy_ns.max(1.0)
    }
}

/// Calls in flight and throughput of targets while busy, by the first target of calls. If all ranks reach some targets first and others
/// later, one at a time, calls take longer on the first ones although all serve equally fast: bytes per busy time are the same. A slow
/// target moves fewer bytes per busy time.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    thresholds: Thresholds,
    groups: BTreeMap<u32, Group>,
    /// Throughput, calls in flight, busy time and shortest call of all groups (calls with the same first target), each in ascending order,
    /// with the group's first target.
    sorted: [Vec<(f64, u32)>; 4],
}

impl Busy {
    /// Groups the calls of a class by their first storage target.
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
        let values: [fn(&Group) -> f64; 4] =
            [Group::rate, Group::depth, |group| group.busy_ns, |group| group.shortest_ns];
        let sorted = values.map(|value| {
            let mut all: Vec<(f64, u32)> = groups.iter().map(|(first, group)| (value(group), *first)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all
        });
        Self { thresholds: cube.run.thresholds.clone(), groups, sorted }
    }

    /// Returns the group (calls with the same first target) that reaches a target, and medians over the other groups: throughput, calls in
    /// flight, busy time, shortest call. `None` if several groups share targets: their busy times are then unknown.
    fn against(&self, target: u32) -> Option<(&Group, [f64; 4])> {
        let with = self.groups.values().filter(|group| group.all.contains(&target));
        let mine = with.max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        let near: BTreeMap<&u32, &Group> =
            self.groups.iter().filter(|(_, group)| !group.all.is_disjoint(&mine.all)).collect();
        if near.values().map(|group| group.bytes).sum::<f64>() > mine.bytes * self.thresholds.similar_ratio {
            return None;
        }
        let others = self.groups.len() - near.len();
        let median = |sorted: &Vec<(f64, u32)>| {
            let mut theirs = sorted.iter().filter(|(_, first)| !near.contains_key(first)).map(|(value, _)| *value);
            let low = theirs.nth(others.checked_sub(1)? / 2)?;
            Some(if others.is_multiple_of(2) { (low + theirs.next()?) / 2.0 } else { low })
        };
        let [rate, depth, busy, shortest] = self.sorted.each_ref().map(median);
        Some((mine, [rate?, depth?, busy?, shortest?]))
    }

    /// True if calls on a target are long only because many are in flight: its throughput equals that of targets with one call at a time, and its
    /// shortest call is as short. On a slow target many calls are in flight, too.
    #[must_use]
    pub fn is_only_busy(&self, target: u32) -> bool {
        self.against(target).is_some_and(|(mine, [rate, depth, _, shortest])| {
            let first_is_quick = mine.shortest_ns <= shortest * self.thresholds.slower_ratio;
            mine.rate() * self.thresholds.similar_ratio >= rate
                && depth <= self.thresholds.treble_ratio
                && mine.depth() >= depth * self.thresholds.double_ratio
                && first_is_quick
        })
    }

    /// Returns how much longer a target is busy than the median of the other targets, ns: an upper bound of the run time that it costs.
    /// `None` if even its shortest call is slow: the other targets are then reached by calls that lie further apart, and so are busy for
    /// longer.
    #[must_use]
    pub fn longer_ns(&self, target: u32) -> Option<f64> {
        let (mine, [_, _, busy, shortest]) = self.against(target)?;
        (mine.shortest_ns <= shortest * self.thresholds.slower_ratio).then(|| (mine.busy_ns - busy).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::outlier_test::slow_sets;

    #[test]
    fn a_crowded_target_is_neither_slow_nor_fast() {
        let by = |of: fn(u32) -> f64| (0..16).map(|target| (target, of(target))).collect::<BTreeMap<u32, f64>>();
        let load = || ByTarget::new(by(|target| if target == 0 { 1.6 } else { 1.0 }));
        let of = |target: u32, crowded: f64, slow: f64| match target {
            0 => crowded,
            4 | 11 => slow,
            _ => f64::from(target % 3) * 0.02,
        };
        let fastest = (0..16).map(|target| (target, of(target, -3.0, 1.6))).collect();
        let loads = Loads { asked: load(), together: load() };
        let queues = Queues { thresholds: Thresholds::default(), loads, busy: Busy::default(), fastest };
        let above: Vec<f64> = (0..16).map(|target| queues.without_waits(target, of(target, 0.5, 1.7))).collect();
        assert_eq!(above.first(), Some(&0.0));
        let slow: Vec<Vec<usize>> = slow_sets(&above, &[0.02; 16], 0.01, 0.3).into_iter().map(|set| set.slow).collect();
        assert_eq!(slow, [[4, 11]]);
    }

    #[test]
    fn load_is_compared_with_the_median_of_the_others() {
        let of = |values: &[f64]| {
            let all = ByTarget::new((0..).zip(values.iter().copied()).collect());
            (0..4).map(|target| all.against_others(target)).collect::<Vec<f64>>()
        };
        assert_eq!(of(&[2.0, 4.0, 8.0]), [2.0 / 6.0, 4.0 / 5.0, 8.0 / 3.0, 0.0]);
        assert_eq!(of(&[2.0, 2.0, 4.0, 8.0]), [0.5, 0.5, 2.0, 4.0]);
        assert_eq!(of(&[2.0]), [0.0; 4]);
    }
}
