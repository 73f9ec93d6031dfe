//! Bar charts of the groups of runs: run time and scaling efficiency, division of the time in MPI-IO, and bandwidths.

use super::measures::{self, Measure, Unit};
use super::result::{Group, Scaling};
use super::spread::Spread;
use crate::render::figure::{Area, Ink, Layer, Panel, Slice};
use crate::render::table::human;
use crate::render::{Cell, Figure, Table};
use crate::text::units::agree;

/// Maximum number of groups of runs that a chart shows.
const DRAWN: usize = 60;
/// Maximum number of names of groups (of repeated runs) below a chart; more do not fit on a narrow page.
const NAMED: usize = 8;
/// Maximum number of characters of a group name below a chart.
const NAME: usize = 14;
/// Height of a chart, in rows of its grid.
const HEIGHT: u32 = 1000;
/// Width of a bar, and of the gap between groups of bars, in columns of the chart's grid.
const BAR: u32 = 4;

/// Bars of one colour: values of one measure, one bar per group.
struct Bars {
    name: &'static str,
    ink: Ink,
    unit: Unit,
    of: fn(&Group) -> Option<Spread>,
}

/// Creates the bars of a measure in [`measures`].
macro_rules! bars {
    ($name:literal, $ink:literal, $measure:ident) => {
        Bars { name: $name, ink: Ink($ink), unit: measures::$measure.unit, of: |group| group.get(&measures::$measure) }
    };
}

/// Returns those charts of the groups of runs for which there are values.
pub(super) fn figures(result: &Scaling) -> Vec<Figure> {
    let efficiency =
        Bars { name: "efficiency", ink: Ink(2), unit: Unit::Times, of: |group| Spread::of([group.efficiency]) };
    let mut time =
        vec![("Run time", vec![bars!("run time", 0, RUN_TIME), bars!("slowest process in I/O", 1, SLOWEST)])];
    if result.groups.iter().any(|group| group.efficiency.is_some()) {
        time.push(("Efficiency relative to the first group", vec![efficiency]));
    }
    let inside = [(
        "Time, summed over ranks",
        vec![
            bars!("MPI-IO", 5, MPIIO_TIME),
            bars!("POSIX inside", 0, POSIX_IN_MPIIO),
            bars!("acquiring locks", 1, LOCK_TIME),
            bars!("releasing locks", 4, UNLOCK_TIME),
        ],
    )];
    let rates = [
        ("Reads", vec![bars!("MPI-IO", 5, MPIIO_READ_BY_SLOWEST), bars!("POSIX", 0, POSIX_READ_BY_SLOWEST)]),
        ("Writes", vec![bars!("MPI-IO", 5, MPIIO_WRITE_BY_SLOWEST), bars!("POSIX", 0, POSIX_WRITE_BY_SLOWEST)]),
    ];
    let rates: Vec<_> = rates.into_iter().filter(|(_, bars)| bars.iter().any(|bars| is_drawn(result, bars))).collect();
    let has_mpiio = has(result, &measures::MPIIO_TIME);
    let mut out = vec![figure(
        result,
        "run-time",
        "Run time and efficiency",
        "Efficiency: bytes per second and rank, relative to the first group.",
        &time,
    )];
    out.extend(has_mpiio.then(|| {
        figure(result, "inside", "Time in MPI-IO", "Time in MPI-IO calls, and of POSIX calls inside.", &inside)
    }));
    let caption = "Bytes over the time in calls of the slowest process; POSIX calls regardless of the caller.";
    out.extend((!rates.is_empty()).then(|| figure(result, "bandwidth", "Bandwidth", caption, &rates)));
    out
}

fn is_drawn(result: &Scaling, bars: &Bars) -> bool {
    result.groups.iter().filter_map(|group| (bars.of)(group)).any(|spread| spread.most > 0.0)
}

fn has(result: &Scaling, measure: &Measure) -> bool {
    result.groups.iter().any(|group| group.get(measure).is_some_and(|spread| spread.most > 0.0))
}

