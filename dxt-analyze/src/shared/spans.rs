//! Set of disjoint time spans with bounded size.

use crate::limits;

/// Sorted, disjoint, non-adjacent time spans. Beyond `limit` spans, the smallest gaps between them are filled, and the time that this adds
/// is counted.
#[derive(Clone, Debug)]
pub struct Spans {
    spans: Vec<(u64, u64)>,
    /// Number of time spans added since the spans were last sorted.
    unsorted: usize,
    limit: usize,
    closed_ns: u64,
}

impl Default for Spans {
    fn default() -> Self {
        Self::with_limit(limits::SPANS)
    }
}

impl Spans {
    /// Creates an empty set of at most `limit` spans.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { spans: Vec::new(), unsorted: 0, limit: limit.max(1), closed_ns: 0 }
    }

    /// Adds the time span from `start` to `end` (ns) to the set.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // Fast path: the new span touches or overlaps the last one.
        if let Some(last) = self.spans.last_mut().filter(|last| start >= last.0 && start <= last.1) {
            last.1 = last.1.max(end);
            return;
        }
        self.spans.push((start, end));
        self.unsorted += 1;
        if self.unsorted > self.limit {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.unsorted = 0;
        self.spans.sort_unstable();
        let mut kept: Vec<(u64, u64)> = Vec::with_capacity(self.spans.len());
        for &(start, end) in &self.spans {
            match kept.last_mut().filter(|last| start <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => kept.push((start, end)),
            }
        }
        if kept.len() > self.limit {
            let mut gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
            let too_many = kept.len() - self.limit;
            let (shorter, &mut least, _) = gaps.select_nth_unstable(too_many - 1);
            // No more gaps as long as `least` than needed.
            let mut equal = too_many - shorter.iter().filter(|gap| **gap < least).count();
            let mut closes = |gap: u64| {
                let is = gap < least || gap == least && equal > 0;
                equal -= usize::from(is && gap == least);
                is
            };
            let mut fewer: Vec<(u64, u64)> = Vec::with_capacity(self.limit);
            for (start, end) in kept {
                match fewer.last_mut().filter(|last: &&mut (u64, u64)| closes(start - last.1)) {
                    Some(last) => {
                        self.closed_ns = self.closed_ns.saturating_add(start - last.1);
                        last.1 = end;
                    }
                    None => fewer.push((start, end)),
                }
            }
            kept = fewer;
        }
        self.spans = kept;
    }

    /// Returns the total time of all spans, and an upper bound of the filled gaps in it, both in ns.
    #[must_use]
    pub fn time(mut self) -> (u64, u64) {
        self.settle();
        (self.spans.iter().map(|(start, end)| end - start).sum(), self.closed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time_of(spans: &[(u64, u64)], limit: usize) -> (u64, u64) {
        let mut set = Spans::with_limit(limit);
        spans.iter().for_each(|&(start, end)| set.add(start, end));
        set.time()
    }

    #[test]
    fn no_more_gaps_are_closed_than_needed() {
        let spans: Vec<(u64, u64)> = (0..10).map(|at| (at * 10, at * 10 + 5)).collect();
        assert_eq!(time_of(&spans, 8), (10 * 5 + 2 * 5, 2 * 5));
    }

    proptest! {
        #[test]
        fn time_is_that_of_the_union(spans in prop::collection::vec((0_u64..200, 0_u64..30), 0..60), limit in 1_usize..8) {
            let spans: Vec<(u64, u64)> = spans.into_iter().map(|(start, length)| (start, start + length)).collect();
            let exact = (0..300).filter(|at| spans.iter().any(|(start, end)| (start..end).contains(&at))).count() as u64;
            prop_assert_eq!(time_of(&spans, 1000), (exact, 0));
            let (time, closed) = time_of(&spans, limit);
            prop_assert!(time >= exact && time - exact <= closed);
        }
    }
}
