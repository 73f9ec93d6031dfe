//! Appends segments to memory: a hook calls this module after the wrapped function has returned. Besides two clock reads, an append is four
//! stores and a cursor increment, without locks, allocation or system calls. `tests/programs/instructions.rs` counts its instructions.
#![expect(unsafe_code, reason = "writes segments into memory shared by the program's threads")]

mod uncertain;

use crate::buffer::{self, Arena, Slot};
use crate::handles::Placed;
use crate::memory::{Record, Table};
use crate::notes::{self, Note};
use crate::ops::Op;
use crate::registry::{self, DataSet, File, Transfer, Within};
use crate::sites::Site;
use crate::spool::{self, journal};
pub(crate) use crate::state::{State, is_begun, is_muted, is_on, is_unadopted_child, set_state};
use crate::tls::{self, Lane, Thread};
use crate::{clock, config, cpu_times, errno, gate, late_calls, sites, state, without_tls};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};
use trace_format::meta::{ThreadDef, stream_flags};
use trace_format::segment::{MEMORY_KNOWN, MEMORY_UNALIGNED, NO_OFFSET, pack};
use trace_format::{Segment, StreamId};

/// Callback that runs before a thread gets its first memory for segments. The callback returns false if no memory is available yet.
static BEFORE_MEMORY: OnceLock<fn() -> bool> = OnceLock::new();

/// Sets the callback ([`BEFORE_MEMORY`]) that runs before a thread gets its first memory for segments. Called from the library's constructor.
pub(crate) fn prepare(before_memory: fn() -> bool) {
    let _ = BEFORE_MEMORY.set(before_memory);
}

/// Memory for the segments of I/O calls.
pub(crate) static ARENA: Arena = Arena::new();

/// Memory for the segments of MPI collective calls, separate from [`ARENA`] so that these segments never displace I/O segments.
pub(crate) static SYNC_POINTS: Arena = Arena::new();

/// Records of the threads that have recorded an I/O segment. A thread that has made MPI collective calls has a second record for them.
pub(crate) static THREADS: Table<ThreadRecord> = Table::new();

pub(crate) struct ThreadRecord {
    /// Kernel thread ID, or 0 if unknown.
    pub(crate) tid: AtomicU32,
    /// True if the thread's segments are only counted, never written to the trace.
    pub(crate) counts: AtomicBool,
}

// SAFETY: all-zero bits are valid for both atomics.
unsafe impl Record for ThreadRecord {
    const VALID_WHEN_ZERO: bool = true;
}

/// Bits that may be set in the start time of a segment to describe the buffer's address: [`MEMORY_KNOWN`] if the address is known,
/// [`MEMORY_UNALIGNED`] if it is not a multiple of the alignment. 0 if buffer addresses are not recorded.
///
/// The bits are not stream flags: with flags, 1 M consecutive writes from buffers of mixed alignment take 1.75 instead of 1.25 bytes per
/// segment, since the offset column predicts within a stream, and consecutive accesses to a file would fall into two streams. Instead the
/// bits are counted before a segment is encoded (`registry/memory.rs`) or folded into counters.
static MEMORY_WANTED: AtomicU64 = AtomicU64::new(0);
/// Mask of the buffer address bits below the alignment, which are 0 for an aligned buffer.
static MEMORY_MASK: AtomicUsize = AtomicUsize::new(0);

/// Enables alignment bits in segments. `alignment` is a power of two in bytes; buffers at multiples of `alignment` count as aligned.
pub(crate) fn mark_memory(alignment: usize) {
    MEMORY_MASK.store(alignment.saturating_sub(1), Ordering::Relaxed);
    MEMORY_WANTED.store(MEMORY_KNOWN | MEMORY_UNALIGNED, Ordering::Relaxed);
}

/// Returns the alignment of buffers in bytes: a buffer whose address is a multiple counts as aligned.
pub(crate) fn memory_alignment() -> u64 {
    MEMORY_MASK.load(Ordering::Relaxed) as u64 + 1
}

