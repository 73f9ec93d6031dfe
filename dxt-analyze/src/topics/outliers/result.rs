//! Result and findings of `outliers`: single operations by the box-plot rule of the DXT paper; ranks, nodes, storage targets and files by
//! modified z-scores ([`super::units`]). Only operations of the same layer, name and call variant are compared.

use super::distribution::{GroupSample, Metric};
use super::row::OutlierRow;
use super::shared_traits::{Population, shared_traits};
use super::units::stragglers::Straggler;
use super::units::{UnitGroup, Verdict};
use super::worst::{Fence, GroupWorst, Slow};
use crate::findings::{About, Code, Finding, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{FileLayout, Run};
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::shared::stats::BoxPlot;
use crate::thresholds::Thresholds;
use crate::words::outliers::{self as words, Beyond};
use serde::Serialize;
use std::collections::BTreeMap;

/// Group of comparable operations (same layer, name and call variant) and its outliers.
#[derive(Clone, Debug, Serialize)]
pub struct OperationGroup {
    /// Layer, name and call variant of the operations.
    #[serde(flatten)]
    pub group: Group,
    /// Number of operations of the group from which the quartiles are computed.
    pub sample: u64,
    /// Number of operations that have no bandwidth because they moved no bytes.
    pub without_value: u64,
    /// Quartiles, mean and fences of the bandwidth (bytes per second) or the duration (ns).
    #[serde(flatten)]
    pub plot: BoxPlot,
    /// Result of the comparison: too few operations, no outlier, or outliers.
    pub verdict: Verdict,
    /// Number of operations beyond the fence: below it for bandwidths, above it for durations.
    pub outliers: u64,
    /// Sum of the durations of all outliers of the group, ns.
    pub time_ns: u64,
    /// Time that the group's outliers lost compared with the group's median, ns.
    pub extra_ns: u64,
    /// Worst outliers of the group, sorted by rank, pid and start.
    pub rows: Vec<OutlierRow>,
}

/// Returns the fence (limit of the box-plot rule) of each group of operations; `None` if the group is too small to judge, or has no
/// operation beyond its fence.
#[must_use]
pub fn fences(samples: &[GroupSample], metric: Metric, least: &Thresholds) -> Vec<Option<Fence>> {
    let fence = |group: &GroupSample| {
        let plot = group.sample.box_plot(least.fence_iqr).filter(|_| group.sample.count() >= least.box_min_sample)?;
        let (limit, beyond) = match metric {
            Metric::Bandwidth => (plot.low_fence, plot.min < plot.low_fence),
            Metric::Duration => (plot.high_fence, plot.max > plot.high_fence),
        };
        beyond.then_some(Fence { limit, usual: plot.median })
    };
    samples.iter().map(fence).collect()
}

/// Builds a result row per group from its sample and its operations beyond the fence (limit of the box-plot rule).
#[must_use]
pub fn operation_groups(
    run: &Run,
    groups: &[Option<Group>],
    samples: &[GroupSample],
    worst: Vec<GroupWorst>,
    layouts: &[Option<FileLayout>],
) -> Vec<OperationGroup> {
    let mut out: Vec<OperationGroup> = groups
        .iter()
        .zip(samples)
        .zip(worst)
        .filter_map(|((group, sample), worst)| {
            let (group, plot) = (group.clone()?, sample.sample.box_plot(run.thresholds.fence_iqr)?);
            let verdict = match (sample.sample.count() >= run.thresholds.box_min_sample, worst.count) {
                (false, _) => Verdict::TooFew,
                (true, 0) => Verdict::None,
                (true, _) => Verdict::Outliers,
            };
            let mut kept: Vec<Slow> = worst.kept.into_vec();
            kept.sort_by_key(|slow| (slow.process, slow.start, slow.offset, slow.end, slow.stream));
            Some(OperationGroup {
                group,
                sample: sample.sample.count(),
                without_value: sample.without_value,
                plot,
                verdict,
                outliers: worst.count,
                time_ns: worst.time_ns,
                extra_ns: worst.extra_ns,
                rows: kept.iter().filter_map(|slow| row(run, slow, layouts)).collect(),
            })
        })
        .collect();
    out.sort_by(|a, b| a.group.cmp(&b.group));
    out
}

fn row(run: &Run, slow: &Slow, layouts: &[Option<FileLayout>]) -> Option<OutlierRow> {
    let process = run.process(slow.process)?;
    let stream = process.stream(slow.stream)?;
    // A guessed layout does not determine on which stripe an offset lies.
    let layout = layouts.get(stream.file.index())?.as_ref().filter(|layout| !layout.is_guess());
    let place = layout.zip(u64::try_from(slow.offset).ok()).and_then(|(layout, offset)| layout.layout.locate(offset));
    let duration = (slow.end - slow.start).max(1);
    Some(OutlierRow {
        rank: process.rank,
        node: run.node(process).to_owned(),
        pid: process.pid,
        file: run.file(stream.file)?.name.clone(),
        offset: slow.offset,
        length: slow.length,
        start_ns: slow.start.saturating_add(process.shift_ns),
        end_ns: slow.end.saturating_add(process.shift_ns),
        bandwidth: (slow.length > 0).then(|| slow.length as f64 * 1e9 / duration as f64),
        stripe: place.map(|place| place.stripe),
        ost: place.and_then(|place| place.target),
    })
}

/// Result of `outliers`.
#[derive(Clone, Debug, Serialize)]
pub struct Outliers {
    /// Kind of comparison: `op`, `rank`, `node`, `ost` or `file`.
    pub by: String,
    /// Value that is compared: bandwidth or duration.
    pub metric: Metric,
    /// Results for groups of single operations; empty unless operations are compared (`--by op`).
    pub operations: Vec<OperationGroup>,
    /// Results for groups of operations by unit; empty unless ranks, nodes, storage targets or files are compared.
    pub units: Vec<UnitGroup>,
    /// Slowest unit (rank, node, target or file) of each group of operations in each time window, if the user requested windows.
    pub stragglers: Vec<Straggler>,
    /// Reason why nothing can be compared; `None` if something was compared.
    pub nothing: Option<String>,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings on slow operations or slow units (ranks, nodes, targets or files), and on the trace itself.
    pub findings: Vec<Finding>,
}

/// Returns findings on slow operations; `io_ns` is the time that all processes spent in the compared operations.
#[must_use]
pub fn operation_findings(
    groups: &[OperationGroup],
    metric: Metric,
    io_ns: u64,
    populations: &BTreeMap<Group, Population>,
    least: &Thresholds,
) -> Vec<Finding> {
    let finding = |group: &OperationGroup| {
        if group.outliers == 0 {
            return None;
        }
        let mut rows: Vec<&OutlierRow> = group.rows.iter().collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.end_ns - row.start_ns), row.rank, row.start_ns, row.offset));
        let slowest = rows.iter().take(NAMED_EXAMPLES).map(|row| slow_operation(row)).collect();
        let traits = populations.get(&group.group).map(|population| shared_traits(&group.rows, population, least));
        let words = words::slow_operations(&words::SlowOperations {
            operation: group.group.title(),
            outliers: group.outliers,
            sample: group.sample,
            beyond: match metric {
                Metric::Bandwidth => Beyond::Rate(group.plot.low_fence),
                Metric::Duration => Beyond::Time(group.plot.high_fence.max(0.0) as u64),
            },
            listed: group.rows.len(),
            traits: traits.unwrap_or_default(),
            slowest,
        });
        let about = About {
            operation: Some(group.group.title()),
            calls: Some(group.outliers),
            time_ns: Some(group.extra_ns),
            ..About::default()
        };
        Some(Finding {
            severity: Severity::of_cost(group.extra_ns, io_ns, least),
            cost_ns: Some(group.extra_ns),
            ..Finding::new(Code::SLOW_OPERATIONS, words).with(about)
        })
    };
    groups.iter().filter_map(finding).collect()
}

/// Converts a slow operation to the form that sentences and findings use.
fn slow_operation(row: &OutlierRow) -> (words::Operation, About) {
    let operation = words::Operation {
        rank: row.rank,
        node: row.node.clone(),
        file: row.file.clone(),
        offset: row.offset,
        length: row.length,
        took_ns: row.end_ns - row.start_ns,
    };
    (operation, row.about())
}
