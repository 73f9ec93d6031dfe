//! What happens when a thread's chunk is full in trace mode (in counters mode: `counting`): it takes the next chunk. At the
//! cap it packs (`DXT_OVERFLOW=compact`): full chunks are encoded in memory, and their places are used again. Where that
//! gives no more room it folds: the thread gets a small scratch chunk, and each time that is full its segments go into the
//! counters of their streams. What is on record then is the run up to there, and the last moments.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::arena::Arena;
use super::chunk::{Chunk, is_filled};
use super::packed;
use super::written::written_until;
use crate::config::Overflow;
use crate::memory::Table;
use crate::notes::Note;
use crate::tls::{self, Thread};
use crate::{filters, registry};
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::Segment;
use trace_format::counters::{Counters, Previous};
use trace_format::spool::scratch;

pub(super) const SCRATCH_SLOTS: usize = scratch::SLOTS;
/// Index of the spare one.
const SPARE: usize = SCRATCH_SLOTS - 1;

/// A scratch chunk: where a thread's segments wait to be folded.
#[repr(C, align(32))]
pub(crate) struct Scratch {
    thread: u32,
    /// While a fold is under way, one more than the slots that are in the counters.
    folded: AtomicU32,
    slots: std::cell::UnsafeCell<[Segment; SCRATCH_SLOTS]>,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Scratch>() == scratch::BYTES && offset_of!(Scratch, slots) == scratch::FIRST);
    assert!(offset_of!(Scratch, thread) == scratch::THREAD && offset_of!(Scratch, folded) == scratch::FOLDED);
};

// SAFETY: the slots are written by the owning thread only, and read by others only at the end of the process, who skip
// slots that are not filled.
unsafe impl Sync for Scratch {}

/// Scratch chunks of all threads.
pub(crate) static SCRATCHES: Table<Scratch> = Table::new();

impl Scratch {
    /// A new one for `thread`; `None` if there is no room.
    pub(super) fn new(thread: &Thread) -> Option<&'static Self> {
        let slots = std::cell::UnsafeCell::new([Segment::default(); SCRATCH_SLOTS]);
        let scratch = Self { thread: thread.index.get() - 1, folded: AtomicU32::new(0), slots };
        SCRATCHES.push(scratch).map(|(_, scratch)| scratch)
    }

    /// The slot `index`, below [`SCRATCH_SLOTS`].
    pub(super) fn slot(&self, index: usize) -> *mut Segment {
        self.slots.get().cast::<Segment>().wrapping_add(index)
    }

    /// Index of the owning thread, and the slots.
    pub(crate) fn slots(&self) -> (u32, &[Segment]) {
        // SAFETY: see `Sync`.
        (self.thread, unsafe { &*self.slots.get() })
    }
}

/// Gives `thread` a place for its next segment; returns its address, or 0 if there is none.
#[cold]
pub(crate) fn chunk_full(arena: &Arena, thread: &Thread) -> usize {
    // A signal handler may have come before us and got the thread a new place.
    if thread.cursor.get() < thread.limit.get() {
        return tls::advance(thread, size_of::<Segment>());
    }
    let index = thread.index.get() - 1;
    if thread.scratch.get() == 0 {
        if thread.chunk.get() != 0 {
            let chunk = Chunk::of_first(thread.chunk.get());
            if thread.awaited.get() == chunk.limit() {
                chunk.await_spare();
            }
            if let Some(free) = super::thin::thin(chunk, thread) {
                thread.cursor.set(free + size_of::<Segment>());
                return free;
            }
            arena.filled(chunk);
            thread.chunk.set(0);
        }
        if let Some(chunk) = next_chunk(arena, thread) {
            let sequence = thread.sequence.get();
            thread.sequence.set(sequence + 1);
            chunk.give(index, sequence);
            thread.chunk.set(chunk.first());
            thread.chunk_bytes.set(chunk.bytes() as u32);
            thread.limit.set(chunk.limit());
            thread.cursor.set(chunk.first() + size_of::<Segment>());
            return chunk.first();
        }
    }
    let Some(scratch) = emptied_scratch(thread).or_else(|| new_scratch(thread)) else {
        thread.limit.set(0);
        thread.cursor.set(0);
        return 0;
    };
    let first = scratch.slots.get() as usize;
    thread.limit.set(first + SPARE * size_of::<Segment>());
    thread.cursor.set(first + size_of::<Segment>());
    first
}

/// The thread's scratch, its segments folded; `None` if it has none, or if a call that a signal handler has interrupted may
/// yet have to write into it: then it stays as it is, on record. The last slot is spare, as in a chunk.
fn emptied_scratch(thread: &Thread) -> Option<&'static Scratch> {
    // SAFETY: 0, or set to a scratch of the table.
    let scratch = unsafe { (thread.scratch.get() as *const Scratch).as_ref() }?;
    let (slots, spare) = scratch.slots().1.split_at(SPARE);
    let awaits_spare = thread.awaited.get() == spare.as_ptr() as usize && !spare.iter().all(is_filled);
    (!awaits_spare && slots.iter().all(is_filled)).then(|| {
        fold_scratch(scratch);
        scratch
    })
}

fn new_scratch(thread: &Thread) -> Option<&'static Scratch> {
    let scratch = Scratch::new(thread)?;
    thread.scratch.set(std::ptr::from_ref(scratch) as usize);
    Some(scratch)
}

/// Room for the thread's next segments: a new chunk, or at the cap one whose segments have been packed.
fn next_chunk(arena: &Arena, thread: &Thread) -> Option<Chunk> {
    arena.cut(thread.chunk_bytes.get()).or_else(|| match crate::config::overflow() {
        // To pack takes memory, and a system call to get it.
        _ if crate::sys::is_shut() => None,
        Overflow::Compact | Overflow::Spill => packed::make_room(arena),
        Overflow::Fold => None,
    })
}

/// Folds the filled slots of `scratch` into the counters of their streams and empties them.
pub(crate) fn fold_scratch(scratch: &Scratch) {
    // SAFETY: called by the owning thread, or at the end of the process.
    let slots = unsafe { &mut *scratch.slots.get() };
    let mut rest = &slots[..];
    let mut done = 1;
    scratch.folded.store(done, Ordering::Release);
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|segment| segment.stream() == first.stream()).count();
        let (now, later) = rest.split_at(run);
        rest = later;
        fold_run(now);
        done += run as u32;
        scratch.folded.store(done, Ordering::Release);
    }
    slots.fill(Segment::default());
    scratch.folded.store(0, Ordering::Release);
}

/// Folds segments of one stream.
fn fold_run(run: &[Segment]) {
    let written = written_until();
    let filled = run.iter().filter(|segment| segment.end > written);
    let Some(stream) = run.first().and_then(|first| registry::stream_by_id(first.stream())) else { return };
    let (mut counters, mut previous): (Counters, Previous) = (Counters::default(), stream.previous());
    if let Some(mut counting) = filters::triggers().and_then(|triggers| registry::Counting::of(stream, triggers)) {
        filled.clone().for_each(|segment| counting.see(segment.offset, segment.length()));
        counting.remember(stream.file);
    }
    for segment in filled {
        counters.fold(&mut previous, segment.offset, segment.length(), segment.start, segment.end);
    }
    if counters.segments > 0 && !stream.add(&counters, previous) {
        Note::TablesFull.count_many(counters.segments);
    }
}
