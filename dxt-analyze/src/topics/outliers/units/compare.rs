//! Finds units (ranks, nodes, storage targets or files) that are slower than their peers by more than chance, given the operations they did.
//!
//! 1. *Compare similar operations.* Slowness of a unit = its time / usual time of the same operations. The usual time of a size class is
//!    the median over all units of their mean time per operation.
//! 2. *Robust score.* z = (ln(slowness) - its median over units) / max(1.4826 MAD, standard error of the unit). On a log scale, twice as slow and
//!    twice as fast are equally far from usual. MAD: Iglewicz & Hoaglin, 1993. The standard error keeps a few stalled operations, which may
//!    hit any unit, from making a unit an outlier.
//! 3. *Multiple testing.* Student's t with n / 2 degrees of freedom, which fits normal data scaled by their own MAD, turns scores into
//!    probabilities. The procedure of Benjamini & Hochberg (JRSS B 57, 1995) limits the expected share of false alarms among all alarms to
//!    `false_discovery_rate`, for any number of units.
//!
//! A unit that passes this test is an outlier if, in addition, z ≥ `modified_z` and slowness ≥ `min_slowdown` times the median. It is no
//! outlier if it does not pass without its operations on slow storage targets ([`on_slow_targets`]).

pub mod on_slow_targets;

use super::UnitKind;
use super::windows::Windows;
use super::work::{Grouped, UnitWork, WHOLE};
use crate::model::Run;
use crate::shared::groups::Group;
use crate::shared::stats::{Robust, Scale, benjamini_hochberg, median, upper_tail_t};
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::topics::outliers::distribution::Metric;
use on_slow_targets::{Blame, Met};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Unit (rank, node, storage target or file) with its slowdown relative to the other units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Name of the unit: rank, host, OST index or path.
    pub unit: String,
    /// Number of operations of the unit (rank, node, target or file) that were compared.
    pub operations: u64,
    /// Bytes transferred by the compared operations of the unit (rank, node, target or file).
    pub bytes: u64,
    /// Time in the compared operations of the unit (rank, node, target or file), summed over processes, ns.
    pub time_ns: u64,
    /// Bandwidth (bytes per second) or mean duration (ns) of the unit's operations, depending on the metric.
    pub value: f64,
    /// Slowdown: time / usual time of the same operations, relative to the median over units (ranks, nodes, targets or files); below 1
    /// means faster.
    pub slower: f64,
    /// Robust z-score of the slowdown of the unit (rank, node, target or file), positive if slow; `None` if there are too few units.
    pub z: Option<f64>,
    /// Probability of so high a z-score of the unit (rank, node, target or file) by chance; `None` if there are too few units.
    pub p: Option<f64>,
    /// Time that the unit (rank, node, target or file) lost compared with the same operations at the median pace, ns; negative if it was
    /// faster.
    pub extra_ns: i64,
    /// True if the unit (rank, node, target or file) is slower than the other units by more than chance.
    pub outlier: bool,
    /// True if the unit (rank, node or file) is slow only because of storage targets that were slow for other units as well.
    pub slow_targets: bool,
}

/// Result of comparing the units (ranks, nodes, targets or files) that did the operations of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Too few units (ranks, nodes, targets or files) to compare.
    TooFew,
    /// No unit (rank, node, target or file) is an outlier.
    None,
    /// At least one unit (rank, node, target or file) is an outlier.
    Outliers,
}

