//! What stands on the page below the charts. A section is made of any [`Report`]: its view becomes headings and tables. To put a verb
//! on the page, add a line to [`all`].

use crate::analyses::distribution::Metric;
use crate::analyses::outliers::OperationGroup;
use crate::analyses::summary::Summary;
use crate::cli::{By, ChecksArgs, Inputs, OutliersArgs, Output, StripesArgs};
use crate::findings::Finding;
use crate::load::Run;
use crate::render::{Format, Part, Report, View};
use crate::verbs::TimelineReport;
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
    /// For the box plots.
    pub(crate) boxes: Vec<OperationGroup>,
}

/// Makes every section.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn all(run: &Run, settings: &Settings, timeline: &TimelineReport) -> Result<Sections> {
    let mut summary = crate::verbs::summary_of(run, settings.top, false);
    let outliers = |by| crate::verbs::outliers_of(run, &outliers_args(settings, by));
    let operations = outliers(By::Op)?;
    let stripes = crate::verbs::stripes_of(run, &stripes_args(run, settings))?;
    let layers = crate::verbs::layers_of(run, settings.top);
    let checks = crate::verbs::checks_of(run, &checks_args());
    let counters = crate::verbs::counters_of(run, settings.top);
    let list = vec![
        Section::of("phases", "Phases", "When the job did I/O, and what each stretch of it did.", timeline),
        Section::of("outliers", "Slow operations", "Calls far slower than their like.", &operations),
        Section::of("ranks", "Ranks compared", "Bandwidth of each rank against the others'.", &outliers(By::Rank)?),
        Section::of("nodes", "Nodes compared", "Bandwidth of each node against the others'.", &outliers(By::Node)?),
        Section::of("osts", "Storage targets compared", "Bandwidth of each OST.", &outliers(By::Ost)?),
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
    Ok(Sections { list, summary, boxes: operations.result.operations })
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

fn checks_args() -> ChecksArgs {
    ChecksArgs { inputs: inputs(), output: output(), all: false }
}
