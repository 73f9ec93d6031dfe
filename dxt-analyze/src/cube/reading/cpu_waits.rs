//! Takes waits for a processor out of the times of calls, so that a busy node is not mistaken for slow storage.
//!
//! The tracer samples how long a thread has waited, not when. Of the time of calls in a sample interval, the part in which the thread did not
//! sleep loses the share `wait / (run + wait)` ([`Interval::waits_in`]).
//! Each of several calls loses in proportion to its time above the median of its peers: a processor is taken away for milliseconds, so few
//! of many short calls are hit. The time up to the median loses the rest of the wait in proportion, unless no peer's thread waited. A call
//! that spans intervals loses the waiting part of each, as do calls with inner calls. Calls of libraries and their inner calls are summed
//! separately.

use super::usual::Least;
use crate::model::cpu_waits::{at, during};
use crate::model::{Interval, Within};
use crate::scan::{Block, Row};
use crate::shared::totals::add;

/// Durations of one block's calls without the waits of the block's thread for a processor.
pub(super) struct CallsWithout {
    shift: u64,
    /// Sample intervals in which the block's thread waited for a processor.
    intervals: Vec<Interval>,
    /// By interval in `intervals`: times of the calls in it that the program itself made, and times of the calls made inside libraries.
    sums: Vec<[Sums; 2]>,
}

/// Times of the calls in one sample interval, ns, divided at the median duration of similar calls (peers).
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Part of each call's time above the median duration of its peers.
    excess_ns: u64,
    /// Part of each call's time up to the median duration of its peers, if this median may contain waits for a processor.
    perhaps_ns: u64,
    /// Part of each call's time up to the median duration of its peers, if this median contains no wait for a processor.
    certain_ns: u64,
}

impl Sums {
    /// Divides the duration of one call, ns, at the median of its peers, `least`.
    fn of_call(duration: u64, least: Least) -> Self {
        let up_to = duration.min(least.ns);
        let (certain_ns, perhaps_ns) = if least.is_certain { (up_to, 0) } else { (0, up_to) };
        Self { excess_ns: duration.saturating_sub(up_to), perhaps_ns, certain_ns }
    }

    /// Returns the time of all summed calls, ns.
    const fn all_ns(self) -> u64 {
        self.excess_ns.saturating_add(self.perhaps_ns).saturating_add(self.certain_ns)
    }

    fn add(&mut self, other: Self) {
        add(&mut self.excess_ns, other.excess_ns);
        add(&mut self.perhaps_ns, other.perhaps_ns);
        add(&mut self.certain_ns, other.certain_ns);
    }

    /// Returns how long `call`, one of the summed calls, waited for a processor, ns, if the thread waited for `wait` ns in all summed calls.
    /// Waits are assumed in the excess times (above the median) first.
    fn waits_of(&self, call: Self, wait: f64) -> f64 {
        let [excess, perhaps] = [self.excess_ns, self.perhaps_ns].map(|ns| ns as f64);
        let share = |wait: f64, of: f64| (wait / of.max(1.0)).clamp(0.0, 1.0);
        call.excess_ns as f64 * share(wait, excess) + call.perhaps_ns as f64 * share(wait - excess, perhaps)
    }
}

fn place(within: Within) -> usize {
    usize::from(within > Within::Nothing)
}

impl CallsWithout {
    /// Creates empty sums for those sample intervals in which the block's thread waited for a processor.
    pub(super) fn new(block: &Block<'_>) -> Self {
        let all = block.process.cpu.of_thread(block.process.tid(block.thread));
        let waits = all.iter().filter(|of| of.waiting() >= block.run.thresholds.barely_share);
        Self::of(waits.copied().collect(), block.process.shift_ns)
    }

