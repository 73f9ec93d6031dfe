//! First pass over the trace: usual durations of calls by kind and size, from histograms whose bins are a quarter octave wide. Calls
//! during which their thread did not wait for a processor have histograms of their own, if any thread waits.

use crate::model::cpu_waits::at;
use crate::model::{Manner, Run, Stream};
use crate::scan::{Analysis, Block};
use crate::shared::stats::QUARTILE;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;

/// Number of histogram bins for durations: four per octave (factor of 2), for 40 octaves from 1 ns to 18 minutes.
const CLASSES: usize = 160;

/// Kind of calls that are compared: operation, inside MPI-IO or not, open flags, file system and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// Operation of the calls, as an index into [`crate::model::Run::ops`].
    pub op: u16,
    /// True for calls made inside MPI-IO.
    pub nested: bool,
    /// Flags with which the file was opened: calls that wait for storage (O_SYNC) are no peers of others.
    pub manner: Manner,
    /// Number of the mounted file system ([`Stream::mount`]).
    pub mount: u16,
    /// Size octave: bit length of the bytes, 0 without bytes.
    pub size: u8,
}

impl Kind {
    /// Returns the kind of those calls of `stream` whose size octave (bit length of the bytes) is `size`.
    #[inline]
    #[must_use]
    pub fn of_size(stream: &Stream, size: u8) -> Self {
        Self { op: stream.op, nested: stream.nested, manner: stream.manner, mount: stream.mount, size }
    }
}

/// Returns the size octave of a length: its bit length, 0 without bytes.
#[inline]
#[must_use]
pub fn size_class(length: u64) -> u8 {
    (64 - length.leading_zeros()) as u8
}

#[inline]
fn class(duration: u64) -> usize {
    let duration = duration.max(1);
    let octave = duration.ilog2() as usize;
    let quarter = if octave < 2 { 0 } else { (duration >> (octave - 2)) as usize & 3 };
    (octave * 4 + quarter).min(CLASSES - 1)
}

fn middle(class: usize) -> f64 {
    let octave = f64::from(u32::try_from(class / 4).unwrap_or(u32::MAX)).exp2();
    octave * (1.125 + 0.25 * (class % 4) as f64)
}

/// Statistics of the durations of calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    /// Median duration of the calls, ns.
    pub median_ns: f64,
    /// Spread of log durations (as a standard deviation), estimated from the faster half of the calls.
    pub spread: f64,
    /// Duration from which a call of this kind is an outlier, ns.
    pub far_ns: u64,
    /// Skew of log durations to the fast side: distance from the 5 % quantile to the median, less that from the median to the 95 %
    /// quantile.
    pub leans: f64,
    /// Median duration of the calls that did not wait for a processor; if these are too few, of all calls.
    pub least: Least,
}

/// Estimate of how long a call takes without a wait for a processor: the median duration of its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// Median duration of the call's peers, ns; 0 if there are too few.
    pub ns: u64,
    /// True if no thread waited for a processor during the calls of the median. Otherwise the median may contain a wait, though waits hit
    /// few of many short calls.
    pub is_certain: bool,
}

/// Minimum ratio of an outlier's duration to the median; less for calls of very regular duration ([`LEAST_FAR`]).
pub const FAR: f64 = 8.0;
/// Minimum distance of an outlier's log duration from that of the median, in multiples of the spread (standard deviation) of log durations.
const SPREADS: f64 = 4.5;
/// Multiple of the spread of log durations above the median from which a call is an outlier although it takes less than [`FAR`] times the
/// median: for calls of very regular duration.
const REGULAR: f64 = 12.0;
/// Least ratio of an outlier's duration to the median, even for very regular calls.
const LEAST_FAR: f64 = 4.0;
/// Largest number of calls that count as outliers only because they take [`FAR`] times as long as all others.
const FEW_ALONE: u64 = 3;

/// Analysis (pass over all recorded calls) that counts calls by kind and duration.
#[derive(Clone, Copy, Debug)]
pub struct Durations {
    /// True if any thread waits for a processor.
    any_waits: bool,
}

impl Durations {
    /// Creates the analysis of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        Self { any_waits: run.processes.iter().any(|process| process.cpu.any()) }
    }
}

/// Numbers of calls by kind and bin of durations.
type Counts = FxHashMap<Kind, Box<[u64; CLASSES]>>;

/// Number of calls by kind and bin of durations, as counted by one analysis thread.
#[derive(Debug, Default)]
pub struct Partial {
    kinds: Counts,
    /// Counts of only those calls during which their thread did not wait for a processor; empty if no thread ever waits.
    without_waits: Counts,
}

impl Partial {
    /// Returns the usual durations of the calls of each kind.
    #[must_use]
    pub fn usual(&self, thresholds: &Thresholds) -> FxHashMap<Kind, Usual> {
        let of_kind = self.kinds.iter().map(|(kind, counts)| {
            let mut usual = usual(thresholds, counts.as_slice());
            if let Some(ns) = self.without_waits.get(kind).and_then(|counts| median(thresholds, counts.as_slice())) {
                usual.least = Least { ns, is_certain: true };
            }
            (*kind, usual)
        });
        of_kind.collect()
    }
}

fn quantile(counts: &[u64], share: f64) -> f64 {
    let wanted = (counts.iter().sum::<u64>() as f64 * share).ceil().max(1.0) as u64;
    let mut sum = 0;
    let found = counts.iter().position(|&count| {
        sum += count;
        sum >= wanted
    });
    middle(found.unwrap_or(0))
}

/// Returns the median duration of the calls whose numbers per bin are `counts`, ns; `None` for fewer than `calls_min` calls.
fn median(thresholds: &Thresholds, counts: &[u64]) -> Option<u64> {
    (counts.iter().sum::<u64>() >= thresholds.calls_min).then(|| quantile(counts, 0.5) as u64)
}

