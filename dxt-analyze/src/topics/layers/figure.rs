//! Figure of calls in flight over time, one panel per kind of calls (RIOT, Wright et al., UKPEW 2011, Figure 4), also as text for a
//! terminal. Each panel has its own scale, so a few locks stay visible next to hundreds of MPI-IO calls.

use super::concurrency::{Concurrency, Series};
use super::in_flight::What;
use crate::render::figure::{Area, Ink, Layer, Panel, Slice};
use crate::render::{Cell, Figure, Table};
use crate::text::{spark, units};

/// Vertical resolution of a panel's bars, in steps.
const STEPS: u32 = 2_000;
/// Number of intervals between labels of the figure's time axis.
const MOMENTS: u64 = 4;

/// Kinds of calls in the figure, top panel first, with title and colour; kinds that MPI-IO programs use come first.
const SHOWN: [(What, &str, Ink); 6] = [
    (What::Mpiio, "MPI-IO reads and writes", Ink(5)),
    (What::PosixReads, "POSIX reads", Ink(0)),
    (What::PosixWrites, "POSIX writes", Ink(1)),
    (What::Locks, "POSIX lock calls", Ink(4)),
    (What::Hdf5, "HDF5 reads and writes", Ink(2)),
    (What::Stdio, "STDIO reads and writes", Ink(7)),
];

/// Returns the title, colour and data of each kind of calls that occurs in `rows`.
fn shown(rows: &[Concurrency]) -> impl Iterator<Item = (&'static str, Ink, &Concurrency)> {
    SHOWN.into_iter().filter_map(|(what, title, ink)| {
        Some((title, ink, rows.iter().find(|row| row.what == what && row.series.iter().any(|mean| *mean > 0.0))?))
    })
}

/// Returns the largest value in a row of the figure: the mean number of calls in flight in the busiest time bin.
fn most(row: &Concurrency) -> f64 {
    row.series.iter().copied().fold(0.0, f64::max)
}

/// Returns the top of a panel's scale: the smallest of 1, 2, 5, 10 times a power of ten that is at least `most`.
fn scale(most: f64) -> f64 {
    let power = 10_f64.powi(most.max(1e-3).log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|top| *top >= most).unwrap_or(most)
}

