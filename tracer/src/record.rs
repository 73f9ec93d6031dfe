//! The append: what a hook calls when the wrapped function has returned. Two clock reads lie behind it; here it is four
//! stores and a bump, with no lock, no allocation and no system call. `tests/programs/instructions.rs` counts its instructions.
#![expect(unsafe_code, reason = "writes segments into memory shared by the program's threads")]

mod uncertain;

use crate::buffer::{self, Arena, Slot};
use crate::handles::Placed;
use crate::memory::{Record, Table};
use crate::notes::{self, Note};
use crate::ops::Op;
use crate::registry::{self, DataSet, File, Transfer, Within};
use crate::spool::{self, journal};
pub(crate) use crate::state::{
    State, is_begun, is_muted, is_on, is_unadopted_child, set_state, thread, thread_of_program, thread_or_muted,
};
use crate::tls::{self, Lane, Thread};
use crate::{bare, clock, errno, filters, gate, late, state};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use trace_format::meta::{ThreadDef, stream_flags};
use trace_format::segment::{MEMORY_KNOWN, MEMORY_UNALIGNED, NO_OFFSET, pack};
use trace_format::{Segment, StreamId};

/// What is done before a thread gets its first memory.
static BEFORE_MEMORY: OnceLock<fn() -> bool> = OnceLock::new();

/// Says what is done before a thread gets its first memory for segments; false: there is none yet. For the constructor.
pub(crate) fn prepare(before_memory: fn() -> bool) {
    let _ = BEFORE_MEMORY.set(before_memory);
}

/// The process's segments.
pub(crate) static ARENA: Arena = Arena::new();

/// MPI's collective calls, so that no number of them takes room from I/O.
pub(crate) static MEETINGS: Arena = Arena::new();

/// Threads that have recorded something, and the lanes of those that have made collective calls.
pub(crate) static THREADS: Table<ThreadRecord> = Table::new();

/// A thread that has recorded something.
pub(crate) struct ThreadRecord {
    /// Kernel thread id.
    pub(crate) tid: AtomicU32,
    /// Whether its segments only wait to be counted.
    pub(crate) counts: AtomicBool,
}

// SAFETY: a word that says 0 until it is written.
unsafe impl Record for ThreadRecord {
    const VALID_WHEN_ZERO: bool = true;
}

/// The bits [`MEMORY_KNOWN`] and [`MEMORY_UNALIGNED`] of a segment's start, or none: whether it is known where in memory the bytes
/// came from or went to, and whether that is off a multiple of the alignment.
///
/// Not a flag of the stream: measured on 1 M writes one after another from buffers of irregular alignment, two streams instead of one
/// take 1.75 bytes per segment instead of 1.25, since the offset column predicts within a stream; and what is consecutive in a file
/// would no longer be so in its streams. So the bits are counted before a segment is encoded (`registry/memory.rs`), or folded.
static MEMORY_WANTED: AtomicU64 = AtomicU64::new(0);
/// The address bits below the alignment.
static MEMORY_MASK: AtomicUsize = AtomicUsize::new(0);

/// From now on segments carry these bits, for memory at multiples of `alignment`, a power of two.
pub(crate) fn mark_memory(alignment: usize) {
    MEMORY_MASK.store(alignment.saturating_sub(1), Ordering::Relaxed);
    MEMORY_WANTED.store(MEMORY_KNOWN | MEMORY_UNALIGNED, Ordering::Relaxed);
}

/// Bytes at whose multiples memory counts as aligned.
pub(crate) fn memory_alignment() -> u64 {
    MEMORY_MASK.load(Ordering::Relaxed) as u64 + 1
}

/// Whether [`Call::with_memory`] has an effect.
#[inline(always)]
pub(crate) fn marks_memory() -> bool {
    MEMORY_WANTED.load(Ordering::Relaxed) != 0
}

