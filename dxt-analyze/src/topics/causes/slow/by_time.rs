//! Ranks, nodes and storage targets that are slow by total time although their typical call is not: slow for part of the run, or with two kinds
//! of calls, some from a cache. Slow units are above all others by a gap as wide as the others' spread.

use super::Slow;
use super::known::is_of_target;
use super::load::{Loads, OVERLOADED};
use super::of_two::AS_MUCH;
use super::remaining::Remaining;
use super::stands_off::are_of_targets;
use super::unit::Unit;
use crate::cube::reading::usual::{FAR, Kind};
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::outlier_test::{FEW, FEWEST, Odd, odd};
use crate::shared::stats::{median, upper_tail_t};
use crate::topics::causes::slow::at_once::AtOnce;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest ranks or targets compared: among few, one is often far from the rest.
const FEWEST_IN_ALL: usize = 8;
const FEWEST_CALLS: f64 = 16.0;
/// Part of the calls up to which outliers are left to findings of their own.
const FEW_ARE_FAR: f64 = 0.1;
/// Largest part of all units that can be slow.
const AT_MOST: f64 = 0.25;
/// Least gap between slow units and the others, as multiples of the others' spread; part of the others, the fastest, that does not count in the
/// spread.
const GAP: f64 = 1.0;
const FAST: f64 = 0.1;
/// Least slowdown of a rank or node, and within a slow phase; of a target, which serves several calls at once.
const LONGER: f64 = 1.15;
const LONGER_ON_TARGET: f64 = 1.6;
/// Largest bytes per call, relative to peers, for calls not to be long because of their size.
const AS_LARGE: f64 = 1.1;

/// Time of a unit's calls and of their peers.
#[derive(Clone, Copy, Debug, Default)]
struct Takes {
    calls: f64,
    /// Time, ns; outliers count as usual calls, since they have findings of their own.
    ns: f64,
    /// Number of outliers, and their excess up to `FAR` times the usual duration, ns.
    far: (f64, f64),
    /// Time of as many calls of the peers, ns.
    like_ns: f64,
    bytes: f64,
    like_bytes: f64,
}

impl Takes {
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.ns += other.ns;
        self.far = (self.far.0 + other.far.0, self.far.1 + other.far.1);
        self.like_ns += other.like_ns;
        self.bytes += other.bytes;
        self.like_bytes += other.like_bytes;
    }

    /// Time, ns, with the excess of outliers if these are more than a few.
    fn time_ns(&self) -> f64 {
        self.ns + if self.far.0 > self.calls * FEW_ARE_FAR { self.far.1 } else { 0.0 }
    }

    /// Log slowdown against the peers.
    fn above(&self) -> f64 {
        (self.time_ns().max(1.0) / self.like_ns.max(1.0)).ln()
    }

    fn is_as_large(&self) -> bool {
        self.bytes <= self.like_bytes * AS_LARGE
    }
}

/// Unit, its times, its log slowdown.
type Value = (Unit, Takes, f64);

/// Returns units that are slow by the total time of their calls of a class.
pub(super) fn by_time(cube: &Remaining<'_, '_>, class: Class, known: &BTreeSet<(Unit, Class)>) -> Vec<Slow> {
    let takes = of_cells(cube, class);
    // A record merged over several ranks belongs to none of them.
    let by_rank = cube.run.reduced_ranks() == 0;
    let mut of_process: BTreeMap<ProcessId, Takes> = BTreeMap::new();
    let mut of_target: BTreeMap<u32, Takes> = BTreeMap::new();
    for (cell, takes) in &takes {
        if by_rank {
            of_process.entry(cell.process).or_default().add(takes);
        }
        cell.targets.iter().for_each(|target| of_target.entry(*target).or_default().add(takes));
    }
    let processes: Vec<Value> = values(of_process.iter().map(|(process, takes)| (Unit::Process(*process), *takes)));
    let targets: Vec<Value> = values(of_target.into_iter().map(|(target, takes)| (Unit::Target(target), takes)));
    let nodes = nodes(cube, &of_process);
    let is_new = |units: &[Unit]| !units.iter().any(|unit| known.contains(&(*unit, class)));
    let no_target = |units: &[Unit]| {
        let ranks = ranks_of(cube, &of_process, units);
        !are_of_targets(cube, class, &ranks) && !units.iter().all(|unit| is_of_target(cube, known, *unit, class))
    };
    let (loads, at_once) = (Loads::of(cube, &[class]), AtOnce::of(cube, class));
    // A target with about the same load as others is slow by itself; one with far more load is slow by its load.
    let even = |units: &[Unit]| {
        let target = |unit: &Unit| if let Unit::Target(target) = unit { Some(*target) } else { None };
        let targets: Vec<u32> = units.iter().filter_map(target).collect();
        let by_itself = |target: &u32| {
            loads.asked(*target) <= AS_MUCH && loads.together(*target) <= AS_MUCH && !at_once.is_only_busy(*target)
        };
        let by_load = |target: &u32| loads.asked(*target) >= OVERLOADED;
        targets.iter().all(by_itself) || targets.iter().all(by_load)
    };
    let mut out: Vec<Slow> = Vec::new();
    for (sort, least, counts) in [
        (&targets, LONGER_ON_TARGET, &even as &dyn Fn(&[Unit]) -> bool),
        (&nodes, LONGER, &no_target),
        (&processes, LONGER, &no_target),
    ] {
        let rate = cube.run.thresholds.false_discovery_rate / (sort.len() * 4).max(1) as f64;
        let least = least.max(cube.run.thresholds.min_slowdown).ln();
        let Some((units, odd)) = stand_off(sort, rate, least) else { continue };
        if is_new(&units) && counts(&units) {
            let calls = sort.iter().filter(|of| units.contains(&of.0)).map(|of| of.1.calls).sum::<f64>() as u64;
            out.extend(slow(cube, class, &takes, &units, (odd, sort.len(), calls)));
        }
    }
    out
}

