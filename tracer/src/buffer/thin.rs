//! DXT_MIN_SIZE in a full chunk: reads and writes that are too short become counters, the others move together, and the
//! thread goes on in the same chunk if that makes room.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::chunk::Chunk;
use super::policy::fold_run;
use crate::{filters, registry};
use trace_format::{Segment, StreamId};

/// Shortest length in bytes of which the stream's segments are kept, by DXT_MIN_SIZE.
pub(crate) fn least_length(stream: StreamId) -> u64 {
    let least = filters::current().map_or(0, |filters| filters.min_size);
    if least > 0 && registry::stream_by_id(stream).is_some_and(registry::Stream::moves_data) { least } else { 0 }
}

/// Thins a chunk that its thread has filled; returns the first slot that is free again, if at least half of them are. For
/// the chunk's own thread.
pub(super) fn thin(chunk: Chunk) -> Option<usize> {
    // A slot that is taken and not filled is that of a call which a signal handler has interrupted: it stays where it is.
    if filters::current().is_none_or(|filters| filters.min_size == 0) || chunk.slots().iter().any(|slot| slot.end == 0)
    {
        return None;
    }
    let (first, count) = (chunk.first() as *mut Segment, chunk.slots().len());
    let place = |index: usize| {
        // SAFETY: inside the chunk: no index here is more than `count`.
        unsafe { first.add(index) }
    };
    let (mut kept, mut at) = (0, 0);
    while at < count {
        let (run, is_short) = next_run(&chunk.slots()[at..]);
        if is_short {
            fold_run(&chunk.slots()[at..at + run]);
            // At once: should the process be killed now, they are counted and must not be found too.
            // SAFETY: the chunk is this thread's, and all calls in it are over; all zero is a segment that is not filled.
            unsafe { std::ptr::write_bytes(place(at), 0, run) };
        } else {
            // SAFETY: the chunk is this thread's, and all calls in it are over; the places may overlap.
            unsafe { std::ptr::copy(place(at), place(kept), run) };
            kept += run;
        }
        at += run;
    }
    // SAFETY: as above.
    unsafe { std::ptr::write_bytes(place(kept), 0, count - kept) };
    (kept <= count / 2).then(|| place(kept) as usize)
}

/// How many segments from the first on are of one stream and alike in being too short or not, and whether they are.
fn next_run(slots: &[Segment]) -> (usize, bool) {
    let Some(first) = slots.first() else { return (0, false) };
    let least = least_length(first.stream());
    let is_short = first.length() < least;
    let alike = |slot: &&Segment| slot.stream() == first.stream() && (slot.length() < least) == is_short;
    (slots.iter().take_while(alike).count(), is_short)
}
