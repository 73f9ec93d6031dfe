//! Records calls made after the trace of this process was written ("late" calls): other threads run until the process has ended, and
//! functions registered by destructors follow. They go into a separate arena, in a spool that the first late call creates; so most
//! processes leave none. Late calls without room are only counted.
#![expect(unsafe_code, reason = "takes a segment back from its slot")]

use crate::buffer::Arena;
use crate::memory::Lent;
use crate::say::say;
use crate::tls::Thread;
use crate::{process, spool, state};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trace_format::segment::MARKS;

/// Arena (memory) for the segments of calls made after the trace was written ("late" calls).
static ARENA: Arena = Arena::new();
static BEGUN: AtomicBool = AtomicBool::new(false);
static SAID: AtomicBool = AtomicBool::new(false);

/// Returns the arena (memory for segments) for calls made after the trace was written.
pub(crate) fn arena() -> &'static Arena {
    &ARENA
}

/// Starts recording calls made after the trace, once the trace has been written and the process's spool (file of recorded data) removed.
pub(crate) fn begin() {
    if !BEGUN.swap(true, Ordering::AcqRel) {
        spool::begin_anew();
    }
}

/// True once calls made after the trace are recorded; a part of the spool (a file that survives a kill) then serves as memory for their
/// segments.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Ordering::Acquire)
}

/// Uses `part` of the spool (the file that survives a kill) as memory for the segments of calls made after the trace was written.
pub(crate) fn lend(part: Lent) {
    // SAFETY: `spool::make` calls this function once, for the late spool, and a thread records here only after `spool::make` has returned
    // on that thread. A spool stays mapped.
    unsafe { ARENA.lend(part) };
}

/// Empties, in a forked child, the memory for segments of calls made after the trace was written.
pub(crate) fn in_child() {
    BEGUN.store(false, Ordering::Relaxed);
    SAID.store(false, Ordering::Relaxed);
    // SAFETY: a forked child has only this thread, which holds no reference into the arena.
    unsafe { ARENA.clear() };
}

/// Makes the thread write its next segments to the arena (memory) for calls made after the trace, if the trace has been written and the
/// process continues.
pub(crate) fn switch(thread: &Thread) {
    if state::is_late() && thread.io.late.get() == 0 {
        thread.io.forget_chunk();
        thread.waiting.set(0);
        thread.io.late.set(1);
    }
}

/// Prints, once, that calls made after the trace are not recorded, but only if the reason is that the spool (file with memory for them)
/// could not be created. Called when there is no room for a call.
pub(crate) fn lost() {
    if !spool::is_there() && !SAID.swap(true, Ordering::AcqRel) {
        say(&[b"calls made after the trace was written are not recorded, because there is no spool (DXT_SPOOL sets its directory)"]);
    }
}

/// True if the segment just stored at address `slot` must be stored again: it is not in the trace, and its memory will not be read again.
/// Called while or after the trace is written. Waits until the segment's fate is decided, so the recorded call returns only then.
#[cold]
#[inline(never)]
pub(crate) fn is_left_behind(slot: usize) -> bool {
    // A thread that must not wait runs the tracer's own code, or belongs to another process.
    loop {
        if !state::park() {
            return false;
        }
        if state::is_late() {
            break;
        }
        // Another trace may begin as soon as the last one is complete.
        if !state::is_parked() {
            return false;
        }
    }
    if !process::is_own() || ARENA.holds(slot) {
        return false;
    }
    // SAFETY: `slot` was just filled, and lies in a segment arena; its last word is the end time.
    let end = unsafe { AtomicU64::from_ptr((slot + std::mem::offset_of!(trace_format::Segment, end)) as *mut u64) };
    let seen = end.load(Ordering::Acquire);
    // If the end time is marked or 0, the writer of the trace has marked the segment, or has counted and emptied it.
    seen != 0 && seen & MARKS == 0 && end.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
