//! DXT_MIN_SIZE in a full chunk: reads and writes that are too short go to a scratch chunk, where they are folded, the others
//! move together, and the thread goes on in the same chunk if that makes room.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::chunk::Chunk;
use super::policy::{SCRATCH_SLOTS, Scratch, fold_scratch};
use super::slot::Slot;
use crate::tls::Thread;
use crate::{filters, registry};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use trace_format::{Segment, StreamId};

/// Shortest length in bytes of which the stream's segments are kept, by DXT_MIN_SIZE.
pub(crate) fn least_length(stream: StreamId) -> u64 {
    let least = filters::current().map_or(0, |filters| filters.min_size);
    if least > 0 && registry::stream_by_id(stream).is_some_and(registry::Stream::moves_data) { least } else { 0 }
}

/// Thins a chunk that its thread has filled; returns the first slot that is free again, if at least half of them are. For
/// the chunk's own thread.
///
/// Segments go one by one, so that whoever kills the process meanwhile finds each of them once, but for the one on its way.
pub(super) fn thin(chunk: Chunk, thread: &Thread) -> Option<usize> {
    // A slot that is taken and not filled is that of a call which a signal handler has interrupted; one that is marked as taken waits
    // for its trace to be written. Both stay where they are.
    let (slots, all) = (chunk.filled_slots(), chunk.slots().len());
    let stays = |slot: &Slot| !slot.is_filled() || slot.is_taken();
    if filters::current().is_none_or(|filters| filters.min_size == 0)
        || chunk.awaits_spare()
        || slots.len() == all
        || slots.iter().any(stays)
    {
        return None;
    }
    let scratch = waiting(thread).filter(|scratch| !scratch.is_held())?;
    let (first, count) = (chunk.first() as *mut Segment, slots.len());
    let place = |index: usize| {
        // SAFETY: inside the chunk: no index here is more than `count`.
        unsafe { first.add(index) }
    };
    let (mut kept, mut waits) = (0, 0);
    for at in 0..count {
        // SAFETY: the chunk is this thread's, and all calls in it are over.
        let segment = unsafe { place(at).read() };
        if segment.length() >= least_length(segment.stream()) {
            if kept < at {
                put(place(kept), segment);
                clear(place(at));
            }
            kept += 1;
            continue;
        }
        if waits == SCRATCH_SLOTS {
            // SAFETY: this thread's own, filled here alone.
            unsafe { fold_scratch(scratch) };
            waits = 0;
        }
        put(scratch.slot(waits), segment);
        clear(place(at));
        waits += 1;
    }
    // SAFETY: as above.
    unsafe { fold_scratch(scratch) };
    (kept <= count / 2).then(|| place(kept) as usize)
}

/// Where the thread's short segments wait to be folded; `None` if there is no room for that.
fn waiting(thread: &Thread) -> Option<&'static Scratch> {
    if thread.waiting.get() == 0 {
        thread.waiting.set(std::ptr::from_ref(Scratch::new(&thread.io)?) as usize);
    }
    // SAFETY: set above, or in an earlier call, to a scratch of the table.
    Some(unsafe { &*(thread.waiting.get() as *const Scratch) })
}

/// Fills a slot; its end comes last, so that whoever sees it sees the rest.
fn put(slot: *mut Segment, segment: Segment) {
    // SAFETY: a slot of this thread's own, which nobody else writes.
    unsafe { slot.write(Segment { end: 0, ..segment }) };
    set_end(slot, segment.end);
}

/// Empties a slot; its end goes first.
fn clear(slot: *mut Segment) {
    set_end(slot, 0);
    // Whoever sees any of what comes next sees that.
    fence(Ordering::Release);
    // SAFETY: as in `put`.
    unsafe { slot.write(Segment::default()) };
}

fn set_end(slot: *mut Segment, end: u64) {
    // SAFETY: inside the slot.
    let place = unsafe { &raw mut (*slot).end };
    // SAFETY: aligned, and valid as an atomic as long as the slot is.
    unsafe { AtomicU64::from_ptr(place) }.store(end, Ordering::SeqCst);
}
