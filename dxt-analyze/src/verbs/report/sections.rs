//! What stands on the page below the charts. A section is made of any [`Report`]: its view becomes headings and tables. To put a verb
//! on the page, add a line to [`all`].

use super::data::{self, PageData};
use crate::analyses::activity::slices::Slices;
use crate::analyses::checks::timeline::Timeline;
use crate::analyses::checks::walk::Walk;
use crate::analyses::counters::{Fold, characterize};
use crate::analyses::distribution::{Distribution, Metric};
use crate::analyses::groups::data_groups;
use crate::analyses::layers::pass::Pass;
use crate::analyses::layers::report::Layers;
use crate::analyses::outliers::fences;
use crate::analyses::stripes::audit::Audit;
use crate::analyses::stripes::load::Rows;
use crate::analyses::summary::Summary;
use crate::analyses::totals::{Totals, with_missing};
use crate::analyses::units::{UnitKind, Windows, Work};
use crate::analyses::worst::Worst;
use crate::cli::{By, Inputs, OutliersArgs, Output, StripesArgs};
use crate::findings::Finding;
use crate::load::Run;
use crate::progress::Bar;
use crate::render::{Format, Part, Report, View};
use crate::scan::scan;
use crate::verbs::LayersReport;
use crate::verbs::checks::checks_from;
use crate::verbs::outliers::{self, certain};
use crate::verbs::stripes::stripes_from;
use crate::verbs::summary::summary_from;
use anyhow::Result;
use std::path::PathBuf;

/// Longest trace whose accesses are replayed over many layouts, in segments: it takes microseconds for each.
const MOST_REPLAYED: u64 = 2_000_000;

/// Settings that sections share.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `--layout`.
    pub(crate) layout: Option<PathBuf>,
    /// `--top`.
    pub(crate) top: usize,
}

/// A section.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its anchor.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// What it says, in a sentence.
    pub(crate) about: &'static str,
    /// What it shows, without its findings.
    pub(crate) view: View,
    /// Its findings.
    pub(crate) findings: Vec<Finding>,
}

impl Section {
    fn of(id: &'static str, title: &'static str, about: &'static str, report: &impl Report) -> Self {
        let mut view = report.view();
        let mut findings = Vec::new();
        view.parts.retain_mut(|part| match part {
            Part::Findings(found) => {
                findings.append(found);
                false
            }
            _ => true,
        });
        Self { id, title, about, view, findings }
    }
}

/// The sections, and what the page needs of them beside their views.
#[derive(Debug)]
pub(crate) struct Sections {
    /// In the order of the page.
    pub(crate) list: Vec<Section>,
    /// The job.
    pub(crate) summary: Summary,
    /// What the charts draw.
    pub(crate) data: PageData,
}

/// Reads the trace twice, for everything on the page: for the sums that all sections share, then for what these sums choose. Only
/// contested stripes and other layouts need more.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn all(run: &Run, settings: &Settings) -> Result<Sections> {
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
    let second = (data::drawn(run, &layouts, &slices, &sums), outlying.then_some(worst));
    let bar = Bar::new(run.segments(), "activity");
    let ((drawn, worst), _) = scan(run, &second, &bar);
    drop(bar);
    let (mut data, timeline) = PageData::of(run, &second.0, drawn, &lost);

    let args = |by| outliers_args(settings, by);
    let units = |by, kind, partial| outliers::units_from(run, &args(by), &work(kind), partial, &lost);
    let operations = outliers::operations_from(run, &args(By::Op), &layouts, &groups, &samples, worst, &lost);
    let stripes = stripes_from(run, &stripes_args(run, settings), &audit, audited, &lost)?;
    let layers = LayersReport { result: Layers::of(run, pass, totals.clone(), &lost, settings.top), top: settings.top };
    let checks = checks_from(run, false, totals.clone(), walked, (&slots, &filled), &lost);
    let counters = characterize(run, folded, &lost, settings.top);
    let mut summary = summary_from(run, totals, &lost, settings.top, None);
    let list = vec![
        Section::of("phases", "Phases", "When the job did I/O, and what each stretch of it did.", &timeline),
        Section::of("outliers", "Slow operations", "Calls far slower than their like.", &operations),
        Section::of(
            "ranks",
            "Ranks compared",
            "Bandwidth of each rank against the others'.",
            &units(By::Rank, UnitKind::Rank, ranks),
        ),
        Section::of(
            "nodes",
            "Nodes compared",
            "Bandwidth of each node against the others'.",
            &units(By::Node, UnitKind::Node, nodes),
        ),
        Section::of(
            "osts",
            "Storage targets compared",
            "Bandwidth of each OST.",
            &units(By::Ost, UnitKind::Target, targets),
        ),
        Section::of("stripes", "Stripes", "How accesses lie on the stripes of each file.", &stripes),
        Section::of(
            "layers",
            "Layers",
            "What calls of MPI-IO and HDF5 are made of; collective operations; calls in flight.",
            &layers,
        ),
        Section::of("checks", "Checks", "Rules of thumb, and what single operations prove.", &checks),
        Section::of("counters", "Counters", "Sizes, patterns, times per process, kinds of files.", &counters),
        Section::of("summary", "Summary", "The job, its operations and its files.", &summary),
    ];
    summary.findings.clear();
    data.boxes = operations.result.operations;
    Ok(Sections { list, summary, data })
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

fn stripes_args(run: &Run, settings: &Settings) -> StripesArgs {
    let recommend = run.segments() <= MOST_REPLAYED;
    let (layout, top) = (settings.layout.clone(), settings.top);
    StripesArgs { inputs: inputs(), output: output(), layout, what_if: Vec::new(), recommend, top }
}
