//! Command `outliers`: the passes over the trace for each kind of comparison, and the tables of the result.

use super::args::{Args, Options, Spans};
use super::tables::{box_table, operation_table, straggler_table, unit_table};
use crate::exit::UsageError;
use crate::findings::{self, Finding};
use crate::layouts::certain;
use crate::model::{FileLayout, Run};
use crate::progress::Bar;
use crate::render::{Part, Report, View};
use crate::scan::{Lost, scan};
use crate::shared::completeness::Completeness;
use crate::shared::groups::{Group, data_groups};
use crate::sum::Sum;
use crate::text::units;
use crate::thresholds::Thresholds;
use crate::topics::Outcome;
use crate::topics::outliers::distribution::{Distribution, GroupSample, Metric};
use crate::topics::outliers::result::{OperationGroup, Outliers, fences, operation_findings, operation_groups};
use crate::topics::outliers::row::OutlierRow;
use crate::topics::outliers::shared_traits::populations;
use crate::topics::outliers::units::stragglers::stragglers;
use crate::topics::outliers::units::work::{self, with_missing};
use crate::topics::outliers::units::{Comparison, Met, UnitGroup, UnitKind, UnitRow, Verdict, Windows, Work, compare};
use crate::topics::outliers::worst::{GroupWorst, Worst};
use crate::topics::timeline::args::BINS;
use crate::topics::verdict;
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use std::collections::BTreeSet;

/// Result of `outliers`, and how to display its times.
#[derive(Debug, Serialize)]
pub struct OutliersReport {
    /// Result of the comparison; times are relative to the job's start, or to 1970 if `absolute` is true.
    #[serde(flatten)]
    pub result: Outliers,
    /// True if times are ns since 1970; false if ns since the job's start.
    pub absolute: bool,
    /// Thresholds by which outliers were distinguished.
    pub thresholds: Thresholds,
}

/// Loads a run and compares operations, ranks, nodes, storage targets or files within it.
///
/// # Errors
/// Fails if nothing can be loaded or the layouts are invalid.
pub fn outliers(args: &Args) -> Result<OutliersReport> {
    let run = crate::session::open(&args.inputs)?;
    let mut report = outliers_of(&run, &args.options)?;
    if args.options.by.kind().is_none() {
        verdict::price(&run, args.options.layout.as_deref(), &args.output, &mut report.result.findings)?;
    }
    Ok(report)
}

/// Compares operations, ranks, nodes, storage targets or files within a loaded run. Findings on slow ranks, nodes, targets and files are
/// those of the run's report.
///
/// # Errors
/// Fails if the layouts are invalid.
pub fn outliers_of(run: &Run, args: &Options) -> Result<OutliersReport> {
    let Some(kind) = args.by.kind() else {
        if args.windows.is_some() {
            let text =
                "--windows needs --by rank, node, ost or file; for single operations, select a time range with --time";
            return Err(UsageError(text.into()).into());
        }
        return Ok(finished(run, args, by_operation(run, args)?));
    };
    let found = verdict::with_code(run, args.layout.as_deref(), kind.code())?;
    let mut result = by_unit(run, args, kind, &kind.named(&found))?;
    result.findings = found;
    Ok(finished(run, args, result))
}

fn finished(run: &Run, args: &Options, mut result: Outliers) -> OutliersReport {
    result.findings.extend(result.missing.findings());
    findings::sort(&mut result.findings);
    if args.absolute {
        let start = u64::try_from(run.start_unix_ns).unwrap_or(0);
        for row in result.operations.iter_mut().flat_map(|group| &mut group.rows) {
            row.start_ns = row.start_ns.saturating_add(start);
            row.end_ns = row.end_ns.saturating_add(start);
        }
    }
    OutliersReport { result, absolute: args.absolute, thresholds: run.thresholds.clone() }
}

fn empty(run: &Run, args: &Options, lost: &Lost) -> Outliers {
    Outliers {
        by: args.by.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default(),
        metric: args.metric,
        operations: Vec::new(),
        units: Vec::new(),
        stragglers: Vec::new(),
        nothing: None,
        missing: Completeness::of(run, lost),
        findings: Vec::new(),
    }
}

/// Compares single operations in two passes: the first computes distributions, the second reads blocks that can contain outliers and
/// collects these.
fn by_operation(run: &Run, args: &Options) -> Result<Outliers> {
    let layouts = crate::session::layouts(run, args.layout.as_deref())?;
    let groups = data_groups(run);
    let bar = Bar::new(run.segments(), "distributions");
    let (samples, lost) = scan(run, &Distribution { groups: &groups, metric: args.metric }, &bar);
    drop(bar);
    let fences = fences(&samples, args.metric, &run.thresholds);
    let worst = if fences.iter().any(Option::is_some) {
        let bar = Bar::new(run.segments(), "outliers");
        scan(run, &Worst { fences: &fences, metric: args.metric, keep: args.top }, &bar).0
    } else {
        vec![GroupWorst::default(); fences.len()]
    };
    Ok(operations(run, args, &layouts, &groups, &samples, worst, &lost))
}

