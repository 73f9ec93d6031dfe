//! Finds runs of small requests: each begins where the previous request of the same thread, operation and file ended. One larger request
//! could replace a run. A sync ends a run, since the program needed the bytes on storage at that point.

use super::sums::{Calls, Direction, Example, keep};
use crate::model::ProcessId;
use crate::scan::Stretch;

/// Run of contiguous small requests that is in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    calls: Calls,
    start: u64,
    end: u64,
    syncs: u32,
}

impl Run {
    /// Adds a small request to the run if it continues the run; otherwise ends the run, adds it to `into`, and begins a new run. `syncs`:
    /// number of syncs of the file so far. `goal`: length of a merged request, bytes.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a request and where it is counted")]
    pub fn small(
        &mut self,
        into: &mut Direction,
        process: ProcessId,
        offset: u64,
        length: u64,
        time_ns: u64,
        syncs: u32,
        goal: u64,
    ) {
        if self.calls.count == 0 || offset != self.end || syncs != self.syncs {
            self.finish(into, process, goal);
            (self.start, self.syncs) = (offset, syncs);
        }
        self.end = offset.saturating_add(length);
        self.calls.add(length, time_ns);
    }

    /// Adds all of `calls` but the first, which was added before; `sum` is their total. If each call begins where the previous one ended,
    /// all belong to the current run. Otherwise, each would be a run of one request, which does not count.
    pub fn go_on(&mut self, calls: Stretch<'_>, sum: &Calls) {
        let next = calls.offset.get(1).map(|offset| offset.cast_unsigned());
        if next == Some(self.end)
            && let Some(last) = calls.rows().last()
        {
            self.end = last.offset.cast_unsigned().saturating_add(last.length);
            self.calls.merge(sum);
        }
    }

    /// Ends the run, which `process` made, and adds it to `into`; `goal` is the length of a merged request, bytes.
    #[inline]
    pub fn finish(&mut self, into: &mut Direction, process: ProcessId, goal: u64) {
        if self.calls.count == 0 {
            return;
        }
        let Self { calls, start, .. } = std::mem::take(self);
        // Requests that stand alone are the most frequent case.
        if calls.count <= 1 {
            return;
        }
        let saved = calls.count.saturating_sub(calls.bytes.div_ceil(goal.max(1)).max(1));
        if saved == 0 {
            return;
        }
        into.runs += 1;
        into.in_runs.merge(&calls);
        into.saved = into.saved.saturating_add(saved);
        let part = u128::from(calls.time_ns) * u128::from(saved) / u128::from(calls.count);
        into.saved_ns = into.saved_ns.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        keep(&mut into.longest_run, Some(Example { amount: calls.count, process, offset: start, length: calls.bytes }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_saved_are_those_beyond_the_larger_requests() {
        let (mut run, mut sums) = (Run::default(), Direction::default());
        // The requests are 25 of 10 bytes in a row, 3 further on, and one alone.
        (0..25).for_each(|i| run.small(&mut sums, ProcessId(7), 1000 + i * 10, 10, 4, 0, 100));
        (0..3).for_each(|i| run.small(&mut sums, ProcessId(7), 5000 + i * 10, 10, 4, 0, 100));
        run.small(&mut sums, ProcessId(7), 9000, 10, 4, 0, 100);
        run.finish(&mut sums, ProcessId(7), 100);
        // 250 bytes take 3 requests of 100, 30 bytes take 1.
        assert_eq!((sums.runs, sums.in_runs.count, sums.saved), (2, 28, 22 + 2));
        assert_eq!(sums.saved_ns, 22 * 4 + 2 * 4);
        assert_eq!(sums.longest_run, Some(Example { amount: 25, process: ProcessId(7), offset: 1000, length: 250 }));
    }

    #[test]
    fn a_sync_ends_a_run() {
        let (mut run, mut sums) = (Run::default(), Direction::default());
        (0..10).for_each(|i| run.small(&mut sums, ProcessId(0), i * 10, 10, 1, i as u32, 100));
        run.finish(&mut sums, ProcessId(0), 100);
        assert_eq!(sums.saved, 0);
    }
}
