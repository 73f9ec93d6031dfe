//! The passes over the trace that the page's sections and the findings of a job are made of.

use super::data::{self, PageData};
use super::sections::Settings;
use crate::analyses::activity::slices::Slices;
use crate::analyses::checks::timeline::Timeline;
use crate::analyses::checks::walk::Walk;
use crate::analyses::counters::report::Characterization;
use crate::analyses::counters::{Fold, characterize};
use crate::analyses::distribution::{Distribution, Metric};
use crate::analyses::groups::data_groups;
use crate::analyses::layers::pass::Pass;
use crate::analyses::layers::report::Layers;
use crate::analyses::outliers::fences;
use crate::analyses::stripes::audit::Audit;
use crate::analyses::stripes::load::Rows;
use crate::analyses::summary::Summary;
use crate::analyses::totals::{StreamTotal, Totals, with_missing};
use crate::analyses::units::{UnitKind, Windows, Work};
use crate::analyses::worst::Worst;
use crate::cli::{By, Inputs, OutliersArgs, Output, StripesArgs};
use crate::findings::Finding;
use crate::load::Run;
use crate::progress::Bar;
use crate::render::Format;
use crate::scan::scan;
use crate::verbs::checks::checks_from;
use crate::verbs::outliers::{self, certain};
use crate::verbs::stripes::stripes_from;
use crate::verbs::summary::summary_from;
use crate::verbs::{ChecksReport, LayersReport, OutliersReport, StripesReport, TimelineReport};
use anyhow::Result;

/// Longest trace whose accesses are replayed over many layouts, in segments: it takes microseconds for each.
const MOST_REPLAYED: u64 = 2_000_000;

/// What the passes found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(super) operations: OutliersReport,
    pub(super) ranks: OutliersReport,
    pub(super) nodes: OutliersReport,
    pub(super) targets: OutliersReport,
    pub(super) stripes: StripesReport,
    pub(super) layers: LayersReport,
    pub(super) checks: ChecksReport,
    pub(super) counters: Characterization,
    /// The job.
    pub(crate) summary: Summary,
    /// Sums of every stream.
    pub(crate) totals: Vec<StreamTotal>,
    /// What the charts draw, if that was asked for.
    pub(super) drawn: Option<(PageData, TimelineReport)>,
}

impl Found {
    /// All findings, each once, the most severe first.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let all = [
            &self.operations.result.findings,
            &self.ranks.result.findings,
            &self.nodes.result.findings,
            &self.targets.result.findings,
            &self.stripes.result.findings,
            &self.layers.result.findings,
            &self.checks.result.findings,
            &self.counters.findings,
            &self.summary.findings,
        ];
        each_once(all.into_iter().flatten())
    }
}

/// Findings, each once, the most severe first.
pub(super) fn each_once<'a>(all: impl Iterator<Item = &'a Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for finding in all {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    crate::findings::sort(&mut findings);
    findings
}

/// Reads the trace twice, for everything: for the sums that all analyses share, then for what these sums choose. Only contested
/// stripes and other layouts need more. Without `draw` nothing is drawn and no other layouts are tried: findings need neither.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn passes(run: &Run, settings: &Settings, draw: bool) -> Result<Found> {
    let layouts = crate::verbs::layouts(run, settings.layout.as_deref())?;
    let certain = certain(layouts.clone());
    let (groups, windows) = (data_groups(run), Windows::whole());
    let distribution = Distribution { groups: &groups, metric: Metric::Bandwidth };
    let work = |kind| Work { kind, groups: &groups, layouts: &certain, windows: &windows };
    let units = (work(UnitKind::Rank), (work(UnitKind::Node), work(UnitKind::Target)));
    let slots = Timeline::new(run);
    let walk = Walk { thresholds: &run.thresholds };
    let audit = Audit { layouts: &layouts, rows: Rows::new(run, &layouts) };
    let first = ((Totals, (distribution, units)), ((Pass::new(run), Fold), ((walk, slots), &audit)));
    let bar = Bar::new(run.segments(), "reading");
    let (found, lost) = scan(run, &first, &bar);
    drop(bar);
    let ((totals, (samples, (ranks, (nodes, targets)))), ((pass, folded), ((walked, filled), audited))) = found;

    let fences = fences(&samples, Metric::Bandwidth, &run.thresholds);
    let outlying = fences.iter().any(Option::is_some);
    let worst = Worst { fences: &fences, metric: Metric::Bandwidth, keep: settings.top };
    let sums = with_missing(run, totals.clone());
    let slices = Slices::new(run, &sums);
    let second = (draw.then(|| data::drawn(run, &layouts, &slices, &sums)), outlying.then_some(worst));
    let bar = Bar::new(run.segments(), "activity");
    let ((drawn, worst), _) = scan(run, &second, &bar);
    drop(bar);
    let drawn = second.0.as_ref().zip(drawn).map(|(activity, drawn)| PageData::of(run, activity, drawn, &lost));

    let args = |by| outliers_args(settings, by);
    let units = |by, kind, partial| outliers::units_from(run, &args(by), &work(kind), partial, &lost);
    let operations = outliers::operations_from(run, &args(By::Op), &layouts, &groups, &samples, worst, &lost);
    let stripes =
        stripes_from(run, &stripes_args(settings, draw && run.segments() <= MOST_REPLAYED), &audit, audited, &lost)?;
    let layers = LayersReport { result: Layers::of(run, pass, totals.clone(), &lost, settings.top), top: settings.top };
    let checks = checks_from(run, false, totals.clone(), walked, (&slots, &filled), &lost);
    let counters = characterize(run, folded, &lost, settings.top);
    let summary = summary_from(run, totals, &lost, settings.top, None);
    let (ranks, nodes, targets) = (
        units(By::Rank, UnitKind::Rank, ranks),
        units(By::Node, UnitKind::Node, nodes),
        units(By::Ost, UnitKind::Target, targets),
    );
    Ok(Found { operations, ranks, nodes, targets, stripes, layers, checks, counters, summary, totals: sums, drawn })
}

fn inputs() -> Inputs {
    let (ranks, time, thresholds) = (None, None, None);
    Inputs { traces: Vec::new(), job: None, ranks, files: Vec::new(), layer: Vec::new(), time, thresholds }
}

fn output() -> Output {
    Output { format: Format::Table, table: None, fail_on: None }
}

fn outliers_args(settings: &Settings, by: By) -> OutliersArgs {
    let (layout, top) = (settings.layout.clone(), settings.top);
    let (inputs, output) = (inputs(), output());
    OutliersArgs { inputs, output, by, metric: Metric::Bandwidth, layout, windows: None, top, absolute: false }
}

fn stripes_args(settings: &Settings, recommend: bool) -> StripesArgs {
    let (layout, top) = (settings.layout.clone(), settings.top);
    StripesArgs { inputs: inputs(), output: output(), layout, what_if: Vec::new(), recommend, top }
}
