//! How long calls of a stream take by the part of the file that they begin in. Parts grow with the file.

use crate::sum::Sum;

/// Fractional bits of a logarithm: sums of whole numbers do not depend on their order.
pub const LOG_BITS: i32 = 16;

/// Parts of a file, at most; at least half as many of a large one.
pub const PARTS: usize = 32;
/// Logarithm of the shortest part's length: 64 KiB.
pub const SHORTEST: u32 = 16;

/// Calls that begin in a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// How many.
    pub calls: u64,
    /// Time in them, ns.
    pub time_ns: u64,
    /// Sum of the logarithms of their durations over what is usual for each, times 2^16.
    logs: i64,
}

impl Part {
    /// Adds `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
    }

    /// Sum of the logarithms.
    #[must_use]
    pub fn log(&self) -> f64 {
        self.logs as f64 / f64::from(1 << LOG_BITS)
    }
}

/// The parts of a stream's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Logarithm of a part's length.
    shift: u32,
    parts: [Part; PARTS],
}

impl Default for Parts {
    fn default() -> Self {
        Self { shift: SHORTEST, parts: [Part::default(); PARTS] }
    }
}

impl Parts {
    /// Logarithm of a part's length.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Adds a call that begins at `offset`: its duration, and the logarithm of that over what is usual.
    #[inline]
    pub fn add(&mut self, offset: u64, duration: u64, log: i64) {
        while offset >> self.shift >= PARTS as u64 {
            self.grow();
        }
        if let Some(of) = usize::try_from(offset >> self.shift).ok().and_then(|at| self.parts.get_mut(at)) {
            of.calls += 1;
            of.time_ns = of.time_ns.saturating_add(duration);
            // A logarithm takes 22 bits: no trace has so many calls that a sum of them would not fit.
            of.logs += log;
        }
    }

    /// Makes parts twice as long.
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

    /// With parts of 2^`shift` bytes, which are no shorter than these.
    #[must_use]
    pub fn with(&self, shift: u32) -> [Part; PARTS] {
        let mut of = *self;
        while of.shift < shift {
            of.grow();
        }
        of.parts
    }

    /// Time in all calls, ns.
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
