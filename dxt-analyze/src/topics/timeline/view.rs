//! `timeline`: the job over time. Two passes: which operations and files matter, then when they happened.

use super::args::Args;
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View};
use crate::scan::{Lost, scan};
use crate::shared::completeness::Completeness;
use crate::shared::totals::{Totals, with_missing};
use crate::text::{spark, units};
use crate::topics::Outcome;
use crate::topics::timeline::fill::{Activity, Grids};
use crate::topics::timeline::phases::{Phase, phases};
use crate::topics::timeline::series::{Bin, bins};
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::span::Span;
use anyhow::Result;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// The job over time.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineReport {
    /// Span and width of the bins.
    pub span: Span,
    /// I/O phases.
    pub phases: Vec<Phase>,
    /// The bins, in order.
    pub bins: Vec<Bin>,
    /// Why there is nothing to show, if so.
    pub nothing: Option<String>,
    /// What is missing.
    pub missing: Completeness,
    /// Findings: of the trace itself.
    pub findings: Vec<Finding>,
}

/// Loads and looks.
///
/// # Errors
/// If nothing can be loaded.
pub fn timeline(args: &Args) -> Result<TimelineReport> {
    let run = crate::session::open(&args.inputs)?;
    Ok(timeline_of(&run, args.options.bins))
}

/// Of a run that is loaded, in at most `most` bins.
#[must_use]
pub fn timeline_of(run: &Run, most: u32) -> TimelineReport {
    let bar = Bar::new(run.segments(), "totals");
    let (totals, _) = scan(run, &Totals, &bar);
    drop(bar);
    let slices = Slices::new(run, &with_missing(run, totals));
    let bar = Bar::new(run.segments(), "timeline");
    let activity = Activity::of_job(&slices, Span::of_run(run, most));
    let (mut grids, lost) = scan(run, &activity, &bar);
    activity.add_heat(run, &mut grids);
    read_off(run, &activity, &grids, &lost)
}

/// The report that the job's own row of grids holds.
pub(crate) fn read_off(run: &Run, activity: &Activity<'_>, grids: &Grids, lost: &Lost) -> TimelineReport {
    let bins = bins(&activity.job, activity.slices, grids);
    let phases = phases(run, &activity.job, activity.slices, grids, &bins, &run.thresholds);
    let missing = Completeness::of(run, lost);
    let findings = missing.findings();
    let nothing = phases.is_empty().then(|| nothing(run));
    TimelineReport { span: activity.job, phases, bins, nothing, missing, findings }
}

fn nothing(run: &Run) -> String {
    if run.counters_only() {
        format!("{}: it has no times", run.origin().counters_and_no("single operations"))
    } else {
        "there are no calls to show".into()
    }
}

impl Outcome for TimelineReport {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn complete(&self) -> bool {
        self.missing.complete
    }
}

impl Report for TimelineReport {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(bin_table(&self.bins, self.span.width_ns)));
        match &self.nothing {
            Some(nothing) => parts.push(Part::Lines(vec![nothing.clone()])),
            None => {
                parts.push(Part::Pairs(sparklines(self)));
                parts.push(Part::Table(phase_table(&self.phases)));
            }
        }
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}

fn sparklines(report: &TimelineReport) -> Vec<(&'static str, String)> {
    let span = &report.span;
    let seconds = span.width_ns as f64 / 1e9;
    let rate = |bytes: fn(&Bin) -> u64| report.bins.iter().map(|bin| Some(bytes(bin) as f64 / seconds)).collect();
    let read: Vec<Option<f64>> = rate(|bin| bin.bytes_read);
    let written: Vec<Option<f64>> = rate(|bin| bin.bytes_written);
    let size: Vec<Option<f64>> = report.bins.iter().map(Bin::mean_size).collect();
    let busy: Vec<Option<f64>> =
        report.bins.iter().map(|bin| Some(bin.busy_ns() as f64 / span.width_ns.max(1) as f64)).collect();
    let line = |values: &[Option<f64>], show: &dyn Fn(f64) -> String| {
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        if most > 0.0 { format!("{}  up to {}", spark::line(values), show(most)) } else { "none".into() }
    };
    vec![
        (
            "time",
            format!(
                "{} s to {} s in bins of {}",
                units::seconds(span.from_ns),
                units::seconds(span.until_ns),
                units::duration(span.width_ns)
            ),
        ),
        ("read", line(&read, &units::rate)),
        ("written", line(&written, &units::rate)),
        ("mean size", line(&size, &|value| units::bytes(value as u64))),
        ("in flight", line(&busy, &|value| format!("{value:.1} calls"))),
    ]
}

