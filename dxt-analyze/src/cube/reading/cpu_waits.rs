//! Takes waits for a processor out of the times of calls, so that a busy node is not mistaken for slow storage.
//!
//! The tracer samples how long a thread has waited, not when. Calls that take `c` of a sample interval of length `l` lose `wait * c / l`.
//! Of several calls, each loses in proportion to its time above the median of its peers, and keeps at least that median: a processor is
//! taken away for milliseconds, so few calls are hit. A call that spans intervals loses the waiting part of each, as do calls with inner
//! calls. Calls of libraries and their inner calls are summed separately.

use crate::model::{Interval, Within};
use crate::scan::{Block, Row};
use crate::thresholds::processor::LEAST_WAITING;

/// Durations of one block's calls without the waits of the block's thread for a processor.
pub(super) struct CallsWithout {
    shift: u64,
    intervals: Vec<Calls>,
}

/// Calls in one sample interval (time between two samples of a thread's waits).
struct Calls {
    of: Interval,
    /// Sums over the program's own calls, and over calls inside libraries' calls.
    sums: [Sums; 2],
}

#[derive(Clone, Copy, Default)]
struct Sums {
    time_ns: u64,
    /// Part of `time_ns` above each call's least duration (median of similar calls; 0 if unknown).
    excess_ns: u64,
}

impl Sums {
    /// Returns the share (0 to 1) of `excess_ns` that is waiting, if the thread waits for a `part` (0 to 1) of the interval.
    fn waiting(&self, part: f64) -> f64 {
        (self.time_ns as f64 * part / self.excess_ns.max(1) as f64).min(1.0)
    }
}

fn place(within: Within) -> usize {
    usize::from(within > Within::Nothing)
}

impl CallsWithout {
    /// Creates empty sums for those sample intervals in which the block's thread waited for a processor.
    pub(super) fn new(block: &Block<'_>) -> Self {
        let all = block.process.cpu.of_thread(block.process.tid(block.thread));
        let waits = all.iter().filter(|of| of.waiting() >= LEAST_WAITING);
        let intervals = waits.map(|of| Calls { of: *of, sums: [Sums::default(); 2] }).collect();
        Self { shift: block.process.shift_ns, intervals }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the index of the sample interval in which a call ends: samples are taken, and calls recorded, when a call ends. `None` if
    /// the thread did not wait in it.
    fn at(&self, end: u64) -> Option<usize> {
        let at = self.intervals.partition_point(|calls| calls.of.end < end);
        self.intervals.get(at).filter(|calls| calls.of.begin < end).map(|_| at)
    }

    fn times(&self, row: &Row) -> (u64, u64) {
        (row.start.saturating_add(self.shift), row.end.saturating_add(self.shift))
    }

    /// Adds a call, whose duration without a wait is at least `least_ns`, to the sums of its sample interval.
    pub(super) fn add(&mut self, row: &Row, within: Within, least_ns: u64) {
        let (begin, end) = self.times(row);
        let Some(calls) = self.at(end).and_then(|at| self.intervals.get_mut(at)) else { return };
        if begin >= calls.of.begin {
            let sums = &mut calls.sums[place(within)];
            let duration = row.duration_ns();
            sums.time_ns = sums.time_ns.saturating_add(duration);
            sums.excess_ns = sums.excess_ns.saturating_add(duration.saturating_sub(least_ns));
        }
    }

    /// Returns the duration of a call without its waits for a processor, ns.
    #[inline]
    pub(super) fn duration(&self, row: &Row, within: Within, least_ns: u64) -> u64 {
        let duration = row.duration_ns();
        if self.intervals.is_empty() { duration } else { self.without(row, within, least_ns) }
    }

    fn without(&self, row: &Row, within: Within, least_ns: u64) -> u64 {
        let (duration, (begin, end)) = (row.duration_ns(), self.times(row));
        if let Some(calls) = self.at(end).and_then(|at| self.intervals.get(at))
            && begin >= calls.of.begin
        {
            let waiting = calls.sums[place(within)].waiting(calls.of.waiting());
            let waits = duration.saturating_sub(least_ns) as f64 * waiting;
            return duration.saturating_sub(waits as u64);
        }
        let first = self.intervals.partition_point(|calls| calls.of.end <= begin);
        let during = self.intervals.iter().skip(first).take_while(|calls| calls.of.begin < end);
        let waits: f64 = during
            .map(|calls| {
                let both = calls.of.end.min(end).saturating_sub(calls.of.begin.max(begin));
                both as f64 * calls.of.waiting()
            })
            .sum();
        duration.saturating_sub(waits as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StreamIx;

    fn of(intervals: &[(u64, u64, u64)]) -> CallsWithout {
        let interval = |&(begin, end, wait_ns): &(u64, u64, u64)| Interval { begin, end, run_ns: 0, wait_ns, taken: 0 };
        let calls = |of| Calls { of: interval(of), sums: [Sums::default(); 2] };
        CallsWithout { shift: 0, intervals: intervals.iter().map(calls).collect() }
    }

    fn row(start: u64, end: u64) -> Row {
        Row { stream: StreamIx::at(0), offset: 0, length: 0, start, end }
    }

    #[test]
    fn excess_is_taken_for_the_wait_first_and_no_more_than_the_wait() {
        let mut without = of(&[(0, 1000, 800)]);
        let calls = [(row(0, 10), 10), (row(10, 510), 10), (row(600, 610), 10)];
        for (row, usual) in &calls {
            without.add(row, Within::Nothing, *usual);
        }
        // The calls take 520 ns, of which 416 ns are waits: 416 / 490 of the excess.
        let times: Vec<u64> = calls.iter().map(|(row, usual)| without.duration(row, Within::Nothing, *usual)).collect();
        assert_eq!(times, [10, 84, 10]);
        // Without peers, a call loses the part of its time that its thread waits.
        let mut without = of(&[(0, 1000, 800)]);
        without.add(&row(0, 500), Within::Nothing, 0);
        assert_eq!(without.duration(&row(0, 500), Within::Nothing, 0), 100);
        // Time up to that of the peers is no wait.
        let mut without = of(&[(0, 1000, 800)]);
        without.add(&row(0, 500), Within::Nothing, 500);
        assert_eq!(without.duration(&row(0, 500), Within::Nothing, 500), 500);
    }

    #[test]
    fn a_call_that_spans_intervals_loses_a_part_of_each() {
        let mut without = of(&[(0, 100, 50), (100, 200, 100), (300, 400, 10)]);
        let long = row(50, 350);
        without.add(&long, Within::Nothing, 1);
        assert_eq!(without.duration(&long, Within::Nothing, 1), 300 - 25 - 100 - 5);
        assert_eq!(without.duration(&row(210, 290), Within::Nothing, 1), 80);
    }
}
