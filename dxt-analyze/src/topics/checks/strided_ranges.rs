//! Strided ranges: byte ranges of equal length at a constant distance, stored as one entry.

/// Strided ranges: `count` ranges of `length` bytes that begin `stride` bytes apart and do not touch. The first byte is stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comb {
    pub(super) length: u64,
    /// Distance between the starts of consecutive ranges, bytes; 0 for a single range.
    pub(super) stride: u64,
    /// Number of byte ranges in this entry.
    pub(super) count: u64,
    /// Latest time of an access to any of the ranges.
    pub(super) time: u64,
}

impl Comb {
    /// Creates an entry for a single byte range of `length` bytes, last accessed at `time`.
    #[inline]
    pub(super) fn single(length: u64, time: u64) -> Self {
        Self { length, stride: 0, count: 1, time }
    }

    /// Returns the start of the last of the ranges; `first` is the start of the first one.
    #[inline]
    pub(super) fn last(&self, first: u64) -> u64 {
        first + (self.count - 1) * self.stride
    }

    /// Returns the end (exclusive) of the last of the ranges; `first` is the start of the first one.
    #[inline]
    pub(super) fn end(&self, first: u64) -> u64 {
        self.last(first) + self.length
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.length.saturating_mul(self.count)
    }

    /// Returns the indices (first, end exclusive) of the ranges that overlap or touch `start..end`; `first` is the start of the first
    /// range.
    #[inline]
    pub(super) fn touching(&self, first: u64, start: u64, end: u64) -> (u64, u64) {
        let before = |place: u64| if self.count == 1 { 1 } else { place.div_ceil(self.stride) };
        let from = (first + self.length).checked_sub(start).map_or_else(|| before(start - first - self.length), |_| 0);
        let behind =
            end.checked_sub(first).map_or(0, |place| if self.count == 1 { 1 } else { place / self.stride + 1 });
        (from.min(self.count), behind.min(self.count))
    }

    /// Counts the bytes of `start..end` in the ranges with indices `from..behind`, all of which must touch `start..end`; `first` is the
    /// start of the first range of all.
    #[inline]
    pub(super) fn known(&self, first: u64, (from, behind): (u64, u64), start: u64, end: u64) -> u64 {
        if from >= behind {
            return 0;
        }
        let (begins, ends) = (first + from * self.stride, first + (behind - 1) * self.stride + self.length);
        (behind - from) * self.length - start.saturating_sub(begins) - ends.saturating_sub(end)
    }

    /// Returns the ranges with indices `from..behind` as a separate entry, with its first byte; `None` if the interval is empty.
    #[inline]
    pub(super) fn part(&self, first: u64, from: u64, behind: u64) -> Option<(u64, Self)> {
        let count = behind.checked_sub(from).filter(|count| *count > 0)?;
        let stride = if count > 1 { self.stride } else { 0 };
        Some((first + from * self.stride, Self { stride, count, ..*self }))
    }
}
