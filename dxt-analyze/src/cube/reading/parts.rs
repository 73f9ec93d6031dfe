//! Durations of a stream's calls (one operation on one file), summed by the part of the file in which they begin. The length of a part
//! doubles as the file grows.

use crate::sum::Sum;

/// Number of fractional bits of a logarithm stored as an integer: sums of integers do not depend on their order.
pub const LOG_BITS: i32 = 16;

/// Largest number of parts of a file; a large file has at least half as many.
pub const PARTS: usize = 32;
/// Base-2 logarithm of the least length of a part: 64 KiB.
pub const SHORTEST: u32 = 16;

/// Calls that begin in one part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of calls that begin in the part.
    pub calls: u64,
    /// Time in the calls that begin in the part, ns.
    pub time_ns: u64,
    /// Sum over the part's calls of log(duration / usual duration), times 2^16.
    logs: i64,
}

impl Part {
    /// Adds the calls of another sum over the same part of the file.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
    }

    /// Returns the sum over the part's calls of log(duration / usual duration).
    #[must_use]
    pub fn log(&self) -> f64 {
        self.logs as f64 / f64::from(1 << LOG_BITS)
    }
}

/// Calls of one stream, summed by part of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Base-2 logarithm of the length of a part in bytes.
    shift: u32,
    parts: [Part; PARTS],
}

impl Default for Parts {
    fn default() -> Self {
        Self { shift: SHORTEST, parts: [Part::default(); PARTS] }
    }
}

impl Parts {
    /// Returns the base-2 logarithm of the length of a part in bytes.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Adds a call that begins at `offset`. `duration`: ns; `log`: log(duration / usual duration), times 2^16.
    #[inline]
    pub fn add(&mut self, offset: u64, duration: u64, log: i64) {
        while offset >> self.shift >= PARTS as u64 {
            self.grow();
        }
        if let Some(of) = usize::try_from(offset >> self.shift).ok().and_then(|at| self.parts.get_mut(at)) {
            of.calls += 1;
            of.time_ns = of.time_ns.saturating_add(duration);
            // A logarithm takes 22 bits: no trace has enough calls for their sum to overflow.
            of.logs += log;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut parts = [Part::default(); PARTS];
        for (at, part) in self.parts.iter().enumerate() {
            if let Some(of) = parts.get_mut(at / 2) {
                of.add(part);
            }
        }
        (self.parts, self.shift) = (parts, self.shift + 1);
    }

    /// Returns the sums for parts of 2^`shift` bytes, or of the present length if that is larger.
    #[must_use]
    pub fn with(&self, shift: u32) -> [Part; PARTS] {
        let mut of = *self;
        while of.shift < shift {
            of.grow();
        }
        of.parts
    }

    /// Returns the time in all calls of the stream, ns.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.parts.iter().map(|part| part.time_ns).sum::<Sum>().get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_with_the_file() {
        let mut parts = Parts::default();
        parts.add(0, 10, 0);
        parts.add(100_000, 20, 0);
        assert_eq!((parts.shift(), parts.with(16)[1].time_ns), (16, 20));
        parts.add(40 << 20, 5, 1 << LOG_BITS);
        assert_eq!(parts.shift(), 21, "32 parts of 2 MiB");
        assert_eq!((parts.with(21)[0].calls, parts.with(21)[20].calls, parts.time_ns()), (2, 1, 35));
        assert!((parts.with(25)[1].log() - 1.0).abs() < 1e-9);
        parts.add(u64::MAX, 1, 0);
        assert_eq!(parts.with(59)[31].calls, 1);
    }
}
