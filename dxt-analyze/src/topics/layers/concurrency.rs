//! Computes the number of calls in flight from the data of [`super::in_flight`]: distribution over time, mean, maximum and series.
//!
//! Means and sums are exact. Distribution and maximum are exact if the starts and ends of all calls are in memory; otherwise each time bin
//! counts with its mean.

use super::in_flight::{Flights, InFlight, Span, What};
use crate::shared::ratio;
use crate::sum::Sum;
use rayon::prelude::*;
use serde::Serialize;

/// Maximum number of time bins in the reported series of the number of calls in flight.
pub const SERIES: usize = 200;
/// Number of classes in the distribution of calls in flight: 1, 2-3, 4-7, ..., at least 2^(CLASSES - 1).
pub const CLASSES: usize = 20;

/// Number of calls in flight over time, for one kind of calls such as POSIX reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Concurrency {
    /// Kind of calls that are counted, such as POSIX reads.
    pub what: What,
    /// Number of calls of this kind (such as POSIX reads) in the run.
    pub calls: u64,
    /// Time in which at least one call of this kind is in flight, ns.
    pub busy_ns: u64,
    /// Sum of the durations of all calls of this kind, ns.
    pub time_ns: u64,
    /// Maximum number of calls of this kind in flight at once.
    pub max: u64,
    /// Mean number of calls in flight, over the time in which at least one call is in flight.
    pub mean: f64,
    /// Shares of the time with calls in flight (`busy_ns`) in which 1, 2-3, 4-7, ... calls are in flight.
    pub shares: Vec<f64>,
    /// True if `busy_ns`, `max` and `shares` are exact. If false, they are estimated from the means of time bins, and `max` is a lower
    /// bound.
    pub exact: bool,
    /// Mean number of calls in flight in each time bin; start and width of the bins are in [`Series`].
    pub series: Vec<f64>,
}

/// Time bins for which the mean number of calls in flight is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Start of the first bin, ns since the job's start.
    pub start_ns: u64,
    /// Width of a time bin, ns.
    pub width_ns: u64,
    /// Number of time bins in the series of calls in flight.
    pub bins: usize,
}

fn class(number: u64) -> usize {
    (number.max(1).ilog2() as usize).min(CLASSES - 1)
}

impl InFlight {
    /// Returns the time bins, and the number of calls in flight in each bin for each kind of calls.
    #[must_use]
    pub fn result(self) -> (Series, Vec<Concurrency>) {
        let this = self.with_posix();
        let span = this.span;
        let last_of = |flights: &Flights| {
            flights.partly.iter().zip(&flights.wholly).rposition(|(&partly, &wholly)| partly > 0 || wholly != 0)
        };
        let used = this.kinds.iter().flatten().filter_map(|flights| last_of(flights)).max().map_or(0, |last| last + 1);
        let together = used.div_ceil(SERIES).max(1);
        let series = Series {
            start_ns: span.start,
            width_ns: span.width.saturating_mul(together as u64),
            bins: used.div_ceil(together),
        };
        let kinds = What::ALL.into_par_iter().zip(Vec::from(this.kinds));
        let of = |(what, flights): (What, Option<Box<Flights>>)| Some(one(what, *flights?, span, used, together));
        let mut found: Vec<Concurrency> = kinds.with_max_len(1).filter_map(of).collect();
        // A run with only POSIX reads, or only POSIX writes, has no summed kind: copy the one that exists.
        let only = found.iter().position(|one| matches!(one.what, What::PosixReads | What::PosixWrites));
        if let Some(only) = only.filter(|_| found.iter().all(|one| one.what != What::Posix)) {
            let whole = found.get(only).map(|one| Concurrency { what: What::Posix, ..one.clone() });
            whole.into_iter().for_each(|whole| found.insert(only, whole));
        }
        (series, found)
    }
}

fn one(what: What, flights: Flights, span: Span, used: usize, together: usize) -> Concurrency {
    let mut through = 0_i64;
    let mut busy = Vec::with_capacity(used);
    for (partly, wholly) in flights.partly.iter().zip(&flights.wholly).take(used) {
        through += wholly;
        let whole = u64::try_from(through).unwrap_or(0);
        busy.push(partly.saturating_add(whole.saturating_mul(span.width)));
    }
    let time_ns = busy.iter().sum::<Sum>().get();
    let exact = flights.held.is_some();
    let (times, max) = match flights.held {
        Some(held) => sweep(held),
        None => by_bin(&busy, span.width),
    };
    let busy_ns = times.iter().sum::<Sum>().get();
    let share = |ns: &u64| ratio::share(*ns, busy_ns);
    let classes = times.iter().rposition(|&ns| ns > 0).map_or(0, |last| last + 1);
    let width = span.width.saturating_mul(together as u64) as f64;
    Concurrency {
        what,
        calls: flights.calls,
        busy_ns,
        time_ns,
        max,
        mean: if busy_ns > 0 { time_ns as f64 / busy_ns as f64 } else { 0.0 },
        shares: times.iter().take(classes).map(share).collect(),
        exact,
        series: busy.chunks(together).map(|bins| bins.iter().map(|&ns| ns as f64).sum::<f64>() / width).collect(),
    }
}

