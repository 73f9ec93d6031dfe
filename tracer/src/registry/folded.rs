//! Counters of one stream's segments that have no place on record, added to by many threads.

use crate::threads;
use std::array;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use trace_format::counters::{Counters, Previous, SIZE_BINS, size_bin};
use trace_format::spool::folded;

/// [`Counters`] that many threads add to. Sums are exact; `previous` is whoever came last.
#[repr(C)]
pub(super) struct Folded {
    /// One more than the stream's id: for readers of the spool.
    stream: AtomicU64,
    sums: [AtomicU64; 5],
    max_duration: AtomicU64,
    first_start: AtomicU64,
    last_end: AtomicU64,
    min_offset: AtomicI64,
    max_end_offset: AtomicI64,
    previous: AtomicI64,
    sizes: [AtomicU64; SIZE_BINS],
    /// How far sums and sizes had come when they were written last, and when they were taken last.
    written: [AtomicU64; folded::COUNTS],
    taken: [AtomicU64; folded::COUNTS],
    /// The extremes that were taken.
    taken_extremes: [AtomicU64; folded::EXTREMES],
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Folded>() == folded::BYTES && offset_of!(Folded, stream) == folded::STREAM);
    assert!(offset_of!(Folded, sums) == folded::SUMS && offset_of!(Folded, max_duration) == folded::MAX_DURATION);
    assert!(offset_of!(Folded, first_start) == folded::FIRST_START && offset_of!(Folded, last_end) == folded::LAST_END);
    assert!(offset_of!(Folded, min_offset) == folded::MIN_OFFSET && offset_of!(Folded, sizes) == folded::SIZES);
    assert!(offset_of!(Folded, max_end_offset) == folded::MAX_END_OFFSET);
    assert!(offset_of!(Folded, previous) == folded::PREVIOUS);
    assert!(offset_of!(Folded, written) == folded::WRITTEN && offset_of!(Folded, taken) == folded::TAKEN);
    assert!(offset_of!(Folded, taken_extremes) == folded::TAKEN_EXTREMES);
};

impl Folded {
    /// Empty counters of the stream with this id.
    pub(super) fn new(stream: u64) -> Self {
        let empty = Counters::default();
        Self {
            stream: AtomicU64::new(stream + 1),
            sums: [const { AtomicU64::new(0) }; 5],
            max_duration: AtomicU64::new(empty.max_duration),
            first_start: AtomicU64::new(empty.first_start),
            last_end: AtomicU64::new(empty.last_end),
            min_offset: AtomicI64::new(empty.min_offset),
            max_end_offset: AtomicI64::new(empty.max_end_offset),
            sizes: [const { AtomicU64::new(0) }; SIZE_BINS],
            previous: AtomicI64::new(Previous::default().to_raw()),
            written: [const { AtomicU64::new(0) }; folded::COUNTS],
            taken: [const { AtomicU64::new(0) }; folded::COUNTS],
            taken_extremes: extremes(&empty).map(AtomicU64::new),
        }
    }

    /// Where the last segment ended.
    pub(super) fn previous(&self) -> Previous {
        Previous::from_raw(self.previous.load(Ordering::Relaxed))
    }

    /// What only grows.
    fn counts(&self) -> impl Iterator<Item = &AtomicU64> {
        self.sums.iter().chain(&self.sizes)
    }

