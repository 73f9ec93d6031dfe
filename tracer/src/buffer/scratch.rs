//! Scratch: slots for segments of one thread that wait to be folded into counters (in counters mode, all segments of the thread). May lie
//! in the spool, so `trace_format::spool` defines the layout. The scratch records which of its segments are in the counters, and the
//! counters record the additions in progress. So if the process is killed, a reader finds each call either in a slot or in the counters.
#![expect(unsafe_code, reason = "a record of zeros that is valid")]

use super::marks::Change;
use super::slot::Slot;
use crate::memory::{Record, Table};
use crate::registry::Adder;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::spool::scratch;
use trace_format::{Segment, StreamId};

/// Number of segment slots in a scratch, which takes just over 2 KiB with its header.
pub(super) const SLOTS: usize = scratch::SLOTS;
/// Index of the spare slot of a scratch (buffer of segments to be counted), the last one: only a call interrupted by a signal handler may
/// write to it.
pub(super) const SPARE: usize = SLOTS - 1;

/// Slots for segments of one thread that wait to be folded into counters.
#[repr(C, align(32))]
pub(crate) struct Scratch {
    /// Index of the thread whose segments the scratch holds, in the list of threads of the spool (file that survives a kill).
    thread: AtomicU32,
    unused: u32,
    /// Bit mask of the slots whose segments are in the counters already.
    counted: AtomicU64,
    /// Bit mask of the slots whose segments are being added to counters.
    counting: AtomicU64,
    unused_too: u64,
    slots: [Slot; SLOTS],
}

const _: () = {
    use std::mem::offset_of;
    assert!(SLOTS == u64::BITS as usize && offset_of!(Scratch, thread) == scratch::THREAD);
    assert!(size_of::<Scratch>() == scratch::BYTES && offset_of!(Scratch, slots) == scratch::FIRST);
    assert!(offset_of!(Scratch, counted) == scratch::COUNTED && offset_of!(Scratch, counting) == scratch::COUNTING);
};

// SAFETY: an all-zero scratch has empty slots and belongs to the first thread, also for readers of the spool.
unsafe impl Record for Scratch {
    const VALID_WHEN_ZERO: bool = true;
}

/// Scratches of all threads: slots whose segments wait to be folded into counters.
pub(crate) static SCRATCHES: Table<Scratch> = Table::new();

impl Scratch {
    /// Creates a scratch (buffer of segments to be counted). `thread`: index of the scratch's thread, or `None` to use the scratch's own
    /// index. Returns `None` if the table is full.
    pub(super) fn new(thread: Option<u32>) -> Option<&'static Self> {
        let scratch = SCRATCHES.push_zeroed()?;
        scratch.thread.store(thread.unwrap_or(SCRATCHES.index_of(scratch) as u32), Ordering::Relaxed);
        Some(scratch)
    }

    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// True if segments in the scratch (buffer of segments to be counted) are marked as taken for a trace being written.
    pub(super) fn is_held(&self) -> bool {
        self.slots.iter().any(Slot::is_taken)
    }

    pub(super) fn mark(&self, change: Change) {
        self.slots.iter().for_each(|slot| change.slot(slot.end()));
    }

    pub(super) fn first(&self) -> usize {
        self.slots.as_ptr().addr()
    }

    /// Returns the bit mask of the slots that hold a segment. Slots stay filled until the thread that folds them (one at a time) empties
    /// them.
    pub(super) fn filled(&self) -> u64 {
        // Usually all filled slots come first.
        let first = self.slots.iter().take_while(|slot| slot.is_filled()).count();
        let behind = self.slots.iter().enumerate().skip(first).filter(|(_, slot)| slot.is_filled());
        behind.fold(u64::MAX.checked_shr((SLOTS - first) as u32).unwrap_or(0), |all, (at, _)| all | 1 << at)
    }

    /// True if each of the first `count` slots holds a segment.
    pub(super) fn has_filled(&self, count: usize) -> bool {
        self.slots.iter().take(count).all(Slot::is_filled)
    }

    /// Returns the slots in the bit mask `members`, each with its bit in the mask.
    fn those(&self, mut members: u64) -> impl Iterator<Item = (u64, &Slot)> {
        std::iter::from_fn(move || {
            let at = members.trailing_zeros();
            let slot = self.slots.get(at as usize)?;
            members &= members - 1;
            Some((1 << at, slot))
        })
    }

    /// Returns the stream (file and operation) of each slot in the bit mask `members`, with the slot's bit. The slots must be filled.
    pub(super) fn streams(&self, members: u64) -> impl Iterator<Item = (u64, StreamId)> {
        self.nearly_all(members).map(|(at, slot)| (1 << at, slot.stream()))
    }

    /// Returns the slots in the bit mask `members` with their indices. Faster than [`Self::those`] if most bits are set.
    fn nearly_all(&self, members: u64) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(move |(at, _)| members >> at & 1 != 0)
    }

    /// Returns the segment of each slot in the bit mask `members`, with the slot's bit. The slots must be filled.
    pub(super) fn segments(&self, members: u64) -> impl Iterator<Item = (u64, Segment)> {
        self.those(members).map(|(bit, slot)| (bit, slot.stored()))
    }

    /// Returns the bit mask of the slots in `members` whose segments are not in the counters yet.
    pub(super) fn uncounted(&self, members: u64) -> u64 {
        members & !self.counted.load(Ordering::Acquire)
    }

    /// Returns the [`Adder`], by which segments of this scratch are added to counters.
    pub(super) fn adder(&self) -> Adder<'_> {
        Adder::new(SCRATCHES.index_of(self), &self.counted, &self.counting)
    }

    /// Frees the slots in the bit mask `members`, whose segments have been added to counters.
    pub(super) fn empty(&self, members: u64) {
        for (_, slot) in self.nearly_all(members) {
            slot.empty();
        }
        // A reader that sees any field of a slot's next segment then also sees that the slot was emptied (`copies.rs` of the models).
        fence(Ordering::Release);
        self.counted.store(0, Ordering::Release);
        self.counting.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_is_emptied_and_nothing_else() {
        SCRATCHES.prepare(64);
        let waiting = Scratch::new(None).unwrap();
        let fill = |at: usize| waiting.slots[at].fill(&Segment { end: at as u64 + 1, ..Segment::default() });
        [0, 5, 63].into_iter().for_each(fill);
        let filled = waiting.filled();
        assert_eq!(filled, 1 | 1 << 5 | 1 << 63);
        assert_eq!(waiting.segments(filled).map(|(_, segment)| segment.end).collect::<Vec<_>>(), [1, 6, 64]);
        // The thread continues meanwhile.
        fill(6);
        waiting.empty(filled);
        assert_eq!(waiting.filled(), 1 << 6);
    }
}
