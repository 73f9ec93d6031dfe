//! A scratch: where segments of one thread wait to be folded, in counters mode all of them. Laid out as `trace_format::spool` says, so that
//! it can lie in the spool. It always says which of its segments are in the counters, and the counters what is being added to them:
//! whoever kills the process finds each call in a slot or in the counters.
#![expect(unsafe_code, reason = "a record of zeros that is valid")]

use super::marks::Change;
use super::slot::Slot;
use crate::memory::{Record, Table};
use crate::registry::Adder;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::spool::scratch;
use trace_format::{Segment, StreamId};

/// Slots of a scratch: with its header it takes 2 KiB and a little.
pub(super) const SLOTS: usize = scratch::SLOTS;
/// Index of the last one, which is spare, as in the arena's chunks.
pub(super) const SPARE: usize = SLOTS - 1;

/// A scratch.
#[repr(C, align(32))]
pub(crate) struct Scratch {
    /// Number of the thread in the spool.
    thread: AtomicU32,
    unused: u32,
    /// While a fold is under way: a bit for each slot that is in the counters, and for each that was last begun to be added to them.
    counted: AtomicU64,
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

// SAFETY: slots that are not filled, of the first thread; readers of the spool find it so too.
unsafe impl Record for Scratch {
    const VALID_WHEN_ZERO: bool = true;
}

/// Those of all threads.
pub(crate) static SCRATCHES: Table<Scratch> = Table::new();

impl Scratch {
    /// A new one of this thread, or of one that has its number; `None` if there is no room.
    pub(super) fn new(thread: Option<u32>) -> Option<&'static Self> {
        let scratch = SCRATCHES.push_zeroed()?;
        scratch.thread.store(thread.unwrap_or(SCRATCHES.index_of(scratch) as u32), Ordering::Relaxed);
        Some(scratch)
    }

    /// Number of the thread in the spool.
    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// The slots.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether segments in it wait for their trace to be written.
    pub(super) fn is_held(&self) -> bool {
        self.slots.iter().any(Slot::is_taken)
    }

    /// Changes the marks of its segments.
    pub(super) fn mark(&self, change: Change) {
        self.slots.iter().for_each(|slot| change.slot(slot.end()));
    }

    /// Address of the first slot.
    pub(super) fn first(&self) -> usize {
        self.slots.as_ptr().addr()
    }

    /// A bit for each slot that is filled. Those stay as they are until whoever folds them, one at a time, empties them.
    pub(super) fn filled(&self) -> u64 {
        // Mostly all before one are.
        let first = self.slots.iter().take_while(|slot| slot.is_filled()).count();
        let behind = self.slots.iter().enumerate().skip(first).filter(|(_, slot)| slot.is_filled());
        behind.fold(u64::MAX.checked_shr((SLOTS - first) as u32).unwrap_or(0), |all, (at, _)| all | 1 << at)
    }

    /// Whether the first `count` slots are filled.
    pub(super) fn has_filled(&self, count: usize) -> bool {
        self.slots.iter().take(count).all(Slot::is_filled)
    }

    /// Slots and their bits.
    fn those(&self, mut members: u64) -> impl Iterator<Item = (u64, &Slot)> {
        std::iter::from_fn(move || {
            let at = members.trailing_zeros();
            let slot = self.slots.get(at as usize)?;
            members &= members - 1;
            Some((1 << at, slot))
        })
    }

    /// The streams of filled slots, with their bits.
    pub(super) fn streams(&self, members: u64) -> impl Iterator<Item = (u64, StreamId)> {
        self.nearly_all(members).map(|(at, slot)| (1 << at, slot.stream()))
    }

    /// As [`Self::those`], with their places; faster where most are wanted.
    fn nearly_all(&self, members: u64) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(move |(at, _)| members >> at & 1 != 0)
    }

    /// The segments of filled slots, with their bits.
    pub(super) fn segments(&self, members: u64) -> impl Iterator<Item = (u64, Segment)> {
        self.those(members).map(|(bit, slot)| (bit, slot.stored()))
    }

    /// Those of the `members` that no fold has counted.
    pub(super) fn uncounted(&self, members: u64) -> u64 {
        members & !self.counted.load(Ordering::Acquire)
    }

    /// A fold begins.
    pub(super) fn adder(&self) -> Adder<'_> {
        Adder::new(SCRATCHES.index_of(self), &self.counted, &self.counting)
    }

    /// The fold is over: `members` are counted, and their slots are free.
    pub(super) fn empty(&self, members: u64) {
        for (_, slot) in self.nearly_all(members) {
            slot.empty();
        }
        // Whoever sees any of the next segment in a slot sees that slot emptied before (`copies.rs` of the models).
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
        // Its thread goes on meanwhile.
        fill(6);
        waiting.empty(filled);
        assert_eq!(waiting.filled(), 1 << 6);
    }
}
