//! Counters: totals over calls that are not stored as segments. [`Counters::fold`] defines every number: the tracer folds calls that it
//! cannot store as segments, the analyzer folds whole traces, and both get equal counters.

use serde::{Deserialize, Serialize};

/// Number of bins of the access-size histogram.
pub const SIZE_BINS: usize = 10;
/// Exclusive upper bounds of the first nine size bins, in bytes; the tenth bin is unbounded. The bins are Darshan's:
/// their largest sizes are 100, 1K, 10K, 100K, 1M, 4M, 10M, 100M and 1G (K = 1024, M = 1024 K, G = 1024 M), one byte less than the bounds.
pub const SIZE_BOUNDS: [u64; SIZE_BINS - 1] =
    [101, 1 << 10 | 1, 10 << 10 | 1, 100 << 10 | 1, 1 << 20 | 1, 4 << 20 | 1, 10 << 20 | 1, 100 << 20 | 1, 1 << 30 | 1];

/// Returns the index of the size bin (see [`SIZE_BOUNDS`]) for an access of `length` bytes.
#[must_use]
pub fn size_bin(length: u64) -> usize {
    SIZE_BOUNDS.iter().position(|&bound| length < bound).unwrap_or(SIZE_BINS - 1)
}

/// Adds the access sizes `lengths`, in bytes, to the histogram `sizes`; runs of equal sizes are added at once.
pub fn add_sizes(sizes: &mut [u64; SIZE_BINS], lengths: &[u64]) {
    for similar in lengths.chunk_by(|a, b| a == b) {
        if let Some(count) = similar.first().and_then(|length| sizes.get_mut(size_bin(*length))) {
            *count += similar.len() as u64;
        }
    }
}

/// Totals over the calls of one stream (one operation on one file). Times are in the unit of the added segments: ns since the process's
/// epoch in a trace file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Number of calls (segments) over which the totals are taken.
    pub segments: u64,
    /// Sum of the lengths of all calls (segments), in bytes.
    pub bytes: u64,
    /// Sum of the durations (end - start) of all calls (segments).
    pub duration: u64,
    /// Longest duration (end - start) of a call (segment).
    pub max_duration: u64,
    /// Earliest start of a call (segment) added; `u64::MAX` if no call was added.
    pub first_start: u64,
    /// Latest end of a call (segment) added; 0 if no call was added.
    pub last_end: u64,
    /// Lowest file offset of a segment; `i64::MAX` if no segment has an offset or if the order of segments is unknown.
    pub min_offset: i64,
    /// Highest end offset (file offset + length) of a call (segment), in bytes.
    pub max_end_offset: i64,
    /// Number of calls (segments) that begin in the file exactly where the previous call of the same stream ended.
    pub consecutive: u64,
    /// Number of calls (segments) that begin in the file at or after the end of the previous call of the same stream,
    /// including consecutive ones. The first call is compared with [`FIRST_END`].
    pub sequential: u64,
    /// Number of calls (segments) by transfer length, in the bins of [`SIZE_BOUNDS`].
    pub sizes: [u64; SIZE_BINS],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            segments: 0,
            bytes: 0,
            duration: 0,
            max_duration: 0,
            first_start: u64::MAX,
            last_end: 0,
            min_offset: i64::MAX,
            max_end_offset: 0,
            consecutive: 0,
            sequential: 0,
            sizes: [0; SIZE_BINS],
        }
    }
}

/// End offset assumed before a stream's first access, in bytes. In Darshan's records the last byte touched is initially byte 0; therefore a
/// first access at offset 0 is not sequential, but one at offset 1 or above is.
pub const FIRST_END: i64 = 1;

/// End offset of the previous call of a stream (one operation on one file), with which [`Counters::fold`] compares
/// the next call to count consecutive and sequential accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Previous(Option<i64>);

impl Previous {
    /// Returns the end offset as a number that fits an atomic; -1 if there is no previous segment.
    #[must_use]
    pub fn to_raw(self) -> i64 {
        self.0.unwrap_or(-1)
    }

    /// Restores the end offset from the result of [`Self::to_raw`].
    #[must_use]
    pub fn from_raw(raw: i64) -> Self {
        Self((raw >= 0).then_some(raw))
    }
}

