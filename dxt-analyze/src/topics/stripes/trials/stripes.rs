//! Computes which stripes of a plain (not composite) layout a segment touches. Optimized, since it runs for every segment and every
//! simulated layout.

/// Segment, and the stripes of one size that the segment touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnStripes {
    offset: u64,
    length: u64,
    size: u64,
    first: u64,
    last: u64,
}

impl OnStripes {
    /// Computes the stripes of `size` bytes that `length` bytes at `offset` touch; `length` and `size` must not be 0.
    #[inline]
    #[must_use]
    pub fn new(offset: u64, length: u64, size: Divisor) -> Self {
        let last = offset.saturating_add(length).saturating_sub(1);
        Self { offset, length, size: size.by, first: divided(offset, size).0, last: divided(last, size).0 }
    }

    #[inline]
    fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// True if the segment begins and ends at stripe boundaries.
    #[inline]
    #[must_use]
    pub fn is_aligned(self) -> bool {
        self.begins_at_boundary() && self.ends_at_boundary()
    }

    #[inline]
    fn begins_at_boundary(self) -> bool {
        self.offset == self.first * self.size
    }

    #[inline]
    fn ends_at_boundary(self) -> bool {
        self.end() - self.last * self.size == self.size
    }

    /// True if the segment touches more than one stripe.
    #[inline]
    #[must_use]
    pub fn crosses(self) -> bool {
        self.first != self.last
    }

    /// Iterates over the file offsets of the stripes that the segment covers only partly.
    #[inline]
    pub fn partly_covered(self) -> impl Iterator<Item = u64> {
        let first = if self.crosses() { !self.begins_at_boundary() } else { !self.is_aligned() };
        let last = self.crosses() && !self.ends_at_boundary();
        let start = move |stripe: u64| stripe.saturating_mul(self.size);
        first.then_some(start(self.first)).into_iter().chain(last.then_some(start(self.last)))
    }

    /// Returns the number of bytes per object if the segment crosses stripes and gives each of `count` objects equally many, as aligned
    /// requests do; else `None`.
    #[inline]
    #[must_use]
    pub fn even(self, count: Divisor) -> Option<u64> {
        if !self.crosses() || !self.is_aligned() {
            return None;
        }
        let (rounds, more) = divided(self.last - self.first + 1, count);
        (more == 0).then(|| rounds.saturating_mul(self.size))
    }

    /// Calls `each(object, bytes)` once for every object, out of `count`, that the segment touches.
    #[inline]
    pub fn objects(self, count: Divisor, mut each: impl FnMut(u64, u64)) {
        let mut object = divided(self.first, count).1;
        if !self.crosses() {
            return each(object, self.length);
        }
        let stripes = self.last - self.first + 1;
        let before = self.offset - self.first * self.size;
        let behind = (self.last + 1).saturating_mul(self.size).saturating_sub(self.end());
        // The first `more` objects get one stripe more than the others.
        let (rounds, more) = divided(stripes, count);
        let count = count.by;
        let holds_last = if more == 0 { count - 1 } else { more - 1 };
        let all = [rounds.saturating_mul(self.size), (rounds + 1).saturating_mul(self.size)];
        for step in 0..stripes.min(count) {
            let mut bytes = if step < more { all[1] } else { all[0] };
            bytes -= if step == 0 { before } else { 0 };
            bytes = bytes.saturating_sub(if step == holds_last { behind } else { 0 });
            each(object, bytes);
            object = if object + 1 == count { 0 } else { object + 1 };
        }
    }
}

/// Divisor for frequent use. Stripe sizes and counts are nearly always powers of two, for which a shift replaces the slow division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u64,
    shift: Option<u32>,
}

impl Divisor {
    /// Creates a divisor; `by` must not be 0.
    #[must_use]
    pub fn new(by: u64) -> Self {
        Self { by, shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    /// True if the divisor is a power of two and divides `number`; false for any other divisor.
    #[inline]
    #[must_use]
    pub fn divides(self, number: u64) -> bool {
        self.shift.is_some() && number & (self.by - 1) == 0
    }

    /// Returns the value of the divisor.
    #[must_use]
    pub fn get(self) -> usize {
        self.by as usize
    }
}

/// Returns quotient and remainder of `number` / divisor.
#[inline]
fn divided(number: u64, Divisor { by, shift }: Divisor) -> (u64, u64) {
    match shift {
        Some(shift) => (number >> shift, number & (by - 1)),
        None => (number / by, number % by),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_short_way_gives_what_counting_byte_by_byte_gives() {
        for (size, count) in [(1, 1), (4, 1), (5, 3), (7, 4), (16, 2)] {
            for offset in 0..40_u64 {
                for length in 1..70_u64 {
                    let there = OnStripes::new(offset, length, Divisor::new(size));
                    let mut slow: BTreeMap<u64, u64> = BTreeMap::new();
                    let mut covered: BTreeMap<u64, u64> = BTreeMap::new();
                    for byte in offset..offset + length {
                        *slow.entry(byte / size % count).or_default() += 1;
                        *covered.entry(byte / size * size).or_default() += 1;
                    }
                    let mut fast = BTreeMap::new();
                    there.objects(Divisor::new(count), |object, bytes| assert!(fast.insert(object, bytes).is_none()));
                    assert_eq!(fast, slow, "{length} at {offset} on {size} x {count}");
                    if let Some(bytes) = there.even(Divisor::new(count)) {
                        assert!(slow.len() as u64 == count && slow.values().all(|of| *of == bytes));
                    }
                    let parts: Vec<u64> =
                        covered.iter().filter(|(_, bytes)| **bytes < size).map(|(at, _)| *at).collect();
                    assert_eq!(there.partly_covered().collect::<Vec<u64>>(), parts);
                    assert_eq!(there.crosses(), covered.len() > 1);
                    assert_eq!(there.is_aligned(), parts.is_empty());
                }
            }
        }
    }

    #[test]
    fn the_end_of_all_offsets_is_no_trouble() {
        let there = OnStripes::new(i64::MAX as u64, 1 << 40, Divisor::new(1 << 32));
        let mut sum = 0;
        there.objects(Divisor::new(7), |_, bytes| sum += bytes);
        assert_eq!(sum, 1 << 40);
    }
}
