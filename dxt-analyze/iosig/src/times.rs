//! Intervals between the starts of loop iterations: number, mean and spread. Intervals never influence the structure of a signature.

/// Default of the maximum coefficient of variation with which intervals count as fixed.
pub const FIXED_CV: f64 = 0.1;

/// Sums over intervals between loop iterations, from which mean and coefficient of variation are computed. Sums of two sets of intervals
/// add up to the sums of their union.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Number of intervals between loop iterations.
    pub count: u64,
    /// Sum of the intervals, in ns.
    pub sum_ns: f64,
    /// Sum of the squared intervals, in ns².
    pub sum_squares: f64,
}

impl Intervals {
    /// Adds the interval between two start times.
    #[inline]
    pub(crate) fn record(&mut self, from_ns: u64, to_ns: u64) {
        // If the clock went backward, the interval is 0. Masked to i64, which x86-64 and AArch64 convert to f64 in one instruction.
        let ns = (to_ns.saturating_sub(from_ns) & (u64::MAX >> 1)).cast_signed() as f64;
        self.count = self.count.saturating_add(1);
        self.sum_ns += ns;
        self.sum_squares += ns * ns;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
    }

    /// Returns `count` intervals with the same mean and spread, to estimate the intervals of a part of a loop from those of the whole loop.
    pub(crate) fn scaled(&self, count: u64) -> Self {
        if self.count == 0 {
            return Self::default();
        }
        let share = count as f64 / self.count as f64;
        Self { count, sum_ns: self.sum_ns * share, sum_squares: self.sum_squares * share }
    }

    /// Returns the squared coefficient of variation of the intervals; `None` for fewer than two intervals, or if the mean is zero.
    #[must_use]
    pub fn squared_variation(&self) -> Option<f64> {
        let mean = self.mean_ns().filter(|mean| *mean > 0.0 && self.count > 1)?;
        Some((self.sum_squares / self.count as f64 / (mean * mean) - 1.0).max(0.0))
    }

    /// Returns the mean interval, in ns; `None` if there are no intervals.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns / self.count as f64)
    }

    /// Returns the coefficient of variation of the intervals (standard deviation / mean), 0 if all are 0; `None` without intervals.
    #[must_use]
    pub fn cv(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        if mean <= 0.0 {
            return Some(0.0);
        }
        let variance = (self.sum_squares / self.count as f64 - mean * mean).max(0.0);
        Some(variance.sqrt() / mean)
    }

    /// True if the coefficient of variation of the intervals is at most `limit`; `None` without intervals.
    #[must_use]
    pub fn is_fixed(&self, limit: f64) -> Option<bool> {
        self.cv().map(|cv| cv <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_are_those_of_the_intervals() {
        let mut all = Intervals::default();
        for pair in [0_u64, 10, 30, 40, 60].windows(2) {
            all.record(pair[0], pair[1]);
        }
        assert_eq!(all.mean_ns(), Some(15.0));
        assert!((all.cv().unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(all.is_fixed(0.3), Some(false));
        assert_eq!(all.is_fixed(0.34), Some(true));
    }

    #[test]
    fn a_clock_that_goes_back_and_none_at_all_are_no_panic() {
        let mut all = Intervals::default();
        assert_eq!(all.cv(), None);
        all.record(10, 0);
        all.record(0, u64::MAX);
        assert!(all.cv().is_some());
        assert_eq!(Intervals::default().scaled(3), Intervals::default());
    }
}
