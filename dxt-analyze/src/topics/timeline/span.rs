//! Time span divided into time bins of equal, round width.

use super::unseen::unseen;
use crate::model::Run;
use serde::Serialize;

/// Time span, with the time bins that divide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Start of the time span, ns since the job's start; a multiple of the bin width.
    pub from_ns: u64,
    /// End of the time span, ns since the job's start.
    pub until_ns: u64,
    /// Width of each time bin of the span, ns: 1, 2 or 5 times a power of ten.
    pub width_ns: u64,
    /// Number of time bins in the span.
    pub bins: u32,
}

/// Part of a call that lies in one time bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the time bin that contains this part of the call.
    pub bin: u32,
    /// Time of the call within the time bin, ns.
    pub busy_ns: u64,
    /// Bytes of the call within the time bin: the call's bytes in proportion to time.
    pub bytes: u64,
    /// Number of calls to count in this time bin: 1 in the bin where the call starts, else 0.
    pub calls: u64,
}

/// Time bin found last, with its time range, cached to save a division per call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    /// Index of the time bin found last.
    pub bin: u32,
    from: u64,
    until: u64,
}

impl Near {
    /// True if a call lies entirely within the cached time bin.
    #[inline]
    #[must_use]
    pub fn holds(&self, start: u64, end: u64) -> bool {
        start >= self.from && start < self.until && end <= self.until
    }
}

impl Span {
    /// Creates the span from `from_ns` to `until_ns` (since the job's start), divided into at most `most` time bins.
    #[must_use]
    pub fn new(from_ns: u64, until_ns: u64, most: u32) -> Self {
        let most = u64::from(most.max(2));
        let until_ns = until_ns.max(from_ns.saturating_add(1));
        let from_ns = from_ns.min(until_ns - 1);
        // The first bin begins at a multiple of the width, which may need one more bin.
        let width_ns = round_up((until_ns - from_ns).div_ceil(most - 1));
        let from_ns = from_ns - from_ns % width_ns;
        let bins = (until_ns - from_ns).div_ceil(width_ns).clamp(1, most) as u32;
        Self { from_ns, until_ns, width_ns, bins }
    }

    /// Creates the span of a run, from its first to its last segment or heat map byte, limited to the selected time window.
    ///
    /// Begins at the job's start if the first segment starts in the first half of the time from there to the end. If the run has only heat
    /// maps (bytes over time), the time bins are at least as wide as those of the heat maps.
    #[must_use]
    pub fn of_run(run: &Run, most: u32) -> Self {
        Self::until_at_least(run, most, 0)
    }

    /// Creates the span for charts, including time ranges with calls but without segments ([`super::unseen`]), which charts show hatched.
    #[must_use]
    pub fn of_charts(run: &Run, most: u32) -> Self {
        let ends = unseen(run).into_iter().map(|stretch| stretch.until_ns);
        Self::until_at_least(run, most, ends.max().unwrap_or(0))
    }

    fn until_at_least(run: &Run, most: u32, least: u64) -> Self {
        let (mut from, mut until) = (u64::MAX, least);
        let mut most = most;
        for process in &run.processes {
            for def in &process.heat {
                let last = def.first_bin.saturating_add((def.bytes.len() as u64).saturating_sub(1));
                from = from.min(process.heat_bin(def, def.first_bin).0);
                until = until.max(process.heat_bin(def, last).1);
            }
            for block in &process.blocks {
                from = from.min(block.head.min_start.saturating_add(process.shift_ns));
                until = until.max(block.head.max_end.saturating_add(process.shift_ns));
            }
        }
        if from > until {
            (from, until) = (0, run.processes.iter().map(|process| process.end_ns).max().unwrap_or(0));
        }
        if from < until - until / 2 {
            from = 0;
        }
        if let Some(window) = run.window {
            (from, until) = (from.max(window.0), until.min(window.1));
        }
        let widest = run.processes.iter().flat_map(|process| &process.heat).map(|def| def.width_ns).max();
        if let Some(width_ns) = widest.filter(|_| run.segments() == 0) {
            let bins = until.saturating_sub(from) / width_ns.max(1) + 1;
            most = most.min(u32::try_from(bins).unwrap_or(u32::MAX));
        }
        Self::new(from, until.max(from), most)
    }

    /// Returns the start of the time bin with index `bin`, ns since the job's start.
    #[must_use]
    pub fn start_of(&self, bin: usize) -> u64 {
        self.from_ns.saturating_add(self.width_ns.saturating_mul(bin as u64))
    }