/// Comparison of the units (ranks, nodes, targets or files) that did one group of operations in one time window.
#[derive(Clone, Debug, Serialize)]
pub struct UnitGroup {
    /// Group of operations that is compared (layer, name, call variant).
    #[serde(flatten)]
    pub group: Group,
    /// Time window (start, end), ns since the job's start; `None` if the whole run is compared.
    pub window: Option<(u64, u64)>,
    /// Number of units (ranks, nodes, targets or files) compared.
    pub sample: u64,
    /// Median over units (ranks, nodes, targets or files) of bandwidth (bytes per second) or mean duration (ns).
    pub median: f64,
    /// Robust standard deviation of ln(slowness) over units (ranks, nodes, targets or files).
    pub sigma: f64,
    /// Estimator of the spread by which `sigma` was computed.
    pub scale: Scale,
    /// Result of the comparison: too few units (ranks, nodes, targets or files), no outlier, or outliers.
    pub verdict: Verdict,
    /// Number of units (ranks, nodes, targets or files) that are outliers.
    pub outliers: u64,
    /// Number of units (ranks, nodes, targets or files) that are slow only because of slow storage targets; these are not counted as
    /// outliers.
    pub on_slow_targets: u64,
    /// Time in calls of the unit (rank, node, target or file) with most time, ns.
    pub most_ns: u64,
    /// Time in calls of the unit (rank, node, target or file) with least time, ns.
    pub least_ns: u64,
    /// Time in calls of all units (ranks, nodes, targets or files) together, ns.
    pub total_ns: u64,
    /// Units (ranks, nodes, targets or files): outliers first, then units slow only because of slow storage targets, then all others; each
    /// part sorted by slowdown, largest first. Limited to the requested number.
    pub rows: Vec<UnitRow>,
}

/// Totals of a unit (rank, node, target or file) that the comparison uses.
pub(super) struct Unit {
    key: u64,
    operations: u64,
    bytes: u64,
    time_ns: u64,
    /// Usual time of the operations of the unit (rank, node, target or file), given their request sizes, ns.
    usual_ns: f64,
    /// Relative standard error of the time of the unit (rank, node, target or file).
    error: f64,
}

impl Unit {
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Bandwidth => (self.bytes > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns.max(1) as f64),
            Metric::Duration => (self.operations > 0).then(|| self.time_ns as f64 / self.operations as f64),
        }
    }

    /// Returns ln(slowness). Both times count as at least 1 ns, the resolution of clocks, so the result is finite.
    fn slowness_ln(&self) -> f64 {
        (self.time_ns.max(1) as f64 / self.usual_ns.max(1.0)).ln()
    }
}

/// Subject and method of one comparison.
pub(crate) struct Comparison<'a> {
    pub(crate) run: &'a Run,
    pub(crate) kind: UnitKind,
    pub(crate) metric: Metric,
    pub(crate) windows: &'a Windows,
    /// Names of the units (ranks, nodes, targets or files) that findings call slow: outliers of the whole run, whatever their scores.
    pub(crate) named: &'a BTreeSet<String>,
    /// Number of units to list per group of operations; all outliers are counted.
    pub(crate) top: usize,
}

/// Compares the units (ranks, nodes, targets or files) of every group of operations. `work`: totals of each unit; `met`: totals of each
/// unit on slow storage targets, where known.
#[must_use]
pub(crate) fn compare(of: &Comparison<'_>, work: &Grouped, met: Option<&Met>) -> Vec<UnitGroup> {
    let Comparison { run, metric, windows, .. } = *of;
    let mut groups: Vec<Judged> = work
        .iter()
        .filter_map(|((group, window), units)| Judged::new(group, *window, metric, units, &run.thresholds))
        .collect();
    // All time windows of a group form one family for multiple testing.
    for family in groups.chunk_by_mut(|a, b| a.group == b.group) {
        let all: Vec<f64> =
            family.iter().flat_map(|judged| judged.units.iter().filter_map(|(_, score)| score.p)).collect();
        let limit = benjamini_hochberg(&all, run.thresholds.false_discovery_rate);
        family.iter_mut().for_each(|judged| judged.limit = limit);
    }
    let span = |window| (windows != Windows::WHOLE).then(|| windows.span(window));
    let finish = |judged: Judged| {
        let span = span(judged.window);
        judged.finish(of, span, met)
    };
    groups.into_iter().map(finish).collect()
}