impl Counters {
    /// Adds one segment. `offset` and `length` are in bytes; `start` and `end` may be in any time unit if all segments use the same unit.
    pub fn fold(&mut self, previous: &mut Previous, offset: i64, length: u64, start: u64, end: u64) {
        self.fold_unsized(previous, offset, length, start, end);
        self.sizes[size_bin(length)] += 1;
    }

    /// Adds one segment like [`Self::fold`], but not to the histogram `sizes`: the caller increments the bin given by [`size_bin`].
    // Without the `sizes` array, all counters stay in registers.
    #[inline(always)]
    pub fn fold_unsized(&mut self, previous: &mut Previous, offset: i64, length: u64, start: u64, end: u64) {
        self.fold_alone_unsized(offset, length, start, end);
        if offset >= 0 {
            let last = previous.0.unwrap_or(FIRST_END);
            self.consecutive += u64::from(offset == last);
            self.sequential += u64::from(offset >= last);
            self.min_offset = self.min_offset.min(offset);
            previous.0 = Some(offset.saturating_add_unsigned(length));
        }
    }

    /// Adds consecutive and sequential counts and the lowest offset of segments already added by [`Self::fold_alone`]; both calls together
    /// equal [`Self::fold`]. Returns the number of segments that have an offset.
    pub fn fold_order(&mut self, previous: &mut Previous, offsets: &[i64], lengths: &[u64]) -> u64 {
        let (mut last, mut known) = (previous.0, 0);
        let (mut consecutive, mut sequential, mut lowest) = (0, 0, self.min_offset);
        for (&offset, &length) in offsets.iter().zip(lengths).filter(|(offset, _)| **offset >= 0) {
            let before = last.unwrap_or(FIRST_END);
            consecutive += u64::from(offset == before);
            sequential += u64::from(offset >= before);
            lowest = lowest.min(offset);
            last = Some(offset.saturating_add_unsigned(length));
            known += 1;
        }
        self.consecutive += consecutive;
        self.sequential += sequential;
        (self.min_offset, previous.0) = (lowest, last);
        known
    }

    /// Adds one segment without comparing the segment with its predecessor: `consecutive` and `sequential` do not change. If all segments
    /// are added this way, `min_offset` stays unset, which marks their order as unknown.
    pub fn fold_alone(&mut self, offset: i64, length: u64, start: u64, end: u64) {
        self.fold_alone_unsized(offset, length, start, end);
        self.sizes[size_bin(length)] += 1;
    }

    /// Adds one segment like [`Self::fold_alone`], but not to the histogram `sizes`.
    #[inline(always)]
    pub fn fold_alone_unsized(&mut self, offset: i64, length: u64, start: u64, end: u64) {
        let duration = end.saturating_sub(start);
        self.segments += 1;
        self.bytes = self.bytes.saturating_add(length);
        self.duration = self.duration.saturating_add(duration);
        self.max_duration = self.max_duration.max(duration);
        self.first_start = self.first_start.min(start);
        self.last_end = self.last_end.max(end);
        if offset >= 0 {
            self.max_end_offset = self.max_end_offset.max(offset.saturating_add_unsigned(length));
        }
    }

    /// Resets the durations and the earliest and latest time to their initial values, for calls that were not timed.
    pub fn forget_times(&mut self) {
        (self.duration, self.max_duration, self.first_start, self.last_end) = (0, 0, u64::MAX, 0);
    }

    /// Returns the number of segments whose order is known: all segments if any of them was compared with its predecessor, else 0.
    #[must_use]
    pub const fn ordered(&self) -> u64 {
        if self.min_offset == i64::MAX { 0 } else { self.segments }
    }

    /// Adds the totals of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.segments = self.segments.saturating_add(other.segments);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.duration = self.duration.saturating_add(other.duration);
        self.max_duration = self.max_duration.max(other.max_duration);
        self.first_start = self.first_start.min(other.first_start);
        self.last_end = self.last_end.max(other.last_end);
        self.min_offset = self.min_offset.min(other.min_offset);
        self.max_end_offset = self.max_end_offset.max(other.max_end_offset);
        self.consecutive = self.consecutive.saturating_add(other.consecutive);
        self.sequential = self.sequential.saturating_add(other.sequential);
        for (mine, theirs) in self.sizes.iter_mut().zip(other.sizes) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_darshans_edges() {
        let edges = [(0, 0), (100, 0), (101, 1), (1024, 1), (1025, 2), (1 << 20, 4), (4 << 20, 5), (1 << 30, 8)];
        let mut sizes = [0; SIZE_BINS];
        add_sizes(&mut sizes, &edges.map(|(length, _)| length));
        assert_eq!(sizes.iter().sum::<u64>(), edges.len() as u64);
        for (length, bin) in edges {
            assert!(sizes[bin] > 0, "{length}");
            assert_eq!(size_bin(length), bin, "{length}");
        }
        assert_eq!(size_bin(u64::MAX), 9);
    }

