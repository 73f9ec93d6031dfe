//! Tables that show the comparison of the whole job.

use super::repeats::{Job, NumberRow};
use crate::render::{Cell, Part, Table};
use crate::text::units;
use crate::topics::scaling::measures::{self, Measure};
use crate::topics::scaling::spread::Spread;

/// Measures (such as the run time) in the terminal's table; HTML, CSV and JSON contain all measures.
const SHOWN: [&Measure; 14] = [
    &measures::RUN_TIME,
    &measures::IO_SHARE,
    &measures::BYTES_READ,
    &measures::BYTES_WRITTEN,
    &measures::MPIIO_CALLS,
    &measures::POSIX_CALLS,
    &measures::MPIIO_TIME,
    &measures::POSIX_TIME,
    &measures::LOCK_TIME,
    &measures::UNALIGNED_SHARE,
    &measures::MPIIO_READ_BY_SLOWEST,
    &measures::MPIIO_WRITE_BY_SLOWEST,
    &measures::POSIX_READ_BY_SLOWEST,
    &measures::POSIX_WRITE_BY_SLOWEST,
];

pub(super) fn parts(job: &Job, detailed: Option<&[String; 2]>) -> Vec<Part> {
    let mut out = Vec::new();
    if !job.directions.is_empty() {
        let mut lines: Vec<String> = job.directions.iter().map(|one| one.line.clone()).collect();
        lines.push("(time: summed over processes; bandwidth: by the slowest process; change: of the bandwidth)".into());
        out.push(Part::Lines(lines));
    }
    out.push(Part::Table(numbers(job)));
    if let Some([before, after]) = detailed {
        out.push(Part::Lines(vec![
            format!(
                "Of {} and {} {}, the two with the median run times are compared in detail:",
                job.runs_before,
                job.runs_after,
                crate::text::units::agree(job.runs_after, "run", "runs")
            ),
            format!("  before: {before}"),
            format!("  after: {after}"),
        ]));
    }
    out
}

fn numbers(job: &Job) -> Table {
    let title = if job.has_repeats() { "The job: means over runs (minimum - maximum)" } else { "The job" };
    let is_shown = |row: &&NumberRow| SHOWN.iter().any(|known| **known == row.measure);
    let mut rows: Vec<&NumberRow> = SHOWN.iter().filter_map(|measure| job.number(measure)).collect();
    let shown = rows.len();
    rows.extend(job.numbers.iter().filter(|row| !is_shown(row)));
    let cell = |spread: Option<Spread>, row: &NumberRow| {
        Cell::maybe(spread, |spread| measures::ranged(row.measure.unit, spread.mean, &spread))
    };
    let scatter = if job.runs_before > 1 && job.runs_after > 1 { "Beyond scatter" } else { "" };
    Table::of("job", title, rows)
        .column("Number", "number", |row| Cell::text(row.measure.title))
        .csv("measure", |row| Cell::text(row.measure.columns[0]))
        .column("Before", "before", move |row| cell(row.before, row))
        .column("Now", "after", move |row| cell(row.after, row))
        .column("Change", "change", |row| Cell::maybe(row.change, |change| Cell::Text(percent(change))))
        .column(scatter, "beyond_scatter", |row| {
            Cell::maybe(row.beyond_scatter, |beyond| Cell::text(if beyond { "yes" } else { "no" }))
        })
        .csv("q", |row| Cell::maybe(row.q, |q| Cell::Text(units::chance(q))))
        .most(shown)
        .beside()
        .done()
}

fn percent(change: f64) -> String {
    if change.abs() < 0.0005 { "0.0 %".into() } else { format!("{:+.1} %", change * 100.0) }
}
