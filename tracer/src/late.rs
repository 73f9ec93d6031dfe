//! Calls that come after the trace of this process has been written: other threads run on until the process is gone, and functions may
//! come that destructors have registered. They are recorded into an arena of their own, in a spool that the first of them makes, so a process that ends as
//! most do leaves none. Where there is no room, they are counted.
#![expect(unsafe_code, reason = "takes a segment back from its slot")]

use crate::buffer::Arena;
use crate::memory::Lent;
use crate::say::say;
use crate::tls::Thread;
use crate::{process, spool, state};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trace_format::segment::MARKS;

/// Segments of late calls.
static ARENA: Arena = Arena::new();
static BEGUN: AtomicBool = AtomicBool::new(false);
static SAID: AtomicBool = AtomicBool::new(false);

/// Where late calls are recorded.
pub(crate) fn arena() -> &'static Arena {
    &ARENA
}

/// The trace has been written and its spool removed: what comes now is late.
pub(crate) fn begin() {
    if !BEGUN.swap(true, Ordering::AcqRel) {
        spool::begin_anew();
    }
}

/// Whether late calls have an arena to go to, which then is to be lent a part of the spool.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Ordering::Acquire)
}

/// From now on late segments lie in the spool.
pub(crate) fn lend(part: Lent) {
    // SAFETY: nobody records here before `BEGUN` is set, which is after this; a spool stays mapped.
    unsafe { ARENA.lend(part) };
}

/// In a forked child, which starts empty.
pub(crate) fn in_child() {
    BEGUN.store(false, Ordering::Relaxed);
    SAID.store(false, Ordering::Relaxed);
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { ARENA.clear() };
}

/// From now on the thread records into the late arena, if it is time.
pub(crate) fn switch(thread: &Thread) {
    if state::is_late() && thread.io.late.get() == 0 {
        thread.io.forget_chunk();
        thread.waiting.set(0);
        thread.io.late.set(1);
    }
}

/// A late call found no room.
pub(crate) fn lost() {
    if !spool::is_there() && !SAID.swap(true, Ordering::AcqRel) {
        say(&[b"calls that come after the trace was written are not recorded: there is no spool"]);
    }
}

/// A segment has been stored in `slot` while something else than plain recording was going on: the trace is being written, or
/// has been. Returns whether the segment has to be stored once more: the slot's memory will not be looked at again, and it is not
/// in the trace. A call does not return before that is known.
#[cold]
#[inline(never)]
pub(crate) fn is_left_behind(slot: usize) -> bool {
    // One that must not wait is not the program's, or not this process's.
    loop {
        if !state::park() {
            return false;
        }
        if state::is_late() {
            break;
        }
        // Another trace may be begun as soon as the last one is there.
        if !state::is_parked() {
            return false;
        }
    }
    if !process::is_own() || ARENA.holds(slot) {
        return false;
    }
    // SAFETY: a slot that was just filled; its last word is the end.
    let end = unsafe { AtomicU64::from_ptr((slot + std::mem::offset_of!(trace_format::Segment, end)) as *mut u64) };
    let seen = end.load(Ordering::Acquire);
    // Whoever wrote the trace either marked it, or counted and emptied it, or never saw it.
    seen != 0 && seen & MARKS == 0 && end.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