/// Builds the report on single operations from the results of two passes.
pub(crate) fn operations_from(
    run: &Run,
    args: &Options,
    layouts: &[Option<FileLayout>],
    groups: &[Option<Group>],
    samples: &[GroupSample],
    worst: Option<Vec<GroupWorst>>,
    lost: &Lost,
) -> OutliersReport {
    let worst = worst.unwrap_or_else(|| vec![GroupWorst::default(); samples.len()]);
    finished(run, args, operations(run, args, layouts, groups, samples, worst, lost))
}

fn operations(
    run: &Run,
    args: &Options,
    layouts: &[Option<FileLayout>],
    groups: &[Option<Group>],
    samples: &[GroupSample],
    worst: Vec<GroupWorst>,
    lost: &Lost,
) -> Outliers {
    let mut result = empty(run, args, lost);
    result.operations = operation_groups(run, groups, samples, worst, layouts);
    let io_ns = samples.iter().map(|group| group.time_ns).sum::<Sum>().get();
    result.findings =
        operation_findings(&result.operations, args.metric, io_ns, &populations(run, layouts, groups), &run.thresholds);
    if result.operations.is_empty() {
        result.nothing = Some(if run.counters_only() {
            format!(
                "{}: use --by rank, node or file, which compare sums",
                run.origin().counters_and_no("single operations")
            )
        } else {
            "there are no reads or writes to compare".into()
        });
    }
    result
}

/// Compares units (ranks, nodes, targets or files); `named`: names of those that the report's findings call slow.
fn by_unit(run: &Run, args: &Options, kind: UnitKind, named: &BTreeSet<String>) -> Result<Outliers> {
    let groups = data_groups(run);
    let layouts = certain(crate::session::layouts(run, args.layout.as_deref())?);
    let windows = match args.windows {
        None => Windows::WHOLE.clone(),
        Some(Spans::Equal(count)) => Windows::equal(run, count),
        Some(Spans::Phases) => Windows::beginning_at(
            crate::topics::timeline::view::timeline_of(run, BINS).phases.iter().map(|phase| phase.start_ns),
        ),
    };
    let bar = Bar::new(run.segments(), "reading");
    let analysis = Work { kind, groups: &groups, layouts: &layouts, windows: &windows };
    let (partial, lost) = scan(run, &analysis, &bar);
    drop(bar);
    Ok(units(run, args, &analysis, partial, &lost, named))
}

/// Builds the report on ranks, nodes, files or targets from the result of one pass.
pub(crate) fn units_from(
    run: &Run,
    args: &Options,
    analysis: &Work<'_>,
    partial: work::Partial,
    lost: &Lost,
) -> OutliersReport {
    finished(run, args, units(run, args, analysis, partial, lost, &BTreeSet::new()))
}

fn units(
    run: &Run,
    args: &Options,
    analysis: &Work<'_>,
    partial: work::Partial,
    lost: &Lost,
    named: &BTreeSet<String>,
) -> Outliers {
    let (kind, windows) = (analysis.kind, analysis.windows);
    let (work, unsure) = with_missing(run, analysis, partial);
    let mut result = empty(run, args, lost);
    let of = Comparison { run, kind, metric: args.metric, windows, named, top: args.top };
    let judged = |met| compare(&of, &work, met);
    result.units = judged(None);
    // Slow targets are searched for only if a unit is an outlier that they may explain.
    let blames = kind != UnitKind::Target && result.units.iter().any(|group| group.outliers > 0);
    if let Some(met) = blames.then(|| Met::of(run, analysis, args.metric)).flatten() {
        result.units = judged(Some(&met));
    }
    result.stragglers = stragglers(&result.units);
    result.nothing = nothing(run, kind, work.is_empty());
    let texts = [
        (
            unsure.windows,
            "operation has only counters, so its time window is unknown: this operation is left out",
            "operations have only counters, so their time window is unknown: these operations are left out",
        ),
        (
            unsure.targets,
            "operation has only counters and is on a file of several storage targets: this operation is left out, as counters \
             do not record the target",
            "operations have only counters and are on files of several storage targets: these operations are left out, as \
             counters do not record the target",
        ),
    ];
    for (count, one, several) in texts.into_iter().filter(|(count, ..)| *count > 0) {
        result.missing.remarks.push(format!("{} {}", units::count(count), units::agree(count, one, several)));
    }
    result
}

/// Explains why nothing (if `empty`), or not everything, can be compared; `None` if everything is compared.
fn nothing(run: &Run, kind: UnitKind, empty: bool) -> Option<String> {
    let text = match kind {
        UnitKind::Target if !empty => return None,
        UnitKind::Target if run.counters_only() => {
            let why = run.origin().counters_and_no("offsets");
            return Some(format!(
                "{why}: bytes can be assigned to a storage target only if a file has a single target, and no such file is known"
            ));
        }
        UnitKind::Target => "no file has a layout that names storage targets: give one with --layout FILE",
        UnitKind::Rank | UnitKind::Node if run.reduced_ranks() > 0 => {
            "files that ranks share are recorded only as sums over the ranks, and are left out here: `dxt-analyze summary` shows \
             the fastest and the slowest rank of each file"
        }
        UnitKind::Node if run.nodes.is_empty() => "the nodes of the ranks are not known",
        _ if empty => "there are no reads or writes to compare",
        _ => return None,
    };
    Some(text.into())
}