    /// What was added since the last trace belongs to the one that is about to be written. Nothing is added meanwhile, and nothing is
    /// ever subtracted: whoever finds the spool of a process that was killed knows all, whether that trace is there or not.
    pub(super) fn take(&self) {
        for (taken, now) in self.taken.iter().zip(self.counts()) {
            taken.store(now.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let empty = extremes(&Counters::default());
        let now = [&self.max_duration, &self.first_start, &self.last_end].map(|number| number.load(Ordering::Relaxed));
        let offsets = [&self.min_offset, &self.max_end_offset].map(|number| number.load(Ordering::Relaxed) as u64);
        let now = now.into_iter().chain(offsets);
        self.taken_extremes.iter().zip(now).for_each(|(taken, now)| taken.store(now, Ordering::Release));
        self.set_extremes(empty);
    }

    fn set_extremes(&self, [max_duration, first_start, last_end, min_offset, max_end_offset]: [u64; folded::EXTREMES]) {
        self.max_duration.store(max_duration, Ordering::Relaxed);
        self.first_start.store(first_start, Ordering::Relaxed);
        self.last_end.store(last_end, Ordering::Relaxed);
        self.min_offset.store(min_offset as i64, Ordering::Relaxed);
        self.max_end_offset.store(max_end_offset as i64, Ordering::Relaxed);
    }

    /// What was taken is in a trace now, or (`written` is false) is not.
    pub(super) fn settle(&self, written: bool) {
        let (from, to) = if written { (&self.taken, &self.written) } else { (&self.written, &self.taken) };
        for (from, to) in from.iter().zip(to) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if !written {
            let [max_duration, first_start, last_end, min_offset, max_end_offset] =
                self.taken_extremes.each_ref().map(|taken| taken.load(Ordering::Relaxed));
            self.max_duration.fetch_max(max_duration, Ordering::Relaxed);
            self.first_start.fetch_min(first_start, Ordering::Relaxed);
            self.last_end.fetch_max(last_end, Ordering::Relaxed);
            self.min_offset.fetch_min(min_offset as i64, Ordering::Relaxed);
            self.max_end_offset.fetch_max(max_end_offset as i64, Ordering::Relaxed);
        }
        let empty = extremes(&Counters::default());
        self.taken_extremes.iter().zip(empty).for_each(|(taken, empty)| taken.store(empty, Ordering::Relaxed));
    }

    /// What belongs to the trace that is being written.
    pub(super) fn taken(&self) -> Counters {
        let count =
            |i: usize| self.taken[i].load(Ordering::Relaxed).saturating_sub(self.written[i].load(Ordering::Relaxed));
        let [segments, bytes, duration, consecutive, sequential] = array::from_fn(count);
        let [max_duration, first_start, last_end, min_offset, max_end_offset] =
            self.taken_extremes.each_ref().map(|taken| taken.load(Ordering::Relaxed));
        Counters {
            segments,
            bytes,
            duration,
            max_duration,
            first_start,
            last_end,
            min_offset: min_offset as i64,
            max_end_offset: max_end_offset as i64,
            consecutive,
            sequential,
            sizes: array::from_fn(|i| count(self.sums.len() + i)),
        }
    }

    /// Adds what one thread folded; `previous` is where its last segment ended.
    pub(super) fn add(&self, c: &Counters, previous: Previous) {
        let alone = threads::is_single();
        self.add_unsized(c, previous, alone);
        if c.segments == 1 {
            add(&self.sizes[size_bin(c.bytes)], 1, alone);
        } else {
            for (sum, more) in self.sizes.iter().zip(c.sizes) {
                add(sum, more, alone);
            }
        }
    }

    /// Adds what one segment counts, whose `sizes` are not filled in.
    #[inline(always)]
    pub(super) fn add_one(&self, c: &Counters, previous: Previous) {
        let alone = threads::is_single();
        self.add_unsized(c, previous, alone);
        add(&self.sizes[size_bin(c.bytes)], 1, alone);
    }

    #[inline(always)]
    fn add_unsized(&self, c: &Counters, previous: Previous, alone: bool) {
        let [segments, bytes, duration, consecutive, sequential] = &self.sums;
        add(segments, c.segments, alone);
        add(bytes, c.bytes, alone);
        add(duration, c.duration, alone);
        add(consecutive, c.consecutive, alone);
        add(sequential, c.sequential, alone);
        // Extremes are mostly known already, and to look costs little.
        if c.max_duration > self.max_duration.load(Ordering::Relaxed) {
            self.max_duration.fetch_max(c.max_duration, Ordering::Relaxed);
        }
        if c.first_start < self.first_start.load(Ordering::Relaxed) {
            self.first_start.fetch_min(c.first_start, Ordering::Relaxed);
        }
        if c.last_end > self.last_end.load(Ordering::Relaxed) {
            self.last_end.fetch_max(c.last_end, Ordering::Relaxed);
        }
        if c.min_offset < self.min_offset.load(Ordering::Relaxed) {
            self.min_offset.fetch_min(c.min_offset, Ordering::Relaxed);
        }
        if c.max_end_offset > self.max_end_offset.load(Ordering::Relaxed) {
            self.max_end_offset.fetch_max(c.max_end_offset, Ordering::Relaxed);
        }
        self.previous.store(previous.to_raw(), Ordering::Relaxed);
    }

    /// The sums so far.
    #[cfg(test)]
    pub(super) fn read(&self) -> Counters {
        let [segments, bytes, duration, consecutive, sequential] =
            std::array::from_fn(|i| self.sums[i].load(Ordering::Relaxed));
        Counters {
            segments,
            bytes,
            duration,
            max_duration: self.max_duration.load(Ordering::Relaxed),
            first_start: self.first_start.load(Ordering::Relaxed),
            last_end: self.last_end.load(Ordering::Relaxed),
            min_offset: self.min_offset.load(Ordering::Relaxed),
            max_end_offset: self.max_end_offset.load(Ordering::Relaxed),
            consecutive,
            sequential,
            sizes: std::array::from_fn(|i| self.sizes[i].load(Ordering::Relaxed)),
        }
    }
}

/// A process with one thread (`alone`) needs no lock on the bus for each sum; a signal handler adds nothing meanwhile.
#[inline(always)]
fn add(sum: &AtomicU64, more: u64, alone: bool) {
    match (more, alone) {
        (0, _) => {}
        (_, true) => sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed),
        (_, false) => drop(sum.fetch_add(more, Ordering::Relaxed)),
    }
}

/// The extremes, in the order of [`folded::TAKEN_EXTREMES`].
fn extremes(of: &Counters) -> [u64; folded::EXTREMES] {
    [of.max_duration, of.first_start, of.last_end, of.min_offset as u64, of.max_end_offset as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trace_has_what_was_added_since_the_last_one() {
        let shared = Folded::new(0);
        let add = |offset: i64, length: u64, start: u64, end: u64| {
            let (mut counters, mut previous) = (Counters::default(), Previous::default());
            counters.fold(&mut previous, offset, length, start, end);
            shared.add(&counters, previous);
            counters
        };
        let mut first = add(10, 20, 5, 9);
        shared.take();
        assert_eq!(shared.taken(), first);
        let second = add(100, 4096, 50, 60);
        assert_eq!(shared.taken(), first, "what comes meanwhile is not in it");
        shared.settle(false);
        shared.take();
        first.merge(&second);
        assert_eq!(shared.taken(), first, "it was not written: all is in the next");
        shared.settle(true);
        let third = add(7, 1, 70, 71);
        shared.take();
        assert_eq!(shared.taken(), third);
        shared.settle(true);
        shared.take();
        assert_eq!(shared.taken(), Counters::default());
    }

    #[test]
    fn one_segment_by_itself_counts_as_one_of_many() {
        let (many, ones) = (Folded::new(0), Folded::new(0));
        for (offset, length, start, end) in [
            (0, 100, 5, 9),
            (100, 101, 10, 30),
            (4096, 1 << 30, 31, 31),
            (-1, 0, 40, 45),
            (i64::MAX, u64::MAX, 50, 49),
            (7, 3, 2, 3),
        ] {
            let (mut counters, mut previous) = (Counters::default(), many.previous());
            counters.fold(&mut previous, offset, length, start, end);
            many.add(&counters, previous);
            let (mut one, mut previous) = (Counters::default(), ones.previous());
            one.fold_unsized(&mut previous, offset, length, start, end);
            ones.add_one(&one, previous);
            assert_eq!((ones.read(), ones.previous()), (many.read(), many.previous()));
            let (mut counters, mut alone) = (Counters::default(), Counters::default());
            counters.fold_alone(offset, length, start, end);
            alone.fold_alone_unsized(offset, length, start, end);
            many.add(&counters, previous);
            ones.add_one(&alone, previous);
            assert_eq!(ones.read(), many.read());
        }
    }

    #[test]
    fn folding_by_many_threads_loses_nothing() {
        let shared = Folded::new(0);
        let (mut counters, mut previous) = (Counters::default(), Previous::default());
        counters.fold(&mut previous, 10, 20, 5, 9);
        counters.fold(&mut previous, 30, 20, 10, 12);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| shared.add(&counters, previous)));
            }
        });
        let sum = shared.read();
        assert_eq!((sum.segments, sum.bytes, sum.duration, sum.consecutive), (8000, 160_000, 24_000, 4000));
        assert_eq!((sum.first_start, sum.last_end, sum.min_offset, sum.max_end_offset), (5, 12, 10, 50));
    }
}
