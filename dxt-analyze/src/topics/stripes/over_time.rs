//! Time span of a run, divided into bins of equal length.

use crate::model::Run;

/// Time span that is examined, divided into time bins of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Start of the first time bin, ns since the job's start.
    pub start_ns: u64,
    /// Length of a time bin, ns.
    pub bin_ns: u64,
    /// Number of time bins in the span.
    pub bins: usize,
}

impl Timeline {
    /// Creates a time span from the first to the last segment of `run` (within its time window), divided into at most `bins` bins.
    #[must_use]
    pub fn of(run: &Run, bins: usize) -> Self {
        let heads = run.processes.iter().flat_map(|process| {
            process.blocks.iter().map(move |block| {
                let place = |time: u64| time.saturating_add(process.shift_ns);
                (place(block.head.min_start), place(block.head.max_end))
            })
        });
        let (first, last) = heads.fold((u64::MAX, 0), |(first, last), (start, end)| (first.min(start), last.max(end)));
        let (from, until) = run.window.unwrap_or((0, u64::MAX));
        let (start, end) = (first.max(from), last.min(until));
        Self::between(start.min(last), end, bins)
    }

    /// Creates a time span from `start` to `end`, divided into at most `bins` bins.
    #[must_use]
    pub fn between(start: u64, end: u64, bins: usize) -> Self {
        if start >= end {
            return Self { start_ns: start, bin_ns: 1, bins: 1 };
        }
        let bin_ns = (end - start).div_ceil(bins.max(1) as u64).max(1);
        Self { start_ns: start, bin_ns, bins: (end - start).div_ceil(bin_ns) as usize }
    }

    /// Returns the index of the time bin that contains a time; times before or after the span belong to the first or last bin.
    #[inline]
    #[must_use]
    pub fn bin(&self, time_ns: u64) -> usize {
        usize::try_from(time_ns.saturating_sub(self.start_ns) / self.bin_ns).unwrap_or(usize::MAX).min(self.bins - 1)
    }
}
