//! Counters mode: each thread has one small chunk instead of chunks in the arena. When the chunk is full, its segments are folded into the
//! counters of their streams and the profiles of their files, and the chunk is reused. The chunk of an ended thread goes to a new thread,
//! so the number of chunks is bounded by the number of threads alive at a time. The slots of chunks lie in the spool (`scratch`), like the
//! counters.
#![expect(unsafe_code, reason = "memory shared by the program's threads; gettid(2), tgkill(2), sched_yield(2)")]

mod batch;

use super::scratch::{SCRATCHES, SPARE, Scratch};
use crate::memory::{Record, Table};
use crate::notes::Note;
use crate::spool::journal;
use crate::tls::{self, Lane};
use batch::Batch;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use trace_format::Segment;
use trace_format::meta::ThreadDef;

/// Maximum number of times that a thread yields the processor to another thread that is folding the same chunk (adding its segments to
/// counters).
const MOST_YIELDS: u32 = 1_000;
/// Number of chunks (one per thread) from which the tracer searches for the chunk of an ended thread, to reuse it.
const FIRST_CHECK: usize = 32;

/// Maximum number of times, over all chunks, that the spool is informed of a chunk's new thread. Each time takes some bytes, and programs
/// that create threads endlessly must not fill the spool. Beyond the maximum, segments waiting in a chunk may be attributed to an earlier
/// thread.
const MOST_TOLD: u32 = 1 << 16;

/// Memory of a thread for its segments in counters mode.
struct Chunk {
    /// Slots of the chunk (memory for the thread's segments); null until allocated.
    waiting: AtomicPtr<Scratch>,
    /// Kernel id of the thread that owns the chunk (memory for a thread's segments).
    tid: AtomicU32,
    /// True while a thread, the owner or the writer of the trace, folds the chunk into counters (adds its segments to them).
    folding: AtomicBool,
    /// Work space for folding the chunk's segments into counters, used only by the thread that has set `folding`.
    batch: UnsafeCell<Batch>,
}

// SAFETY: the batch is accessed only by the thread that has set `folding`; all other fields are atomic.
unsafe impl Sync for Chunk {}

// SAFETY: an all-zero chunk has no slots, no thread and an empty batch.
unsafe impl Record for Chunk {
    const VALID_WHEN_ZERO: bool = true;
}

static CHUNKS: Table<Chunk> = Table::new();
static ON: AtomicBool = AtomicBool::new(false);
/// Number of chunks (one per thread, memory for its segments) at which the next search for the chunk of an ended thread begins.
static CHECK_AT: AtomicUsize = AtomicUsize::new(FIRST_CHECK);
/// Index of the chunk (memory for a thread's segments) at which the next search for the chunk of an ended thread starts.
static CHECK_FROM: AtomicUsize = AtomicUsize::new(0);
/// Number of times that the kernel id of a chunk's new thread was written to the spool (at most [`MOST_TOLD`]).
static TOLD: AtomicU32 = AtomicU32::new(0);

/// True in counters mode: calls are only counted, not recorded individually.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Starts counters mode (calls are only counted), with room for `threads` concurrent threads.
pub(crate) fn begin(threads: usize) {
    CHUNKS.prepare(threads);
    SCRATCHES.prepare(threads);
    ON.store(true, Ordering::Relaxed);
}

/// Allocates the chunks (memory for segments) of 64 more threads now, because system calls are impossible later (seccomp).
pub(super) fn back_ahead() {
    const THREADS: usize = 64;
    CHUNKS.back_ahead(THREADS * size_of::<Chunk>());
    SCRATCHES.back_ahead(THREADS * size_of::<Scratch>());
}

/// Discards the chunks (memory for segments) of all threads, in a forked child, which has one thread.
pub(super) fn start_empty() {
    // SAFETY: a forked child has only this thread, which holds no reference into the table.
    unsafe { CHUNKS.clear() };
    TOLD.store(0, Ordering::Relaxed);
    CHECK_AT.store(FIRST_CHECK, Ordering::Relaxed);
    CHECK_FROM.store(0, Ordering::Relaxed);
}

/// Returns the address of the next free segment slot of the calling thread, whose write position is `lane`; 0 if there is none. First folds
/// the segments of a full chunk into counters.
#[cold]
pub(crate) fn next(lane: &Lane) -> usize {
    next_in_chunk(lane).unwrap_or(0)
}

