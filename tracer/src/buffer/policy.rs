//! Handles a full chunk in trace mode (for counters mode see `counting`): the thread gets another chunk. At the memory limit, full chunks
//! are encoded in memory and reused (`DXT_OVERFLOW=compact`). If that frees no space, calls are only counted: the thread gets a small
//! scratch, whose segments are folded into counters each time the scratch is full. The trace then holds the first part of the run and its
//! last moments.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::arena::Arena;
use super::chunk::Chunk;
use super::marks::is_new;
use super::packed;
use super::scratch::{SPARE, Scratch};
use super::slot::Slot;
use crate::config::{self, Overflow};
use crate::notes::Note;
use crate::tls::{self, Lane, Thread};
use crate::{budget, registry};
use trace_format::Segment;
use trace_format::counters::{Counters, Previous};

/// Returns the address of the next free segment slot for `lane`, the write position of `thread`, whose chunk is full; 0 if there is none.
#[cold]
pub(crate) fn chunk_full(arena: &Arena, thread: &Thread, lane: &Lane) -> usize {
    // A signal handler may just have obtained a new chunk for the thread.
    if lane.cursor.get() < lane.limit.get() {
        return tls::advance(lane, size_of::<Segment>());
    }
    if lane.scratch.get() == 0 {
        if lane.chunk.get() != 0 {
            // SAFETY: `lane.chunk` was set below to the first slot of the thread's chunk.
            let chunk = unsafe { Chunk::of_first(lane.chunk.get()) };
            if lane.awaited.get() == chunk.limit() {
                chunk.await_spare();
            }
            // The min-size filter does not apply to collective MPI calls, which have no file and no size. A thread without other calls may
            // have no index, which the filter needs for its scratch.
            let is_io = std::ptr::eq(lane, &raw const thread.io);
            if let Some(free) = is_io.then(|| super::min_size::drop_short(chunk, thread)).flatten() {
                lane.cursor.set(free + size_of::<Segment>());
                return free;
            }
            arena.filled(chunk);
            lane.chunk.set(0);
        }
        if let Some(chunk) = next_chunk(arena, lane) {
            return begin_chunk(chunk, lane);
        }
    }
    scratch_full(lane, true)
}

/// Returns the address of a free slot in a scratch for `lane`, which has no chunk; 0 if there is none. `no_room`: the arena had no space;
/// if the job's byte budget caused that, the folded segments are counted in the trace (as a note) as over budget.
#[cold]
pub(crate) fn scratch_full(lane: &Lane, no_room: bool) -> usize {
    let emptied = emptied_scratch(lane).map(|(scratch, counted)| {
        if no_room && budget::has_refused() {
            Note::OverBudget.count_many(counted);
        }
        scratch
    });
    let Some(scratch) = emptied.or_else(|| new_scratch(lane)) else {
        lane.limit.set(0);
        lane.cursor.set(0);
        return 0;
    };
    let first = scratch.first();
    lane.limit.set(first + SPARE * size_of::<Segment>());
    lane.cursor.set(first + size_of::<Segment>());
    first
}

/// Returns the address of the next free segment slot in `arena` for the write position `lane`; 0 if the arena is full. Frees no space.
#[cold]
pub(crate) fn next_plain(arena: &Arena, lane: &Lane) -> usize {
    if lane.cursor.get() < lane.limit.get() {
        return tls::advance(lane, size_of::<Segment>());
    }
    match arena.cut(lane.chunk_bytes.get()) {
        Some(chunk) => begin_chunk(chunk, lane),
        None => 0,
    }
}

/// Makes `chunk` (memory for segments) the current chunk of `lane`, a thread's write position. Returns the address of the first slot, which
/// the caller may fill.
fn begin_chunk(chunk: Chunk, lane: &Lane) -> usize {
    let sequence = lane.sequence.get();
    lane.sequence.set(sequence + 1);
    chunk.give(lane.index.get() - 1, sequence);
    lane.chunk.set(chunk.first());
    lane.chunk_bytes.set(chunk.bytes() as u32);
    lane.limit.set(chunk.limit());
    lane.cursor.set(chunk.first() + size_of::<Segment>());
    chunk.first()
}

