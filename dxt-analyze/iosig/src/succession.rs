//! Spatial order of accesses outside loops. Varying sizes prevent a loop, but each access may still begin where the previous access ended.

use crate::nest::delta;

/// Spatial order of successive accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spatial {
    /// Each access begins where the previous access ended.
    Contiguous,
    /// All strides are equal, and positive or zero.
    FixedStride,
    /// Nested strides (loops within loops); the value is the number of nested strides.
    Strided(usize),
    /// Strides are negative: accesses go backward.
    Negative,
    /// No recognisable order.
    Random,
    /// Several of the other orders within one loop.
    Combination,
}

/// Counts over pairs of successive accesses, from which the spatial order is derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Succession {
    pairs: u64,
    /// Number of pairs in which the second access begins where the first access ends.
    adjacent: u64,
    /// Number of pairs in which the second access ends where the first access begins.
    backward: u64,
    /// Number of strides (distances between first bytes) that were compared with the previous stride.
    compared: u64,
    /// Number of strides that equal the previous stride.
    even: u64,
    /// First byte and end (exclusive) of the last access.
    last: Option<(u64, u64)>,
    /// Distance from the first byte of the access before the last to the first byte of the last access, in bytes.
    stride: Option<i64>,
}

impl Succession {
    #[inline]
    pub(crate) fn add(&mut self, offset: u64, length: u64) {
        let end = offset.wrapping_add(length);
        if let Some((first, until)) = self.last {
            let stride = delta(first, offset);
            self.pairs += 1;
            self.adjacent += u64::from(offset == until);
            self.backward += u64::from(end == first);
            self.compared += u64::from(self.stride.is_some());
            self.even += u64::from(self.stride == Some(stride));
            self.stride = Some(stride);
        }
        self.last = Some((offset, end));
    }

    /// Forgets the last access, so that the next access is not compared with it.
    pub(crate) const fn interrupt(&mut self) {
        self.last = None;
    }

    /// Adds the counts of `other`, a section of the stream of accesses that need not be adjacent.
    pub(crate) fn merge(&mut self, other: &Self) {
        let differ = self.stride.zip(other.stride).is_some_and(|(a, b)| a != b);
        self.pairs += other.pairs;
        self.adjacent += other.adjacent;
        self.backward += other.backward;
        self.compared += other.compared + u64::from(differ);
        self.even += other.even;
        self.stride = other.stride.or(self.stride);
        self.last = None;
    }

    /// Returns the spatial order of the accesses; `Random` for fewer than three accesses.
    #[must_use]
    pub fn spatial(&self) -> Spatial {
        let all = |count: u64| count == self.pairs && count >= 2;
        if all(self.adjacent) {
            Spatial::Contiguous
        } else if all(self.backward) {
            Spatial::Negative
        } else if self.compared > 0 && self.even == self.compared {
            if self.stride.is_some_and(|stride| stride < 0) { Spatial::Negative } else { Spatial::FixedStride }
        } else if self.pairs >= 2 && self.adjacent.saturating_mul(2) >= self.pairs {
            Spatial::Combination
        } else {
            Spatial::Random
        }
    }
}
