//! Finds slow ranks, nodes and storage targets by the total time of their calls instead of the typical call: those that are slow for a part
//! of the run only, or with two kinds of calls, some from a cache.

use super::candidate::Candidate;
use super::of_class::OfClass;
use super::residuals::Residuals;
use super::unit::{Slowdowns, Unit};
use crate::cube::reading::usual::{FAR, Kind};
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::outlier_test::{FEW, FEWEST, Odd, slow_sets};
use crate::shared::stats::median;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Time of a unit's calls, and the time that they would take if they were as fast as their peers.
#[derive(Clone, Copy, Debug, Default)]
struct Takes {
    calls: f64,
    /// Time, ns; outliers count as usual calls, since they have findings of their own.
    ns: f64,
    /// Number of outliers, and their time above the usual duration, ns; of each outlier, only time up to `FAR` times the usual duration
    /// counts.
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
    fn time_ns(&self, thresholds: &Thresholds) -> f64 {
        self.ns + if self.far.0 > self.calls * thresholds.some_share { self.far.1 } else { 0.0 }
    }

    /// Log slowdown against the peers.
    fn above(&self, thresholds: &Thresholds) -> f64 {
        (self.time_ns(thresholds).max(1.0) / self.like_ns.max(1.0)).ln()
    }

    fn is_as_large(&self, thresholds: &Thresholds) -> bool {
        self.bytes <= self.like_bytes * thresholds.similar_ratio
    }
}

/// Unit, times of its calls, and its log slowdown against peers.
type Value = (Unit, Takes, f64);

/// Returns ranks, nodes and storage targets that are slow by the total time of their calls of a class, reads or writes. `p`: largest probability by
/// chance.
pub(super) fn by_total_time(cube: &Residuals<'_, '_>, of_class: &OfClass, p: f64) -> Vec<Candidate> {
    let (class, queues) = (of_class.class, &of_class.queues);
    let takes = of_cells(cube, class);
    let mut of_process: BTreeMap<ProcessId, Takes> = BTreeMap::new();
    let mut of_target: BTreeMap<u32, Takes> = BTreeMap::new();
    for (cell, takes) in &takes {
        // A record merged over several ranks belongs to none of them.
        if cube.run.reduced_ranks() == 0 {
            of_process.entry(cell.process).or_default().add(takes);
        }
        of_class.targets_of(&cell.targets).for_each(|target| of_target.entry(target).or_default().add(takes));
    }
    let value = |(unit, takes): (Unit, Takes)| (unit, takes, takes.above(&cube.run.thresholds));
    let processes: Vec<Value> = of_process.iter().map(|(one, takes)| value((Unit::Process(*one), *takes))).collect();
    let is_overloaded = |of: &&Value| matches!(of.0, Unit::Target(target) if queues.is_overloaded(target));
    let counts =
        |of: &&Value| is_overloaded(of) || !matches!(of.0, Unit::Target(target) if !queues.is_slow_by_itself(target));
    let targets: Vec<Value> =
        of_target.into_iter().map(|(target, takes)| value((Unit::Target(target), takes))).collect();
    let least = cube.run.thresholds.min_slowdown;
    let sorts =
        [(targets, least.max(cube.run.thresholds.slower_ratio)), (nodes(cube, &of_process), least), (processes, least)];
    let mut out = Vec::new();
    for (mut sort, least) in sorts {
        sort.retain(|(_, takes, _)| takes.calls >= cube.run.thresholds.many_calls_min as f64);
        let values: Vec<f64> = sort.iter().map(|of| of.2).collect();
        let is_node = matches!(sort.first(), Some((Unit::Node(_), ..)));
        if values.len() < if is_node { FEWEST } else { FEW + 1 } {
            continue;
        }
        for set in slow_sets(&values, &vec![0.0; values.len()], p, cube.run.thresholds.log_gap) {
            let of: Vec<&Value> = set.slow.iter().filter_map(|at| sort.get(*at)).collect();
            let few = of.len() as f64 <= (values.len() as f64 * cube.run.thresholds.quarter_share).max(1.0);
            let is = of.iter().all(|of| of.1.is_as_large(&cube.run.thresholds) && counts(of));
            if !few || !is || set.odd.above < least.ln() || set.odd.p > p {
                continue;
            }
            let (overloaded, slow): (Vec<&Value>, Vec<&Value>) = of.into_iter().partition(is_overloaded);
            for of in [overloaded, slow].into_iter().filter(|of| !of.is_empty()) {
                let calls = of.iter().map(|of| of.1.calls).sum::<f64>() as u64;
                let units: Vec<(Unit, f64)> = of.iter().map(|of| (of.0, of.2 - set.others)).collect();
                let above = units.iter().map(|(_, above)| above).sum::<f64>() / units.len() as f64;
                if above < least.ln() {
                    continue;
                }
                let savings = savings(cube, class, &takes, &units);
                let by = vec![(class, Odd { above, ..set.odd }, values.len(), calls)];
                out.push(Candidate { units, by, grows: false, savings: Some(savings) });
            }
        }
    }
    out
}

