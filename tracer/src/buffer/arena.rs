//! The arena: `DXT_BUFFER_MAX` bytes of address space for segments, committed page by page when written. Threads cut chunks from the arena
//! with one atomic add. A chunk belongs to one thread until full; then any thread that needs space may pack it. Each chunk begins with a
//! header of a segment's size, so that a reader can walk the arena from its start without other tables.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::chunk::{Chunk, HEADER_BYTES, Header, State};
use crate::memory::{Area, Lent};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of a thread's first chunk (memory for its segments), in bytes: small, since many threads make few calls.
pub(crate) const FIRST_CHUNK_BYTES: u32 = 2 << 10;
/// Maximum size of a chunk (piece of the arena that one thread fills with segments), in bytes.
const LARGEST_CHUNK_BYTES: u32 = 64 << 10;

/// Memory for segments (records of calls), divided into chunks, each filled by one thread.
pub(crate) struct Arena {
    area: Area,
    /// Number of full chunks (pieces of the arena) whose segments are not yet packed (encoded in memory).
    full: AtomicUsize,
    /// Offset in the arena at which the search for a full chunk (piece that a thread has filled) continues.
    next: AtomicUsize,
    /// Address of the first slot (space for one segment) of the chunk that collects packed (encoded) blocks, or 0.
    pub(super) takes: AtomicUsize,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self { area: Area::new(), full: AtomicUsize::new(0), next: AtomicUsize::new(0), takes: AtomicUsize::new(0) }
    }

    /// Reserves `capacity` bytes of address space for the arena (memory for segments); returns false if the system refuses.
    pub(crate) fn prepare(&'static self, capacity: usize) -> bool {
        self.area.prepare(capacity)
    }

    /// Moves the arena (memory for segments) into `part`, a part of the spool.
    ///
    /// # Safety
    /// No chunk may have been allocated yet. `part` must stay mapped as long as the arena may be used.
    pub(crate) unsafe fn lend(&'static self, part: Lent) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.area.lend(part) };
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
        let start = self.area.start().addr();
        start != 0 && (start..start + self.area.used()).contains(&address)
    }

    /// Commits the memory of the whole arena now, because system calls are impossible later (seccomp).
    pub(crate) fn back_ahead(&self) {
        self.area.back_ahead(usize::MAX);
    }

    /// Allocates a chunk of twice the size of the thread's last chunk (`last_bytes`); returns `None` if the arena is full.
    pub(crate) fn cut(&self, last_bytes: u32) -> Option<Chunk> {
        let wanted = (last_bytes * 2).clamp(FIRST_CHUNK_BYTES, LARGEST_CHUNK_BYTES) as usize;
        let mut bytes = wanted;
        let at = self.area.take(|left| {
            // The last chunk gets the remainder of the arena, in whole slots.
            bytes = wanted.min(left & !(HEADER_BYTES - 1));
            (bytes >= 2 * HEADER_BYTES).then_some(bytes)
        });
        let header = self.header(at?);
        Some(Chunk::cut(header, bytes as u32))
    }

    /// Marks a full chunk as available for packing (encoding in memory).
    pub(crate) fn filled(&self, chunk: Chunk) {
        chunk.set_state(State::Full);
        self.full.fetch_add(1, Ordering::Release);
    }

    /// Claims a full chunk for packing (encoding in memory); returns `None` if there is none.
    pub(crate) fn claim_full(&self) -> Option<Chunk> {
        self.full.fetch_update(Ordering::AcqRel, Ordering::Acquire, |full| full.checked_sub(1)).ok()?;
        // The counter `full` promises one chunk. Two rounds find it, unless other threads keep claiming the chunks found.
        let mut at = self.next.load(Ordering::Relaxed);
        for _ in 0..2 {
            for (offset, chunk) in self.from(at) {
                if chunk.is_complete() && chunk.change_state(State::Full, State::Packing) {
                    self.next.store(offset + chunk.bytes(), Ordering::Relaxed);
                    return Some(chunk);
                }
            }
            at = 0;
        }
        self.full.fetch_add(1, Ordering::Release);
        None
    }

    /// Returns all chunks (pieces of the arena, each filled by one thread) in address order.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Chunk> {
        self.from(0).map(|(_, chunk)| chunk)
    }

    fn header(&self, at: usize) -> &'static Header {
        // SAFETY: `at` lies inside the reservation: callers have checked it against `used`.
        let header = unsafe { self.area.start().add(at) };
        // SAFETY: the header is aligned (page start plus whole slots) and mapped for good; its fields are atomics, valid for any bits.
        unsafe { &*header.cast::<Header>() }
    }

    /// Returns the chunks (each a thread's memory for segments) from offset `at` of the arena on, each with its offset. `at` must be the
    /// start of a chunk.
    fn from(&self, mut at: usize) -> impl Iterator<Item = (usize, Chunk)> {
        let used = self.area.used();
        std::iter::from_fn(move || {
            while at + HEADER_BYTES <= used {
                let here = at;
                match Chunk::at(self.header(here), used - here) {
                    Some(chunk) => {
                        at += chunk.bytes();
                        return Some((here, chunk));
                    }
                    // A thread has cut this chunk but not yet written the header: the chunk is still empty.
                    None => at += HEADER_BYTES,
                }
            }
            None
        })
    }

    /// Discards all chunks (threads' memory for segments). Called in a forked child.
    ///
    /// # Safety
    /// No thread may hold a chunk.
    pub(crate) unsafe fn clear(&self) {
        self.full.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
        self.takes.store(0, Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { self.area.forget() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::Segment;

    #[test]
    fn chunks_double_up_to_the_cap_and_the_rest_is_used() {
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        assert!(arena.cut(0).is_none());
        assert!(arena.prepare(200 << 10));
        let (mut last, mut sizes) = (0, Vec::new());
        while let Some(chunk) = arena.cut(last) {
            chunk.give(7, sizes.len() as u32);
            assert_eq!(chunk.end() - chunk.first(), chunk.bytes() - 32);
            assert_eq!(chunk.first() % 32, 0);
            last = chunk.bytes() as u32;
            sizes.push(last >> 10);
        }
        assert_eq!(sizes, [2, 4, 8, 16, 32, 64, 64, 10]);
        let slots: usize = arena.chunks().map(|chunk| chunk.slots().len()).sum();
        assert_eq!(slots, (200 << 10) / 32 - sizes.len());
        assert!(arena.chunks().all(|chunk| chunk.owner().0 == 7));
        // SAFETY: the arena is local to this test.
        unsafe { arena.clear() };
        assert_eq!(arena.chunks().count(), 0);
        assert!(arena.cut(0).is_some());
    }

    #[test]
    fn every_full_chunk_is_claimed_once() {
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        assert!(arena.prepare(1 << 20));
        let chunks: Vec<Chunk> = std::iter::from_fn(|| arena.cut(64 << 10)).collect();
        assert!(arena.claim_full().is_none());
        chunks.iter().for_each(|chunk| arena.filled(*chunk));
        assert!(arena.claim_full().is_none(), "their slots are taken, and not filled");
        chunks.iter().for_each(|chunk| chunk.fill(Segment { end: 1, ..Segment::default() }));
        let claimed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| std::iter::from_fn(|| arena.claim_full()).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(claimed, chunks.len());
    }
}