/// True if the alignment of buffers is recorded, so that [`Call::with_memory`] has an effect.
#[inline(always)]
pub(crate) fn marks_memory() -> bool {
    MEMORY_WANTED.load(Ordering::Relaxed) != 0
}

/// Wrapped call in progress. The call is recorded for the kernel thread on which it ends, looked up at that time: a user-level thread may
/// have moved to another kernel thread during the call, and the first kernel thread may have ended.
pub(crate) struct Call {
    /// Time before the call, in clock ticks; [`Self::with_memory`] adds alignment bits ([`MEMORY_WANTED`]).
    start: u64,
    /// Place from which the program made the call; 0 if unknown.
    site: Site,
}

/// End of a call that has succeeded.
pub(crate) struct End {
    /// Time after the call, in clock ticks.
    pub(crate) at: u64,
    pub(crate) placed: Placed,
    /// Bytes transferred.
    pub(crate) length: u64,
}

impl End {
    /// Makes the end of a call at time `at` (clock ticks), without offset, flags and bytes.
    #[inline(always)]
    pub(crate) const fn at(at: u64) -> Self {
        Self { at, placed: Placed::at(NO_OFFSET), length: 0 }
    }
}

impl Call {
    #[inline(always)]
    pub(crate) fn begin(thread: &'static Thread) -> Self {
        let site = sites::of_call(thread);
        Self { start: clock::of_call(), site }
    }

    /// Begins a call that is recorded without its call site: a collective call, or one that the allocator may make.
    #[inline(always)]
    pub(crate) fn begin_anywhere(_thread: &'static Thread) -> Self {
        Self { start: clock::of_call(), site: 0 }
    }

    /// Creates the record of an asynchronous operation that was submitted at `start` (clock ticks), possibly on another thread.
    pub(crate) fn since(_thread: &'static Thread, start: u64) -> Self {
        Self { start, site: 0 }
    }

    /// Adds the alignment bits for the buffer at `address`. For several buffers, `address` is the bitwise OR of their addresses.
    #[inline(always)]
    pub(crate) fn with_memory(self, address: usize) -> Self {
        let unaligned = address & MEMORY_MASK.load(Ordering::Relaxed) != 0;
        let marks = MEMORY_KNOWN | if unaligned { MEMORY_UNALIGNED } else { 0 };
        Self { start: self.start | marks & MEMORY_WANTED.load(Ordering::Relaxed), ..self }
    }

    /// Copies the call in progress, for a system call that is recorded on several files.
    pub(crate) fn again(&self) -> Self {
        Self { ..*self }
    }

    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Records the call as operation `op` on `file`.
    #[inline(always)]
    pub(crate) fn finish(self, file: &'static File, op: &'static Op, End { at, placed, length }: End) {
        if placed.marks != 0 {
            return self.flagged::<true>(file, op, at, placed, length);
        }
        let thread = tls::current_now();
        if thread.mpi.raw() | thread.hdf5.raw() != 0 {
            return self.flagged::<false>(file, op, at, placed, length);
        }
        let Some(stream) = registry::stream_of(thread, file, op, Within::NOTHING, 0, self.site) else {
            return count_without_stream(op);
        };
        append(thread, Segment { offset: placed.offset, word: pack(stream, length), start: self.start, end: at });
    }

