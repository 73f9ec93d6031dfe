//! Result and findings of `outliers`: single operations by the box-plot rule of the DXT paper; ranks, nodes, storage targets and files by
//! modified z-scores ([`super::units`]). Operations are compared only if they have the same layer, name and call variant.

use super::distribution::{GroupSample, Metric};
use super::row::OutlierRow;
use super::shared_traits::{Population, shared_traits};
use super::units::stragglers::Straggler;
use super::units::{UnitGroup, UnitKind, UnitRow, Verdict};
use super::worst::{Fence, GroupWorst, Slow};
use crate::findings::{About, Code, Evidence, Finding, Severity};
use crate::model::{FileLayout, Run};
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::shared::stats::BoxPlot;
use crate::text::units as show;
use crate::thresholds::Thresholds;
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of findings listed per group; the last one gives the number of the others.
const LISTED: usize = 10;

/// Group of comparable operations, and its outliers.
#[derive(Clone, Debug, Serialize)]
pub struct OperationGroup {
    /// Group of operations that are compared.
    #[serde(flatten)]
    pub group: Group,
    /// Number of operations in the sample.
    pub sample: u64,
    /// Number of operations without a bandwidth, since they moved no bytes.
    pub without_value: u64,
    /// Quartiles, mean and fences of the bandwidth (bytes per second) or the duration (ns).
    #[serde(flatten)]
    pub plot: BoxPlot,
    /// Result of the comparison.
    pub verdict: Verdict,
    /// Number of operations beyond the fence.
    pub outliers: u64,
    /// Time in the outliers, ns.
    pub time_ns: u64,
    /// Time that the outliers lost compared with the group's median, ns.
    pub extra_ns: u64,
    /// Worst outliers, sorted by rank, pid and start.
    pub rows: Vec<OutlierRow>,
}

/// Returns the fence of each group; `None` if the group is too small to judge, or has no operation beyond the fence.
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

/// Combines the sample of each group with the operations beyond its fence.
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
    // A guessed layout does not determine stripes.
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
    /// Groups of operations, if single operations are compared (`op`); else empty.
    pub operations: Vec<OperationGroup>,
    /// Groups of units, if ranks, nodes, storage targets or files are compared; else empty.
    pub units: Vec<UnitGroup>,
    /// Slowest unit of each group in each time window, if the user requested windows.
    pub stragglers: Vec<Straggler>,
    /// Reason why nothing can be compared; `None` if something was compared.
    pub nothing: Option<String>,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings on outliers.
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
            about: About {
                operation: Some(group.group.title()),
                calls: Some(group.outliers),
                time_ns: Some(group.extra_ns),
                ..About::default()
            },
            severity: Severity::of_cost(group.extra_ns, io_ns, least),
            title: format!(
                "{} of {} {} operations {}: {beyond}",
                show::count(group.outliers),
                show::count(group.sample),
                group.group.title(),
                show::agree(group.outliers, "is an outlier", "are outliers")
            ).into(),
            evidence: traits.into_iter().flatten().map(Evidence::from).chain(evidence).collect(),
            cost_ns: Some(group.extra_ns),
            saving: None, hint: "look at what the outliers share (`stripes`, `--by node`, `--by ost`): one OST points to the file system, one node \
                   or rank to its host, one time window to other jobs or to a burst of this job"
                .into(),
        })
    };
    groups.iter().filter_map(finding).collect()
}

/// Returns findings on slow units; `io_ns` is the time that all processes spent in the compared operations.
#[must_use]
pub fn unit_findings(kind: UnitKind, groups: &[UnitGroup], io_ns: u64, least: &Thresholds) -> Vec<Finding> {
    let (code, hint) = match kind {
        UnitKind::Rank => (
            Code::SLOW_RANK,
            "compare the rank's node and offsets with those of other ranks; `--by node` distinguishes a slow node from a slow rank",
        ),
        UnitKind::Node => (
            Code::SLOW_NODE,
            "have the node checked (network link, client settings), or exclude the node from the next job",
        ),
        UnitKind::Target => (
            Code::SLOW_TARGET,
            "report the target to the file system's administrators; place the file on other targets with `lfs setstripe -o` or `lfs migrate`",
        ),
        UnitKind::File => (Code::SLOW_FILE, "see how the file is accessed with `stripes` and `outliers --by op`"),
    };
    let mut out = Vec::new();
    for group in groups.iter().filter(|group| group.outliers > 0) {
        let title = |row: &UnitRow| {
            format!(
                "{} {} is {} times slower than the median of {} {}s in {}{}",
                kind.word(),
                row.unit,
                show::times(row.slower),
                group.sample,
                kind.word(),
                group.group.title(),
                group
                    .window
                    .map(|(from, until)| format!(" from {} s to {} s", show::seconds(from), show::seconds(until)))
                    .unwrap_or_default()
            )
        };
        let first = out.len();
        for row in group.rows.iter().filter(|row| row.outlier).take(LISTED) {
            let cost = u64::try_from(row.extra_ns).unwrap_or(0);
            let about = About { operation: Some(group.group.title()), ..row.about(kind) };
            out.push(Finding {
                code,
                about: About { span_ns: group.window, ..about.clone() },
                severity: Severity::of_cost(cost, io_ns, least),
                title: title(row).into(),
                evidence: vec![Evidence::of(
                    format!(
                        "{}, {} in {}, modified z-score {:.1}, p-value {:.1e}",
                        show::counted(row.operations, "operation"),
                        show::bytes(row.bytes),
                        show::duration(row.time_ns),
                        row.z.unwrap_or(0.0),
                        row.p.unwrap_or(1.0)
                    ),
                    about,
                )],
                cost_ns: Some(cost),
                saving: None,
                hint: hint.into(),
            });
        }
        let more = group.outliers.saturating_sub((out.len() - first) as u64);
        if let (Some(last), true) = (out.last_mut(), more > 0) {
            last.evidence.push(format!("and {} of this kind", show::counted(more, "more outlier")).into());
        }
    }
    out
}