/// Returns the time of each cell's calls and of their peers, on the same file if cells are compared by file.
fn of_cells<'c>(cube: &Remaining<'c, '_>, class: Class) -> Vec<(&'c Cell, Takes)> {
    let mut out: Vec<(&Cell, Takes)> = Vec::new();
    let mut like: FxHashMap<(Kind, FileId), Takes> = FxHashMap::default();
    let group = |cell: &Cell| {
        let file = if cell.by_file { cell.file } else { FileId::NONE };
        cube.stream(cell).map(|stream| (Kind::of_size(stream, cell.size), file))
    };
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class) {
        let takes = Takes {
            calls: cell.sums.calls as f64,
            ns: (cell.left_ns - cell.beyond_ns(1.0)).max(0.0),
            far: (cell.sums.far_calls as f64, (cell.beyond_ns(1.0) - cell.beyond_ns(FAR)).max(0.0)),
            bytes: cell.sums.bytes as f64,
            ..Takes::default()
        };
        if let Some(group) = group(&cell) {
            like.entry(group).or_default().add(&takes);
            out.push((cell.cell(), takes));
        }
    }
    for (cell, takes) in &mut out {
        let of = group(cell).and_then(|group| like.get(&group)).copied().unwrap_or_default();
        takes.like_ns = takes.calls * of.time_ns() / of.calls.max(1.0);
        takes.like_bytes = takes.calls * of.bytes / of.calls.max(1.0);
    }
    out
}

fn values(all: impl Iterator<Item = (Unit, Takes)>) -> Vec<Value> {
    all.filter(|(_, takes)| takes.calls >= FEWEST_CALLS).map(|(unit, takes)| (unit, takes, takes.above())).collect()
}

/// Returns nodes by the median of their ranks, if each node has several.
fn nodes(cube: &Cube<'_>, of: &BTreeMap<ProcessId, Takes>) -> Vec<Value> {
    let mut by: BTreeMap<u32, (Takes, Vec<f64>)> = BTreeMap::new();
    for (process, takes) in of {
        let Some(process) = cube.run.process(*process) else { continue };
        let node = by.entry(process.node).or_default();
        node.0.add(takes);
        node.1.push(takes.above());
    }
    if by.values().any(|(_, ranks)| ranks.len() < 2) {
        return Vec::new();
    }
    let value =
        |(node, (takes, mut ranks)): (u32, (Takes, Vec<f64>))| Some((Unit::Node(node), takes, median(&mut ranks)?));
    by.into_iter().filter_map(value).filter(|(_, takes, _)| takes.calls >= FEWEST_CALLS).collect()
}

/// Returns the ranks among `units`, or on nodes among them.
fn ranks_of(cube: &Cube<'_>, all: &BTreeMap<ProcessId, Takes>, units: &[Unit]) -> Vec<ProcessId> {
    let is = |process: &&ProcessId| {
        let node = cube.run.process(**process).map(|process| process.node);
        units.contains(&Unit::Process(**process)) || node.is_some_and(|node| units.contains(&Unit::Node(node)))
    };
    all.keys().filter(is).copied().collect()
}

