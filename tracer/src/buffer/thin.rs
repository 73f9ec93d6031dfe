//! DXT_MIN_SIZE in a full chunk: reads and writes that are too short go to a scratch chunk, where they are folded, the others
//! move together, and the thread goes on in the same chunk if that makes room.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::chunk::Chunk;
use super::policy::fold_scratch;
use super::scratch::{SLOTS, Scratch};
use super::slot::Slot;
use crate::tls::Thread;
use crate::{filters, registry};
use std::sync::atomic::{Ordering, fence};
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
    let (mut kept, mut waits) = (0, 0);
    // The chunk is this thread's, and all calls in it are over.
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
            // SAFETY: this thread's own, filled here alone.
            unsafe { fold_scratch(scratch) };
            waits = 0;
        }
        if let Some(place) = scratch.slots().get(waits) {
            move_to(place, slot, &segment);
        }
        waits += 1;
    }
    // SAFETY: as above.
    unsafe { fold_scratch(scratch) };
    (kept <= slots.len() / 2).then(|| chunk.first() + kept * size_of::<Segment>())
}

/// Moves what is in a slot to an empty one.
fn move_to(place: &Slot, slot: &Slot, segment: &Segment) {
    place.fill(segment);
    slot.empty();
    // Whoever sees any of what comes next sees that.
    fence(Ordering::Release);
}

/// Where the thread's short segments wait to be folded; `None` if there is no room for that.
fn waiting(thread: &Thread) -> Option<&'static Scratch> {
    if thread.waiting.get() == 0 {
        thread.waiting.set(std::ptr::from_ref(Scratch::new(Some(thread.io.index.get() - 1))?) as usize);
    }
    // SAFETY: set above, or in an earlier call, to a scratch of the table.
    Some(unsafe { &*(thread.waiting.get() as *const Scratch) })
}