/// A call that is being recorded.
///
/// It is recorded by the thread that it ends on, which is asked for anew: a user-level thread may have been moved to another one
/// meanwhile, and the first may have ended.
pub(crate) struct Call {
    /// Clock before the call.
    start: u64,
}

impl Call {
    /// Starts the clock of a call.
    #[inline(always)]
    pub(crate) fn begin(_thread: &'static Thread) -> Self {
        Self { start: clock::of_call() }
    }

    /// A call that was submitted at `start` and is seen to be done on `thread`.
    pub(crate) fn since(_thread: &'static Thread, start: u64) -> Self {
        Self { start }
    }

    /// Notes the address of the memory that is read into or written from; of several, all of them or'ed.
    #[inline(always)]
    pub(crate) fn with_memory(self, address: usize) -> Self {
        let unaligned = address & MEMORY_MASK.load(Ordering::Relaxed) != 0;
        let marks = MEMORY_KNOWN | if unaligned { MEMORY_UNALIGNED } else { 0 };
        Self { start: self.start | marks & MEMORY_WANTED.load(Ordering::Relaxed) }
    }

    /// The same call once more: for one that concerns several files.
    pub(crate) fn again(&self) -> Self {
        Self { start: self.start }
    }

    /// An operation that another call began at `start`, maybe on another thread.
    pub(crate) const fn begun_at(_thread: &'static Thread, start: u64) -> Self {
        Self { start }
    }

    /// Clock before the call.
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Records the call as `op` on `file`: `length` bytes at `offset`.
    #[inline(always)]
    pub(crate) fn end(self, file: &'static File, op: &'static Op, offset: i64, length: u64) {
        let end = clock::of_call();
        self.end_at(end, file, op, offset, length);
    }

    /// As [`Self::end`], for a call that returned at `end`.
    #[inline(always)]
    pub(crate) fn end_at(self, end: u64, file: &'static File, op: &'static Op, offset: i64, length: u64) {
        let thread = tls::current_now();
        if thread.mpi.raw() | thread.hdf5.raw() != 0 {
            return self.end_inside(end, file, op, offset, length);
        }
        let Some(stream) = registry::stream_of(file, op, Within::NOTHING) else {
            return count_without_stream(op);
        };
        append(thread, Segment { offset, word: pack(stream, length), start: self.start, end });
    }

    /// As [`Self::end_at`], for a call whose offset may be no more than an estimate, or that was made on a file opened in a special manner.
    #[inline(always)]
    pub(crate) fn end_placed(self, end: u64, file: &'static File, op: &'static Op, placed: Placed, length: u64) {
        if placed.marks == 0 {
            self.end_at(end, file, op, placed.offset, length);
        } else {
            self.end_marked(end, file, op, placed, length);
        }
    }

    /// As [`Self::end_placed`]: such calls have streams of their own. Where calls are only counted, how many of them have
    /// an estimated offset is enough, and those that append are in one order with all others.
    #[cold]
    #[inline(never)]
    fn end_marked(self, end: u64, file: &'static File, op: &'static Op, placed: Placed, length: u64) {
        let Placed { offset, mut marks } = placed;
        if marks & stream_flags::ESTIMATED != 0 {
            Note::Estimated.count();
        }
        if buffer::counting::is_on() {
            marks &= !(stream_flags::ESTIMATED | stream_flags::APPENDED);
            if marks == 0 {
                return self.end_at(end, file, op, offset, length);
            }
        }
        let thread = tls::current_now();
        let within = within(thread);
        let Some(stream) = registry::marked_stream_of(file, op, within, marks) else {
            return without_stream(thread, file, op, offset);
        };
        append(thread, Segment { offset, word: pack(stream, length), start: self.start, end });
        if within.mpi() {
            note_nested(thread, file, op, offset);
        }
    }