    /// Records a call whose stream has flags: those of a call inside an MPI or HDF5 call and, if `MARKED`, those in `placed.marks`.
    /// Counters mode ignores two of the marks: calls with estimated offsets are only totalled in a note, and appending calls are counted
    /// with all other calls to preserve the order. Takes the fields of [`End`] separately, since `End` does not fit into registers.
    #[inline(never)]
    fn flagged<const MARKED: bool>(self, file: &'static File, op: &'static Op, at: u64, placed: Placed, length: u64) {
        let Placed { offset, mut marks } = placed;
        if MARKED {
            if marks & stream_flags::ESTIMATED != 0 {
                Note::Estimated.count();
            }
            if buffer::counting::is_on() {
                marks &= !(stream_flags::ESTIMATED | stream_flags::APPENDED);
            }
            if marks == 0 {
                return self.finish(file, op, End { at, placed: Placed::at(offset), length });
            }
        }
        let thread = tls::current_now();
        let within = within(thread);
        let Some(stream) = registry::stream_of(thread, file, op, within, if MARKED { marks } else { 0 }, self.site)
        else {
            return without_stream(thread, file, op, offset);
        };
        append(thread, Segment { offset, word: pack(stream, length), start: self.start, end: at });
        if within.mpi() {
            note_nested(thread, file, op, offset);
        }
    }

    /// Records the call as failed with the current errno, which is preserved. `offset` is the offset at which the access would have begun.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed(self, file: &'static File, op: &'static Op, offset: i64) {
        self.failed_with(errno::save().value(), file, op, offset);
    }

    /// Records the call as failed with error number `error`, for functions that do not report errors through errno.
    #[cold]
    pub(crate) fn failed_with(self, error: i32, file: &'static File, op: &'static Op, offset: i64) {
        let end = clock::of_call();
        let errno = errno::save();
        let thread = tls::current_now();
        let within = within(thread);
        let offset = offset.max(NO_OFFSET);
        match registry::failed_stream_of(file, op, within, u16::try_from(error).unwrap_or(u16::MAX), self.site) {
            Some(stream) => append(thread, Segment { offset, word: pack(stream, 0), start: self.start, end }),
            None => without_stream(thread, file, op, NO_OFFSET),
        }
        errno.restore();
    }

    /// Records the call as operation `op` on the HDF5 data set `set`, with end time `end` in clock ticks. `transfer`: data moved, if any.
    pub(crate) fn end_on(self, end: u64, set: &'static DataSet, op: &'static Op, transfer: Option<Transfer>) {
        let thread = tls::current_now();
        let within = within(thread);
        let Some(stream) = set.stream_of(op, within, transfer, self.site) else {
            return count_without_stream(op);
        };
        let length = transfer.map_or(0, |transfer| transfer.bytes);
        let word = pack(stream, length);
        append(thread, Segment { offset: NO_OFFSET, word, start: self.start, end });
    }

    /// Records an MPI collective call on the communicator with ID `number`, with end time `end` in clock ticks. If `keep` is false, the
    /// call is only counted. Calls after the trace was written, and all calls in counters mode, are stored with the I/O segments.
    #[inline(always)]
    pub(crate) fn end_sync_point(self, end: u64, op: &Op, stream: Option<StreamId>, number: i64, keep: bool) {
        let thread = tls::current_now();
        let Some(stream) = stream else { return count_without_stream(op) };
        let lane = match (has_meetings(), keep) {
            (true, true) => &thread.sync_points,
            (true, false) => &thread.often,
            (false, _) => &thread.io,
        };
        append_to(thread, lane, Segment { offset: number, word: pack(stream, 0), start: self.start, end });
        if end >= thread.next_sample.get() {
            sample(thread);
        }
    }

    /// Records the time until `end` as blocked in submitting or completing an asynchronous operation on `file`. `op` is of class Wait. Not
    /// inlined, since many MPI functions call it.
    #[inline(never)]
    pub(crate) fn kept(self, end: u64, file: &'static File, op: &'static Op) {
        self.finish(file, op, End::at(end));
    }
}

/// Takes a sample of the thread's use of the processors.
#[cold]
#[inline(never)]
fn sample(thread: &Thread) {
    thread.while_busy(|| cpu_times::sample(thread));
}

/// True if segments of MPI collective calls are currently stored in a separate arena.
#[inline(always)]
fn has_meetings() -> bool {
    state::is_plain() && !buffer::counting::is_on()
}

