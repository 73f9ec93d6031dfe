//! Selection, by duration, of the calls that get separate slices (bars in the viewer), and the number of slices for the other calls of each
//! process. Durations are counted in bins of 1/32 of the duration: this takes one pass and little memory, and does not depend on the order
//! of threads.

use crate::model::{ProcessId, Run};
use crate::scan::{Analysis, Block};

/// Base-2 logarithm of the number of duration bins per factor of two.
const FINE: u32 = 5;
const BINS: usize = (65 - FINE as usize) << FINE;
/// Number of time windows in which calls are counted, to suggest values of `--time`.
const SPANS: u64 = 1 << 12;

fn bin(duration: u64) -> usize {
    let bits = u64::BITS - duration.leading_zeros();
    if bits <= FINE {
        return duration as usize;
    }
    let shift = bits - FINE - 1;
    (((shift + 1) as usize) << FINE) + ((duration >> shift) as usize & ((1 << FINE) - 1))
}

/// Analysis that counts calls by process, duration and time window.
pub(crate) struct Tally {
    from: u64,
    width: u64,
}

#[derive(Default)]
pub(crate) struct Counted {
    durations: Vec<u64>,
    /// Number of calls by process and duration bin; empty bins are omitted.
    processes: std::collections::BTreeMap<ProcessId, std::collections::BTreeMap<u16, u64>>,
    spans: Vec<u64>,
}

impl Tally {
    pub(crate) fn new(run: &Run) -> Self {
        let (from, until) = run.span();
        Self { from, width: ((until - from) / SPANS + 1).max(1) }
    }
}

impl Analysis for Tally {
    type Partial = Counted;

    fn start(&self) -> Counted {
        Counted { durations: vec![0; BINS], spans: vec![0; SPANS as usize], ..Counted::default() }
    }

    fn block(&self, partial: &mut Counted, block: &Block<'_>) {
        let mut mine = vec![0_u64; BINS];
        for row in block.rows().filter(|row| block.process.stream(row.stream).is_some()) {
            if let Some(count) = mine.get_mut(bin(row.duration_ns())) {
                *count += 1;
            }
            let start = row.start.saturating_add(block.process.shift_ns).saturating_sub(self.from);
            if let Some(count) = partial.spans.get_mut(((start / self.width) as usize).min(SPANS as usize - 1)) {
                *count += 1;
            }
        }
        let process = partial.processes.entry(block.number).or_default();
        for (bin, &count) in mine.iter().enumerate().filter(|(_, count)| **count > 0) {
            *process.entry(bin as u16).or_default() += count;
            if let Some(sum) = partial.durations.get_mut(bin) {
                *sum += count;
            }
        }
    }

    fn merge(&self, into: &mut Counted, other: Counted) {
        into.durations.iter_mut().zip(other.durations).for_each(|(sum, more)| *sum += more);
        into.spans.iter_mut().zip(other.spans).for_each(|(sum, more)| *sum += more);
        for (process, bins) in other.processes {
            let mine = into.processes.entry(process).or_default();
            bins.into_iter().for_each(|(bin, count)| *mine.entry(bin).or_default() += count);
        }
    }
}

/// Selection of the calls that get separate slices (bars in the viewer); all other calls are merged.
pub(crate) struct Level {
    pub(crate) calls: u64,
    /// Index of the lowest duration bin whose calls get separate slices (bars in the viewer).
    least: usize,
    /// Number of slices (bars in the viewer), per process, into which the calls without separate slices are merged.
    room: Vec<u64>,
    spans: Vec<u64>,
    from: u64,
    width: u64,
}

impl Level {
    /// Selects the calls that get separate slices (bars in the viewer): all calls if they are at most `most`; else the longest calls, for
    /// half of `most` slices.
    pub(crate) fn of(run: &Run, counted: Counted, most: u64) -> Self {
        let Tally { from, width } = Tally::new(run);
        let calls: u64 = counted.durations.iter().sum();
        let (mut least, mut kept) = (0, calls);
        if calls > most {
            (least, kept) = (BINS, 0);
            for (bin, count) in counted.durations.iter().enumerate().rev() {
                if kept + count > most / 2 {
                    break;
                }
                (least, kept) = (bin, kept + count);
            }
        }
        let rest = |process: ProcessId| -> u64 {
            let bins = counted.processes.get(&process);
            bins.map_or(0, |bins| {
                bins.iter().filter(|(bin, _)| usize::from(**bin) < least).map(|(_, count)| count).sum()
            })
        };
        let rests: Vec<u64> = run.numbered_processes().map(|(number, _)| rest(number)).collect();
        let room = share(&rests, most.saturating_sub(kept));
        Self { calls, least, room, spans: counted.spans, from, width }
    }

    /// Returns true if every call gets a separate slice (bar in the viewer).
    pub(crate) fn is_whole(&self) -> bool {
        self.least == 0
    }

    /// Returns true if a call of this duration (ns) gets a separate slice (bar in the viewer).
    #[inline]
    pub(crate) fn keeps(&self, duration: u64) -> bool {
        self.least == 0 || bin(duration) >= self.least
    }

    /// Returns the number of slices into which the remaining calls of a process are merged.
    pub(crate) fn room(&self, process: ProcessId) -> u64 {
        self.room.get(process.index()).copied().unwrap_or_default()
    }

    /// Returns consecutive time windows (start, end), ns since the job's start, with at most `most` calls each. A window of the shortest
    /// possible length may have more.
    pub(crate) fn windows(&self, most: u64) -> Vec<(u64, u64)> {
        let place = |at: usize| self.from.saturating_add(self.width.saturating_mul(at as u64));
        let (mut out, mut first, mut sum) = (Vec::new(), 0, 0_u64);
        for (at, &count) in self.spans.iter().enumerate() {
            if sum > 0 && sum + count > most {
                out.push((place(first), place(at)));
                (first, sum) = (at, 0);
            }
            sum += count;
        }
        out.push((place(first), place(self.spans.len())));
        out
    }
}

/// Splits `room` into parts in proportion to `wanted`. Each nonzero entry gets at least 1 if `room` suffices.
fn share(wanted: &[u64], room: u64) -> Vec<u64> {
    let all: u64 = wanted.iter().sum();
    let some = wanted.iter().filter(|wanted| **wanted > 0).count() as u64;
    let beyond = room.saturating_sub(some);
    let mut left = room;
    let of = |wanted: u64| (u128::from(wanted) * u128::from(beyond) / u128::from(all.max(1))) as u64;
    let shares = wanted.iter().map(|&wanted| {
        let mine = if wanted > 0 { (1 + of(wanted)).min(left) } else { 0 };
        left -= mine;
        mine
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_one_another() {
        let mut last = 0;
        for duration in 0..100_000 {
            let at = bin(duration);
            assert!(at == last || at == last + 1, "{duration}: {last} {at}");
            last = at;
        }
        assert!(bin(u64::MAX) < BINS);
    }

    #[test]
    fn shares_are_no_more_than_there_is() {
        assert_eq!(share(&[10, 0, 30], 10), [3, 0, 7]);
        assert_eq!(share(&[1, 1, 1], 2), [1, 1, 0]);
        assert!(share(&[], 5).is_empty());
        assert!(share(&[7; 9], 1000).iter().sum::<u64>() <= 1000);
    }
}
