//! How many calls are in flight at once, over all ranks. The span from the first call to the last is cut into
//! [`BINS`] bins; how long calls were in flight within each (so their mean number) is exact whatever the trace's length.
//! How the number is distributed and its maximum are exact if all starts and ends can be held, in runs of at most
//! [`HELD_CALLS`] segments; otherwise each bin counts by its mean.

use crate::limits::HELD_CALLS;
use crate::load::{Op, Run, Stream};
use serde::Serialize;
use trace_format::op::{Layer, OpClass};

/// Bins that times are sorted into.
pub const BINS: usize = 1 << 14;
/// Bins of the series that is reported, at most.
pub const SERIES: usize = 200;
/// Classes of the distribution: 1, 2-3, 4-7, ..., at least 2^(CLASSES - 1).
pub const CLASSES: usize = 20;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Reads and writes of MPI-IO.
    Mpiio,
    /// Reads and writes of POSIX.
    Posix,
    /// POSIX locks being taken.
    Locks,
    /// Reads and writes of HDF5.
    Hdf5,
    /// Reads and writes of STDIO.
    Stdio,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Mpiio, Self::Posix, Self::Locks, Self::Hdf5, Self::Stdio];

    /// For tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mpiio => "MPI-IO data",
            Self::Posix => "POSIX data",
            Self::Locks => "POSIX locks",
            Self::Hdf5 => "HDF5 data",
            Self::Stdio => "STDIO data",
        }
    }

    /// What a stream's calls count as.
    #[must_use]
    pub fn of(stream: &Stream, op: &Op) -> Option<Self> {
        match (op.layer?, op.class?) {
            _ if stream.failed => None,
            (Layer::Posix, OpClass::Lock) => Some(Self::Locks),
            (Layer::Posix, class) if class.is_data() => Some(Self::Posix),
            (Layer::Mpiio, class) if class.is_data() => Some(Self::Mpiio),
            (Layer::Hdf5, class) if class.is_data() => Some(Self::Hdf5),
            (Layer::Stdio, class) if class.is_data() => Some(Self::Stdio),
            _ => None,
        }
    }
}

/// The span that bins divide: ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u64,
    width: u64,
}

impl Span {
    /// Of all calls on record, as the blocks' heads say.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut edges = (u64::MAX, 0);
        for process in &run.processes {
            for block in &process.blocks {
                edges.0 = edges.0.min(block.head.min_start.saturating_add(process.shift_ns));
                edges.1 = edges.1.max(block.head.max_end.saturating_add(process.shift_ns));
            }
        }
        Self::new(edges.0.min(edges.1), edges.1)
    }

    /// From `start` to `end`.
    #[must_use]
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, width: (end.saturating_sub(start) / BINS as u64).saturating_add(1) }
    }

    /// The bin of a moment, and how far into it the moment is.
    #[inline]
    fn place(self, at: u64) -> (usize, u64) {
        let at = at.saturating_sub(self.start);
        let bin = (at / self.width).min(BINS as u64 - 1);
        (bin as usize, (at - bin * self.width).min(self.width))
    }
}

/// What is known of one kind of calls.
#[derive(Clone, Debug)]
struct Flights {
    /// Time of calls that begin or end in a bin, ns.
    partly: Vec<u64>,
    /// Calls that begin to fill whole bins, minus those that cease to.
    wholly: Vec<i64>,
    /// Start and end of each call, as long as they can be held.
    held: Option<Vec<(u64, u64)>>,
    calls: u64,
}

impl Flights {
    fn new(hold: bool) -> Self {
        Self { partly: vec![0; BINS], wholly: vec![0; BINS + 1], held: hold.then(Vec::new), calls: 0 }
    }

    fn add(&mut self, span: Span, start: u64, end: u64) {
        self.calls += 1;
        let ((first, from), (last, to)) = (span.place(start), span.place(end));
        let mut partly = |bin: usize, ns: u64| {
            if let Some(sum) = self.partly.get_mut(bin) {
                *sum = sum.saturating_add(ns);
            }
        };
        if first == last {
            partly(first, to.saturating_sub(from));
        } else {
            partly(first, span.width - from);
            partly(last, to);
            let mut wholly = |bin: usize, by: i64| {
                if let Some(count) = self.wholly.get_mut(bin) {
                    *count += by;
                }
            };
            wholly(first + 1, 1);
            wholly(last, -1);
        }
        if let Some(held) = &mut self.held {
            held.push((start, end));
        }
    }

    fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.partly.iter_mut().zip(&other.partly).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.wholly.iter_mut().zip(&other.wholly).for_each(|(mine, theirs)| *mine += theirs);
        if let (Some(mine), Some(theirs)) = (&mut self.held, other.held) {
            mine.extend(theirs);
        }
    }
}

/// Everything in flight.
#[derive(Clone, Debug)]
pub struct InFlight {
    span: Span,
    hold: bool,
    /// By [`What`]; made when the first call comes.
    kinds: [Option<Box<Flights>>; What::ALL.len()],
}