/// Counts a call in the notes as not recorded, because DXT_LAYERS excludes its layer or a table is full.
#[cold]
fn count_without_stream(op: &Op) {
    let left_out = config::filters().is_some_and(|filters| !filters.layers.contain(op.layer()));
    if left_out { Note::Layer } else { Note::TablesFull }.count();
}

/// Counts a call that cannot be recorded, and reports its offset to the enclosing MPI-IO call, if any.
#[cold]
fn without_stream(thread: &Thread, file: &'static File, op: &'static Op, offset: i64) {
    count_without_stream(op);
    if thread.mpi.is_set() {
        note_nested(thread, file, op, offset);
    }
}

/// Returns the libraries (MPI, HDF5) in whose calls this thread currently is, so that the recorded call counts as nested.
fn within(thread: &Thread) -> Within {
    Within::new(thread.mpi.is_set(), thread.hdf5.is_set())
}

/// Reports the offset of a POSIX transfer to the enclosing MPI-IO call. If that call uses a shared file pointer, the lowest reported offset
/// is taken for the call's own, since MPI-IO does not reveal where the pointer was.
#[cold]
fn note_nested(thread: &Thread, file: &'static File, op: &'static Op, offset: i64) {
    let moves_data = op.is_data() && offset >= 0 && thread.mpi_file.get() == std::ptr::from_ref(file).addr();
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
    // SAFETY: `advance` gave this slot of the thread's own chunk to this call alone; the slot is aligned and valid for any bits.
    unsafe { Slot::at(slot) }.fill(&segment);
    // Read the state last: a thread that changes the state and then issues a barrier sees the segment, or this read sees its change.
    compiler_fence(Ordering::SeqCst);
    if !state::is_plain() {
        once_more(slot);
    }
}

/// Records the segment at address `slot` again if the thread that writes the trace did not see it; see [`late_calls::is_left_behind`].
/// Preserves errno.
#[cold]
#[inline(never)]
fn once_more(slot: usize) {
    let errno = errno::save();
    if late_calls::is_left_behind(slot) {
        let thread = tls::current();
        // SAFETY: as in `append`; the other fields of the slot are as stored.
        let stored = unsafe { Slot::at(slot) }.stored();
        late_calls::switch(thread);
        append(thread, Segment { start: stored.started(), end: clock::of_call(), ..stored });
    }
    errno.restore();
}

/// Lowest address that can be mapped (proc(5), vm.mmap_min_addr), in bytes. A lower value is not the address of a segment slot.
const LOWEST_ADDRESS: usize = 64 << 10;

/// True if `slot`, which the current call has reserved, may be written: it lies in the chunk that ends at `limit`, or in a chunk at a lower
/// address. Since the call reserved the slot, a signal handler may have obtained the thread's first or next chunk and changed `limit`. The
/// result may then be true even for a call that found its chunk full; such a call writes to the spare last slot that each chunk has.
#[inline(always)]
fn is_in_chunk(slot: usize, limit: usize) -> bool {
    slot < limit && slot >= LOWEST_ADDRESS
}

/// True if a call got the spare last slot of the thread's chunk (memory for segments), but a signal handler interrupted the call before it
/// checked or wrote the slot.
fn is_spare_taken(slot: usize, cursor: usize, limit: usize) -> bool {
    limit != 0 && cursor > limit && slot != limit
}

/// Returns the address of the next segment slot of `lane` (a write position of the thread), whose chunk of memory is full, or which has
/// none yet; 0 if there is no memory. `slot`: address that the call got from the lane, which is not in the chunk.
#[cold]
#[inline(never)]
fn next_slot(thread: &Thread, lane: &Lane, slot: usize) -> usize {
    // A call that was interrupted here comes back when the lane has another chunk, or retries with this slot. If the call has come here
    // before and got another slot, this is the next call that finds the chunk full.
    if slot != 0 && slot == lane.awaited.get() {
        lane.awaited.set(0);
        // SAFETY: `awaited` is a slot of a chunk that this thread has or had; chunks stay mapped while it knows them.
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
        // Make the next call try again.
        lane.cursor.set(lane.limit.get());
        if !thread.is_lent() {
            if lane.late.get() != 0 { Note::Late } else { Note::TablesFull }.count();
        }
    }
    errno.restore();
    slot
}

