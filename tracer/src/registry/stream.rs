//! Streams by (file, operation, flags, error number), and the counters of segments that have no place on record.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::file::File;
use crate::memory::Table;
use crate::ops::{FREQUENT, Op};
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};
use trace_format::counters::{Counters, Previous, SIZE_BINS};
use trace_format::meta::stream_flags;
use trace_format::segment::{MAX_STREAMS, StreamId};

/// A stream. Made once, never changed but for its counters.
pub(crate) struct Stream {
    /// Its id: index in the table.
    pub(crate) id: AtomicU64,
    /// Its file.
    pub(crate) file: &'static File,
    /// Operation code.
    pub(crate) op: u16,
    /// Bits of [`stream_flags`].
    pub(crate) flags: u8,
    /// Error number of a failed stream.
    pub(crate) errno: u16,
    /// Counters of what was folded; null while nothing was.
    counters: AtomicPtr<Folded>,
    /// Next stream of the file.
    next: *const Stream,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for Stream {}

static STREAMS: Table<Stream> = Table::new();
static FOLDED: Table<Folded> = Table::new();

/// Takes address space for `streams` streams.
pub(super) fn prepare(streams: usize) {
    let streams = streams.min(MAX_STREAMS as usize);
    STREAMS.prepare(streams);
    FOLDED.prepare(streams);
}

/// All streams, by id.
pub(crate) fn streams() -> impl Iterator<Item = (u32, &'static Stream)> {
    STREAMS.iter().enumerate().map(|(id, stream)| (id as u32, stream))
}

/// The stream with this id.
pub(crate) fn by_id(id: StreamId) -> Option<&'static Stream> {
    STREAMS.get(id.0 as usize)
}

/// Id of the stream of `op` on `file`; `None` when the table is full.
#[inline(always)]
pub(crate) fn id_of(file: &'static File, op: &'static Op, nested: bool) -> Option<StreamId> {
    if let Some(place) = op.frequent() {
        let id = file.frequent[usize::from(place) + if nested { FREQUENT } else { 0 }].load(Ordering::Relaxed);
        if id != 0 {
            return Some(StreamId(id - 1));
        }
    }
    find_or_add(file, op, nested)
}

#[cold]
fn find_or_add(file: &'static File, op: &'static Op, nested: bool) -> Option<StreamId> {
    let flags = if nested { stream_flags::NESTED } else { 0 };
    loop {
        let head = file.streams.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: the list holds null or pointers to records that were written before they were linked.
        while let Some(stream) = unsafe { at.as_ref() } {
            if (stream.op, stream.flags, stream.errno) == (op.code(), flags, 0) {
                let id = stream.id.load(Ordering::Acquire) as u32;
                if let Some(place) = op.frequent() {
                    let place = usize::from(place) + if nested { FREQUENT } else { 0 };
                    file.frequent[place].store(id + 1, Ordering::Relaxed);
                }
                return Some(StreamId(id));
            }
            at = stream.next;
        }
        let (id, stream) = STREAMS.push(Stream {
            id: AtomicU64::new(0),
            file,
            op: op.code(),
            flags,
            errno: 0,
            counters: AtomicPtr::new(std::ptr::null_mut()),
            next: head,
        })?;
        stream.id.store(id as u64, Ordering::Release);
        let new = std::ptr::from_ref(stream).cast_mut();
        // A thread that loses the exchange leaves an unused record behind and finds the winner's on the next turn.
        let _ = file.streams.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Empties the counters of every stream: in a forked child, and after a flush.
pub(crate) fn forget_counts() {
    for (_, stream) in streams() {
        stream.counters.store(std::ptr::null_mut(), Ordering::Release);
    }
}

impl Stream {
    /// Adds what was folded by one thread; `previous` is where its last segment ended.
    pub(crate) fn add(&self, counters: &Counters, previous: Previous) -> bool {
        let mut folded = self.counters.load(Ordering::Acquire);
        if folded.is_null() {
            let Some((_, new)) = FOLDED.push(Folded::new()) else { return false };
            let new = std::ptr::from_ref(new).cast_mut();
            folded =
                match self.counters.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => new,
                    Err(first) => first,
                };
        }
        // SAFETY: points to a record of the table, which is never moved.
        unsafe { &*folded }.add(counters, previous);
        true
    }

    /// Where the last folded segment ended.
    pub(crate) fn previous(&self) -> Previous {
        // SAFETY: null or a record of the table.
        let folded = unsafe { self.counters.load(Ordering::Acquire).as_ref() };
        folded.map_or_else(Previous::default, |folded| Previous::from_raw(folded.previous.load(Ordering::Relaxed)))
    }

    /// What was folded so far; times in ticks.
    pub(crate) fn folded(&self) -> Option<Counters> {
        // SAFETY: null or a record of the table.
        unsafe { self.counters.load(Ordering::Acquire).as_ref() }.map(Folded::read)
    }
}

/// [`Counters`] that many threads add to. Sums are exact; `previous` is whoever came last.
struct Folded {
    sums: [AtomicU64; 5],
    max_duration: AtomicU64,
    first_start: AtomicU64,
    last_end: AtomicU64,
    min_offset: AtomicI64,
    max_end_offset: AtomicI64,
    sizes: [AtomicU64; SIZE_BINS],
    previous: AtomicI64,
}

impl Folded {
    fn new() -> Self {
        let empty = Counters::default();
        Self {
            sums: [const { AtomicU64::new(0) }; 5],
            max_duration: AtomicU64::new(empty.max_duration),
            first_start: AtomicU64::new(empty.first_start),
            last_end: AtomicU64::new(empty.last_end),
            min_offset: AtomicI64::new(empty.min_offset),
            max_end_offset: AtomicI64::new(empty.max_end_offset),
            sizes: [const { AtomicU64::new(0) }; SIZE_BINS],
            previous: AtomicI64::new(Previous::default().to_raw()),
        }
    }

    fn add(&self, c: &Counters, previous: Previous) {
        let sums = [c.segments, c.bytes, c.duration, c.consecutive, c.sequential];
        for (sum, more) in self.sums.iter().zip(sums).chain(self.sizes.iter().zip(c.sizes)) {
            if more != 0 {
                sum.fetch_add(more, Ordering::Relaxed);
            }
        }
        self.max_duration.fetch_max(c.max_duration, Ordering::Relaxed);
        self.first_start.fetch_min(c.first_start, Ordering::Relaxed);
        self.last_end.fetch_max(c.last_end, Ordering::Relaxed);
        self.min_offset.fetch_min(c.min_offset, Ordering::Relaxed);
        self.max_end_offset.fetch_max(c.max_end_offset, Ordering::Relaxed);
        self.previous.store(previous.to_raw(), Ordering::Relaxed);
    }

    fn read(&self) -> Counters {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_by_many_threads_loses_nothing() {
        let folded = Folded::new();
        let (mut counters, mut previous) = (Counters::default(), Previous::default());
        counters.fold(&mut previous, 10, 20, 5, 9);
        counters.fold(&mut previous, 30, 20, 10, 12);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| folded.add(&counters, previous)));
            }
        });
        let sum = folded.read();
        assert_eq!((sum.segments, sum.bytes, sum.duration, sum.consecutive), (8000, 160_000, 24_000, 4000));
        assert_eq!((sum.first_start, sum.last_end, sum.min_offset, sum.max_end_offset), (5, 12, 10, 50));
    }
}
