//! Figure that overlays two runs: bytes transferred over time; both runs begin at time 0.

use super::repeats::Job;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::figure::{Area, Ink, Layer, Panel, Slice};
use crate::render::{Cell, Figure, Table};
use crate::scan::scan;
use crate::shared::totals::{Totals, with_missing};
use crate::text::units;
use crate::topics::timeline::fill::Activity;
use crate::topics::timeline::series::{self, Bin};
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::span::Span;

/// Maximum number of time bins of the overlay figure.
const BINS: u32 = 240;
/// Vertical resolution of a panel of the figure, in steps.
const HEIGHT: u32 = 1000;
/// Number of intervals between labels of the figure's time axis.
const TIMES: u64 = 5;
const INKS: [Ink; 2] = [Ink(0), Ink(1)];
const NAMES: [&str; 2] = ["before", "now"];

/// Returns a run's activity per time bin of the axis that both runs share.
fn bins(run: &Run, span: Span) -> Vec<Bin> {
    let (totals, _) = scan(run, &Totals, &Bar::new(run.segments(), "totals"));
    let slices = Slices::new(run, &with_missing(run, totals));
    let activity = Activity::of_job(&slices, span);
    let (mut grids, _) = scan(run, &activity, &Bar::new(run.segments(), "timeline"));
    activity.add_heat(run, &mut grids);
    series::bins(&span, &slices, &grids)
}

/// Returns the overlay figure; empty if neither run moved data or the job's times are unknown.
pub(super) fn figures(runs: [&Run; 2], job: &Job) -> Vec<Figure> {
    let until = runs.map(|run| run.processes.iter().map(|process| process.end_ns).max().unwrap_or(0).max(run.span().1));
    let span = Span::new(0, until[0].max(until[1]), BINS);
    let all = runs.map(|run| bins(run, span));
    type Bytes = fn(&Bin) -> u64;
    let sides: [(&'static str, Bytes); 2] = [("Reads", |bin| bin.bytes_read), ("Writes", |bin| bin.bytes_written)];
    let moves = |of: Bytes| all.iter().flatten().any(|bin| of(bin) > 0);
    let panels: Vec<Panel> =
        sides.iter().filter(|(_, of)| moves(*of)).map(|(title, of)| panel(title, &all, *of, &span)).collect();
    if panels.is_empty() {
        return Vec::new();
    }
    let end_ns = span.from_ns.saturating_add(span.width_ns.saturating_mul(span.bins.into()));
    let time = |at: u64| units::moment(end_ns / TIMES * at);
    let words = |place: usize| {
        let bin = |run: usize| all.get(run).and_then(|bins| bins.get(place)).cloned().unwrap_or_default();
        let line = |name: &str, bin: &Bin| {
            format!("{name}: {} read, {} written", units::bytes(bin.bytes_read), units::bytes(bin.bytes_written))
        };
        format!("{}\n{}\n{}", units::moment(span.start_of(place)), line(NAMES[0], &bin(0)), line(NAMES[1], &bin(1)))
    };
    let width = 1.0 / f64::from(span.bins.max(1));
    let slice = |place: u32| Slice { from: f64::from(place) * width, width, words: words(place as usize) };
    let of = if job.has_repeats() { " The runs with the median run times." } else { "" };
    let rows: Vec<(u64, [Bin; 2])> = (0..span.bins as usize)
        .map(|place| {
            let bin = |run: usize| all.get(run).and_then(|bins| bins.get(place)).cloned().unwrap_or_default();
            (span.start_of(place), [bin(0), bin(1)])
        })
        .filter(|(_, [one, two])| !one.is_quiet() || !two.is_quiet())
        .collect();
    vec![Figure {
        name: "overlay",
        title: "Both runs overlaid",
        subject: "all processes".into(),
        caption: format!("Bytes per second over the time since each run's start.{of}"),
        panels,
        times: (0..=TIMES).map(time).collect(),
        legend: INKS.into_iter().zip(NAMES.map(str::to_owned)).collect(),
        slices: (0..span.bins).map(slice).collect(),
        numbers: Table::of("overlay", "", rows)
            .column("Time", "time_s", |(start, _): &(u64, [Bin; 2])| Cell::Moment(*start))
            .column("Read before", "read_before", |(_, [one, _])| Cell::Bytes(one.bytes_read))
            .column("Read now", "read_after", |(_, [_, two])| Cell::Bytes(two.bytes_read))
            .column("Written before", "written_before", |(_, [one, _])| Cell::Bytes(one.bytes_written))
            .column("Written now", "written_after", |(_, [_, two])| Cell::Bytes(two.bytes_written))
            .done(),
    }]
}

fn panel(title: &'static str, all: &[Vec<Bin>; 2], of: fn(&Bin) -> u64, span: &Span) -> Panel {
    let most = all.iter().flatten().map(of).max().unwrap_or(0);
    let high = |bytes: u64| if most > 0 { (bytes as f64 / most as f64 * f64::from(HEIGHT)).ceil() as u32 } else { 0 };
    let layer = |(bins, ink): (&Vec<Bin>, Ink)| {
        let area = |(place, bin): (u32, &Bin)| Area { left: place, bottom: 0, width: 1, height: high(of(bin)) };
        let areas = (0..).zip(bins).filter(|(_, bin)| of(bin) > 0).map(area).collect();
        Layer { ink, opacity: 55, outlined: false, areas }
    };
    let level = |share: f64| (share, units::rate(most as f64 * share * 1e9 / span.width_ns.max(1) as f64));
    Panel {
        title,
        grid: (span.bins, HEIGHT),
        levels: vec![level(0.0), level(0.5), level(1.0)],
        layers: all.iter().zip(INKS).map(layer).collect(),
    }
}
