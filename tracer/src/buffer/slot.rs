//! The place of a segment: its thread fills it while others may look.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use trace_format::segment::{MARKS, TAKEN};
use trace_format::{Segment, StreamId};

/// A slot. Its end is stored last and emptied first, so whoever finds one there has the rest.
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
    /// The slot at this address.
    ///
    /// # Safety
    /// It is one of a chunk or scratch, which are never unmapped.
    #[inline(always)]
    pub(crate) unsafe fn at(address: usize) -> &'static Self {
        // SAFETY: as the caller says; aligned, and valid for any bits.
        unsafe { &*(address as *const Self) }
    }

    /// Stores a segment; the slot is empty and the caller's alone.
    #[inline(always)]
    pub(crate) fn fill(&self, segment: &Segment) {
        self.offset.store(segment.offset, Ordering::Relaxed);
        self.word.store(segment.word, Ordering::Relaxed);
        self.start.store(segment.start, Ordering::Relaxed);
        // The end comes last, so that whoever sees it sees the rest.
        self.end.store(segment.end, Ordering::Release);
    }

    /// Empties it: its end goes first. Before any of the next segment is stored there is to be a fence (`copies.rs` of the models).
    pub(super) fn empty(&self) {
        self.end.store(0, Ordering::Release);
    }

    /// The end of its segment, with the marks; 0 while there is none.
    pub(crate) const fn end(&self) -> &AtomicU64 {
        &self.end
    }

    /// Whether it has its segment.
    pub(super) fn is_filled(&self) -> bool {
        self.end.load(Ordering::Acquire) != 0
    }

    /// Whether its segment belongs to the trace that is being written.
    pub(crate) fn is_taken(&self) -> bool {
        self.end.load(Ordering::Acquire) & MARKS == TAKEN
    }

    /// Its segment with the marks, if it has one.
    pub(crate) fn read(&self) -> Option<Segment> {
        // The end is looked at once: its thread may take the segment back meanwhile.
        let end = self.end.load(Ordering::Acquire);
        (end != 0).then(|| Segment { end, ..self.stored() })
    }

    /// What was stored in it, of a slot that is known to be filled, or is the caller's alone.
    #[inline]
    pub(crate) fn stored(&self) -> Segment {
        Segment {
            offset: self.offset.load(Ordering::Relaxed),
            word: self.word.load(Ordering::Relaxed),
            start: self.start.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
        }
    }

    /// The stream of what was stored in it.
    #[inline]
    pub(super) fn stream(&self) -> StreamId {
        Segment { word: self.word.load(Ordering::Relaxed), ..Segment::default() }.stream()
    }

    /// Slots that nobody writes, as what is in them.
    ///
    /// # Safety
    /// All calls in them are over, and none of them is emptied or marked as long as the segments are looked at.
    pub(crate) const unsafe fn at_rest(slots: &[Self]) -> &[Segment] {
        // SAFETY: of the same layout, as asserted above; unchanged, as the caller says.
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
        // SAFETY: this test's own.
        assert_eq!(unsafe { Slot::at_rest(&both) }, [whole, whole]);
    }
}
