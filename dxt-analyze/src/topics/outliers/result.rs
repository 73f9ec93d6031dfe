//! Outliers, result and findings. Single operations are compared by the box-plot rule of the DXT paper; ranks, nodes,
//! storage targets and files by modified z-scores ([`super::units`]). Groups are never mixed: an operation is compared
//! with operations of its own layer, name and form.

use super::distribution::{GroupSample, Metric};
use super::row::OutlierRow;
use super::shared_traits::{Population, shared_traits};
use super::units::stragglers::Straggler;
use super::units::{UnitGroup, UnitKind, UnitRow, Verdict};
use super::worst::{Fence, GroupWorst, Slow};
use crate::findings::{Code, Evidence, Finding, Severity};
use crate::model::{FileLayout, Run};
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::shared::stats::BoxPlot;
use crate::text::units as show;
use crate::thresholds::Thresholds;
use serde::Serialize;
use std::collections::BTreeMap;

/// Findings of one kind that are listed; more are summed up in the last.
const LISTED: usize = 10;

/// A group of operations and its outliers.
#[derive(Clone, Debug, Serialize)]
pub struct OperationGroup {
    /// What is compared.
    #[serde(flatten)]
    pub group: Group,
    /// Operations in the sample.
    pub sample: u64,
    /// Operations without bytes, which have no bandwidth.
    pub without_value: u64,
    /// Quartiles, mean, fences: bytes per second, or ns.
    #[serde(flatten)]
    pub plot: BoxPlot,
    /// What can be said.
    pub verdict: Verdict,
    /// Operations beyond the fence.
    pub outliers: u64,
    /// Time in them, ns.
    pub time_ns: u64,
    /// Time beyond what the same takes at the group's median, ns.
    pub extra_ns: u64,
    /// The worst of them, in order of rank, pid and start.
    pub rows: Vec<OutlierRow>,
}

/// Groups whose operations are compared one by one: which are large enough to judge, and their fences.
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

/// Puts together samples and what lies beyond their fences.
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
    // A guessed layout says nothing of stripes.
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

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Outliers {
    /// `op`, `rank`, `node`, `ost` or `file`.
    pub by: String,
    /// What is compared.
    pub metric: Metric,
    /// Groups of operations, for `op`.
    pub operations: Vec<OperationGroup>,
    /// Groups of units, for the others.
    pub units: Vec<UnitGroup>,
    /// The slowest unit of each group in each window of time, if windows were asked for.
    pub stragglers: Vec<Straggler>,
    /// Why there is nothing to compare, if so.
    pub nothing: Option<String>,
    /// What is missing.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// Findings on operations; `io_ns` is the time that all processes spent in the operations compared.
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
        let evidence = rows.iter().take(3).map(|row| {
            let place = if row.offset < 0 { String::new() } else { format!("at offset {} ", row.offset) };
            let words = format!(
                "rank {} on {}: {} {place}of {} took {}",
                row.rank,
                row.node,
                show::bytes(row.length),
                row.file,
                show::duration(row.end_ns - row.start_ns)
            );
            Evidence::of(words, row.about())
        });
        let traits = populations.get(&group.group).map(|population| shared_traits(&group.rows, population, least));
        let beyond = match metric {
            Metric::Bandwidth => format!("slower than {}", show::rate(group.plot.low_fence)),
            Metric::Duration => format!("longer than {}", show::duration(group.plot.high_fence.max(0.0) as u64)),
        };
        Some(Finding {
            code: Code::SLOW_OPERATIONS,
            severity: Severity::of_cost(group.extra_ns, io_ns, least),
            title: format!(
                "{} of {} {} operations are {beyond}",
                show::count(group.outliers),
                show::count(group.sample),
                group.group.title()
            ),
            evidence: traits.into_iter().flatten().map(Evidence::from).chain(evidence).collect(),
            cost_ns: Some(group.extra_ns),
            saving: None, hint: "what the slow ones share points to the cause: one OST to the file system, one node or rank to its host, one \
                   moment to other jobs or a burst of one's own (`stripes`, `--by node`, `--by ost`)"
                .into(),
        })
    };
    groups.iter().filter_map(finding).collect()
}

/// Findings on units.
#[must_use]
pub fn unit_findings(kind: UnitKind, groups: &[UnitGroup], io_ns: u64, least: &Thresholds) -> Vec<Finding> {
    let (code, hint) = match kind {
        UnitKind::Rank => (
            Code::SLOW_RANK,
            "compare its node and its offsets with the others'; `--by node` tells a slow node from a slow rank",
        ),
        UnitKind::Node => {
            (Code::SLOW_NODE, "have the node checked (network link, client settings), or leave it out of the next job")
        }
        UnitKind::Target => (
            Code::SLOW_TARGET,
            "report the target to the file system's administrators; place the file elsewhere with `lfs setstripe -o` or `lfs migrate`",
        ),
        UnitKind::File => (Code::SLOW_FILE, "see how it is accessed with `stripes` and `outliers --by op`"),
    };
    let mut out = Vec::new();
    for group in groups.iter().filter(|group| group.outliers > 0) {
        let title = |row: &UnitRow| {
            format!(
                "{} {} is {:.2} times slower than the median of {} in {}{}",
                kind.word(),
                row.unit,
                row.slower,
                group.sample,
                group.group.title(),
                group
                    .window
                    .map(|(from, until)| format!(" from {} to {} s", show::seconds(from), show::seconds(until)))
                    .unwrap_or_default()
            )
        };
        let first = out.len();
        for row in group.rows.iter().filter(|row| row.outlier).take(LISTED) {
            let cost = u64::try_from(row.extra_ns).unwrap_or(0);
            out.push(Finding {
                code,
                severity: Severity::of_cost(cost, io_ns, least),
                title: title(row),
                evidence: vec![Evidence::of(
                    format!(
                        "{} operations, {} in {}, modified z-score {:.1}, p = {:.1e}",
                        show::count(row.operations),
                        show::bytes(row.bytes),
                        show::duration(row.time_ns),
                        row.z.unwrap_or(0.0),
                        row.p.unwrap_or(1.0)
                    ),
                    row.about(kind),
                )],
                cost_ns: Some(cost),
                saving: None,
                hint: hint.into(),
            });
        }
        let more = group.outliers.saturating_sub((out.len() - first) as u64);
        if let (Some(last), true) = (out.last_mut(), more > 0) {
            last.evidence.push(format!("and {} more outliers of this kind", show::count(more)).into());
        }
    }
    out
}