/// Computes the time with 1, 2-3, 4-7, ... calls in flight, and the maximum in flight, from all starts and ends.
fn sweep(held: Vec<(u64, u64)>) -> ([u64; CLASSES], u64) {
    // Calls of one process are mostly in order: a stable sort detects ordered runs and only merges them.
    let sorted = |of: fn(&(u64, u64)) -> u64| {
        let mut moments: Vec<u64> = held.iter().filter(|(start, end)| start < end).map(of).collect();
        moments.sort();
        moments
    };
    let (starts, ends) = rayon::join(|| sorted(|call| call.0), || sorted(|call| call.1));
    drop(held);
    let (mut times, mut most, mut number, mut last) = ([0; CLASSES], 0, 0_u64, 0);
    let (mut starts, mut ends) = (starts.as_slice(), ends.as_slice());
    while let [end, later_ends @ ..] = ends {
        // Calls do not overlap if one begins at the time when the other ends.
        let start = starts.split_first().filter(|(start, _)| *start < end);
        let now = start.map_or(*end, |(start, _)| *start);
        if let (true, Some(time)) = (number > 0, times.get_mut(class(number))) {
            *time = u64::saturating_add(*time, now - last);
        }
        last = now;
        if let Some((_, later_starts)) = start {
            number += 1;
            starts = later_starts;
        } else {
            number = number.saturating_sub(1);
            ends = later_ends;
        }
        most = most.max(number);
    }
    (times, most)
}

/// Estimates the time with 1, 2-3, 4-7, ... calls in flight, and the maximum in flight, from the time in calls within each time bin
/// (`busy`, ns) of `width` ns.
fn by_bin(busy: &[u64], width: u64) -> ([u64; CLASSES], u64) {
    let (mut times, mut most) = ([0; CLASSES], 0);
    for &ns in busy.iter().filter(|&&ns| ns > 0) {
        let number = (ns.saturating_add(width / 2) / width).max(1);
        if let Some(time) = times.get_mut(class(number)) {
            *time = u64::saturating_add(*time, ns.min(width));
        }
        most = most.max(ns.div_ceil(width));
    }
    (times, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::layers::in_flight::BINS;

    fn of(calls: &[(u64, u64)], span: Span) -> (Series, Concurrency) {
        let mut flight = InFlight::new(span, calls.len() as u64);
        let (start, end): (Vec<u64>, Vec<u64>) = calls.iter().copied().unzip();
        let stream = crate::model::StreamIx::at(0);
        let calls = crate::scan::Stretch { stream, offset: &[], length: &[], start: &start, end: &end };
        flight.add(What::Locks, calls, 0);
        let (series, mut all) = flight.result();
        (series, all.remove(0))
    }

    #[test]
    fn time_is_weighted_by_how_many_are_in_flight() {
        let (_, found) = of(&[(0, 100), (50, 100), (60, 100), (60, 90), (200, 300)], Span::new(0, 300));
        // One in flight: 0-50 and 200-300; 2-3: 50-60 and 90-100; 4: 60-90.
        assert_eq!((found.busy_ns, found.time_ns, found.max, found.exact), (200, 320, 4, true));
        assert_eq!(found.shares, [0.75, 0.1, 0.15]);
        assert_eq!(found.mean, 1.6);
    }

    #[test]
    fn calls_that_touch_do_not_overlap() {
        let (_, found) = of(&[(0, 10), (10, 20), (20, 20)], Span::new(0, 20));
        assert_eq!((found.max, found.busy_ns, found.calls), (1, 20, 3));
    }

    #[test]
    fn the_series_has_all_the_time_however_long_calls_are() {
        let span = Span::new(1000, 1_001_000);
        let (series, found) = of(&[(1000, 1_001_000), (501_000, 1_001_000), (1500, 1501)], span);
        assert!(series.bins <= SERIES && found.series.len() == series.bins);
        let sum: f64 = found.series.iter().map(|mean| mean * series.width_ns as f64).sum();
        assert!((sum - 1_500_001.0).abs() < 1e-3, "{sum}");
        assert_eq!(found.time_ns, 1_500_001);
        assert!((found.series[0] - 1.0).abs() < 0.01 && (found.series[series.bins - 2] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn too_many_to_hold_are_looked_at_bin_by_bin() {
        let span = Span::new(0, BINS as u64 * 100 - 1);
        let mut flights = Flights::new(false);
        flights.add(span, 0, BINS as u64 * 100 / 2);
        flights.add(span, 0, BINS as u64 * 100 - 1);
        let found = one(What::Mpiio, flights, span, BINS, 100);
        assert!(!found.exact && found.max == 2);
        assert!((found.shares[0] - 0.5).abs() < 0.001 && (found.shares[1] - 0.5).abs() < 0.001);
    }
}