fn phase_table(phases: &[Phase]) -> Table {
    let rows = phases.iter().map(|phase| {
        vec![
            Cell::Count(phase.number as u64),
            Cell::Text(phase.kind.into()),
            Cell::Moment(phase.start_ns),
            Cell::Moment(phase.end_ns),
            Cell::Bytes(phase.bytes_read),
            Cell::Bytes(phase.bytes_written),
            Cell::Rate(phase.bandwidth),
            Cell::Count(phase.calls),
            Cell::Text(format!("{:.1}", phase.concurrency)),
            Cell::Text(phase.operation.clone()),
            Cell::Share(phase.operation_share),
            Cell::Path(phase.files.first().cloned().unwrap_or_default()),
        ]
    });
    Table {
        name: "phases",
        title: "I/O phases".into(),
        columns: vec![
            ("Phase", "phase"),
            ("Kind", "kind"),
            ("Start, s", "start_s"),
            ("End, s", "end_s"),
            ("Read", "bytes_read"),
            ("Written", "bytes_written"),
            ("Bandwidth", "bandwidth_bytes_per_s"),
            ("Calls", "calls"),
            ("In flight", "calls_in_flight"),
            ("Mostly", "operation"),
            ("", "operation_share"),
            ("File", "file"),
        ],
        rows: rows.collect(),
        most: 50,
    }
}

/// For CSV only: a terminal has the sparklines.
fn bin_table(bins: &[Bin], width_ns: u64) -> Table {
    let row = |bin: &Bin| {
        let seconds = width_ns as f64 / 1e9;
        let mut cells = vec![
            Cell::Moment(bin.start_ns),
            Cell::Duration(width_ns),
            Cell::Count(bin.bytes_read),
            Cell::Count(bin.bytes_written),
            Cell::Rate(bin.bytes_read as f64 / seconds),
            Cell::Rate(bin.bytes_written as f64 / seconds),
            Cell::Count(bin.reads),
            Cell::Count(bin.writes),
            Cell::Count(bin.metadata_calls),
            Cell::Duration(bin.read_ns),
            Cell::Duration(bin.write_ns),
            Cell::Duration(bin.metadata_ns),
            bin.mean_size().map_or(Cell::None, |size| Cell::Text(format!("{size:.1}"))),
            Cell::Text(format!("{:.3}", bin.busy_ns() as f64 / width_ns.max(1) as f64)),
        ];
        cells.extend(bin.read_sizes.iter().chain(&bin.write_sizes).map(|count| Cell::Count(*count)));
        cells
    };
    let names = [
        "start_s",
        "width_s",
        "bytes_read",
        "bytes_written",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "reads",
        "writes",
        "metadata_calls",
        "read_time_s",
        "write_time_s",
        "metadata_time_s",
        "mean_size_bytes",
        "calls_in_flight",
    ];
    const SIZES: [&str; 2 * SIZE_BINS] = [
        "reads_0_100",
        "reads_100_1k",
        "reads_1k_10k",
        "reads_10k_100k",
        "reads_100k_1m",
        "reads_1m_4m",
        "reads_4m_10m",
        "reads_10m_100m",
        "reads_100m_1g",
        "reads_1g_plus",
        "writes_0_100",
        "writes_100_1k",
        "writes_1k_10k",
        "writes_10k_100k",
        "writes_100k_1m",
        "writes_1m_4m",
        "writes_4m_10m",
        "writes_10m_100m",
        "writes_100m_1g",
        "writes_1g_plus",
    ];
    Table {
        name: "bins",
        title: String::new(),
        columns: names.into_iter().chain(SIZES).map(|name| ("", name)).collect(),
        rows: bins.iter().map(row).collect(),
        most: usize::MAX,
    }
}
