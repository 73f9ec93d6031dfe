//! Where the segments of one thread wait to be folded in counters mode: laid out as a scratch of `trace_format::spool`, so that it can
//! lie in the spool. It always says which of its segments are in the counters: whoever kills the process, or looks at the spool while
//! it runs, finds each call in a slot or in the counters, and knows which ones may be in both.
#![expect(unsafe_code, reason = "a record of zeros that is valid")]

use super::SLOTS;
use crate::buffer::Slot;
use crate::memory::{Record, Table};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::spool::scratch;
use trace_format::{Segment, StreamId};

/// Slots of one thread.
#[repr(C, align(32))]
pub(super) struct Waiting {
    /// Number of the thread in the spool.
    thread: AtomicU32,
    /// 1 while a fold is under way.
    folded: AtomicU32,
    /// Then: a bit for each slot that is in the counters, and for each of the stream that was last begun to be added to them.
    counted: AtomicU64,
    counting: AtomicU64,
    unused: u64,
    slots: [Slot; SLOTS],
}

const _: () = {
    use std::mem::offset_of;
    assert!(SLOTS == scratch::SLOTS && SLOTS == u64::BITS as usize);
    assert!(size_of::<Waiting>() == scratch::BYTES && offset_of!(Waiting, slots) == scratch::FIRST);
    assert!(offset_of!(Waiting, thread) == scratch::THREAD && offset_of!(Waiting, folded) == scratch::FOLDED);
    assert!(offset_of!(Waiting, counted) == scratch::COUNTED && offset_of!(Waiting, counting) == scratch::COUNTING);
};

// SAFETY: slots that are not filled, of the first thread; readers of the spool find it so too.
unsafe impl Record for Waiting {
    const VALID_WHEN_ZERO: bool = true;
}

/// Those of all threads.
pub(super) static WAITING: Table<Waiting> = Table::new();

impl Waiting {
    /// New ones; `None` if there is no room.
    pub(super) fn new() -> Option<&'static Self> {
        let waiting = WAITING.push_zeroed()?;
        waiting.thread.store(WAITING.index_of(waiting) as u32, Ordering::Relaxed);
        Some(waiting)
    }

    /// Number of the thread in the spool.
    pub(super) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
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

    /// These slots are about to be added to the counters, `counted` ones have been.
    pub(super) fn adding(&self, members: u64, counted: u64) {
        // In this order: nothing is said to be counted, or to be certain, that is not.
        self.counted.store(counted, Ordering::Release);
        self.counting.store(members, Ordering::Release);
        self.folded.store(1, Ordering::Release);
    }

    /// The fold is over: `members` are counted, and their slots are free.
    pub(super) fn empty(&self, members: u64) {
        self.counted.store(members, Ordering::Release);
        for (_, slot) in self.nearly_all(members) {
            slot.empty();
        }
        // Whoever sees any of the next segment in a slot sees that slot emptied before (`copies.rs` of the models).
        fence(Ordering::Release);
        self.folded.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_is_emptied_and_nothing_else() {
        WAITING.prepare(64);
        let waiting = Waiting::new().unwrap();
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
