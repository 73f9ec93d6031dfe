//! Counters per stream of segments that are folded instead of recorded. Threads add to the counters one at a time, and first save the
//! previous values. The counters lie in the spool, a file that survives a kill; so a reader of the spool knows exactly which segments had
//! been added.

use crate::threads;
use std::array;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, compiler_fence};
use trace_format::counters::{Counters, Previous, SIZE_BINS, size_bin};
use trace_format::spool::folded;

/// [`Counters`] of a stream (calls with the same file, operation and flags), to which one thread at a time adds.
#[repr(C)]
pub(super) struct Folded {
    /// ID + 1 of the stream (file, operation, flags) that is counted, for readers of the spool; 0 while the counters are being created.
    stream: AtomicU64,
    sums: [AtomicU64; 5],
    max_duration: AtomicU64,
    first_start: AtomicU64,
    last_end: AtomicU64,
    min_offset: AtomicI64,
    max_end_offset: AtomicI64,
    /// End offset in the file of the last segment that was added, as encoded by [`Previous::to_raw`].
    previous: AtomicI64,
    sizes: [AtomicU64; SIZE_BINS],
    /// Values of the sums and of the numbers of calls per size that are in written traces.
    written: [AtomicU64; folded::COUNTS],
    /// Values of the sums and of the numbers of calls per size when the last snapshot for a trace was taken ([`Folded::take`]).
    taken: [AtomicU64; folded::COUNTS],
    /// Values of the minima and maxima when the last snapshot for a trace was taken ([`Folded::take`]).
    taken_extremes: [AtomicU64; folded::EXTREMES],
    /// Number of the [`Adder`] (a thread's access for adding segments) that holds the counters exclusively, or 0.
    adder: AtomicU64,
    /// Sums and `previous` as they were before the [`Adder`] that holds the counters began to add; readers after a kill need them.
    base: [AtomicU64; folded::BASES],
}

/// Maximum number of attempts to acquire the counters, the later half 1 ms apart; then new counters are used: the holder may be stopped.
const MOST_WAITS: u32 = 200;

/// Adds segments to counters. The segments lie in the slots of a thread's scratch, a buffer for calls that are only counted. Signals are
/// blocked meanwhile.
pub(crate) struct Adder<'a> {
    number: u64,
    counted: &'a AtomicU64,
    counting: &'a AtomicU64,
    after: u64,
}

impl<'a> Adder<'a> {
    /// Creates the adder for the scratch (thread's buffer of segments) with this index. `counted`, `counting`: bit masks of the slots of
    /// the scratch that are already added to counters, and that are being added.
    pub(crate) fn new(index: usize, counted: &'a AtomicU64, counting: &'a AtomicU64) -> Self {
        Self { number: index as u64 + 1, counted, counting, after: 0 }
    }

    /// Marks slots of the scratch (thread's buffer of segments), those in the bit mask `members`, as about to be added. Their segments all
    /// belong to one stream.
    pub(crate) fn adding(&mut self, members: u64) -> &Self {
        self.counting.store(members, Ordering::Release);
        self.after |= members;
        self
    }

    pub(crate) fn is_done(&self) {
        self.counted.store(self.after, Ordering::Release);
    }
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
    assert!(offset_of!(Folded, adder) == folded::ADDER && offset_of!(Folded, base) == folded::BASE);
};

