//! The passes over the trace that the page's sections and the findings of a job are made of.

use super::charts as data;
use super::charts::PageData;
use super::sections::Settings;
use crate::cli::args::{By, Inputs, OutliersArgs, Output, StripesArgs};
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::Format;
use crate::scan::scan;
use crate::shared::groups::data_groups;
use crate::shared::totals::{StreamTotal, Totals, with_missing};
use crate::topics::checks::gaps::Timeline;
use crate::topics::checks::view::{ChecksReport, checks_from};
use crate::topics::checks::walk::Walk;
use crate::topics::counters::result::Characterization;
use crate::topics::counters::{Fold, characterize};
use crate::topics::layers::pass::Pass;
use crate::topics::layers::result::Layers;
use crate::topics::layers::view::LayersReport;
use crate::topics::outliers::distribution::{Distribution, Metric};
use crate::topics::outliers::result::fences;
use crate::topics::outliers::units::{UnitKind, Windows, Work};
use crate::topics::outliers::view::{self, OutliersReport, certain};
use crate::topics::outliers::worst::Worst;
use crate::topics::stripes::audit::Audit;
use crate::topics::stripes::load::Rows;
use crate::topics::stripes::view::{StripesReport, stripes_from};
use crate::topics::summary::result::Summary;
use crate::topics::summary::view::summary_from;
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::view::TimelineReport;
use anyhow::Result;

/// Longest trace whose accesses are replayed over many layouts, in segments: it takes microseconds for each.
const MOST_REPLAYED: u64 = 2_000_000;

/// What the passes found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) operations: OutliersReport,
    pub(crate) ranks: OutliersReport,
    pub(crate) nodes: OutliersReport,
    pub(crate) targets: OutliersReport,
    pub(crate) stripes: StripesReport,
    pub(crate) layers: LayersReport,
    pub(crate) checks: ChecksReport,
    pub(crate) counters: Characterization,
    /// The job.
    pub(crate) summary: Summary,
    /// Sums of every stream.
    pub(crate) totals: Vec<StreamTotal>,
    /// What the charts draw, if that was asked for.
    pub(crate) drawn: Option<(PageData, TimelineReport)>,
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
pub(crate) fn each_once<'a>(all: impl Iterator<Item = &'a Finding>) -> Vec<Finding> {
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
    let layouts = crate::session::layouts(run, settings.layout.as_deref())?;
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
    let units = |by, kind, partial| view::units_from(run, &args(by), &work(kind), partial, &lost);
    let operations = view::operations_from(run, &args(By::Op), &layouts, &groups, &samples, worst, &lost);
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
