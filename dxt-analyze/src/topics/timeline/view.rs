//! Command `timeline`: the job over time. The first pass finds the operations and files with most time, the second pass fills the time
//! bins.

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
use crate::topics::timeline::fill::Activity;
use crate::topics::timeline::grids::Grids;
use crate::topics::timeline::phases::{Phase, phases};
use crate::topics::timeline::series::{Bin, bins};
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::span::Span;
use anyhow::Result;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// Result of `timeline`: bandwidth, calls and I/O phases of the job over time.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineReport {
    /// Time span that the timeline covers, with the width of its time bins.
    pub span: Span,
    /// I/O phases of the job, in order of time.
    pub phases: Vec<Phase>,
    /// Time bins of the job with bytes and calls, in order of time.
    pub bins: Vec<Bin>,
    /// Reason why there is nothing to show; `None` if there is something to show.
    pub nothing: Option<String>,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings on the trace itself.
    pub findings: Vec<Finding>,
}

/// Loads a run and computes its timeline.
///
/// # Errors
/// Returns an error if nothing can be loaded.
pub fn timeline(args: &Args) -> Result<TimelineReport> {
    let run = crate::session::open(&args.inputs)?;
    Ok(timeline_of(&run, args.options.bins))
}

/// Computes the timeline of a loaded run, with at most `most` time bins.
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

/// Creates the report from the grid whose only row is the job.
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
        format!("{}: no times of single operations are recorded", run.origin().counters_and_no("single operations"))
    } else {
        "there are no calls to show".into()
    }
}

impl Outcome for TimelineReport {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Report for TimelineReport {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(bin_table(&self.bins, self.span.width_ns)));
        match &self.nothing {
            Some(nothing) => parts.push(Part::Lines(vec![nothing.clone()])),
            None => parts.push(Part::Pairs(sparklines(self))),
        }
        parts.push(Part::Table(phase_table(&self.phases)));
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
    Table::of("phases", "I/O phases", phases)
        .column("Phase", "phase", |phase| Cell::Count(phase.number as u64))
        .column("Kind", "kind", |phase| Cell::text(phase.kind))
        .column("Start, s", "start_s", |phase| Cell::Moment(phase.start_ns))
        .column("End, s", "end_s", |phase| Cell::Moment(phase.end_ns))
        .column("Read", "bytes_read", |phase| Cell::Bytes(phase.bytes_read))
        .column("Written", "bytes_written", |phase| Cell::Bytes(phase.bytes_written))
        .column("Bandwidth", "bandwidth_bytes_per_s", |phase| Cell::Rate(phase.bandwidth))
        .column("Calls", "calls", |phase| Cell::Count(phase.calls))
        .column("In flight", "calls_in_flight", |phase| Cell::text(format!("{:.1}", phase.concurrency)))
        .column("Mostly", "operation", |phase| Cell::text(&phase.operation))
        .csv("operation_share", |phase| Cell::Share(phase.operation_share))
        .column("File", "file", |phase| Cell::Path(phase.files.first().cloned().unwrap_or_default()))
        .most(50)
        .done()
}

/// Returns the table of time bins, for CSV only: a terminal shows sparklines instead.
fn bin_table(bins: &[Bin], width_ns: u64) -> Table {
    let rate = |bytes: u64| Cell::Rate(bytes as f64 / (width_ns as f64 / 1e9));
    let in_flight = |bin: &Bin| bin.busy_ns() as f64 / width_ns.max(1) as f64;
    let mut table = Table::of("bins", "", bins)
        .csv("start_s", |bin| Cell::Moment(bin.start_ns))
        .csv("width_s", |_| Cell::Duration(width_ns))
        .csv("bytes_read", |bin| Cell::Count(bin.bytes_read))
        .csv("bytes_written", |bin| Cell::Count(bin.bytes_written))
        .csv("read_bytes_per_s", |bin| rate(bin.bytes_read))
        .csv("write_bytes_per_s", |bin| rate(bin.bytes_written))
        .csv("reads", |bin| Cell::Count(bin.reads))
        .csv("writes", |bin| Cell::Count(bin.writes))
        .csv("metadata_calls", |bin| Cell::Count(bin.metadata_calls))
        .csv("read_time_s", |bin| Cell::Duration(bin.read_ns))
        .csv("write_time_s", |bin| Cell::Duration(bin.write_ns))
        .csv("metadata_time_s", |bin| Cell::Duration(bin.metadata_ns))
        .csv("mean_size_bytes", |bin| Cell::maybe(bin.mean_size(), |size| Cell::text(format!("{size:.1}"))))
        .csv("calls_in_flight", |bin| Cell::text(format!("{:.3}", in_flight(bin))));
    for (size, name) in READ_SIZES.into_iter().enumerate() {
        table = table.csv(name, move |bin| Cell::maybe(bin.read_sizes.get(size).copied(), Cell::Count));
    }
    for (size, name) in WRITE_SIZES.into_iter().enumerate() {
        table = table.csv(name, move |bin| Cell::maybe(bin.write_sizes.get(size).copied(), Cell::Count));
    }
    table.done()
}

const READ_SIZES: [&str; SIZE_BINS] = [
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
];

const WRITE_SIZES: [&str; SIZE_BINS] = [
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