/// z-score of the slowness of a unit (rank, node, target or file), with its slowdown and probability.
#[derive(Clone, Copy)]
pub(super) struct Score {
    pub(super) slower: f64,
    z: f64,
    p: Option<f64>,
}

/// Result for a unit (outlier, slow only because of slow targets, or usual), in the sort order of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Outlier,
    /// The unit (rank, node or file) is slow only because of slow storage targets.
    SlowTargets,
    Usual,
}

/// Units of one group of operations in one time window, with their scores.
pub(super) struct Judged {
    group: Group,
    window: u32,
    metric: Metric,
    median: f64,
    robust: Robust,
    /// Usual time of one operation by request size class, ns.
    pub(super) usual: BTreeMap<u8, f64>,
    /// Degrees of freedom of Student's t distribution; `None` if there are too few units (ranks, nodes, targets or files) for a test.
    freedom: Option<f64>,
    units: Vec<(Unit, Score)>,
    /// Largest probability by chance at which a unit still counts as an outlier (procedure of Benjamini & Hochberg).
    limit: f64,
}

impl Judged {
    fn new(
        group: &Group,
        window: u32,
        metric: Metric,
        units: &BTreeMap<u64, UnitWork>,
        least: &Thresholds,
    ) -> Option<Self> {
        let usual = usual_times(units);
        let mut units: Vec<Unit> = units.iter().map(|(key, work)| unit(*key, work, &usual)).collect();
        units.retain(|unit| unit.value(metric).is_some());
        let mut values: Vec<f64> = units.iter().filter_map(|unit| unit.value(metric)).collect();
        let slowness: Vec<f64> = units.iter().map(Unit::slowness_ln).collect();
        let robust = Robust::of(&slowness)?;
        let enough = units.len() as u64 >= least.units_min_sample;
        let freedom = enough.then_some(units.len() as f64 / 2.0);
        let (group, median) = (group.clone(), median(&mut values)?);
        let mut judged = Self { group, window, metric, median, robust, usual, freedom, units: Vec::new(), limit: 0.0 };
        judged.units = units.into_iter().map(|unit| judged.scored(unit)).collect();
        Some(judged)
    }

    pub(super) fn scored(&self, unit: Unit) -> (Unit, Score) {
        let slowness = unit.slowness_ln();
        let z = self.robust.z_with(slowness, unit.error);
        let slower = (slowness - self.robust.median).exp();
        (unit, Score { slower, z, p: self.freedom.map(|freedom| upper_tail_t(z, freedom)) })
    }

    fn is_beyond(&self, score: &Score, least: &Thresholds) -> bool {
        let improbable = score.p.is_some_and(|p| p <= self.limit);
        improbable && score.z >= least.modified_z && score.slower >= least.min_slowdown
    }

    fn found(&self, unit: &Unit, score: &Score, blame: Option<&Blame<'_>>, least: &Thresholds) -> Found {
        if !self.is_beyond(score, least) {
            return Found::Usual;
        }
        match blame.and_then(|blame| blame.rest(unit.key, self, least)) {
            Some((rest, score)) if rest.value(self.metric).is_none() || !self.is_beyond(&score, least) => {
                Found::SlowTargets
            }
            _ => Found::Outlier,
        }
    }