/// Formats a number without trailing zeros, such as `0.5` or `20`.
fn number(value: f64) -> String {
    let digits = if value >= 10.0 { 0 } else { 3 };
    let text = format!("{value:.digits$}");
    if digits > 0 { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Builds the figure of calls in flight over time; `None` if no calls were in flight.
pub(super) fn figure(series: &Series, rows: &[Concurrency]) -> Option<Figure> {
    let kinds: Vec<_> = shown(rows).collect();
    if kinds.is_empty() {
        return None;
    }
    let columns = u32::try_from(series.bins).unwrap_or(1).max(1);
    let whole_ns = series.width_ns.saturating_mul(series.bins as u64);
    let at = |part: u64| {
        series.start_ns.saturating_add((u128::from(whole_ns) * u128::from(part) / u128::from(MOMENTS)) as u64)
    };
    Some(Figure {
        name: "in_flight",
        title: "Calls in flight over time",
        subject: "All ranks".into(),
        caption: format!(
            "Mean number of calls in flight over all ranks in bins of {}; each panel has its own scale. Where MPI-IO is high and POSIX \
             is low, many ranks wait for few; where locks are high, ranks wait for each other.",
            units::duration(series.width_ns)
        ),
        panels: kinds.iter().map(|(title, ink, row)| panel(title, *ink, row, columns)).collect(),
        times: (0..=MOMENTS).map(|part| units::moment(at(part))).collect(),
        legend: Vec::new(),
        slices: slices(series, &kinds),
        numbers: numbers(series, &kinds),
    })
}

fn panel(title: &'static str, ink: Ink, row: &Concurrency, columns: u32) -> Panel {
    let top = scale(most(row));
    let height = |mean: f64| (mean / top * f64::from(STEPS)).ceil() as u32;
    let bars = (0..columns).zip(&row.series).filter(|(_, mean)| **mean > 0.0);
    let areas = bars.map(|(left, mean)| Area { left, bottom: 0, width: 1, height: height(*mean).clamp(1, STEPS) });
    Panel {
        title,
        grid: (columns, STEPS),
        levels: vec![(0.0, "0".into()), (0.5, number(top / 2.0)), (1.0, number(top))],
        layers: vec![Layer { ink, opacity: 80, outlined: false, areas: areas.collect() }],
    }
}

/// Panel of the figure for one kind of calls: title, colour, data.
type Kind<'a> = (&'static str, Ink, &'a Concurrency);

/// Returns the start of the time bin with index `bin`, ns since the job's start.
fn start(series: &Series, bin: usize) -> u64 {
    series.start_ns.saturating_add(series.width_ns.saturating_mul(bin as u64))
}

fn slices(series: &Series, kinds: &[Kind<'_>]) -> Vec<Slice> {
    let bins = series.bins.max(1);
    let words = |bin: usize| {
        let of = kinds.iter().map(|(_, _, row)| {
            format!("{} {}", row.what.name(), number(row.series.get(bin).copied().unwrap_or_default()))
        });
        format!("{}: {}", units::moment(start(series, bin)), of.collect::<Vec<String>>().join(", "))
    };
    let share = |bin: usize| bin as f64 / bins as f64;
    (0..series.bins).map(|bin| Slice { from: share(bin), width: 1.0 / bins as f64, words: words(bin) }).collect()
}

/// Returns the figure's numbers as a table for readers who cannot see the figure; one row per time bin and kind of calls.
fn numbers(series: &Series, kinds: &[Kind<'_>]) -> Table {
    let rows = (0..series.bins).flat_map(|bin| kinds.iter().map(move |(.., row)| (bin, *row)));
    let rows = rows.filter(|(bin, row)| row.series.get(*bin).is_some_and(|mean| *mean > 0.0));
    Table::of("in_flight", "Calls in flight over time", rows)
        .column("From, s", "start_s", |(bin, _)| Cell::Moment(start(series, *bin)))
        .column("Calls", "what", |(_, row)| Cell::text(row.what.name()))
        .column("Mean in flight", "mean_in_flight", |(bin, row)| {
            Cell::text(format!("{:.3}", row.series.get(*bin).copied().unwrap_or_default()))
        })
        .done()
}

/// Returns lines of text for a terminal: the time span, then one line per kind of calls; `None` if no calls were in flight.
pub(super) fn lines(series: &Series, rows: &[Concurrency]) -> Option<Vec<(&'static str, String)>> {
    let line = |(_, _, row): Kind<'_>| {
        let values: Vec<Option<f64>> = row.series.iter().copied().map(Some).collect();
        (row.what.name(), format!("{}  at most {} in flight on average", spark::line(&values), number(most(row))))
    };
    let lines: Vec<(&'static str, String)> = shown(rows).map(line).collect();
    let span = format!(
        "{} to {}, means in bins of {}",
        units::moment(series.start_ns),
        units::moment(start(series, series.bins)),
        units::duration(series.width_ns)
    );
    (!lines.is_empty()).then(|| [("in flight", span)].into_iter().chain(lines).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: What, series: &[f64]) -> Concurrency {
        let (calls, busy_ns, time_ns, max) = (1, 1, 1, 1);
        Concurrency {
            what,
            calls,
            busy_ns,
            time_ns,
            max,
            mean: 1.0,
            shares: vec![1.0],
            exact: true,
            series: series.to_vec(),
        }
    }

    #[test]
    fn each_kind_has_a_panel_of_its_own_scale() {
        let series = Series { start_ns: 0, width_ns: 1_000_000_000, bins: 4 };
        let rows = [
            row(What::Mpiio, &[0.0, 64.0, 64.0, 1.0]),
            row(What::Posix, &[0.0, 1.0, 3.0, 0.0]),
            row(What::PosixReads, &[0.0, 0.0, 0.0, 0.0]),
            row(What::PosixWrites, &[0.0, 1.0, 3.0, 0.0]),
        ];
        let found = figure(&series, &rows).unwrap();
        let titles: Vec<&str> = found.panels.iter().map(|panel| panel.title).collect();
        assert_eq!(titles, ["MPI-IO reads and writes", "POSIX writes"]);
        let heights = |panel: usize| -> Vec<(u32, u32)> {
            found.panels[panel].layers[0].areas.iter().map(|area| (area.left, area.height)).collect()
        };
        // The panels' scales end at 100 and at 5.
        assert_eq!(heights(0), [(1, 1280), (2, 1280), (3, 20)]);
        assert_eq!(heights(1), [(1, 400), (2, 1200)]);
        assert_eq!(found.times, ["0.000 s", "1.000 s", "2.000 s", "3.000 s", "4.000 s"]);
        assert_eq!(found.slices[1].words, "1.000 s: MPI-IO data 64, POSIX writes 1");
        assert_eq!(found.numbers.rows().len(), 5);
        let said = lines(&series, &rows).unwrap();
        assert_eq!(said[1], ("MPI-IO data", " ██▁  at most 64 in flight on average".into()));
        assert!(figure(&series, &rows[2..3]).is_none() && lines(&series, &[]).is_none());
    }

    #[test]
    fn scales_are_round_and_numbers_short() {
        assert_eq!([scale(64.0), scale(1.0), scale(0.03), scale(5.1)].map(number), ["100", "1", "0.05", "10"]);
    }
}
