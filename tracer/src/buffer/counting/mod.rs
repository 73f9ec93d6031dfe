//! Counters mode: what happens instead of taking chunks from the arena. A thread has one small chunk; each time that is
//! full its segments are folded into the counters of their streams and the profiles of their files, and it begins again.
//! A chunk whose thread is gone is given to the next one, so there are no more than threads were alive at a time. The slots of chunks,
//! like the counters, lie in the spool (`scratch`).
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

/// Yields before a chunk that another thread is folding is left to that thread.
const MOST_YIELDS: u32 = 1_000;
/// Chunks from which on one is looked for whose thread is gone.
const FIRST_CHECK: usize = 32;

/// Times that a chunk's new thread is told to the spool: each takes some bytes there, and the programs that make threads without end
/// shall not fill it. After that, what waits in a chunk may be said to be of a thread that had it before.
const MOST_TOLD: u32 = 1 << 16;

/// A thread's chunk.
struct Chunk {
    /// Its slots; null until there are some.
    waiting: AtomicPtr<Scratch>,
    /// Kernel id of the thread it belongs to.
    tid: AtomicU32,
    /// Somebody is folding it: its thread, or whoever writes the trace.
    folding: AtomicBool,
    /// Room for that, of whoever has set `folding`.
    batch: UnsafeCell<Batch>,
}

// SAFETY: the batch is touched only by whoever has set `folding`; all else is atomic.
unsafe impl Sync for Chunk {}

// SAFETY: no slots, of no thread, and a batch of none.
unsafe impl Record for Chunk {
    const VALID_WHEN_ZERO: bool = true;
}

static CHUNKS: Table<Chunk> = Table::new();
static ON: AtomicBool = AtomicBool::new(false);
/// Number of chunks at which one is looked for whose thread is gone, and where the search begins.
static CHECK_AT: AtomicUsize = AtomicUsize::new(FIRST_CHECK);
static CHECK_FROM: AtomicUsize = AtomicUsize::new(0);
/// Times that a thread has been told to the spool.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// Whether segments are counted and not kept.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// From now on segments are counted; `threads` at a time.
pub(crate) fn begin(threads: usize) {
    CHUNKS.prepare(threads);
    SCRATCHES.prepare(threads);
    ON.store(true, Ordering::Relaxed);
}

/// Has room made for some more threads when none can be made any more.
pub(super) fn back_ahead() {
    const THREADS: usize = 64;
    CHUNKS.back_ahead(THREADS * size_of::<Chunk>());
    SCRATCHES.back_ahead(THREADS * size_of::<Scratch>());
}

/// Forgets all chunks: for a forked child, which has one thread.
pub(super) fn start_empty() {
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { CHUNKS.clear() };
    TOLD.store(0, Ordering::Relaxed);
    CHECK_AT.store(FIRST_CHECK, Ordering::Relaxed);
    CHECK_FROM.store(0, Ordering::Relaxed);
}

/// Gives `lane` a place for its next segment; returns its address, or 0 if there is none.
#[cold]
pub(crate) fn next(lane: &Lane) -> usize {
    next_in_chunk(lane).unwrap_or(0)
}

fn next_in_chunk(lane: &Lane) -> Option<usize> {
    // A signal handler may have come before us and got the thread a new place.
    if lane.cursor.get() < lane.limit.get() {
        return Some(tls::advance(lane, size_of::<Segment>()));
    }
    // SAFETY: 0, or set below to a chunk of the table.
    let own = unsafe { (lane.scratch.get() as *const Chunk).as_ref() };
    // A call that a signal handler has interrupted, or left, may yet have to write into its slot: others must not get it. The
    // chunk is folded once more at the end.
    let free =
        own.filter(|chunk| lane.limit.get() == 0 || chunk.waiting().is_some_and(|waiting| waiting.has_filled(SPARE)));
    let Some(chunk) = free.or_else(take) else {
        lane.limit.set(0);
        lane.cursor.set(0);
        return None;
    };
    lane.scratch.set(std::ptr::from_ref(chunk) as usize);
    let waiting = chunk.waiting()?;
    // Nobody else holds it for longer than it takes to fold it.
    if !chunk.fold() {
        return None;
    }
    let first = waiting.first();
    lane.limit.set(first + SPARE * size_of::<Segment>());
    lane.cursor.set(first + size_of::<Segment>());
    Some(first)
}

/// A chunk for this thread: a new one, or after many one whose thread is gone.
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
        // All are alive: look again when there are twice as many.
        CHECK_AT.fetch_max(chunks * 2, Ordering::Relaxed);
    }
    // First, since there may be no room for them.
    let waiting = Scratch::new(None)?;
    let chunk = CHUNKS.push_zeroed()?;
    chunk.waiting.store(std::ptr::from_ref(waiting).cast_mut(), Ordering::Release);
    chunk.tell(tid);
    chunk.tid.store(tid, Ordering::Release);
    Some(chunk)
}

/// Whether this process has no such thread any more.
fn is_gone(tid: u32) -> bool {
    let errno = crate::errno::save();
    // SAFETY: no preconditions.
    let process = unsafe { crate::sys::syscall!(libc::SYS_getpid) };
    // SAFETY: signal 0 only asks.
    let result = unsafe { crate::sys::syscall!(libc::SYS_tgkill, process, libc::c_long::from(tid), 0_i64) };
    let gone = result != 0 && crate::errno::save().value() == libc::ESRCH;
    errno.restore();
    gone
}

/// Folds what all threads have in their chunks; they may go on meanwhile.
pub(crate) fn fold_all() {
    for chunk in CHUNKS.iter() {
        if !chunk.fold() {
            let waiting = chunk.waiting().map_or(0, |waiting| waiting.uncounted(waiting.filled()).count_ones());
            Note::TablesFull.count_many(u64::from(waiting));
        }
    }
}

impl Chunk {
    /// Its slots, if it has some by now.
    fn waiting(&self) -> Option<&'static Scratch> {
        // SAFETY: null or a record of the table, which is never moved.
        unsafe { self.waiting.load(Ordering::Acquire).as_ref() }
    }

    /// Tells the spool whose it is from now on. To its readers each chunk is a thread.
    fn tell(&self, tid: u32) {
        if journal::is_kept()
            && let Some(waiting) = self.waiting()
            && TOLD.fetch_add(1, Ordering::Relaxed) < MOST_TOLD
        {
            // 0 where it may not be asked: the number is for reports only.
            let tid = if tid.cast_signed() > 0 { tid } else { 0 };
            journal::thread(ThreadDef { index: waiting.thread(), tid }, true);
        }
    }

    /// Folds the filled slots and empties them; false if somebody else was folding for long.
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
        // SAFETY: `folding` has been set by this call.
        unsafe { &mut *self.batch.get() }.fold(waiting);
        self.folding.store(false, Ordering::Release);
        true
    }
}