    fn finish(mut self, of: &Comparison<'_>, span: Option<(u64, u64)>, met: Option<&Met>) -> UnitGroup {
        let Comparison { run, kind, named, top, .. } = *of;
        let least = &run.thresholds;
        let blame = met.and_then(|met| met.of_group(&self.group, self.window));
        let blame = blame.map(|units| Blame::of(units, &self, least));
        let units = std::mem::take(&mut self.units);
        // The finding may be about other operations.
        let is_named = |unit: &Unit, score: &Score| {
            let slow = span.is_none() && !named.is_empty() && score.slower >= least.min_slowdown;
            slow && named.contains(&kind.name(run, unit.key))
        };
        let found = |(unit, score): (Unit, Score)| match is_named(&unit, &score) {
            true => (Found::Outlier, unit, score),
            false => (self.found(&unit, &score, blame.as_ref(), least), unit, score),
        };
        let mut units: Vec<(Found, Unit, Score)> = units.into_iter().map(found).collect();
        let count = |what| units.iter().filter(|(found, ..)| *found == what).count() as u64;
        let (outliers, on_slow_targets) = (count(Found::Outlier), count(Found::SlowTargets));
        // Sorting by slowdown alone could list a unit first that a single stalled operation makes slowest, though it is no outlier.
        units.sort_by(|(found, a, of_a), (other, b, of_b)| {
            found.cmp(other).then_with(|| of_b.slower.total_cmp(&of_a.slower)).then_with(|| a.key.cmp(&b.key))
        });
        let times = || units.iter().map(|(_, unit, _)| unit.time_ns);
        let row = |(found, unit, score): &(Found, Unit, Score)| UnitRow {
            unit: kind.name(run, unit.key),
            operations: unit.operations,
            bytes: unit.bytes,
            time_ns: unit.time_ns,
            value: unit.value(self.metric).unwrap_or_default(),
            slower: score.slower,
            z: score.p.map(|_| score.z),
            p: score.p,
            extra_ns: (unit.time_ns as f64 - unit.usual_ns * self.robust.median.exp()) as i64,
            outlier: *found == Found::Outlier,
            slow_targets: *found == Found::SlowTargets,
        };
        UnitGroup {
            window: span,
            sample: units.len() as u64,
            median: self.median,
            sigma: self.robust.sigma,
            scale: self.robust.scale,
            verdict: match (self.freedom, outliers) {
                (None, _) => Verdict::TooFew,
                (_, 0) => Verdict::None,
                _ => Verdict::Outliers,
            },
            outliers,
            on_slow_targets,
            most_ns: times().max().unwrap_or_default(),
            least_ns: times().min().unwrap_or_default(),
            total_ns: times().sum::<Sum>().get(),
            rows: units.iter().take(top).map(row).collect(),
            group: self.group,
        }
    }
}

/// Returns the usual time of one operation by request size class, ns: the median over units (ranks, nodes, targets or files) of each unit's
/// mean time.
fn usual_times(units: &BTreeMap<u64, UnitWork>) -> BTreeMap<u8, f64> {
    let mut means: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    for (class, cell) in units.values().flatten().filter(|(_, cell)| cell.weight > 0) {
        means.entry(*class).or_default().push(cell.time_ns as f64 * WHOLE as f64 / cell.weight as f64);
    }
    means.into_iter().filter_map(|(class, mut means)| Some((class, median(&mut means)?))).collect()
}

/// Sums the totals (`work`) of a unit (rank, node, target or file) over request size classes; `usual` contains the usual time of one
/// operation by size class, ns.
pub(super) fn unit(key: u64, work: &UnitWork, usual: &BTreeMap<u8, f64>) -> Unit {
    let mut out = Unit { key, operations: 0, bytes: 0, time_ns: 0, usual_ns: 0.0, error: 0.0 };
    let mut variance = 0.0;
    for (class, cell) in work {
        out.operations = out.operations.saturating_add(cell.operations);
        out.bytes = out.bytes.saturating_add(cell.bytes);
        out.time_ns = out.time_ns.saturating_add(cell.time_ns);
        out.usual_ns += usual.get(class).copied().unwrap_or_default() * cell.weight as f64 / WHOLE as f64;
        if cell.operations > 1 {
            let (count, time) = (cell.operations as f64, cell.time_ns as f64);
            // Variance of the sum = number of operations x variance of one operation.
            variance += (cell.squares as f64 - time * time / count).max(0.0) * count / (count - 1.0);
        }
    }
    out.error = variance.sqrt() / out.time_ns.max(1) as f64;
    out
}
