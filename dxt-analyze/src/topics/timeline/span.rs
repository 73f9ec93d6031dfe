//! A span of time cut into bins of equal, round width.

use super::unseen::unseen;
use crate::model::Run;
use serde::Serialize;

/// A span of time and its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Where it begins, ns since the job's start; a multiple of the width.
    pub from_ns: u64,
    /// Where it ends, ns since the job's start.
    pub until_ns: u64,
    /// Width of a bin, ns: 1, 2 or 5 times a power of ten.
    pub width_ns: u64,
    /// Number of bins.
    pub bins: u32,
}

/// The part of a call that lies in one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bin.
    pub bin: u32,
    /// Time in it, ns.
    pub busy_ns: u64,
    /// Bytes, by the share of the call's time.
    pub bytes: u64,
    /// 1 where the call begins.
    pub calls: u64,
}

/// A bin and its time, ns since the job's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    /// Its number.
    pub bin: u32,
    from: u64,
    until: u64,
}

impl Near {
    /// Whether a call begins and ends in its time.
    #[inline]
    #[must_use]
    pub fn holds(&self, start: u64, end: u64) -> bool {
        start >= self.from && start < self.until && end <= self.until
    }
}

impl Span {
    /// From `from_ns` to `until_ns` in at most `most` bins.
    #[must_use]
    pub fn new(from_ns: u64, until_ns: u64, most: u32) -> Self {
        let most = u64::from(most.max(2));
        let until_ns = until_ns.max(from_ns.saturating_add(1));
        let from_ns = from_ns.min(until_ns - 1);
        // One bin fewer, because the first begins at a multiple of the width.
        let width_ns = round_up((until_ns - from_ns).div_ceil(most - 1));
        let from_ns = from_ns - from_ns % width_ns;
        let bins = (until_ns - from_ns).div_ceil(width_ns).clamp(1, most) as u32;
        Self { from_ns, until_ns, width_ns, bins }
    }

    /// The time in which `run` has segments or bytes over time, from the first to the last, or the part of it that is looked at. It
    /// begins at the job's start if that is not far from it. Bins are no narrower than those of bytes over time if there is
    /// nothing else.
    #[must_use]
    pub fn of_run(run: &Run, most: u32) -> Self {
        Self::until_at_least(run, most, 0)
    }

    /// The same with the time of which there are no segments although there were calls ([`super::unseen`]), which charts hatch.
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

    /// Start of a bin, ns since the job's start.
    #[must_use]
    pub fn start_of(&self, bin: usize) -> u64 {
        self.from_ns.saturating_add(self.width_ns.saturating_mul(bin as u64))
    }

    /// Whether a call from `start` to `end` has a part in it.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        start < self.until_ns && end >= self.from_ns
    }

    /// A bin's time, as far as all of it lies in the span.
    fn of_bin(&self, bin: u32) -> Near {
        let from = self.start_of(bin as usize);
        Near { bin, from, until: from.saturating_add(self.width_ns).min(self.until_ns) }
    }

    /// The bin that a time of the span, or the nearest to it, lies in. `near` is where the last one was: most are in the same.
    #[inline]
    pub fn bin(&self, time: u64, near: &mut Near) -> u32 {
        if !(near.from..near.until).contains(&time) {
            let bin = (time.saturating_sub(self.from_ns) / self.width_ns).min(u64::from(self.bins) - 1);
            *near = self.of_bin(bin as u32);
        }
        near.bin
    }

    /// As [`Span::cut`], without a division where a call lies in one bin with the last.
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

    /// Cuts a call of `bytes` at the bins' borders; `each` gets the parts that lie in the span.
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
        // Parts are differences of rounded sums, so that together they are the whole.
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

/// The last nanosecond of a call: one that ends where a bin begins has no part in that bin.
#[inline]
#[must_use]
pub fn last_moment(start: u64, end: u64) -> u64 {
    end.saturating_sub(1).max(start)
}

/// The next of 1, 2, 5, 10, 20, 50, ...
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
        // Wherever the last call was, the parts are the same.
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