    fn of(intervals: Vec<Interval>, shift: u64) -> Self {
        Self { shift, sums: vec![[Sums::default(); 2]; intervals.len()], intervals }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    fn times(&self, row: &Row) -> (u64, u64) {
        (row.start.saturating_add(self.shift), row.end.saturating_add(self.shift))
    }

    /// Returns the index of the interval that contains the whole call; `None` if the call spans several, or if its thread did not wait.
    fn whole_in(&self, (begin, end): (u64, u64)) -> Option<usize> {
        at(&self.intervals, end).filter(|at| self.intervals.get(*at).is_some_and(|of| begin >= of.begin))
    }

    /// Adds a call to the sums of the interval that contains it, if one contains the whole call; `least`: median duration of its peers.
    pub(super) fn add(&mut self, row: &Row, within: Within, least: Least) {
        let at = self.whole_in(self.times(row));
        if let Some(sums) = at.and_then(|at| self.sums.get_mut(at)) {
            sums[place(within)].add(Sums::of_call(row.duration_ns(), least));
        }
    }

    /// Returns the duration of a call without its waits for a processor, ns; `least`: median duration of its peers.
    #[inline]
    pub(super) fn duration(&self, row: &Row, within: Within, least: Least) -> u64 {
        let duration = row.duration_ns();
        if self.intervals.is_empty() { duration } else { duration.saturating_sub(self.waits_ns(row, within, least)) }
    }

    fn waits_ns(&self, row: &Row, within: Within, least: Least) -> u64 {
        let (begin, end) = self.times(row);
        match self.whole_in((begin, end)).and_then(|at| self.intervals.get(at).zip(self.sums.get(at))) {
            Some((of, sums)) => {
                let call = Sums::of_call(row.duration_ns(), least);
                let sums = sums[place(within)];
                sums.waits_of(call, of.waits_in(sums.all_ns()) as f64) as u64
            }
            None => during(&self.intervals, begin, end)
                .filter_map(|(at, both_ns)| Some(self.intervals.get(at)?.waits_in(both_ns)))
                .sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StreamIx;

    fn of(intervals: &[(u64, u64, u64)]) -> CallsWithout {
        let interval = |&(begin, end, wait_ns): &(u64, u64, u64)| {
            let run_ns = end - begin - wait_ns;
            Interval { begin, end, run_ns, wait_ns, taken: 0 }
        };
        CallsWithout::of(intervals.iter().map(interval).collect(), 0)
    }

    const fn least(ns: u64) -> Least {
        Least { ns, is_certain: true }
    }

    fn row(start: u64, end: u64) -> Row {
        Row { stream: StreamIx::at(0), offset: 0, length: 0, start, end }
    }

    #[test]
    fn excess_is_taken_for_the_wait_first_and_no_more_than_the_wait() {
        let mut without = of(&[(0, 1000, 800)]);
        let calls = [(row(0, 10), least(10)), (row(10, 510), least(10)), (row(600, 610), least(10))];
        for (row, usual) in &calls {
            without.add(row, Within::Nothing, *usual);
        }
        // The calls take 520 ns, of which 416 ns are waits: 416 / 490 of the excess.
        let times: Vec<u64> = calls.iter().map(|(row, usual)| without.duration(row, Within::Nothing, *usual)).collect();
        assert_eq!(times, [10, 84, 10]);
        // Without peers, a call loses the part of its time that its thread waits.
        let mut without = of(&[(0, 1000, 800)]);
        without.add(&row(0, 500), Within::Nothing, Least::default());
        assert_eq!(without.duration(&row(0, 500), Within::Nothing, Least::default()), 100);
        // Time up to that of the peers is no wait.
        let mut without = of(&[(0, 1000, 800)]);
        without.add(&row(0, 500), Within::Nothing, least(500));
        assert_eq!(without.duration(&row(0, 500), Within::Nothing, least(500)), 500);
    }

    #[test]
    fn a_thread_that_sleeps_in_its_calls_waits_for_a_processor_elsewhere() {
        // The thread sleeps 500 of 1000 ns, and its calls take 500 or 600.
        let interval = Interval { begin: 0, end: 1000, run_ns: 250, wait_ns: 250, taken: 0 };
        for (takes, left) in [(500, 500), (600, 550)] {
            let mut without = CallsWithout::of(vec![interval], 0);
            without.add(&row(0, takes), Within::Nothing, Least::default());
            assert_eq!(without.duration(&row(0, takes), Within::Nothing, Least::default()), left);
        }
    }

    #[test]
    fn a_median_that_may_contain_waits_loses_what_the_excess_leaves() {
        let perhaps = Least { ns: 300, is_certain: false };
        let mut without = of(&[(0, 1000, 500)]);
        let calls = [row(0, 300), row(300, 700)];
        calls.iter().for_each(|row| without.add(row, Within::Nothing, perhaps));
        // The wait is 350 of 700 ns: the excess of 100 ns, and 250 of the 600 ns up to the median.
        let times = calls.map(|row| without.duration(&row, Within::Nothing, perhaps));
        assert_eq!(times, [175, 175]);
    }

    #[test]
    fn a_call_that_spans_intervals_loses_a_part_of_each() {
        let mut without = of(&[(0, 100, 50), (100, 200, 100), (300, 400, 10)]);
        let long = row(50, 350);
        without.add(&long, Within::Nothing, least(1));
        assert_eq!(without.duration(&long, Within::Nothing, least(1)), 300 - 25 - 100 - 5);
        assert_eq!(without.duration(&row(210, 290), Within::Nothing, least(1)), 80);
    }
}