/// Folds the lane's scratch into counters and empties it; returns the scratch and the number of segments counted. `None` if there is no
/// scratch, if a call interrupted by a signal handler may still write into it, or if its segments wait for their trace to be written. The
/// last slot is spare, as in a chunk.
fn emptied_scratch(lane: &Lane) -> Option<(&'static Scratch, u64)> {
    // SAFETY: the address is 0, or was set to a scratch of the table.
    let scratch = unsafe { (lane.scratch.get() as *const Scratch).as_ref() }?;
    let (slots, spare) = scratch.slots().split_at(SPARE);
    let awaits_spare = lane.awaited.get() == spare.as_ptr() as usize && !spare.iter().all(Slot::is_filled);
    (!awaits_spare && slots.iter().all(Slot::is_filled) && !scratch.is_held()).then(|| {
        // SAFETY: the scratch belongs to this thread, and every call in it is finished.
        let counted = unsafe { fold_scratch(scratch) };
        (scratch, counted)
    })
}

fn new_scratch(lane: &Lane) -> Option<&'static Scratch> {
    let scratch = Scratch::new(Some(lane.index.get() - 1))?;
    lane.scratch.set(std::ptr::from_ref(scratch) as usize);
    Some(scratch)
}

/// Returns a chunk for the thread's next segments: a new chunk or, at the memory limit, a chunk whose segments have been packed (encoded).
fn next_chunk(arena: &Arena, lane: &Lane) -> Option<Chunk> {
    arena.cut(lane.chunk_bytes.get()).or_else(|| match crate::config::overflow() {
        // Packing allocates memory, and so makes a system call.
        _ if crate::sys::is_shut() || budget::is_least() => None,
        Overflow::Compact | Overflow::Spill => packed::make_room(arena),
        Overflow::Fold => None,
    })
}

/// Folds the filled slots of `scratch` into the counters of their streams and empties them; returns the number of segments counted.
///
/// # Safety
/// The scratch must belong to the calling thread, and no call of this thread may be writing into it.
pub(crate) unsafe fn fold_scratch(scratch: &Scratch) -> u64 {
    // SAFETY: the caller guarantees that no thread writes into the scratch.
    let slots = unsafe { Slot::at_rest(scratch.slots()) };
    let (mut at, mut counted, mut adder) = (0, 0, scratch.adder());
    for run in slots.chunk_by(|one, next| one.stream() == next.stream()) {
        let members = (u64::MAX >> (u64::BITS as usize - run.len())) << at;
        counted += fold_run(run, adder.adding(members));
        at += run.len();
    }
    scratch.empty(u64::MAX);
    counted
}

/// Folds consecutive segments of one stream (file and operation) into the stream's counters; returns the number of segments counted.
fn fold_run(run: &[Segment], adder: &registry::Adder<'_>) -> u64 {
    let filled = run.iter().filter(|segment| is_new(segment));
    let Some(stream) = run.first().and_then(|first| registry::stream_by_id(first.stream())) else { return 0 };
    let (mut counters, mut previous): (Counters, Previous) = (Counters::default(), stream.previous());
    if let Some(mut counting) = config::triggers().and_then(|triggers| registry::Counting::of(stream, triggers)) {
        filled.clone().for_each(|segment| counting.see(segment.offset, segment.length()));
        counting.remember(stream.file);
    }
    for segment in filled {
        counters.fold(&mut previous, segment.offset, segment.length(), segment.started(), segment.end);
    }
    registry::memory::note_folded(run);
    if counters.segments > 0 && !stream.add(&counters, previous, adder) {
        Note::TablesFull.count_many(counters.segments);
        adder.is_done();
        return 0;
    }
    counters.segments
}