/// Returns the time of each cell's calls and of their peers, on the same file if cells are compared by file.
fn of_cells<'c>(cube: &Residuals<'c, '_>, class: Class) -> Vec<(&'c Cell, Takes)> {
    let mut out: Vec<(&Cell, Takes)> = Vec::new();
    let mut like: FxHashMap<(Kind, FileId), Takes> = FxHashMap::default();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class) {
        let takes = Takes {
            calls: cell.sums.calls as f64,
            ns: (cell.left_ns - cell.beyond_ns(1.0)).max(0.0),
            far: (cell.sums.far_calls as f64, (cell.beyond_ns(1.0) - cell.beyond_ns(FAR)).max(0.0)),
            bytes: cell.sums.bytes as f64,
            ..Takes::default()
        };
        if let Some(group) = cube.peers(&cell) {
            like.entry(group).or_default().add(&takes);
            out.push((cell.cell(), takes));
        }
    }
    for (cell, takes) in &mut out {
        let of = cube.peers(cell).and_then(|group| like.get(&group)).copied().unwrap_or_default();
        takes.like_ns = takes.calls * of.time_ns(&cube.run.thresholds) / of.calls.max(1.0);
        takes.like_bytes = takes.calls * of.bytes / of.calls.max(1.0);
    }
    out
}

/// Returns nodes by the median log slowdown of their ranks; empty if any node has a single rank.
fn nodes(cube: &Cube<'_>, of: &BTreeMap<ProcessId, Takes>) -> Vec<Value> {
    let mut by: BTreeMap<u32, (Takes, Vec<f64>)> = BTreeMap::new();
    for (process, takes) in of {
        let Some(process) = cube.run.process(*process) else { continue };
        let node = by.entry(process.node).or_default();
        node.0.add(takes);
        node.1.push(takes.above(&cube.run.thresholds));
    }
    if by.values().any(|(_, ranks)| ranks.len() < 2) {
        return Vec::new();
    }
    let value =
        |(node, (takes, mut ranks)): (u32, (Takes, Vec<f64>))| Some((Unit::Node(node), takes, median(&mut ranks)?));
    by.into_iter().filter_map(value).collect()
}

/// Returns the time saved by cell, ns, if calls of `units` took as long as their peers in those phases in which they are slower.
fn savings(cube: &Residuals<'_, '_>, class: Class, takes: &[(&Cell, Takes)], units: &[(Unit, f64)]) -> Savings {
    let mut slowdowns = Slowdowns::default();
    units.iter().for_each(|(unit, above)| slowdowns.add(class, *unit, *above));
    let theirs = |cell: &Cell| slowdowns.of(cube, cell).is_some();
    let mut phases: BTreeMap<usize, Takes> = BTreeMap::new();
    let mut all = Takes::default();
    for (cell, takes) in takes.iter().filter(|(cell, _)| theirs(cell)) {
        phases.entry(cube.phase(cell)).or_default().add(takes);
        all.add(takes);
    }
    let stays = if all.far.0 <= all.calls * cube.run.thresholds.some_share { 1.0 } else { FAR };
    let least = cube.run.thresholds.min_slowdown.ln();
    let mut out = Savings::new();
    for (index, cell) in (0_u32..).zip(cube.cells()).filter(|(_, cell)| cell.leaf && cell.class == class) {
        let above = phases.get(&cube.phase(&cell)).map_or(0.0, |of| of.above(&cube.run.thresholds));
        if above >= least && theirs(&cell) {
            out.push((index, (cell.left_ns - cell.beyond_ns(stays)).max(0.0) * (1.0 - (-above).exp())));
        }
    }
    out
}
