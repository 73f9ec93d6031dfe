//! Ranges of one length at one distance from each other, as one.

/// Ranges of `length` bytes, `stride` from the start of one to the start of the next, none touching the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comb {
    pub(super) length: u64,
    /// 0 for a single one.
    pub(super) stride: u64,
    pub(super) count: u64,
    /// Latest time given.
    pub(super) time: u64,
}

impl Comb {
    /// One range.
    #[inline]
    pub(super) fn single(length: u64, time: u64) -> Self {
        Self { length, stride: 0, count: 1, time }
    }

    /// Where the last range begins if the first does at `first`.
    #[inline]
    pub(super) fn last(&self, first: u64) -> u64 {
        first + (self.count - 1) * self.stride
    }

    /// Behind the last byte.
    #[inline]
    pub(super) fn end(&self, first: u64) -> u64 {
        self.last(first) + self.length
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.length.saturating_mul(self.count)
    }

    /// Numbers of the ranges that have a byte in `start..end` or touch it: from, and behind the last.
    #[inline]
    pub(super) fn touching(&self, first: u64, start: u64, end: u64) -> (u64, u64) {
        let before = |place: u64| if self.count == 1 { 1 } else { place.div_ceil(self.stride) };
        let from = (first + self.length).checked_sub(start).map_or_else(|| before(start - first - self.length), |_| 0);
        let behind =
            end.checked_sub(first).map_or(0, |place| if self.count == 1 { 1 } else { place / self.stride + 1 });
        (from.min(self.count), behind.min(self.count))
    }

    /// Bytes of `start..end` in the ranges `from..behind`, which touch it.
    #[inline]
    pub(super) fn known(&self, first: u64, (from, behind): (u64, u64), start: u64, end: u64) -> u64 {
        if from >= behind {
            return 0;
        }
        let (begins, ends) = (first + from * self.stride, first + (behind - 1) * self.stride + self.length);
        (behind - from) * self.length - start.saturating_sub(begins) - ends.saturating_sub(end)
    }

    /// Its ranges `from..behind` by themselves, if that is any.
    #[inline]
    pub(super) fn part(&self, first: u64, from: u64, behind: u64) -> Option<(u64, Self)> {
        let count = behind.checked_sub(from).filter(|count| *count > 0)?;
        let stride = if count > 1 { self.stride } else { 0 };
        Some((first + from * self.stride, Self { stride, count, ..*self }))
    }
}
