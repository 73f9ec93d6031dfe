//! Applies the min-size filter (DXT_MIN_SIZE) to a full chunk. Reads and writes that are too short are moved to a scratch and folded into
//! counters; the other segments are moved to the front. If that frees enough slots, the thread continues in the same chunk.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::chunk::Chunk;
use super::policy::fold_scratch;
use super::scratch::{SLOTS, Scratch};
use super::slot::Slot;
use crate::tls::Thread;
use crate::{config, registry};
use std::sync::atomic::{Ordering, fence};
use trace_format::{Segment, StreamId};

/// Returns the minimum length of recorded segments of `stream`, in bytes (DXT_MIN_SIZE); 0 if there is no minimum.
pub(crate) fn least_length(stream: StreamId) -> u64 {
    let least = config::filters().map_or(0, |filters| filters.min_size);
    if least > 0 && registry::stream_by_id(stream).is_some_and(registry::Stream::moves_data) { least } else { 0 }
}

/// Filters a full chunk of the calling thread by DXT_MIN_SIZE. Returns the address of the first free slot if at least half of the slots are
/// free. Segments move one at a time: if the process is killed, a reader finds each exactly once, except for the one being moved.
pub(super) fn drop_short(chunk: Chunk, thread: &Thread) -> Option<usize> {
    // A reserved but unfilled slot belongs to a call that a signal handler has interrupted; a slot marked as taken waits for its trace to
    // be written. A chunk with such a slot stays as it is.
    let (slots, all) = (chunk.filled_slots(), chunk.slots().len());
    let stays = |slot: &Slot| !slot.is_filled() || slot.is_taken();
    if config::filters().is_none_or(|filters| filters.min_size == 0)
        || chunk.awaits_spare()
        || slots.len() == all
        || slots.iter().any(stays)
    {
        return None;
    }
    let scratch = waiting(thread).filter(|scratch| !scratch.is_held())?;
    let (mut kept, mut waits) = (0, 0);
    // The chunk belongs to this thread, and all calls in it are finished.
    for (at, slot) in slots.iter().enumerate() {
        let segment = slot.stored();
        if segment.length() >= least_length(segment.stream()) {
            if let Some(place) = slots.get(kept).filter(|_| kept < at) {
                move_to(place, slot, &segment);
            }
            kept += 1;
            continue;
        }
        if waits == SLOTS {
            // SAFETY: the scratch belongs to this thread and is filled only here.
            unsafe { fold_scratch(scratch) };
            waits = 0;
        }
        if let Some(place) = scratch.slots().get(waits) {
            move_to(place, slot, &segment);
        }
        waits += 1;
    }
    // SAFETY: the scratch belongs to this thread, as above.
    unsafe { fold_scratch(scratch) };
    (kept <= slots.len() / 2).then(|| chunk.first() + kept * size_of::<Segment>())
}

fn move_to(place: &Slot, slot: &Slot, segment: &Segment) {
    place.fill(segment);
    slot.empty();
    // A reader that sees any later store also sees this move.
    fence(Ordering::Release);
}

/// Returns the scratch (the thread's small buffer) in which the thread's short segments wait to be counted; `None` if the table of
/// scratches is full.
fn waiting(thread: &Thread) -> Option<&'static Scratch> {
    if thread.waiting.get() == 0 {
        thread.waiting.set(std::ptr::from_ref(Scratch::new(Some(thread.io.index.get() - 1))?) as usize);
    }
    // SAFETY: the address was set, above or in an earlier call, to a scratch of the table.
    Some(unsafe { &*(thread.waiting.get() as *const Scratch) })
}
