//! Slot: memory for one segment (record of a call). The thread that makes the call fills the slot while other threads may read it.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use trace_format::segment::{MARKS, TAKEN};
use trace_format::{Segment, StreamId};

/// Memory for one segment (record of one call). The end time is stored last and cleared first, so that a reader that sees an end time also
/// sees the other fields.
#[repr(C, align(32))]
#[derive(Debug)]
pub(crate) struct Slot {
    offset: AtomicI64,
    word: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Slot>() == size_of::<Segment>());
    assert!(
        offset_of!(Slot, offset) == offset_of!(Segment, offset) && offset_of!(Slot, end) == offset_of!(Segment, end)
    );
    assert!(
        offset_of!(Slot, word) == offset_of!(Segment, word) && offset_of!(Slot, start) == offset_of!(Segment, start)
    );
};

impl Slot {
    /// Returns the slot at this address.
    ///
    /// # Safety
    /// `address` must be that of a slot in a chunk or scratch; slots stay mapped.
    #[inline(always)]
    pub(crate) unsafe fn at(address: usize) -> &'static Self {
        // SAFETY: the address is that of a slot, as the caller guarantees; slots are aligned and valid for any bits.
        unsafe { &*(address as *const Self) }
    }

    /// Stores a segment (record of one call) in an empty slot to which only the caller may write.
    #[inline(always)]
    pub(crate) fn fill(&self, segment: &Segment) {
        self.offset.store(segment.offset, Ordering::Relaxed);
        self.word.store(segment.word, Ordering::Relaxed);
        self.start.store(segment.start, Ordering::Relaxed);
        self.end.store(segment.end, Ordering::Release);
    }

    /// Clears the end time, which empties the slot. A fence must follow before any field of the next segment is stored (`copies.rs` of the models).
    pub(super) fn empty(&self) {
        self.end.store(0, Ordering::Release);
    }

    /// Returns the word that holds the segment's end time and its mark bits (see `marks`); 0 if the slot is empty.
    pub(crate) const fn end(&self) -> &AtomicU64 {
        &self.end
    }

    pub(super) fn is_filled(&self) -> bool {
        self.end.load(Ordering::Acquire) != 0
    }

    /// True if the segment (record of a call) in the slot is marked as taken for the trace being written.
    pub(crate) fn is_taken(&self) -> bool {
        self.end.load(Ordering::Acquire) & MARKS == TAKEN
    }

    /// Returns the segment (record of a call) in the slot, with the mark bits in its end time; `None` if the slot is empty.
    pub(crate) fn read(&self) -> Option<Segment> {
        // The end time is loaded once, since the thread may empty the slot meanwhile.
        let end = self.end.load(Ordering::Acquire);
        (end != 0).then(|| Segment { end, ..self.stored() })
    }

    /// Returns the stored fields without checking if a segment is complete. The slot must be filled, or writable only by the caller.
    #[inline]
    pub(crate) fn stored(&self) -> Segment {
        Segment {
            offset: self.offset.load(Ordering::Relaxed),
            word: self.word.load(Ordering::Relaxed),
            start: self.start.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
        }
    }

    #[inline]
    pub(super) fn stream(&self) -> StreamId {
        Segment { word: self.word.load(Ordering::Relaxed), ..Segment::default() }.stream()
    }

    /// Returns slots as plain segments.
    ///
    /// # Safety
    /// All calls in the slots must be finished, and no slot may be written, emptied or marked while the segments are borrowed.
    pub(crate) const unsafe fn at_rest(slots: &[Self]) -> &[Segment] {
        // SAFETY: slots and segments have the same layout, as asserted above; the slots do not change, as the caller guarantees.
        unsafe { std::slice::from_raw_parts(slots.as_ptr().cast(), slots.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_a_segment_once_its_end_is_there() {
        let slot = |end| Slot { offset: 3.into(), word: 4.into(), start: 5.into(), end: AtomicU64::new(end) };
        assert!(slot(0).read().is_none() && !slot(0).is_filled());
        let whole = Segment { offset: 3, word: 4, start: 5, end: 6 };
        assert_eq!(slot(6).read(), Some(whole));
        assert!(slot(6 | TAKEN).is_taken() && !slot(6).is_taken());
        let both = [slot(6), slot(6)];
        let empty = slot(0);
        empty.fill(&whole);
        assert_eq!((empty.stored(), empty.stream()), (whole, whole.stream()));
        empty.empty();
        assert!(empty.read().is_none());
        // SAFETY: the slot is local to this test.
        assert_eq!(unsafe { Slot::at_rest(&both) }, [whole, whole]);
    }
}
