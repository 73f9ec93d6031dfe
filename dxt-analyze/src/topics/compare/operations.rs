//! Compares the operations of two runs: durations of single calls by a rank-sum test; each rank's mean, paired by rank, by a signed-rank
//! test. Calls within a run are not independent, so a difference must be large as well as significant.

use super::result::{Judged, OperationRow, Over, Totalled};
use super::side::{Operation, Side};
use super::sums::UnitSum;
use crate::shared::groups::Group;
use crate::shared::significance::{rank_sum, signed_rank};
use crate::shared::stats::{Sample, median};
use crate::thresholds::Thresholds;
use crate::topics::outliers::distribution::Metric;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum relative difference of mean request sizes at which durations are compared; above it, bandwidths.
const SAME_LENGTH: f64 = 0.05;

/// Returns one row per operation found in either run. `q` still equals `p`; [`super::verdict::judge`] corrects it for multiple tests.
#[must_use]
pub fn rows(before: &Side, after: &Side, least: &Thresholds) -> Vec<OperationRow> {
    let groups: BTreeSet<&Group> = before.operations.keys().chain(after.operations.keys()).collect();
    let none = Operation::default();
    let one = |side: &'_ Side, group: &Group| side.operations.get(group).cloned().unwrap_or_else(|| none.clone());
    groups.into_iter().map(|group| row(group, &one(before, group), &one(after, group), least)).collect()
}

fn row(group: &Group, before: &Operation, after: &Operation, least: &Thresholds) -> OperationRow {
    let metric = metric(before, after);
    let pair = match metric {
        Metric::Bandwidth => (&before.bandwidths, &after.bandwidths),
        Metric::Duration => (&before.durations, &after.durations),
    };
    OperationRow {
        group: group.clone(),
        is_data: before.is_data || after.is_data,
        before: totalled(before),
        after: totalled(after),
        metric,
        calls: calls(metric, pair.0, pair.1, least),
        ranks: ranks(metric, &before.ranks, &after.ranks, least),
        verdict: Judged::Same,
        extra_ns: extra(metric, before, after),
    }
}

fn totalled(operation: &Operation) -> Totalled {
    let UnitSum { operations, bytes, time_ns } = operation.sum;
    Totalled { calls: operations, bytes, time_ns }
}

/// Returns the metric for comparing calls: duration if mean request sizes differ by at most [`SAME_LENGTH`], or if either run's bandwidths
/// are unknown (no bytes, or no segments); else bandwidth.
fn metric(before: &Operation, after: &Operation) -> Metric {
    let mean = |sum: &UnitSum| sum.bytes as f64 / sum.operations.max(1) as f64;
    let (one, two) = (mean(&before.sum), mean(&after.sum));
    let differ = (one - two).abs() > SAME_LENGTH * one.max(two);
    let both = before.bandwidths.count() > 0 && after.bandwidths.count() > 0;
    if differ && both { Metric::Bandwidth } else { Metric::Duration }
}

fn calls(metric: Metric, before: &Sample, after: &Sample, least: &Thresholds) -> Option<Over> {
    if before.count().min(after.count()) < least.compare_min_sample {
        return None;
    }
    let exact = before.is_exact() && after.is_exact();
    let test = rank_sum(&before.steps(exact), &after.steps(exact))?;
    let middle = |sample: &Sample| sample.box_plot(0.0).map(|plot| plot.median);
    let (one, two) = (middle(before)?, middle(after)?);
    let (slower, likelier) = match metric {
        Metric::Duration => (two / one.max(1.0), test.larger),
        Metric::Bandwidth => (one / two.max(1.0), 1.0 - test.larger),
    };
    let sample = (before.count(), after.count());
    Some(Over { sample, before: one, after: two, slower, likelier, p: test.p, q: test.p })
}

/// Compares each rank's mean (duration of a call, or bandwidth, by `metric`) in the first run with its mean in the second; `None` if there
/// are too few ranks.
fn ranks(
    metric: Metric,
    before: &BTreeMap<u64, UnitSum>,
    after: &BTreeMap<u64, UnitSum>,
    least: &Thresholds,
) -> Option<Over> {
    let value = |sum: &UnitSum| match metric {
        Metric::Duration => (sum.operations > 0).then(|| sum.time_ns as f64 / sum.operations as f64),
        Metric::Bandwidth => (sum.bytes > 0).then(|| sum.bytes as f64 * 1e9 / sum.time_ns.max(1) as f64),
    };
    let pairs: Vec<(f64, f64)> =
        before.iter().filter_map(|(rank, sum)| Some((value(sum)?, value(after.get(rank)?)?))).collect();
    over_pairs(&pairs, metric == Metric::Bandwidth, least)
}

/// Tests pairs (first run, second run) of positive values by the logarithm of their ratio. Larger values count as slower, or as faster if
/// `more_is_faster`. Returns `None` if there are too few pairs.
#[must_use]
pub fn over_pairs(pairs: &[(f64, f64)], more_is_faster: bool, least: &Thresholds) -> Option<Over> {
    let kept: Vec<(f64, f64)> = pairs.iter().copied().filter(|(one, two)| *one > 0.0 && *two > 0.0).collect();
    if (kept.len() as u64) < least.units_min_sample {
        return None;
    }
    let sign = if more_is_faster { -1.0 } else { 1.0 };
    let logs: Vec<f64> = kept.iter().map(|(one, two)| sign * (two / one).ln()).collect();
    let p = signed_rank(&logs);
    let likelier = logs
        .iter()
        .map(|log| {
            if *log > 0.0 {
                1.0
            } else if *log < 0.0 {
                0.0
            } else {
                0.5
            }
        })
        .sum::<f64>();
    let likelier = likelier / logs.len() as f64;
    let slower = median(&mut logs.clone())?.exp();
    let (mut one, mut two): (Vec<f64>, Vec<f64>) = kept.iter().copied().unzip();
    let count = kept.len() as u64;
    Some(Over {
        sample: (count, count),
        before: median(&mut one)?,
        after: median(&mut two)?,
        slower,
        likelier,
        p,
        q: p,
    })
}

/// Returns the excess time of the second run, ns: its time minus the time for as many calls (or bytes) at the first run's mean. Negative if
/// the second run is faster.
fn extra(metric: Metric, before: &Operation, after: &Operation) -> i64 {
    let (one, two) = (&before.sum, &after.sum);
    let share = match metric {
        Metric::Duration => two.operations as f64 / one.operations.max(1) as f64,
        Metric::Bandwidth => two.bytes as f64 / one.bytes.max(1) as f64,
    };
    if one.operations == 0 { 0 } else { (two.time_ns as f64 - one.time_ns as f64 * share) as i64 }
}