    /// The same for a call that was made inside one of MPI or HDF5.
    #[inline(never)]
    fn end_inside(self, end: u64, file: &'static File, op: &'static Op, offset: i64, length: u64) {
        let thread = tls::current_now();
        let within = within(thread);
        let Some(stream) = registry::stream_of(file, op, within) else {
            return without_stream(thread, file, op, offset);
        };
        append(thread, Segment { offset, word: pack(stream, length), start: self.start, end });
        if within.mpi() {
            note_nested(thread, file, op, offset);
        }
    }

    /// Records the call as one that failed with errno, which stays as it is. The offset is where it would have begun.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed(self, file: &'static File, op: &'static Op, offset: i64) {
        self.failed_with(errno::save().value(), file, op, offset);
    }

    /// As [`Self::failed`], for a call that tells its error otherwise.
    #[cold]
    pub(crate) fn failed_with(self, error: i32, file: &'static File, op: &'static Op, offset: i64) {
        let end = clock::of_call();
        let errno = errno::save();
        let thread = tls::current_now();
        let within = within(thread);
        let offset = offset.max(NO_OFFSET);
        match registry::failed_stream_of(file, op, within, u16::try_from(error).unwrap_or(u16::MAX)) {
            Some(stream) => append(thread, Segment { offset, word: pack(stream, 0), start: self.start, end }),
            None => without_stream(thread, file, op, NO_OFFSET),
        }
        errno.restore();
    }

    /// Records the call as `op` on a data set, which returned at `end` and moved what `transfer` says, if anything.
    pub(crate) fn end_on(self, end: u64, set: &'static DataSet, op: &'static Op, transfer: Option<Transfer>) {
        let thread = tls::current_now();
        let within = within(thread);
        let Some(stream) = set.stream_of(op, within, transfer) else {
            return count_without_stream(op);
        };
        let length = transfer.map_or(0, |transfer| transfer.bytes);
        let word = pack(stream, length);
        append(thread, Segment { offset: NO_OFFSET, word, start: self.start, end });
    }

    /// Records a collective call of MPI as one of `stream`, which returned at `end`, on the communicator `number`, if it is to `keep`; else it
    /// is counted. Calls after the trace and those in counters mode go where all others go.
    #[inline(always)]
    pub(crate) fn end_meeting(self, end: u64, op: &Op, stream: Option<StreamId>, number: i64, keep: bool) {
        let thread = tls::current_now();
        let Some(stream) = stream else { return count_without_stream(op) };
        let lane = match (has_meetings(), keep) {
            (true, true) => &thread.meetings,
            (true, false) => &thread.often,
            (false, _) => &thread.io,
        };
        append_to(thread, lane, Segment { offset: number, word: pack(stream, 0), start: self.start, end });
    }

    /// Records that a call kept its thread until `end` for an asynchronous operation on `file`: `op` is of the class Wait.
    pub(crate) fn kept(self, end: u64, file: &'static File, op: &'static Op) {
        self.end_at(end, file, op, NO_OFFSET, 0);
    }

    /// As [`Self::end`], for an operation without offset and length.
    #[inline(always)]
    pub(crate) fn end_plain(self, file: &'static File, op: &'static Op) {
        self.end(file, op, NO_OFFSET, 0);
    }
}

/// Whether collective calls go to an arena of their own now.
#[inline(always)]
fn has_meetings() -> bool {
    state::is_plain() && !buffer::counting::is_on()
}

/// Counts a call that has no stream: its layer is left out, or a table is full.
#[cold]
fn count_without_stream(op: &Op) {
    let left_out = filters::current().is_some_and(|filters| !filters.layers.contain(op.layer()));
    if left_out { Note::Layer } else { Note::TablesFull }.count();
}

/// The same, for a call that an MPI-IO call in progress may want to know the offset of.
#[cold]
fn without_stream(thread: &Thread, file: &'static File, op: &'static Op, offset: i64) {
    count_without_stream(op);
    if thread.mpi.is_set() {
        note_nested(thread, file, op, offset);
    }
}