fn next_in_chunk(lane: &Lane) -> Option<usize> {
    // A signal handler may just have obtained a new chunk for the thread.
    if lane.cursor.get() < lane.limit.get() {
        return Some(tls::advance(lane, size_of::<Segment>()));
    }
    // SAFETY: the address is 0, or was set below to a chunk of the table.
    let own = unsafe { (lane.scratch.get() as *const Chunk).as_ref() };
    // A call interrupted or abandoned by a signal handler may still write its slot, so no other call may get that slot. The chunk is then
    // left as it is, and folded once more at the end.
    let free =
        own.filter(|chunk| lane.limit.get() == 0 || chunk.waiting().is_some_and(|waiting| waiting.has_filled(SPARE)));
    let Some(chunk) = free.or_else(take) else {
        lane.limit.set(0);
        lane.cursor.set(0);
        return None;
    };
    lane.scratch.set(std::ptr::from_ref(chunk) as usize);
    let waiting = chunk.waiting()?;
    // Other threads hold a chunk no longer than one fold.
    if !chunk.fold() {
        return None;
    }
    let first = waiting.first();
    lane.limit.set(first + SPARE * size_of::<Segment>());
    lane.cursor.set(first + size_of::<Segment>());
    Some(first)
}

/// Returns a chunk (memory for segments) for the calling thread: a new chunk or, once there are many, the chunk of an ended thread.
fn take() -> Option<&'static Chunk> {
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { crate::sys::syscall!(libc::SYS_gettid) } as u32;
    let chunks = CHUNKS.len();
    if chunks >= CHECK_AT.load(Ordering::Relaxed) {
        let from = CHECK_FROM.load(Ordering::Relaxed);
        let found = (0..chunks).map(|step| (from + step) % chunks).find_map(|index| {
            let chunk = CHUNKS.get(index)?;
            let owner = chunk.tid.load(Ordering::Acquire);
            let ours = owner != 0
                && is_gone(owner)
                && chunk.tid.compare_exchange(owner, tid, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            ours.then_some((index, chunk))
        });
        if let Some((index, chunk)) = found {
            CHECK_FROM.store(index + 1, Ordering::Relaxed);
            chunk.tell(tid);
            return Some(chunk);
        }
        // All threads are alive: the next search begins at twice the number of chunks.
        CHECK_AT.fetch_max(chunks * 2, Ordering::Relaxed);
    }
    // The scratch is allocated first, since it may not fit.
    let waiting = Scratch::new(None)?;
    let chunk = CHUNKS.push_zeroed()?;
    chunk.waiting.store(std::ptr::from_ref(waiting).cast_mut(), Ordering::Release);
    chunk.tell(tid);
    chunk.tid.store(tid, Ordering::Release);
    Some(chunk)
}

/// True if the process has no thread with id `tid`.
fn is_gone(tid: u32) -> bool {
    let errno = crate::errno::save();
    // SAFETY: getpid has no preconditions.
    let process = unsafe { crate::sys::syscall!(libc::SYS_getpid) };
    // SAFETY: signal 0 only checks for existence.
    let result = unsafe { crate::sys::syscall!(libc::SYS_tgkill, process, libc::c_long::from(tid), 0_i64) };
    let gone = result != 0 && crate::errno::save().value() == libc::ESRCH;
    errno.restore();
    gone
}

/// Folds the segments in all threads' chunks into counters. The threads may continue meanwhile.
pub(crate) fn fold_all() {
    for chunk in CHUNKS.iter() {
        if !chunk.fold() {
            let waiting = chunk.waiting().map_or(0, |waiting| waiting.uncounted(waiting.filled()).count_ones());
            Note::TablesFull.count_many(u64::from(waiting));
        }
    }
}

impl Chunk {
    fn waiting(&self) -> Option<&'static Scratch> {
        // SAFETY: the pointer is null, or a record of the table, which is never moved.
        unsafe { self.waiting.load(Ordering::Acquire).as_ref() }
    }

    /// Writes the kernel id of the chunk's new thread to the spool, whose readers see each chunk as one thread.
    fn tell(&self, tid: u32) {
        if journal::is_kept()
            && let Some(waiting) = self.waiting()
            && TOLD.fetch_add(1, Ordering::Relaxed) < MOST_TOLD
        {
            // 0 if a sandbox denies gettid(2): the id is only used in reports.
            let tid = if tid.cast_signed() > 0 { tid } else { 0 };
            journal::thread(ThreadDef { index: waiting.thread(), tid }, true);
        }
    }

    /// Folds the chunk's segments into counters and empties their slots. Returns false if another thread has been folding the chunk for too long.
    fn fold(&self) -> bool {
        let Some(waiting) = self.waiting() else { return true };
        let mut waited = 0;
        while self.folding.swap(true, Ordering::Acquire) {
            if waited >= MOST_YIELDS {
                return false;
            }
            waited += 1;
            crate::threads::give_way();
        }
        // SAFETY: this call has set `folding`.
        unsafe { &mut *self.batch.get() }.fold(waiting);
        self.folding.store(false, Ordering::Release);
        true
    }
}