/// Returns the address of a free segment slot for `lane`, after obtaining or freeing memory; 0 if there is no memory. Runs inside the gate
/// that protects memory for segments (`gate.rs`).
fn new_slot(thread: &Thread, lane: &Lane) -> usize {
    late_calls::switch(thread);
    let is_late = lane.late.get() != 0;
    let has_memory = || BEFORE_MEMORY.get().is_none_or(|before_memory| before_memory());
    if buffer::counting::is_on() && !is_late {
        if lane.scratch.get() == 0 && !has_memory() {
            return 0;
        }
        spool::note_clock();
        cpu_times::sample(thread);
        return buffer::counting::next(lane);
    }
    if lane.index.get() == 0 {
        if !has_memory() {
            return 0;
        }
        // SAFETY: gettid has no preconditions.
        let tid = unsafe { crate::sys::syscall!(libc::SYS_gettid) } as i32;
        // 0 if a sandbox denies gettid: the thread ID is only for reports.
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
    cpu_times::sample(thread);
    if std::ptr::eq(lane, &raw const thread.often) {
        return buffer::scratch_full(lane, false);
    }
    if !is_late {
        sites::at_chunk(thread, lane.sequence.get());
        let arena = if std::ptr::eq(lane, &raw const thread.sync_points) { &SYNC_POINTS } else { &ARENA };
        return buffer::chunk_full(arena, thread, lane);
    }
    let slot = buffer::next_plain(late_calls::arena(), lane);
    if slot == 0 {
        late_calls::lost();
    }
    slot
}

/// True if the calling thread itself filled the chunk of `lane` (the write position in `thread`). If not, two threads share thread-local
/// storage.
fn is_of_this_thread(thread: &Thread, lane: &Lane) -> bool {
    let record = THREADS.get(lane.index.get() as usize - 1);
    record.is_none_or(|record| without_tls::found(thread, record.tid.load(Ordering::Relaxed)))
}

/// Discards all records in a forked child, which has only one thread.
pub(crate) fn start_empty() {
    gate::in_child();
    late_calls::in_child();
    buffer::start_empty([&ARENA, &SYNC_POINTS]);
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { THREADS.clear() };
    cpu_times::start_empty();
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
        // Various cursors without a chunk, and with a chunk that a signal handler has obtained since.
        for slot in [0, 32, 4096] {
            assert!(!is_in_chunk(slot, 0) && !is_in_chunk(slot, low) && !is_in_chunk(slot, high));
        }
        // The spare slot of a chunk, with a new chunk above or below.
        assert!(!is_in_chunk(low, low) && is_in_chunk(low, high) && !is_in_chunk(high, low));
        assert!(is_in_chunk(low - 32, low) && !is_in_chunk(low + 32, low));
    }

    #[test]
    fn the_spare_slot_is_awaited_while_its_call_is_interrupted() {
        let (limit, size) = (4096, size_of::<Segment>());
        // The first call of a thread, and the call that finds its chunk full.
        assert!(!is_spare_taken(0, size, 0) && !is_spare_taken(limit, limit + size, limit));
        // A signal handler's call while the call that found the chunk full is interrupted, and the handler's next call.
        assert!(is_spare_taken(limit + size, limit + 2 * size, limit));
        assert!(is_spare_taken(limit + 2 * size, limit + 3 * size, limit));
        // A call that got its slot earlier, while a signal handler filled that chunk and all or part of a chunk at a lower address.
        assert!(!is_spare_taken(9000, limit, limit) && !is_spare_taken(9000, limit - size, limit));
    }
}