/// Inside which calls the thread is.
fn within(thread: &Thread) -> Within {
    Within::new(thread.mpi.is_set(), thread.hdf5.is_set())
}

/// Tells an MPI-IO call in progress where its bytes went: the only way to learn the offset of a shared file pointer.
#[cold]
fn note_nested(thread: &Thread, file: &'static File, op: &'static Op, offset: i64) {
    let moves_data = op.is_data() && offset >= 0 && std::ptr::eq(thread.mpi_file.get(), file);
    if moves_data && (thread.nested_offset.get() < 0 || offset < thread.nested_offset.get()) {
        thread.nested_offset.set(offset);
    }
}

#[inline(always)]
fn append(thread: &Thread, segment: Segment) {
    append_to(thread, &thread.io, segment);
}

#[inline(always)]
fn append_to(thread: &Thread, lane: &Lane, segment: Segment) {
    let mut slot = tls::advance(lane, size_of::<Segment>());
    if !is_in_chunk(slot, lane.limit.get()) {
        slot = next_slot(thread, lane, slot);
        if slot == 0 {
            return;
        }
    }
    // SAFETY: `advance` gave this slot of the thread's own chunk to this call alone; aligned, and valid for any bits.
    unsafe { Slot::at(slot) }.fill(&segment);
    // Only then the state: whoever changed it and made a barrier either sees the segment, or is seen here (`gate::barrier`).
    compiler_fence(Ordering::SeqCst);
    if !state::is_plain() {
        once_more(slot);
    }
}

/// See [`late::is_left_behind`].
#[cold]
#[inline(never)]
fn once_more(slot: usize) {
    if late::is_left_behind(slot) {
        let thread = tls::current();
        // SAFETY: as in `append`; the rest of the slot is as it was stored.
        let stored = unsafe { Slot::at(slot) }.stored();
        late::switch(thread);
        append(thread, Segment { start: stored.started(), end: clock::of_call(), ..stored });
    }
}

/// No memory is below this address (proc(5), vm.mmap_min_addr): a slot there was given by a cursor that is not in a chunk.
const LOWEST_ADDRESS: usize = 64 << 10;

/// Whether `slot` is one of the chunk that ends at `limit`, or of one before it. The limit may have changed since the slot was given:
/// a signal handler may have come in between and got the thread a chunk, its first or a new one. The last slot of a chunk is spare for that.
#[inline(always)]
fn is_in_chunk(slot: usize, limit: usize) -> bool {
    slot < limit && slot >= LOWEST_ADDRESS
}

/// Whether a call that a signal handler has interrupted has been given the spare slot of the thread's chunk, and has yet to come for
/// it or to write there.
fn is_spare_taken(slot: usize, cursor: usize, limit: usize) -> bool {
    limit != 0 && cursor > limit && slot != limit
}

/// The lane's chunk is full, or it has none yet; `slot` is where the cursor was.
#[cold]
#[inline(never)]
fn next_slot(thread: &Thread, lane: &Lane, slot: usize) -> usize {
    // The call that was interrupted comes, when the lane has another chunk already, or begins anew with this one. If it has come
    // before and was given another place, this is the call that finds the chunk full next.
    if slot != 0 && slot == lane.awaited.get() {
        lane.awaited.set(0);
        // SAFETY: awaited is a slot of a chunk that this thread has or had; chunks are never unmapped while it knows them.
        if unsafe { Slot::at(slot) }.end().load(Ordering::Relaxed) == 0 {
            return slot;
        }
    }
    let errno = errno::save();
    let slot = thread.while_busy(|| {
        if is_spare_taken(slot, lane.cursor.get(), lane.limit.get()) {
            lane.awaited.set(lane.limit.get());
        }
        gate::pass(thread, || new_slot(thread, lane))
    });
    if slot == 0 {
        // The next call tries again.
        lane.cursor.set(lane.limit.get());
        if !thread.is_lent() {
            if lane.late.get() != 0 { Note::Late } else { Note::TablesFull }.count();
        }
    }
    errno.restore();
    slot
}