impl Folded {
    /// Makes empty counters for the stream (calls with the same file, operation and flags) with this ID.
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
            adder: AtomicU64::new(0),
            base: [const { AtomicU64::new(0) }; folded::BASES],
        }
    }

    /// Returns the ID of the stream (file, operation, flags) that is counted; `None` while the counters are being created.
    pub(super) fn stream(&self) -> Option<u32> {
        self.stream.load(Ordering::Acquire).checked_sub(1).map(|stream| stream as u32)
    }

    pub(super) fn previous(&self) -> Previous {
        Previous::from_raw(self.previous.load(Ordering::Relaxed))
    }

    /// Iterates over the counters that only grow: sums, and numbers of calls per size.
    fn counts(&self) -> impl Iterator<Item = &AtomicU64> {
        self.sums.iter().chain(&self.sizes)
    }

    /// Takes a snapshot of the counters for the trace about to be written: all values added since the last trace. The caller ensures that
    /// no thread adds meanwhile. Nothing is ever subtracted, so a reader of the spool of a killed process knows all values, with or without
    /// that trace.
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

    /// Ends the snapshot of the counters: its values are in a trace, or (if `written` is false) will go into the next trace.
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

    /// Returns the counters as of the snapshot, which belong to the trace being written.
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

    /// Adds counters `c` of several segments; `previous` is the end offset of the last one. Returns false if another thread holds the
    /// counters too long.
    pub(super) fn add(&self, c: &Counters, previous: Previous, adder: &Adder<'_>) -> bool {
        let added = self.begin(adder);
        if added {
            self.add_unsized(c, previous);
            self.sizes.iter().zip(c.sizes).filter(|(_, more)| *more != 0).for_each(|(sum, more)| add(sum, more));
            self.end(adder);
        }
        added
    }

    /// Adds counters `c` of one segment; `c.sizes` is not filled in. Call after [`Self::begin`].
    #[inline(always)]
    pub(super) fn add_one(&self, c: &Counters, previous: Previous, adder: &Adder<'_>) {
        self.add_unsized(c, previous);
        add(&self.sizes[size_bin(c.bytes)], 1);
        self.end(adder);
    }

    /// Acquires the counters exclusively for `adder` and saves their values. A single thread needs no atomic operation: signal handlers do
    /// not add.
    #[inline(always)]
    pub(super) fn begin(&self, adder: &Adder<'_>) -> bool {
        if !threads::is_single() && !self.is_had_by(adder) {
            return false;
        }
        let [segments, bytes, duration, consecutive, sequential] = &self.sums;
        let [base @ .., previous] = &self.base;
        for (base, sum) in base.iter().zip([segments, bytes, duration, consecutive, sequential]) {
            base.store(sum.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        previous.store(self.previous.load(Ordering::Relaxed) as u64, Ordering::Relaxed);
        self.adder.store(adder.number, Ordering::Release);
        // Keep the stores in this order for a reader of the spool after a kill.
        compiler_fence(Ordering::SeqCst);
        true
    }

    #[cold]
    fn is_had_by(&self, adder: &Adder<'_>) -> bool {
        let preparing = adder.number | folded::PREPARING;
        let is_had = || self.adder.compare_exchange(0, preparing, Ordering::Acquire, Ordering::Relaxed).is_ok();
        is_had()
            || (0..MOST_WAITS).any(|waited| {
                if waited < MOST_WAITS / 2 {
                    threads::give_way();
                } else {
                    threads::pause(1_000_000);
                }
                is_had()
            })
    }

    /// Releases the counters. For a reader after a kill, the segments count as added from the first store of this function on.
    #[inline(always)]
    fn end(&self, adder: &Adder<'_>) {
        adder.is_done();
        self.adder.store(0, Ordering::Release);
    }

    #[inline(always)]
    fn add_unsized(&self, c: &Counters, previous: Previous) {
        let [segments, bytes, duration, consecutive, sequential] = &self.sums;
        add(segments, c.segments);
        add(bytes, c.bytes);
        add(duration, c.duration);
        add(consecutive, c.consecutive);
        add(sequential, c.sequential);
        // Extremes rarely change, and a comparison is cheap.
        if c.max_duration > self.max_duration.load(Ordering::Relaxed) {
            self.max_duration.store(c.max_duration, Ordering::Relaxed);
        }
        if c.first_start < self.first_start.load(Ordering::Relaxed) {
            self.first_start.store(c.first_start, Ordering::Relaxed);
        }
        if c.last_end > self.last_end.load(Ordering::Relaxed) {
            self.last_end.store(c.last_end, Ordering::Relaxed);
        }
        if c.min_offset < self.min_offset.load(Ordering::Relaxed) {
            self.min_offset.store(c.min_offset, Ordering::Relaxed);
        }
        if c.max_end_offset > self.max_end_offset.load(Ordering::Relaxed) {
            self.max_end_offset.store(c.max_end_offset, Ordering::Relaxed);
        }
        self.previous.store(previous.to_raw(), Ordering::Relaxed);
        // Sizes are stored last, one at a time (`trace_format::spool`).
        compiler_fence(Ordering::SeqCst);
    }

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

/// Adds `more` to a counter that no other thread changes meanwhile.
#[inline(always)]
fn add(sum: &AtomicU64, more: u64) {
    sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Release);
}

/// Returns the extremes (minima and maxima) in the order of [`folded::TAKEN_EXTREMES`].
fn extremes(of: &Counters) -> [u64; folded::EXTREMES] {
    [of.max_duration, of.first_start, of.last_end, of.min_offset as u64, of.max_end_offset as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(counters: &Folded, c: &Counters, previous: Previous) {
        let (counted, counting) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut adder = Adder::new(0, &counted, &counting);
        assert!(counters.add(c, previous, adder.adding(5)) && counted.load(Ordering::Relaxed) == 5);
    }

    #[test]
    fn each_trace_has_what_was_added_since_the_last_one() {
        let shared = Folded::new(0);
        let add = |offset: i64, length: u64, start: u64, end: u64| {
            let (mut counters, mut previous) = (Counters::default(), Previous::default());
            counters.fold(&mut previous, offset, length, start, end);
            added(&shared, &counters, previous);
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
        let (many, ones, slots) = (Folded::new(0), Folded::new(0), [const { AtomicU64::new(0) }; 2]);
        let adder = Adder::new(0, &slots[0], &slots[1]);
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
            added(&many, &counters, previous);
            let (mut one, mut previous) = (Counters::default(), ones.previous());
            one.fold_unsized(&mut previous, offset, length, start, end);
            assert!(ones.begin(&adder));
            ones.add_one(&one, previous, &adder);
            assert_eq!((ones.read(), ones.previous()), (many.read(), many.previous()));
            let (mut counters, mut alone) = (Counters::default(), Counters::default());
            counters.fold_alone(offset, length, start, end);
            alone.fold_alone_unsized(offset, length, start, end);
            added(&many, &counters, previous);
            assert!(ones.begin(&adder));
            ones.add_one(&alone, previous, &adder);
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
                scope.spawn(|| (0..1000).for_each(|_| added(&shared, &counters, previous)));
            }
        });
        let sum = shared.read();
        assert_eq!((sum.segments, sum.bytes, sum.duration, sum.consecutive), (8000, 160_000, 24_000, 4000));
        assert_eq!((sum.first_start, sum.last_end, sum.min_offset, sum.max_end_offset), (5, 12, 10, 50));
    }
}