fn figure(
    result: &Scaling,
    name: &'static str,
    title: &'static str,
    caption: &str,
    panels: &[(&'static str, Vec<Bars>)],
) -> Figure {
    let groups = result.groups.get(..DRAWN).unwrap_or(&result.groups);
    let left = result.groups.len() - groups.len();
    let groups_are = agree(left as u64, "group is", "groups are");
    let more = if left > 0 { format!(" {left} more {groups_are} in the table.") } else { String::new() };
    let all: Vec<&Bars> = panels.iter().flat_map(|(_, bars)| bars).collect();
    let mut legend: Vec<(Ink, String)> = Vec::new();
    for bars in &all {
        let entry = (bars.ink, bars.name.to_owned());
        if !legend.contains(&entry) {
            legend.push(entry);
        }
    }
    let width = 1.0 / groups.len().max(1) as f64;
    Figure {
        name,
        title,
        subject: format!("by {}", result.group_by),
        caption: format!("{caption} Bars are medians, thin lines the range of repeats.{more}"),
        panels: panels.iter().map(|(title, bars)| panel(title, bars, groups)).collect(),
        times: names(groups),
        legend,
        slices: (0..)
            .zip(groups)
            .map(|(place, group)| Slice { from: f64::from(place) * width, width, words: words(group, &all) })
            .collect(),
        numbers: numbers(result, panels),
    }
}

/// Returns the names of groups below the bars; some are empty if not all fit.
fn names(groups: &[Group]) -> Vec<String> {
    let each = groups.len().div_ceil(NAMED).max(1);
    let mut out = vec![String::new(); groups.len() * 2 + 1];
    for (place, group) in groups.iter().enumerate().step_by(each) {
        if let Some(out) = out.get_mut(place * 2 + 1) {
            *out = short(&group.group);
        }
    }
    out
}

/// Shortens a name to its last characters: paths differ at the end.
fn short(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(count + 1 - NAME).collect::<String>())
    }
}

fn panel(title: &'static str, bars: &[Bars], groups: &[Group]) -> Panel {
    let most =
        groups.iter().flat_map(|group| bars.iter().filter_map(|bars| (bars.of)(group))).map(|spread| spread.most);
    let most = most.fold(0.0, f64::max);
    let high = |value: f64| if most > 0.0 { (value / most * f64::from(HEIGHT)).round() as u32 } else { 0 };
    let slot = BAR * (bars.len() as u32 + 1);
    let mut layers = Vec::new();
    for (number, bars) in (0..).zip(bars) {
        let at = |group: u32| group * slot + BAR / 2 + number * BAR;
        let (mut boxes, mut ranges) = (Vec::new(), Vec::new());
        for (place, spread) in (0..).zip(groups).filter_map(|(place, group)| Some((place, (bars.of)(group)?))) {
            boxes.push(Area { left: at(place), bottom: 0, width: BAR - 1, height: high(spread.median) });
            if !spread.is_one() {
                let (from, until) = (high(spread.least), high(spread.most));
                ranges.push(Area { left: at(place) + 1, bottom: from, width: 1, height: (until - from).max(4) });
            }
        }
        layers.push(Layer { ink: bars.ink, opacity: 85, outlined: false, areas: boxes });
        layers.push(Layer { ink: Ink(7), opacity: 100, outlined: false, areas: ranges });
    }
    let unit = bars.first().map_or(Unit::Count, |bars| bars.unit);
    let level = |share: f64| (share, human(&unit.cell(most * share)));
    Panel {
        title,
        grid: (slot * groups.len().max(1) as u32, HEIGHT),
        levels: vec![level(0.0), level(0.5), level(1.0)],
        layers,
    }
}

fn words(group: &Group, bars: &[&Bars]) -> String {
    let mut out = vec![group.group.clone()];
    out.extend(bars.iter().filter_map(|bars| {
        let spread = (bars.of)(group)?;
        Some(format!("{}: {}", bars.name, human(&bars.unit.cell(spread.median))))
    }));
    out.join("\n")
}

fn numbers(result: &Scaling, panels: &[(&'static str, Vec<Bars>)]) -> Table {
    let rows = result.groups.iter().flat_map(|group| {
        let of = |(title, bars): &(&'static str, Vec<Bars>)| {
            let row = |bars: &Bars| Some((group, *title, bars.name, bars.unit, (bars.of)(group)?));
            bars.iter().filter_map(row).collect::<Vec<_>>()
        };
        panels.iter().flat_map(of).collect::<Vec<_>>()
    });
    Table::of("numbers", "", rows)
        .column("Group", "group", |(group, ..): &(&Group, &str, &str, Unit, Spread)| Cell::text(&group.group))
        .column("Panel", "panel", |(_, panel, ..)| Cell::text(*panel))
        .column("Bar", "bar", |(_, _, bar, ..)| Cell::text(*bar))
        .column("Median", "median", |(.., unit, spread)| unit.cell(spread.median))
        .column("Least", "least", |(.., unit, spread)| unit.cell(spread.least))
        .column("Greatest", "greatest", |(.., unit, spread)| unit.cell(spread.most))
        .done()
}