    /// True if a call from `start` to `end` (ns since the job's start) overlaps the span.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        start < self.until_ns && end >= self.from_ns
    }

    /// Returns the time bin with index `bin` and its time range, limited to the span.
    fn of_bin(&self, bin: u32) -> Near {
        let from = self.start_of(bin as usize);
        Near { bin, from, until: from.saturating_add(self.width_ns).min(self.until_ns) }
    }

    /// Returns the index of the time bin that contains `time`, or of the nearest bin. `near` caches the last bin found, usually the next as
    /// well.
    #[inline]
    pub fn bin(&self, time: u64, near: &mut Near) -> u32 {
        if !(near.from..near.until).contains(&time) {
            let bin = (time.saturating_sub(self.from_ns) / self.width_ns).min(u64::from(self.bins) - 1);
            *near = self.of_bin(bin as u32);
        }
        near.bin
    }

    /// Divides a call as [`Span::cut`] does, but without a division if the call lies in the cached time bin.
    #[inline]
    pub fn cut_near(&self, near: &mut Near, start: u64, end: u64, bytes: u64, mut each: impl FnMut(Piece)) {
        if !near.holds(start, end) {
            let mut last = near.bin;
            self.cut(start, end, bytes, |piece| {
                last = piece.bin;
                each(piece);
            });
            *near = self.of_bin(last);
            return;
        }
        each(Piece { bin: near.bin, busy_ns: end.saturating_sub(start), bytes, calls: 1 });
    }

    /// Divides a call of `bytes` bytes at the borders of time bins, and calls `each` with each part that lies within the span.
    #[inline]
    pub fn cut(&self, start: u64, end: u64, bytes: u64, mut each: impl FnMut(Piece)) {
        if !self.overlaps(start, end) {
            return;
        }
        let bin = |time: u64| ((time - self.from_ns) / self.width_ns).min(u64::from(self.bins) - 1);
        let inside = start >= self.from_ns;
        let (first, last) = (bin(start.max(self.from_ns)), bin(last_moment(start, end).min(self.until_ns - 1)));
        if first == last && inside && end <= self.until_ns {
            return each(Piece { bin: first as u32, busy_ns: end.saturating_sub(start), bytes, calls: 1 });
        }
        let duration = u128::from(end.saturating_sub(start).max(1));
        // Parts are differences of rounded cumulative sums, so they add up to the whole.
        let until = |time: u64| (u128::from(bytes) * u128::from(time.saturating_sub(start)) / duration) as u64;
        let mut at = start.max(self.from_ns);
        for number in first..=last {
            let border =
                self.from_ns.saturating_add(self.width_ns.saturating_mul(number + 1)).min(end).min(self.until_ns);
            let border = border.max(at);
            let calls = u64::from(number == first && inside);
            each(Piece { bin: number as u32, busy_ns: border - at, bytes: until(border) - until(at), calls });
            at = border;
        }
    }
}

/// Returns the last ns that counts for a call: a call that ends where a time bin begins has no part in that bin.
#[inline]
#[must_use]
pub fn last_moment(start: u64, end: u64) -> u64 {
    end.saturating_sub(1).max(start)
}

/// Returns the smallest number in 1, 2, 5, 10, 20, 50, ... that is at least `value`.
pub(crate) fn round_up(value: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for step in [1, 2, 5] {
            let round = power.saturating_mul(step);
            if round >= value {
                return round;
            }
        }
        let Some(next) = power.checked_mul(10) else { return u64::MAX };
        power = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(span: &Span, start: u64, end: u64, bytes: u64) -> Vec<(u32, u64, u64, u64)> {
        let mut out = Vec::new();
        span.cut(start, end, bytes, |piece| out.push((piece.bin, piece.busy_ns, piece.bytes, piece.calls)));
        // The parts do not depend on the cached bin.
        for last in [0, start.saturating_sub(10), start, start.saturating_add(10), end] {
            let (mut near, mut same) = (Near::default(), Vec::new());
            span.cut_near(&mut near, last, last, 1, |_| {});
            span.cut_near(&mut near, start, end, bytes, |piece| {
                same.push((piece.bin, piece.busy_ns, piece.bytes, piece.calls));
            });
            assert_eq!(same, out, "{start} {end} {last}");
        }
        out
    }

    #[test]
    fn bins_are_round_and_enough() {
        let span = Span::new(0, 1_000_000, 100);
        assert_eq!((span.width_ns, span.bins), (20_000, 50));
        let span = Span::new(1234, 2234, 11);
        assert_eq!((span.from_ns, span.width_ns, span.bins), (1200, 100, 11));
        for (from, until) in [(0, 0), (0, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX - 5, 3)] {
            let span = Span::new(from, until, 512);
            assert!(span.bins >= 1 && span.bins <= 512 && span.width_ns >= 1);
            assert!(pieces(&span, 0, u64::MAX, u64::MAX).len() <= 512);
        }
    }

    #[test]
    fn a_call_is_cut_without_loss() {
        let span = Span { from_ns: 100, until_ns: 200, width_ns: 10, bins: 10 };
        assert_eq!(pieces(&span, 100, 109, 7), [(0, 9, 7, 1)]);
        assert_eq!(pieces(&span, 105, 105, 7), [(0, 0, 7, 1)]);
        assert_eq!(pieces(&span, 105, 125, 7), [(0, 5, 1, 1), (1, 10, 4, 0), (2, 5, 2, 0)]);
        assert_eq!(pieces(&span, 90, 110, 10), [(0, 10, 5, 0)]);
        assert_eq!(pieces(&span, 190, 210, 10), [(9, 10, 5, 1)]);
        assert_eq!(pieces(&span, 200, 210, 10), []);
        assert_eq!(pieces(&span, 0, 99, 10), []);
    }
}
