//! Time in which a process's threads were ready but waited for a processor, between the samples that the tracer took of them.

use trace_format::meta::ProcessorDef;

/// Use of the processors by a thread between two samples. Times in ns; begin and end since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Time of the first sample.
    pub begin: u64,
    /// Time of the second sample, after `begin`.
    pub end: u64,
    /// Time on a processor.
    pub run_ns: u64,
    /// Time ready but waiting for a processor that another thread took, at most the length of the interval. Waits behind a sleep are left
    /// out: they count in the call that sleeps (a sync, a read of storage).
    pub wait_ns: u64,
    /// Number of times that another thread took the processor from this one.
    pub taken: u64,
}

impl Interval {
    /// Returns the length of the interval, ns.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// Returns the part of the interval that the thread waited for a processor, 0 to 1.
    #[must_use]
    pub fn waiting(&self) -> f64 {
        self.wait_ns as f64 / self.length_ns().max(1) as f64
    }

    /// Returns how much of `calls_ns`, the time of all calls in the interval, the thread waited for a processor, ns. Time in which the thread
    /// neither runs nor waits for a processor is assumed in calls first: there it waits for storage, and elsewhere it computes or spins.
    /// An integer, so that sums do not depend on their order.
    #[must_use]
    pub fn waits_in(&self, calls_ns: u64) -> u64 {
        let ready_ns = self.run_ns.saturating_add(self.wait_ns);
        let asleep_ns = self.length_ns().saturating_sub(ready_ns);
        let waits = u128::from(calls_ns.saturating_sub(asleep_ns)) * u128::from(self.wait_ns);
        u64::try_from(waits / u128::from(ready_ns.max(1))).unwrap_or(u64::MAX)
    }
}

/// Use of the processors by those threads of a process whose waits for a processor are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuWaits {
    /// CPUs on which the process may run: bit `n % 8` of byte `n / 8` stands for CPU `n` of its node. Empty if unknown.
    pub cpus: Vec<u8>,
    /// Intervals by kernel thread id, each list in order of time and without overlap.
    threads: Vec<(u32, Vec<Interval>)>,
}

impl CpuWaits {
    /// Converts the recorded samples `def` of a process to intervals. `shift_ns`: zero of the process's clock, `end_ns`: end of the
    /// process, both in ns since the job's start.
    #[must_use]
    pub fn of(def: ProcessorDef, shift_ns: u64, end_ns: u64) -> Self {
        let known = def.threads.iter().filter(|thread| thread.knows_waits != 0);
        let intervals = |thread: &trace_format::meta::ThreadTimes| {
            let sums: Vec<_> = thread.sums().collect();
            let between = |two: &[trace_format::meta::CpuSample]| {
                let [begin, whole] = [two[0], two[1]].map(|of| of.time_ns.saturating_add(shift_ns));
                // The last sample is taken while the trace is written.
                let end = whole.min(end_ns);
                let (length, most) = (whole.saturating_sub(begin), end.saturating_sub(begin));
                let part = |ns: u64| u128::from(ns.min(length)) * u128::from(most) / u128::from(length.max(1));
                let part = |ns: u64| u64::try_from(part(ns)).unwrap_or(most);
                let (taken, slept) = (two[1].involuntary - two[0].involuntary, two[1].voluntary - two[0].voluntary);
                let (waits, switches) = (two[1].wait_ns - two[0].wait_ns, taken.saturating_add(slept));
                let of_taken = u128::from(waits) * u128::from(taken) / u128::from(switches.max(1));
                let wait_ns = if switches == 0 { u128::from(waits) } else { of_taken };
                let wait_ns = part(u64::try_from(wait_ns).unwrap_or(u64::MAX));
                Interval { begin, end, run_ns: part(two[1].run_ns - two[0].run_ns), wait_ns, taken }
            };
            let of: Vec<Interval> = sums.windows(2).map(between).filter(|of| of.end > of.begin).collect();
            (thread.tid, of)
        };
        let mut threads: Vec<(u32, Vec<Interval>)> = known.map(intervals).collect();
        threads.sort_by_key(|(tid, _)| *tid);
        threads.dedup_by_key(|(tid, _)| *tid);
        Self { cpus: def.cpus, threads }
    }