/// As [`next_slot`], behind the gate.
fn new_slot(thread: &Thread, lane: &Lane) -> usize {
    late::switch(thread);
    let is_late = lane.late.get() != 0;
    let has_memory = || BEFORE_MEMORY.get().is_none_or(|before_memory| before_memory());
    if buffer::counting::is_on() && !is_late {
        if lane.scratch.get() == 0 && !has_memory() {
            return 0;
        }
        spool::note_clock();
        return buffer::counting::next(lane);
    }
    if lane.index.get() == 0 {
        if !has_memory() {
            return 0;
        }
        // SAFETY: gettid has no preconditions.
        let tid = unsafe { crate::sys::syscall!(libc::SYS_gettid) } as i32;
        // 0 where it may not be asked: the number is for reports only.
        let tid = u32::try_from(tid).unwrap_or(0);
        let counts = std::ptr::eq(lane, &raw const thread.often);
        match THREADS.push(ThreadRecord { tid: AtomicU32::new(tid), counts: AtomicBool::new(counts) }) {
            Some((index, _)) => {
                lane.index.set(index as u32 + 1);
                journal::thread(ThreadDef { index: index as u32, tid }, counts);
            }
            None => return 0,
        }
    } else if !is_of_this_thread(thread, lane) {
        return 0;
    }
    spool::note_clock();
    if std::ptr::eq(lane, &raw const thread.often) {
        return buffer::scratch_full(lane, false);
    }
    if !is_late {
        let arena = if std::ptr::eq(lane, &raw const thread.meetings) { &MEETINGS } else { &ARENA };
        return buffer::chunk_full(arena, thread, lane);
    }
    let slot = buffer::next_plain(late::arena(), lane);
    if slot == 0 {
        late::lost();
    }
    slot
}

/// Whether the thread that has filled the lane's chunk makes this call.
fn is_of_this_thread(thread: &Thread, lane: &Lane) -> bool {
    let record = THREADS.get(lane.index.get() as usize - 1);
    record.is_none_or(|record| bare::found(thread, record.tid.load(Ordering::Relaxed)))
}

/// Forgets everything recorded: for a forked child, which has one thread.
pub(crate) fn start_empty() {
    gate::in_child();
    late::in_child();
    buffer::start_empty([&ARENA, &MEETINGS]);
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { THREADS.clear() };
    crate::handles::pending::forget_all();
    crate::handles::rings::forget_all();
    notes::forget();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_was_given_before_the_limit_changed_is_one_to_write_to() {
        let (low, high) = (1 << 20, 1 << 30);
        // No chunk, whatever cursor, and the chunk that a handler has got since.
        for slot in [0, 32, 4096] {
            assert!(!is_in_chunk(slot, 0) && !is_in_chunk(slot, low) && !is_in_chunk(slot, high));
        }
        // The spare slot of a chunk, and a new chunk above or below it.
        assert!(!is_in_chunk(low, low) && is_in_chunk(low, high) && !is_in_chunk(high, low));
        assert!(is_in_chunk(low - 32, low) && !is_in_chunk(low + 32, low));
    }

    #[test]
    fn the_spare_slot_is_awaited_while_its_call_is_interrupted() {
        let (limit, size) = (4096, size_of::<Segment>());
        // The first call of a thread, and the one that finds its chunk full.
        assert!(!is_spare_taken(0, size, 0) && !is_spare_taken(limit, limit + size, limit));
        // A handler's, while that one is interrupted, and the handler's next.
        assert!(is_spare_taken(limit + size, limit + 2 * size, limit));
        assert!(is_spare_taken(limit + 2 * size, limit + 3 * size, limit));
        // Of a call that got its place before, a handler has filled that chunk and one that lies lower, or part of it.
        assert!(!is_spare_taken(9000, limit, limit) && !is_spare_taken(9000, limit - size, limit));
    }
}