impl Outcome for OutliersReport {
    fn findings(&self) -> &[Finding] {
        &self.result.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.missing]
    }
}

impl Report for OutliersReport {
    fn view(&self) -> View {
        let result = &self.result;
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        let of_calls = result.by == "op";
        let operations = |rows: &[OutlierRow], group: &Group| {
            let mut table = operation_table(rows.iter().map(|row| (group, row)), self.absolute);
            table.beside = !of_calls;
            Part::Table(table)
        };
        for group in &result.operations {
            parts.push(Part::Lines(vec![operation_heading(group, result.metric, &self.thresholds)]));
            parts.push(operations(&group.rows, &group.group));
        }
        if result.operations.is_empty() {
            parts.push(operations(&[], &Group::default()));
        }
        parts.push(Part::Table(box_table(&result.operations, result.metric)));
        let mut stragglers = straggler_table(&result.stragglers, &result.by);
        stragglers.beside = result.stragglers.is_empty();
        parts.push(Part::Table(stragglers));
        let units = |rows: &[UnitRow], group: &Group| {
            let mut table = unit_table(rows.iter().map(|row| (group, row)), &result.by, result.metric);
            table.beside = of_calls;
            Part::Table(table)
        };
        let shown = || result.units.iter().filter(|group| group.window.is_none() || group.outliers > 0);
        for group in shown() {
            parts.push(Part::Lines(vec![unit_heading(group, &result.by, result.metric, &self.thresholds)]));
            parts.push(units(&group.rows, &group.group));
        }
        if shown().next().is_none() {
            parts.push(units(&[], &Group::default()));
        }
        if let Some(nothing) = &result.nothing {
            parts.push(Part::Lines(vec![nothing.clone()]));
        }
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

/// Formats the heading of a group as in Figure 4 of the DXT paper: the median, then the number of outliers.
fn operation_heading(group: &OperationGroup, metric: Metric, least: &Thresholds) -> String {
    let show = |value: f64| match metric {
        Metric::Bandwidth => units::rate(value),
        Metric::Duration => units::duration(value.max(0.0) as u64),
    };
    let plot = &group.plot;
    let about = format!(
        "{}: {}, mean {}, median {}{}",
        group.group.title(),
        units::counted(group.sample, "operation"),
        show(plot.mean),
        show(plot.median),
        if plot.exact { "" } else { " (quartiles are approximate, within 0.1 %)" }
    );
    if group.verdict == Verdict::TooFew {
        return format!("{about}; too few to judge (at least {} required)", least.box_min_sample);
    }
    let fence = match metric {
        Metric::Bandwidth if plot.low_fence <= 0.0 => {
            return format!(
                "{about}; bandwidths vary too much for low outliers (Q1 {}, Q3 {}): try --metric duration",
                show(plot.q1),
                show(plot.q3)
            );
        }
        Metric::Bandwidth => format!("below {}", show(plot.low_fence)),
        Metric::Duration => format!("above {}", show(plot.high_fence)),
    };
    match group.verdict {
        Verdict::TooFew | Verdict::None => format!("{about}; no outliers ({fence})"),
        Verdict::Outliers => format!(
            "{about}; outliers ({fence}): {} ({:.3} %), {} in total, {} more than at the median{}",
            units::count(group.outliers),
            group.outliers as f64 * 100.0 / group.sample as f64,
            units::duration(group.time_ns),
            units::duration(group.extra_ns),
            if group.outliers > group.rows.len() as u64 {
                format!("; the {} slowest:", group.rows.len())
            } else {
                ":".into()
            }
        ),
    }
}

fn unit_heading(group: &UnitGroup, by: &str, metric: Metric, least: &Thresholds) -> String {
    let show = |value: f64| match metric {
        Metric::Bandwidth => units::rate(value),
        Metric::Duration => units::duration(value.max(0.0) as u64),
    };
    let about = format!(
        "{} by {by}{}: {} compared, median {}, deviation {:.1} % (robust: from the median absolute deviation)",
        group.group.title(),
        group
            .window
            .map(|(from, until)| format!(", {} s to {} s", units::seconds(from), units::seconds(until)))
            .unwrap_or_default(),
        units::count(group.sample),
        show(group.median),
        group.sigma.exp_m1() * 100.0
    );
    let spared = match group.on_slow_targets {
        0 => String::new(),
        count => format!("; {} slow only on slow OSTs, not counted as outliers: see --by ost", units::count(count)),
    };
    match group.verdict {
        Verdict::TooFew => format!("{about}; too few to judge (at least {} required)", least.units_min_sample),
        Verdict::None if group.on_slow_targets > 0 => format!("{about}{spared}"),
        Verdict::None => format!("{about}; no outliers"),
        Verdict::Outliers => format!("{about}; outliers: {}{spared}", units::count(group.outliers)),
    }
}