    /// Returns the intervals of the thread with kernel id `tid`, in order of time.
    #[must_use]
    pub fn of_thread(&self, tid: u32) -> &[Interval] {
        let at = self.threads.binary_search_by_key(&tid, |(of, _)| *of);
        at.ok().and_then(|at| self.threads.get(at)).map_or(&[], |(_, intervals)| intervals)
    }

    /// True if any thread waits for a processor.
    #[must_use]
    pub fn any(&self) -> bool {
        self.threads().flatten().any(|of| of.wait_ns > 0)
    }

    /// Returns the kernel id of each thread, and the time in which it ran or waited for a processor, ns.
    pub fn ready(&self) -> impl Iterator<Item = (u32, u64)> {
        let ready = |of: &Interval| of.run_ns.saturating_add(of.wait_ns);
        let sum = move |of: &[Interval]| of.iter().map(ready).fold(0, u64::saturating_add);
        self.threads.iter().map(move |(tid, intervals)| (*tid, sum(intervals)))
    }

    /// Returns the intervals of each thread.
    pub fn threads(&self) -> impl Iterator<Item = &[Interval]> {
        self.threads.iter().map(|(_, intervals)| intervals.as_slice())
    }
}

/// Returns the position among a thread's `intervals` of the one in which a call ends at `end`: calls are recorded and samples are taken when a
/// call ends.
#[must_use]
pub fn at(intervals: &[Interval], end: u64) -> Option<usize> {
    let at = intervals.partition_point(|of| of.end < end);
    intervals.get(at).filter(|of| of.begin < end).map(|_| at)
}

/// Returns the positions of those of a thread's `intervals` that overlap a call from `begin` to `end`, each with the time in both, ns.
pub fn during(intervals: &[Interval], begin: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let first = intervals.partition_point(|of| of.end <= begin);
    let all = intervals.iter().enumerate().skip(first).take_while(move |(_, of)| of.begin < end);
    all.map(move |(at, of)| (at, of.end.min(end).saturating_sub(of.begin.max(begin))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::{CpuSample, ThreadTimes};

    #[test]
    fn waits_are_no_longer_than_their_interval() {
        let sample = |time_ns, wait_ns| CpuSample { time_ns, run_ns: 10, wait_ns, voluntary: 0, involuntary: 1 };
        let known = ThreadTimes {
            tid: 9,
            knows_waits: 1,
            samples: vec![sample(5, 100), sample(20, 50), sample(0, 1), sample(40, 10)],
        };
        let unknown = ThreadTimes { tid: 3, knows_waits: 0, samples: known.samples.clone() };
        let of = CpuWaits::of(ProcessorDef { cpus: vec![1], threads: vec![known, unknown] }, 1000, 1045);
        assert_eq!(of.threads().count(), 1);
        let first = Interval { begin: 1005, end: 1025, run_ns: 10, wait_ns: 20, taken: 1 };
        // Half of the last interval lies after the end of the process.
        let second = Interval { begin: 1025, end: 1045, run_ns: 5, wait_ns: 5, taken: 1 };
        assert_eq!(of.of_thread(9), [first, second]);
        assert_eq!((of.of_thread(3), first.waiting(), second.waiting()), ([].as_slice(), 1.0, 0.25));
    }

    #[test]
    fn waits_behind_a_sleep_belong_to_the_call_that_sleeps() {
        let of = |voluntary: u64, involuntary: u64| {
            let sample = |at: u64, times| CpuSample {
                time_ns: at * 1000,
                run_ns: at * 100,
                wait_ns: at * 800,
                voluntary: voluntary * times,
                involuntary: involuntary * times,
            };
            let thread = ThreadTimes { tid: 9, knows_waits: 1, samples: vec![sample(0, 0), sample(1, 1)] };
            let of = CpuWaits::of(ProcessorDef { cpus: vec![1], threads: vec![thread] }, 0, 1000);
            of.of_thread(9).iter().map(|of| of.wait_ns).sum::<u64>()
        };
        assert_eq!([of(0, 5), of(3, 1), of(5, 0), of(0, 0)], [800, 200, 0, 800]);
    }
}
