//! Succession of accesses without a loop in a file: sizes that vary make no loop, and still each may begin where the one before ended.

use super::nest::delta;

/// Where the accesses are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spatial {
    /// Each begins where the one before ended.
    Contiguous,
    /// One stride, forward or none.
    FixedStride,
    /// So many strides within each other.
    Strided(usize),
    /// A stride backward.
    Negative,
    /// No order found.
    Random,
    /// Several of these in one loop.
    Combination,
}

/// Counts of successive pairs of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Succession {
    /// Pairs of successive accesses.
    pairs: u64,
    /// Pairs of which the second begins where the first ends.
    adjacent: u64,
    /// Pairs of which the second ends where the first begins.
    backward: u64,
    /// Distances between starts that were compared with the distance before, and those that were equal.
    compared: u64,
    even: u64,
    /// First and end byte of the last access.
    last: Option<(u64, u64)>,
    /// Distance of the last pair.
    stride: Option<i64>,
}

impl Succession {
    /// Takes the next access.
    #[inline]
    pub(super) fn add(&mut self, offset: u64, length: u64) {
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

    /// Forgets the last access: the next one does not follow it.
    pub(super) const fn interrupt(&mut self) {
        self.last = None;
    }

    /// Adds those of another part.
    pub(super) fn merge(&mut self, other: &Self) {
        let differ = self.stride.zip(other.stride).is_some_and(|(a, b)| a != b);
        self.pairs += other.pairs;
        self.adjacent += other.adjacent;
        self.backward += other.backward;
        self.compared += other.compared + u64::from(differ);
        self.even += other.even;
        self.stride = other.stride.or(self.stride);
        self.last = None;
    }

    /// Order of the accesses in the file. Three of them are the fewest that have one.
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
