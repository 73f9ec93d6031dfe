//! Copy of a spool's region with the ranges that are not holes of the file. Holes consist of zeros and cost nothing to create, so loops over
//! a region must skip them.

use std::ops::Range;

#[derive(Clone, Debug, Default)]
pub(super) struct Sparse {
    pub(super) bytes: Vec<u8>,
    /// Byte ranges outside holes of the file, in order.
    pub(super) stored: Vec<Range<usize>>,
}

impl Sparse {
    /// Returns an iterator over the records of `bytes` bytes each, with their numbers, except records completely in a hole of the file.
    pub(super) fn records(&self, bytes: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let mut next = 0;
        let numbers = self.stored.iter().flat_map(move |stored| {
            let first = (stored.start / bytes).max(next);
            next = next.max(stored.end.div_ceil(bytes));
            first..next
        });
        numbers.filter_map(move |number| Some((number, self.record(number, bytes)?)))
    }

    /// Returns record number `number` of a region with records of `bytes` bytes each.
    pub(super) fn record(&self, number: usize, bytes: usize) -> Option<&[u8]> {
        let start = number.checked_mul(bytes)?;
        self.bytes.get(start..start.checked_add(bytes)?)
    }

    /// Returns the first position at or after `at`, in steps of `step` bytes, that is not in a hole of the file.
    pub(super) fn next(&self, at: usize, step: usize) -> Option<usize> {
        let stored = self.stored.get(self.stored.partition_point(|stored| stored.end <= at))?;
        Some(at + stored.start.saturating_sub(at) / step * step)
    }
}

#[cfg(test)]
impl From<&[u8]> for Sparse {
    fn from(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), stored: std::iter::once(0..bytes.len()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_hole_is_passed_by() {
        let mut part = Sparse { bytes: vec![0; 100], stored: vec![12..13, 17..25, 25..31, 95..100] };
        let numbers = |part: &Sparse| part.records(10).map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers(&part), [1, 2, 3, 9]);
        assert_eq!([0, 12, 13, 16, 31, 34, 99].map(|at| part.next(at, 8)), [8, 12, 13, 16, 95, 90, 99].map(Some));
        assert_eq!(part.next(100, 8), None);
        part.bytes.truncate(95);
        assert_eq!(numbers(&part), [1, 2, 3]);
        assert!(part.record(usize::MAX, 10).is_none());
    }
}