/// How many calls of one kind are in flight over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Concurrency {
    /// Which calls.
    pub what: What,
    /// How many there are.
    pub calls: u64,
    /// Time in which at least one is in flight, ns.
    pub busy_ns: u64,
    /// Time in them, summed over all, ns.
    pub time_ns: u64,
    /// The most at once.
    pub max: u64,
    /// Their mean number while at least one is in flight.
    pub mean: f64,
    /// Share of the busy time with 1, 2-3, 4-7, ... in flight.
    pub shares: Vec<f64>,
    /// Whether the busy time, the most and the shares are exact; otherwise they are estimates from the mean numbers of
    /// 16,384 bins of time, so that the most is a lower bound.
    pub exact: bool,
    /// Mean number in flight, by bin of [`Series`].
    pub series: Vec<f64>,
}

/// The times of the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Start of the first bin, ns since the job's start.
    pub start_ns: u64,
    /// Width of a bin, ns.
    pub width_ns: u64,
    /// Number of bins.
    pub bins: usize,
}

/// The class of a number in flight.
fn class(number: u64) -> usize {
    (number.max(1).ilog2() as usize).min(CLASSES - 1)
}

impl InFlight {
    /// Nothing yet, of a run with `segments` calls within `span`.
    #[must_use]
    pub fn new(span: Span, segments: u64) -> Self {
        Self { span, hold: segments <= HELD_CALLS, kinds: Default::default() }
    }

    /// A call; moments are ns since the job's start.
    #[inline]
    pub fn add(&mut self, what: What, start: u64, end: u64) {
        let (span, hold) = (self.span, self.hold);
        if let Some(place) = self.kinds.get_mut(what as usize) {
            place.get_or_insert_with(|| Box::new(Flights::new(hold))).add(span, start, end);
        }
    }

    /// Adds what another thread saw.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(*theirs),
                (None, Some(theirs)) => *mine = Some(theirs),
                (_, None) => {}
            }
        }
    }

    /// The result.
    #[must_use]
    pub fn result(self) -> (Series, Vec<Concurrency>) {
        let span = self.span;
        let last_of = |flights: &Flights| {
            flights.partly.iter().zip(&flights.wholly).rposition(|(&partly, &wholly)| partly > 0 || wholly != 0)
        };
        let used = self.kinds.iter().flatten().filter_map(|flights| last_of(flights)).max().map_or(0, |last| last + 1);
        let together = used.div_ceil(SERIES).max(1);
        let series = Series {
            start_ns: span.start,
            width_ns: span.width.saturating_mul(together as u64),
            bins: used.div_ceil(together),
        };
        let kinds = What::ALL.into_iter().zip(self.kinds);
        let of = |(what, flights): (What, Option<Box<Flights>>)| Some(one(what, *flights?, span, used, together));
        (series, kinds.filter_map(of).collect())
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
    let time_ns = busy.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
    let exact = flights.held.is_some();
    let (times, max) = match flights.held {
        Some(held) => sweep(held),
        None => by_bin(&busy, span.width),
    };
    let busy_ns = times.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns));
    let share = |ns: &u64| if busy_ns > 0 { *ns as f64 / busy_ns as f64 } else { 0.0 };
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

/// Time by class, and the most at once, from every start and end.
fn sweep(held: Vec<(u64, u64)>) -> ([u64; CLASSES], u64) {
    let (mut starts, mut ends): (Vec<u64>, Vec<u64>) = held.into_iter().filter(|(start, end)| start < end).unzip();
    starts.sort_unstable();
    ends.sort_unstable();
    let (mut times, mut most, mut number, mut last) = ([0; CLASSES], 0, 0_u64, 0);
    let (mut starts, mut ends) = (starts.into_iter().peekable(), ends.into_iter().peekable());
    while let Some(&end) = ends.peek() {
        // A call that ends when another begins is not in flight with it.
        let start = starts.next_if(|&start| start < end);
        let now = start.unwrap_or(end);
        if let (true, Some(time)) = (number > 0, times.get_mut(class(number))) {
            *time = u64::saturating_add(*time, now - last);
        }
        last = now;
        if start.is_some() {
            number += 1;
        } else {
            ends.next();
            number = number.saturating_sub(1);
        }
        most = most.max(number);
    }
    (times, most)
}

/// The same, estimated from the time that calls were in flight within each bin.
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

    fn of(calls: &[(u64, u64)], span: Span) -> (Series, Concurrency) {
        let mut flight = InFlight::new(span, calls.len() as u64);
        calls.iter().for_each(|&(start, end)| flight.add(What::Posix, start, end));
        let (series, mut all) = flight.result();
        (series, all.remove(0))
    }

    #[test]
    fn time_is_weighted_by_how_many_are_in_flight() {
        let (_, found) = of(&[(0, 100), (50, 100), (60, 100), (60, 90), (200, 300)], Span::new(0, 300));
        // 1: 0-50 and 200-300, 2-3: 50-60 and 90-100, 4: 60-90.
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