/// Returns units above all others by a gap as wide as the others' spread, if unlikely by chance.
fn stand_off(sort: &[Value], rate: f64, least: f64) -> Option<(Vec<Unit>, Odd)> {
    let mut order: Vec<&Value> = sort.iter().collect();
    order.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
    let values: Vec<f64> = order.iter().map(|of| of.2).collect();
    let fewest = if matches!(sort.first()?.0, Unit::Node(_)) { FEWEST } else { FEWEST_IN_ALL };
    if values.len() < fewest {
        return None;
    }
    let first = first_of(&values)?;
    let (others, slow) = values.split_at(first);
    let middle = median(&mut others.to_vec())?;
    let above = slow.iter().sum::<f64>() / slow.len() as f64 - middle;
    let odd = if values.len() <= FEW {
        let all = odd(&values, &vec![0.0; values.len()]);
        all.last().copied().filter(|_| slow.len() == 1)?
    } else {
        // Spread of the others, and their degrees of freedom.
        let squares: f64 = others.iter().map(|value| (value - middle).powi(2)).sum();
        let spread = (squares / (others.len() - 1).max(1) as f64).sqrt().max(LEAST_SPREAD);
        let score = above / spread;
        Odd { above, score, p: upper_tail_t(score, (others.len() - 1) as f64) }
    };
    let as_large = order.get(first..)?.iter().all(|of| of.1.is_as_large());
    let units: Vec<Unit> = order.get(first..)?.iter().map(|of| of.0).collect();
    (odd.above >= least && odd.p <= rate && as_large).then_some((units, odd))
}

const LEAST_SPREAD: f64 = 0.03;

/// Returns the index in sorted `values` above the widest gap, if that is as wide as most of the lower values spread.
fn first_of(values: &[f64]) -> Option<usize> {
    let least = values.len() - ((values.len() as f64 * AT_MOST) as usize).max(1);
    let gap = |at: &usize| values.get(*at).zip(values.get(at - 1)).map_or(0.0, |(next, one)| next - one);
    let first = (least.max(1)..values.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let others = values.get(..first)?;
    let fast = others.get((others.len() as f64 * FAST) as usize)?;
    (gap(&first) >= (others.last()? - fast) * GAP).then_some(first)
}

/// Returns the savings if calls of `units` took as long as their peers, in phases in which they are slower.
fn slow(
    cube: &Remaining<'_, '_>,
    class: Class,
    takes: &[(&Cell, Takes)],
    units: &[Unit],
    (odd, among, calls): (Odd, usize, u64),
) -> Option<Slow> {
    let theirs = |cell: &Cell| units.iter().any(|unit| unit.has(cube, cell));
    let mut phases: BTreeMap<usize, Takes> = BTreeMap::new();
    for (cell, takes) in takes.iter().filter(|(cell, _)| theirs(cell)) {
        phases.entry(cube.phase(cell)).or_default().add(takes);
    }
    let mut all = Takes::default();
    phases.values().for_each(|takes| all.add(takes));
    let few = all.far.0 <= all.calls * FEW_ARE_FAR;
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(cube.cells()) {
        if !cell.leaf || cell.class != class || !theirs(&cell) {
            continue;
        }
        let of = phases.get(&cube.phase(&cell)).copied().unwrap_or_default();
        let part = 1.0 - (-of.above()).exp();
        if of.above() >= LONGER.ln() {
            let stays = if few { 1.0 } else { FAR };
            savings.push((index, (cell.left_ns - cell.beyond_ns(stays)).max(0.0) * part));
        }
    }
    let (unit, more) = units.split_first()?;
    let by = vec![(class, odd, among, calls)];
    (!savings.is_empty()).then(|| Slow { unit: *unit, more: more.to_vec(), by, grows: false, savings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[f64]) -> Option<usize> {
        let takes = |above: &f64| Takes {
            calls: 100.0,
            ns: above.exp() * 1e9,
            like_ns: 1e9,
            bytes: 1.0,
            like_bytes: 1.0,
            ..Takes::default()
        };
        let sort: Vec<Value> =
            values.iter().zip(0..).map(|(above, at)| (Unit::Node(at), takes(above), *above)).collect();
        stand_off(&sort, 1e-3, LONGER.ln()).map(|(units, _)| units.len())
    }

    #[test]
    fn who_takes_a_little_longer_than_all_others_stands_off() {
        assert_eq!(found(&[-0.05, -0.02, 0.0, -0.04, -0.03, 0.21]), Some(1));
        assert_eq!(found(&[-0.05, -0.02, 0.0, -0.04, -0.03, 0.05]), None, "hardly longer");
        assert_eq!(found(&[-0.2, -0.1, 0.0, 0.1, 0.2, 0.35]), None, "the next of a row");
        let others: Vec<f64> = (0..40).map(|at| f64::from(at % 9) * 0.02).collect();
        assert_eq!(found(&[others.as_slice(), &[0.5]].concat()), Some(1));
        assert_eq!(found(&[others.as_slice(), &[0.5, 0.55]].concat()), Some(2));
        assert_eq!(found(&[others.as_slice(), &[0.25]].concat()), None, "as far as the others are from each other");
        assert_eq!(found(&[0.0, 0.4]), None);
    }
}