fn usual(thresholds: &Thresholds, counts: &[u64]) -> Usual {
    let at = |share: f64| quantile(counts, share);
    let median_ns = at(0.5);
    // At least half a bin, the resolution of quartiles.
    let spread = ((median_ns / at(0.25)).ln() / QUARTILE).max(0.1);
    // Bins are too wide to show regularity, unless positions inside them are interpolated.
    let inside = (within(counts, 0.5) / within(counts, 0.25)).ln() / QUARTILE;
    let regular = FAR.min((REGULAR * inside.max(0.1)).exp()).max(LEAST_FAR);
    let far = if regular < FAR { median_ns * regular } else { median_ns * FAR.max((SPREADS * spread).exp()) };
    let far = far.min(alone_from(counts).unwrap_or(f64::INFINITY)).max(median_ns * LEAST_FAR);
    let leans = (median_ns / at(0.05)).ln() - (at(0.95) / median_ns).ln();
    let least = Least { ns: median(thresholds, counts).unwrap_or(0), is_certain: false };
    Usual { median_ns, spread, far_ns: far.min(1e18) as u64, leans, least }
}

/// Returns a duration, ns, that at most [`FEW_ALONE`] calls exceed, each of which takes at least [`FAR`] times as long as every other call:
/// these few are outliers however much the other calls vary. `None` if there are no such calls.
fn alone_from(counts: &[u64]) -> Option<f64> {
    let mut used = counts.iter().enumerate().rev().filter(|(_, count)| **count > 0);
    let (mut lowest, mut calls) = used.next().map(|(class, count)| (class, *count))?;
    for (class, count) in used {
        if calls > FEW_ALONE {
            return None;
        }
        if middle(lowest) >= middle(class) * FAR {
            return Some(middle(lowest.saturating_sub(1)));
        }
        (lowest, calls) = (class, calls.saturating_add(*count));
    }
    None
}

/// Returns the quantile `share` of the durations, ns, as if they were spread evenly within a bin.
fn within(counts: &[u64], share: f64) -> f64 {
    let wanted = counts.iter().sum::<u64>() as f64 * share;
    let mut before = 0.0;
    for (class, count) in counts.iter().map(|count| *count as f64).enumerate() {
        if count > 0.0 && before + count >= wanted {
            let octave = f64::from(u32::try_from(class / 4).unwrap_or(u32::MAX)).exp2();
            return octave * (1.0 + 0.25 * ((class % 4) as f64 + (wanted - before) / count));
        }
        before += count;
    }
    1.0
}

impl Analysis for Durations {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let (process, shift) = (block.process, block.process.shift_ns);
        let intervals = if self.any_waits { process.cpu.of_thread(process.tid(block.thread)) } else { &[] };
        for stretch in block.stretches() {
            let Some(stream) = block.process.streams.get(stretch.stream.index()) else { continue };
            let mut last: Option<(u8, &mut Box<[u64; CLASSES]>)> = None;
            for row in stretch.rows() {
                let size = size_class(row.length);
                let counts = match last.take() {
                    Some((of, counts)) if of == size => counts,
                    _ => {
                        let kind = Kind::of_size(stream, size);
                        partial.kinds.entry(kind).or_insert_with(zeros)
                    }
                };
                counts[class(row.duration_ns())] += 1;
                let at = at(intervals, row.end.saturating_add(shift)).and_then(|at| intervals.get(at));
                if at.is_some_and(|of| {
                    of.waiting() < block.run.thresholds.barely_share && of.begin <= row.start.saturating_add(shift)
                }) {
                    let counts = partial.without_waits.entry(Kind::of_size(stream, size)).or_insert_with(zeros);
                    counts[class(row.duration_ns())] += 1;
                }
                last = Some((size, counts));
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (mine, theirs) in [(&mut into.kinds, other.kinds), (&mut into.without_waits, other.without_waits)] {
            for (kind, theirs) in theirs {
                let mine = mine.entry(kind).or_insert_with(zeros);
                mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| *mine += theirs);
            }
        }
    }
}

fn zeros() -> Box<[u64; CLASSES]> {
    Box::new([0; CLASSES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_a_quarter_of_an_octave() {
        for duration in [1, 5, 1000, 123_456, 1 << 33] {
            let near = middle(class(duration)) / duration as f64;
            assert!((0.8..1.26).contains(&near), "{duration}: {near}");
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn what_is_far_depends_on_the_spread() {
        let mut even = [0; CLASSES];
        even[class(1000)] = 100;
        let narrow = usual(&Thresholds::default(), &even);
        assert!((3_500..4_800).contains(&narrow.far_ns), "{narrow:?}");
        let mut less = [0; CLASSES];
        less[class(700)] = 40;
        less[class(1000)] = 60;
        assert!(
            (7_000..9_500).contains(&usual(&Thresholds::default(), &less).far_ns),
            "{:?}",
            usual(&Thresholds::default(), &less)
        );
        let mut wide = [0; CLASSES];
        (40..76).for_each(|class| wide[class] = 10);
        assert!(
            usual(&Thresholds::default(), &wide).far_ns > 100 * usual(&Thresholds::default(), &wide).median_ns as u64
        );
        // A single call far above the others is an outlier regardless of the spread; four are not.
        for (count, is_far) in [(1, true), (4, false)] {
            let mut with = wide;
            with[class(8_000_000)] = count;
            assert_eq!(
                usual(&Thresholds::default(), &with).far_ns <= 8_000_000,
                is_far,
                "{:?}",
                usual(&Thresholds::default(), &with)
            );
        }
    }
}
