//! Time that each thread of a process spends in calls.

use crate::scan::Stretch;
use crate::sum::Sum;

/// Time in calls of one thread, and the time span of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfThread {
    /// Time in calls of the thread, ns.
    in_calls: Sum,
    /// Begin of the thread's first call and end of its last, ns since the job's start; `None` without calls.
    span: Option<(u64, u64)>,
}

impl OfThread {
    /// Adds calls. `shift`: zero of the process's clock, ns since the job's start.
    pub fn add_all(&mut self, calls: Stretch<'_>, shift: u64) {
        let (mut in_calls, mut span) = (0_u64, (u64::MAX, 0_u64));
        for (start, end) in calls.start.iter().zip(calls.end) {
            let (start, duration) = (start.saturating_add(shift), end - start);
            in_calls = in_calls.saturating_add(duration);
            span = (span.0.min(start), span.1.max(start.saturating_add(duration)));
        }
        if !calls.start.is_empty() {
            self.in_calls += in_calls;
            self.cover(span);
        }
    }

    /// Adds a call that begins at `start` (ns since the job's start) and takes `duration` ns.
    #[cfg(test)]
    fn add(&mut self, start: u64, duration: u64) {
        self.in_calls += duration;
        self.cover((start, start.saturating_add(duration)));
    }

    fn cover(&mut self, (from, until): (u64, u64)) {
        let (first, last) = self.span.unwrap_or((from, until));
        self.span = Some((first.min(from), last.max(until)));
    }

    /// Returns the time in calls of the thread, ns.
    #[must_use]
    pub fn in_calls_ns(&self) -> u64 {
        self.in_calls.get()
    }

    /// Adds the thread's times from other blocks of the trace.
    pub fn join(&mut self, other: &Self) {
        self.in_calls += other.in_calls;
        other.span.into_iter().for_each(|span| self.cover(span));
    }
}

/// A thread counts if it has at least this part of the time that all threads spend in calls.
const COUNTS: f64 = 0.01;

/// Times in calls of all threads of a process, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// Number of threads with at least [`COUNTS`] of the time in calls.
    pub count: u64,
    /// Time in calls of the busiest thread.
    pub most_ns: u64,
    /// Time in calls of all threads of the process, summed.
    pub all_ns: u64,
    /// Time from a thread's first call to its last; mean over threads, weighted by time in calls.
    pub mean_span_ns: u64,
    /// Time from the first call of any thread to the last call of any thread.
    pub span_ns: u64,
}

impl Threads {
    /// Sums the times of the threads of one process.
    #[must_use]
    pub fn of<'t>(threads: impl Iterator<Item = &'t OfThread>) -> Self {
        let (mut out, mut all, mut spans, mut mine) = (Self::default(), OfThread::default(), 0.0, Vec::new());
        for (thread, (from, until)) in threads.filter_map(|thread| Some((thread, thread.span?))) {
            out.most_ns = out.most_ns.max(thread.in_calls.get());
            mine.push(thread.in_calls.get());
            spans += (until - from) as f64 * thread.in_calls.get() as f64;
            all.join(thread);
        }
        out.all_ns = all.in_calls.get();
        out.count = mine.iter().filter(|ns| **ns as f64 >= out.all_ns as f64 * COUNTS).count() as u64;
        out.mean_span_ns = (spans / out.all_ns.max(1) as f64) as u64;
        out.span_ns = all.span.map_or(0, |(from, until)| until - from);
        out
    }

    /// Returns wall time in calls / summed time in calls, taking the busiest thread's time for the wall time.
    #[must_use]
    pub fn at_once(&self) -> f64 {
        if self.all_ns > 0 { self.most_ns as f64 / self.all_ns as f64 } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_in_turns_and_one_after_the_other_are_distinguished() {
        let thread = |starts: [u64; 3]| {
            let mut one = OfThread::default();
            starts.into_iter().for_each(|start| one.add(start, 10));
            one
        };
        let turns = [thread([0, 20, 40]), thread([10, 30, 50])];
        let found = Threads::of(turns.iter());
        let expected = Threads { count: 2, most_ns: 30, all_ns: 60, mean_span_ns: 50, span_ns: 60 };
        assert_eq!(found, expected);
        let behind = [thread([0, 10, 20]), thread([30, 40, 50]), OfThread::default()];
        assert_eq!(Threads::of(behind.iter()), Threads { mean_span_ns: 30, ..expected });
        assert!((found.at_once() - 0.5).abs() < 1e-9 && (Threads::default().at_once() - 1.0).abs() < 1e-9);
    }
}
