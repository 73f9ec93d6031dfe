//! Marks that show which records are in a trace. A slot's mark lies in bits of the end time that no clock reaches, a packed block's mark in
//! its header; counters store their values at the time of the trace. A trace takes all records without a mark. Once the trace is complete,
//! all taken records are marked as written; if writing fails, the mark is removed. Readers of the spool see the marks too.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::arena::Arena;
use super::counting;
use super::scratch::SCRATCHES;
use super::slot::Slot;
use crate::spool::spill;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use trace_format::Segment;
use trace_format::segment::{MARKS, TAKEN, WRITTEN};
use trace_format::spool::block::mark;

pub(crate) fn is_filled(slot: &Segment) -> bool {
    slot.end != 0
}

/// True if the slot holds a segment (record of a call) that is neither in a trace nor taken for a trace being written.
pub(crate) fn is_new(slot: &Segment) -> bool {
    slot.end != 0 && slot.end & MARKS == 0
}

/// Change of a record's mark: taken for a trace, written to the trace, or returned because writing failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Take,
    Written,
    GiveBack,
}

impl Change {
    /// Returns the new end time word of a slot; `None` if the change does not apply to the slot's present mark.
    fn of_end(self, end: u64) -> Option<u64> {
        match self {
            Self::Take => (end != 0 && end & MARKS == 0).then_some(end | TAKEN),
            Self::Written => (end & MARKS == TAKEN).then_some(end & !TAKEN | WRITTEN),
            Self::GiveBack => (end & MARKS == TAKEN).then_some(end & !TAKEN),
        }
    }

    /// Applies the change to a slot's mark, which is part of the end time word. A slot that its thread empties meanwhile stays empty.
    pub(super) fn slot(self, end: &AtomicU64) {
        let _ = end.fetch_update(Ordering::AcqRel, Ordering::Acquire, |end| self.of_end(end));
    }

    pub(super) fn block(self, of_block: &AtomicU32) {
        let (from, to) = match self {
            Self::Take => (mark::NONE, mark::TAKEN),
            Self::Written => (mark::TAKEN, mark::WRITTEN),
            Self::GiveBack => (mark::TAKEN, mark::NONE),
        };
        let _ = of_block.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

fn change<const N: usize>(arenas: [&Arena; N], change: Change) {
    for chunk in arenas.into_iter().flat_map(Arena::chunks) {
        if chunk.is_packed() {
            super::packed::marks(chunk, |mark| change.block(mark));
        } else {
            chunk.slots().iter().for_each(|slot| change.slot(slot.end()));
        }
    }
    // In counters mode, segments that are not in the counters yet are left for the next trace.
    SCRATCHES.iter().filter(|_| !counting::is_on()).for_each(|scratch| scratch.mark(change));
}

/// Marks all segments that are in no trace as taken for the trace about to be written. The caller must have exclusive access to segment
/// memory (`gate`).
pub(crate) fn take<const N: usize>(arenas: [&Arena; N]) {
    change(arenas, Change::Take);
    spill::take();
}

/// Ends writing of a trace: marks the segments taken for the trace as written, or (if `written` is false) returns them for the next trace.
pub(crate) fn settle<const N: usize>(arenas: [&Arena; N], written: bool) {
    change(arenas, if written { Change::Written } else { Change::GiveBack });
    spill::settle(written);
}

/// Returns the segments among `slots` that are marked as taken; `None` if there are none. Borrows the slots if all are taken, since taken
/// slots do not change until the trace is written.
pub(crate) fn taken(slots: &'static [Slot]) -> Option<Cow<'static, [Segment]>> {
    if slots.iter().all(Slot::is_taken) {
        // SAFETY: only `settle` changes taken slots; it requires exclusive access through the gate and runs after the trace is written.
        return (!slots.is_empty()).then(|| Cow::Borrowed(unsafe { Slot::at_rest(slots) }));
    }
    let taken: Vec<Segment> =
        slots.iter().filter(|slot| slot.is_taken()).filter_map(Slot::read).map(|slot| slot.unmarked()).collect();
    (!taken.is_empty()).then_some(Cow::Owned(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_given_once_and_taken_back_only_where_it_was_given() {
        let end = AtomicU64::new(0);
        for all in [Change::Take, Change::Written, Change::GiveBack] {
            all.slot(&end);
            assert_eq!(end.load(Ordering::Relaxed), 0, "an empty slot stays empty");
        }
        end.store(7, Ordering::Relaxed);
        for (change, after) in [
            (Change::GiveBack, 7),
            (Change::Take, 7 | TAKEN),
            (Change::GiveBack, 7),
            (Change::Take, 7 | TAKEN),
            (Change::Written, 7 | WRITTEN),
            (Change::Take, 7 | WRITTEN),
            (Change::GiveBack, 7 | WRITTEN),
        ] {
            change.slot(&end);
            assert_eq!(end.load(Ordering::Relaxed), after);
        }
    }
}
