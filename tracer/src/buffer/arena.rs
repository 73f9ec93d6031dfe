//! The arena: `DXT_BUFFER_MAX` bytes of address space, committed page by page as it is written. Chunks are cut from it
//! with one atomic add and then belong to one thread.
//!
//! A chunk begins with a header of one segment's size, so the arena describes itself: it can be walked from its start
//! by whoever can see it, without the tracer's other tables.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use crate::memory;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use trace_format::Segment;

/// First chunk of a thread, in bytes: a thread that does little costs little.
pub(crate) const FIRST_CHUNK_BYTES: u32 = 2 << 10;
/// Largest chunk, in bytes.
const LARGEST_CHUNK_BYTES: u32 = 64 << 10;
/// Marks a chunk header.
const CHUNK_MAGIC: u64 = u64::from_le_bytes(*b"DXTchunk");

/// Header of a chunk; as large as a segment, so that segments stay aligned.
#[repr(C, align(32))]
struct Header {
    magic: AtomicU64,
    /// Index of the owning thread.
    thread: AtomicU32,
    /// Size of the chunk in bytes, this header included.
    bytes: AtomicU32,
}

const HEADER_BYTES: usize = size_of::<Segment>();
const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

/// A chunk as it lies in the arena.
pub(crate) struct Chunk {
    /// Index of the owning thread.
    pub(crate) thread: u32,
    /// Its slots; those with an end of zero are not filled.
    pub(crate) slots: &'static [Segment],
}

/// The arena.
pub(crate) struct Arena {
    start: AtomicPtr<u8>,
    capacity: AtomicUsize,
    used: AtomicUsize,
}

impl Arena {
    /// An arena without memory.
    pub(crate) const fn new() -> Self {
        Self { start: AtomicPtr::new(std::ptr::null_mut()), capacity: AtomicUsize::new(0), used: AtomicUsize::new(0) }
    }

    /// Reserves `capacity` bytes; false if the system refuses.
    pub(crate) fn prepare(&self, capacity: usize) -> bool {
        let start = memory::reserve(capacity);
        if start.is_null() {
            return false;
        }
        self.start.store(start, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Release);
        true
    }

    /// Cuts a chunk for `thread`, twice the size of its last one; returns (first slot, behind last slot, bytes), or
    /// `None` when the arena is full.
    pub(crate) fn cut(&self, thread: u32, last_bytes: u32) -> Option<(usize, usize, u32)> {
        let wanted = (last_bytes * 2).clamp(FIRST_CHUNK_BYTES, LARGEST_CHUNK_BYTES) as usize;
        let capacity = self.capacity.load(Ordering::Acquire);
        let mut bytes = wanted;
        let at = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
            // The last chunk is what is left, in whole slots.
            bytes = wanted.min((capacity - used) & !(HEADER_BYTES - 1));
            (bytes >= 2 * HEADER_BYTES).then_some(used + bytes)
        });
        let at = at.ok()?;
        // SAFETY: inside the reservation.
        let chunk = unsafe { self.start.load(Ordering::Relaxed).add(at) };
        // SAFETY: aligned (page start plus whole slots), given to this call alone, atomics.
        let header = unsafe { &*chunk.cast::<Header>() };
        header.thread.store(thread, Ordering::Relaxed);
        header.bytes.store(bytes as u32, Ordering::Relaxed);
        header.magic.store(CHUNK_MAGIC, Ordering::Release);
        Some((chunk as usize + HEADER_BYTES, chunk as usize + bytes, bytes as u32))
    }

    /// Walks the chunks in the order in which they were cut.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Chunk> {
        let start = self.start.load(Ordering::Relaxed);
        let used = self.used.load(Ordering::Acquire);
        let mut at = 0;
        std::iter::from_fn(move || {
            while at + HEADER_BYTES <= used {
                // SAFETY: inside the reservation.
                let chunk = unsafe { start.add(at) };
                // SAFETY: aligned and mapped; atomics, valid for any bits.
                let header = unsafe { &*chunk.cast::<Header>() };
                let bytes = header.bytes.load(Ordering::Relaxed) as usize;
                if header.magic.load(Ordering::Acquire) != CHUNK_MAGIC || bytes < HEADER_BYTES || at + bytes > used {
                    // Cut by a thread that has not come to write its header: nothing is in it yet.
                    at += HEADER_BYTES;
                    continue;
                }
                at += bytes;
                // SAFETY: inside the chunk.
                let first = unsafe { chunk.add(HEADER_BYTES) }.cast::<Segment>();
                let count = (bytes - HEADER_BYTES) / size_of::<Segment>();
                // SAFETY: mapped, aligned, valid for any bits. A thread that still runs may be writing a slot, which then
                // has an end of zero and is left out.
                let slots = unsafe { std::slice::from_raw_parts(first, count) };
                return Some(Chunk { thread: header.thread.load(Ordering::Relaxed), slots });
            }
            None
        })
    }

    /// Forgets all chunks. No thread may hold one: for a forked child, and after a flush.
    pub(crate) fn clear(&self) {
        let used = self.used.swap(0, Ordering::AcqRel);
        if used > 0 {
            memory::clear(self.start.load(Ordering::Relaxed), used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_double_up_to_the_cap_and_the_rest_is_used() {
        let arena = Arena::new();
        assert!(arena.cut(0, 0).is_none());
        assert!(arena.prepare(200 << 10));
        let (mut last, mut sizes) = (0, Vec::new());
        while let Some((first, end, bytes)) = arena.cut(7, last) {
            assert_eq!((end - first, first % 32), (bytes as usize - 32, 0));
            sizes.push(bytes >> 10);
            last = bytes;
        }
        assert_eq!(sizes, [2, 4, 8, 16, 32, 64, 64, 10]);
        let slots: usize = arena.chunks().map(|chunk| chunk.slots.len()).sum();
        assert_eq!(slots, (200 << 10) / 32 - sizes.len());
        assert!(arena.chunks().all(|chunk| chunk.thread == 7));
        arena.clear();
        assert_eq!(arena.chunks().count(), 0);
        assert!(arena.cut(0, 0).is_some());
    }
}