    #[test]
    fn consecutive_is_sequential_but_not_the_reverse() {
        let (mut counters, mut previous) = (Counters::default(), Previous::default());
        for (offset, length) in [(0, 10), (10, 10), (40, 10), (0, 10), (-1, 0), (10, 1)] {
            counters.fold(&mut previous, offset, length, 100, 130);
        }
        assert_eq!((counters.segments, counters.bytes, counters.duration), (6, 41, 180));
        assert_eq!((counters.consecutive, counters.sequential), (2, 3));
        assert_eq!((counters.min_offset, counters.max_end_offset), (0, 50));
    }

    #[test]
    fn what_is_added_alone_and_put_in_order_is_what_is_folded() {
        let all = [(0, 10), (10, 10), (40, 10), (0, 10), (-1, 0), (10, 1), (i64::MAX, 7), (3, 2)];
        for parts in 1..=all.len() {
            let (mut folded, mut previous) = (Counters::default(), Previous::default());
            let (mut alone, mut before) = (Counters::default(), Previous::default());
            for part in all.chunks(parts) {
                let mut sum = Counters::default();
                for &(offset, length) in part {
                    folded.fold(&mut previous, offset, length, 100, 130);
                    sum.fold_alone(offset, length, 100, 130);
                }
                alone.merge(&sum);
                let (offsets, lengths): (Vec<i64>, Vec<u64>) = part.iter().copied().unzip();
                let known = alone.fold_order(&mut before, &offsets, &lengths);
                assert_eq!(known, offsets.iter().filter(|offset| **offset >= 0).count() as u64);
            }
            assert_eq!((alone, before), (folded, previous));
        }
    }

    /// Checks agreement with Darshan, whose records begin with byte 0 as the last byte touched.
    #[test]
    fn a_first_access_is_compared_with_byte_0() {
        let first = |offset| {
            let (mut counters, mut previous) = (Counters::default(), Previous::default());
            counters.fold(&mut previous, offset, 10, 0, 1);
            (counters.consecutive, counters.sequential, counters.ordered())
        };
        assert_eq!([0, 1, 2, 4096, -1].map(first), [(0, 0, 1), (1, 1, 1), (0, 1, 1), (0, 1, 1), (0, 0, 0)]);
        // Empty read at the end of an empty file, then a read at the same offset.
        let (mut counters, mut previous) = (Counters::default(), Previous::default());
        counters.fold(&mut previous, 0, 0, 0, 1);
        counters.fold(&mut previous, 0, 7, 1, 2);
        assert_eq!((counters.consecutive, counters.sequential), (1, 1));
    }

    #[test]
    fn segments_that_are_compared_with_none_have_no_order() {
        let mut counters = Counters::default();
        counters.fold_alone(100, 50, 0, 5);
        counters.fold_alone(150, 50, 5, 9);
        assert_eq!((counters.consecutive, counters.sequential, counters.ordered()), (0, 0, 0));
        assert_eq!((counters.segments, counters.bytes, counters.max_end_offset), (2, 100, 200));
    }

    #[test]
    fn merge_of_halves_is_the_whole() {
        let segments: Vec<(i64, u64, u64, u64)> =
            (0..100).map(|i| (i * 37 % 500, i as u64 * 1000, i as u64 * 10, i as u64 * 10 + 7)).collect();
        let (mut whole, mut previous) = (Counters::default(), Previous::default());
        segments.iter().for_each(|s| whole.fold(&mut previous, s.0, s.1, s.2, s.3));
        let (mut a, mut b, mut previous) = (Counters::default(), Counters::default(), Previous::default());
        segments[..40].iter().for_each(|s| a.fold(&mut previous, s.0, s.1, s.2, s.3));
        previous = Previous::from_raw(previous.to_raw());
        segments[40..].iter().for_each(|s| b.fold(&mut previous, s.0, s.1, s.2, s.3));
        a.merge(&b);
        assert_eq!(a, whole);
    }
}
