//! Defers inserts of ranges with random offsets. Usually, callers never need their sorted positions, only the answer whether bytes were
//! seen before. Random accesses are mostly blocks of equal length at multiples of that length, and the block number is enough for the
//! answer.

use super::strided_ranges::Comb;
use rustc_hash::FxHashSet;

/// Maximum number of blocks in the set when deferral of inserts begins: with more, inserts are not deferred.
const MOST: u64 = 1 << 12;

/// Set of blocks of `length` bytes at multiples of `length`; sorting them is deferred.
#[derive(Clone, Debug)]
pub(super) struct PutOff {
    length: u64,
    /// Block numbers (offset / `length`) of all blocks, including those inserted before deferral began.
    there: FxHashSet<u64>,
    /// Blocks whose insertion is deferred, in order of arrival: (first byte, time of the access).
    came: Vec<(u64, u64)>,
}

impl PutOff {
    /// Starts deferral, with `runs` as the existing ranges. Returns `None` if they do not all consist of blocks of `length` bytes, or if
    /// there are too many blocks.
    pub(super) fn beside(mut runs: impl Iterator<Item = (u64, Comb)>, length: u64) -> Option<Self> {
        let mut there: FxHashSet<u64> = FxHashSet::default();
        let (mut left, is_even) = (MOST, |bytes: u64| bytes.is_multiple_of(length));
        let mut add = |(first, run): (u64, Comb)| {
            left = left.checked_sub((run.length / length).checked_mul(run.count)?)?;
            let blocks = (0..run.count).flat_map(|range| (0..run.length / length).map(move |block| (range, block)));
            there.extend(blocks.map(|(range, block)| (first + range * run.stride) / length + block));
            (is_even(first) && is_even(run.length) && is_even(run.stride)).then_some(())
        };
        runs.try_for_each(&mut add)?;
        Some(Self { length, there, came: Vec::new() })
    }

    /// Returns the number of blocks whose insertion is deferred.
    pub(super) fn len(&self) -> usize {
        self.came.len()
    }

    /// Adds the range `start..end`, accessed at `time`, and returns how many of its bytes were already in the set; `None`, without adding
    /// the range, if it is not exactly one block.
    #[inline]
    pub(super) fn add(&mut self, start: u64, end: u64, time: u64) -> Option<u64> {
        if end - start != self.length || !start.is_multiple_of(self.length) {
            return None;
        }
        self.came.push((start, time));
        Some(if self.there.insert(start / self.length) { 0 } else { self.length })
    }

    /// Iterates over the deferred blocks in order of arrival: (first byte, end (exclusive), time of the access).
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.came.iter().map(|(start, time)| (*start, start + self.length, *time))
    }

    /// Iterates over the bytes of the set in order of offset, as maximal ranges that do not touch.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut blocks: Vec<u64> = self.there.iter().copied().collect();
        blocks.sort_unstable();
        let mut rest = blocks.into_iter().peekable();
        let length = self.length;
        std::iter::from_fn(move || {
            let first = rest.next()?;
            let mut last = first;
            while let Some(next) = rest.next_if_eq(&(last + 1)) {
                last = next;
            }
            Some((first * length, (last + 1) * length))
        })
    }
}
