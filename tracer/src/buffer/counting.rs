//! Counters mode: what happens instead of taking chunks from the arena. A thread has one small chunk; each time that is
//! full its segments are folded into the counters of their streams and the profiles of their files, and it begins again.
//! A chunk whose thread is gone is given to the next one, so there are no more than threads were alive at a time.
#![expect(unsafe_code, reason = "memory shared by the program's threads; gettid(2), tgkill(2), sched_yield(2)")]

use crate::memory::Table;
use crate::notes::Note;
use crate::registry::{self, Role, Stream};
use crate::tls::Thread;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use trace_format::counters::{Counters, Previous};
use trace_format::profile::Access;
use trace_format::{Segment, StreamId};

/// Bit of a segment's start until it is folded: it is known where in memory its bytes came from or went to. No clock counts
/// that far.
pub(crate) const MEMORY_KNOWN: u64 = 1 << 62;
/// The same: that is off a multiple of [`trace_format::profile::MEMORY_ALIGNMENT`].
pub(crate) const MEMORY_UNALIGNED: u64 = 1 << 63;

/// Segments of a chunk: with its header it takes 2 KiB and a little.
const SLOTS: usize = 64;
/// Yields before a chunk that another thread is folding is left to that thread.
const MOST_YIELDS: u32 = 1_000;
/// Chunks from which on one is looked for whose thread is gone.
const FIRST_CHECK: usize = 32;

/// A slot, as the append writes it: the end comes last.
#[repr(C, align(32))]
struct Slot {
    offset: AtomicI64,
    word: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == size_of::<Segment>());

/// A thread's chunk.
struct Chunk {
    slots: [Slot; SLOTS],
    /// Kernel id of the thread it belongs to.
    tid: AtomicU32,
    /// Somebody is folding it: its thread, or whoever writes the trace.
    folding: AtomicBool,
}

static CHUNKS: Table<Chunk> = Table::new();
static ON: AtomicBool = AtomicBool::new(false);
/// Number of chunks at which one is looked for whose thread is gone, and where the search begins.
static CHECK_AT: AtomicUsize = AtomicUsize::new(FIRST_CHECK);
static CHECK_FROM: AtomicUsize = AtomicUsize::new(0);

/// Whether segments are counted and not kept.
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// From now on segments are counted; `threads` at a time.
pub(crate) fn begin(threads: usize) {
    CHUNKS.prepare(threads);
    ON.store(true, Ordering::Relaxed);
}

/// Forgets all chunks: for a forked child, which has one thread.
pub(super) fn start_empty() {
    CHUNKS.clear();
    CHECK_AT.store(FIRST_CHECK, Ordering::Relaxed);
    CHECK_FROM.store(0, Ordering::Relaxed);
}

/// Gives `thread` a place for its next segment; returns its address, or 0 if there is none.
#[cold]
pub(crate) fn next(thread: &Thread) -> usize {
    let chunk = match thread.scratch.get() {
        0 => match take() {
            Some(chunk) => {
                thread.scratch.set(std::ptr::from_ref(chunk) as usize);
                chunk
            }
            None => {
                thread.limit.set(0);
                thread.cursor.set(0);
                return 0;
            }
        },
        // SAFETY: set above to a chunk of the table.
        chunk => unsafe { &*(chunk as *const Chunk) },
    };
    // Nobody else holds it for longer than it takes to fold it.
    if !chunk.fold() {
        return 0;
    }
    let first = chunk.slots.as_ptr() as usize;
    thread.limit.set(first + SLOTS * size_of::<Slot>());
    thread.cursor.set(first + size_of::<Slot>());
    first
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
            return Some(chunk);
        }
        // All are alive: look again when there are twice as many.
        CHECK_AT.fetch_max(chunks * 2, Ordering::Relaxed);
    }
    let slots = [const {
        Slot { offset: AtomicI64::new(0), word: AtomicU64::new(0), start: AtomicU64::new(0), end: AtomicU64::new(0) }
    }; SLOTS];
    let chunk = Chunk { slots, tid: AtomicU32::new(tid), folding: AtomicBool::new(false) };
    CHUNKS.push(chunk).map(|(_, chunk)| chunk)
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
            let waiting = chunk.slots.iter().filter(|slot| slot.end.load(Ordering::Relaxed) != 0).count();
            Note::TablesFull.count_many(waiting as u64);
        }
    }
}

impl Chunk {
    /// Folds the filled slots and empties them; false if somebody else was folding for long.
    fn fold(&self) -> bool {
        let mut waited = 0;
        while self.folding.swap(true, Ordering::Acquire) {
            if waited >= MOST_YIELDS {
                return false;
            }
            waited += 1;
            // SAFETY: no preconditions.
            unsafe { libc::sched_yield() };
        }
        let mut run = Batch::new();
        for slot in &self.slots {
            let end = slot.end.load(Ordering::Acquire);
            if end != 0 {
                run.add(Segment {
                    offset: slot.offset.load(Ordering::Relaxed),
                    word: slot.word.load(Ordering::Relaxed),
                    start: slot.start.load(Ordering::Relaxed),
                    end,
                });
                slot.end.store(0, Ordering::Relaxed);
            }
        }
        run.fold();
        self.folding.store(false, Ordering::Release);
        true
    }
}

/// Segments of one thread, in order, on their way into counters and profiles.
struct Batch {
    segments: [Segment; SLOTS],
    streams: [u32; SLOTS],
    used: usize,
}

/// A stream and which of the batch's segments are its.
#[derive(Clone, Copy)]
struct Kind {
    stream: &'static Stream,
    members: u64,
}

impl Batch {
    fn new() -> Self {
        Self { segments: [Segment::default(); SLOTS], streams: [u32::MAX; SLOTS], used: 0 }
    }

    fn add(&mut self, segment: Segment) {
        if let (Some(place), Some(stream)) = (self.segments.get_mut(self.used), self.streams.get_mut(self.used)) {
            (*place, *stream) = (segment, segment.stream().0);
            self.used += 1;
        }
    }

    /// Folds stream by stream, then profile by profile, each in the order of the segments: the atomics and the lock are
    /// taken once for each and batch, however they alternate.
    fn fold(&self) {
        let (mut kinds, mut used) = ([None; SLOTS], 0);
        let mut left = u64::MAX.checked_shr(64 - self.used as u32).unwrap_or(0);
        while left != 0 {
            let Some(&id) = self.streams.get(left.trailing_zeros() as usize) else { return };
            let members = self.of(id) & left;
            left &= !members;
            if let Some(stream) = registry::stream_by_id(StreamId(id)) {
                self.count(stream, members);
                if stream.role != Role::None
                    && let Some(place) = kinds.get_mut(used)
                {
                    *place = Some(Kind { stream, members });
                    used += 1;
                }
            }
        }
        let kinds = kinds.get_mut(..used).unwrap_or_default();
        for first in 0..kinds.len() {
            let (before, after) = kinds.split_at_mut(first + 1);
            let Some(Some(kind)) = before.last().copied() else { continue };
            let written = |kind: Kind| if kind.stream.role == Role::Writes { kind.members } else { 0 };
            let (mut members, mut writes) = (kind.members, written(kind));
            for other in after {
                let same = |other: &mut Kind| {
                    std::ptr::eq(other.stream.file, kind.stream.file) && other.stream.layer == kind.stream.layer
                };
                if let Some(other) = other.take_if(same) {
                    members |= other.members;
                    writes |= written(other);
                }
            }
            self.profile(kind.stream, members, writes);
        }
    }

    /// Which segments are of the stream `id`; without branches, since it is asked for each stream of a batch.
    fn of(&self, id: u32) -> u64 {
        let mut members = 0;
        for (bit, stream) in self.streams.iter().enumerate() {
            members |= u64::from(*stream == id) << bit;
        }
        members
    }

    /// The `members` and their bits.
    fn those(&self, mut members: u64) -> impl Iterator<Item = (u64, &Segment)> {
        std::iter::from_fn(move || {
            let at = members.trailing_zeros();
            let segment = self.segments.get(at as usize)?;
            members &= members - 1;
            Some((1 << at, segment))
        })
    }

    /// Folds the `members` into the counters of their stream.
    fn count(&self, stream: &'static Stream, members: u64) {
        let (mut counters, mut previous) = (Counters::default(), stream.previous());
        let ordered = stream.has_order();
        for (_, segment) in self.those(members) {
            if ordered {
                counters.fold(&mut previous, segment.offset, segment.length(), start(segment), segment.end);
            } else {
                counters.fold_alone(segment.offset, segment.length(), start(segment), segment.end);
            }
        }
        if !stream.add(&counters, previous) {
            Note::TablesFull.count_many(counters.segments);
        }
    }

    /// Folds the `members`, of which some are `writes`, into the profile of the file and layer of `stream`.
    fn profile(&self, stream: &'static Stream, members: u64, writes: u64) {
        let alignment = stream.file.alignment();
        let ordered = stream.has_order();
        let done = stream.file.with_profile(stream.layer, |profile, last| {
            for (bit, segment) in self.those(members) {
                let access = access(segment, writes & bit != 0);
                if ordered {
                    profile.fold(last, access, alignment);
                } else {
                    profile.fold_alone(access, alignment);
                }
            }
        });
        if done.is_none() {
            Note::NotProfiled.count_many(u64::from(members.count_ones()));
        }
    }
}

/// When the call was made.
const fn start(segment: &Segment) -> u64 {
    segment.start & !(MEMORY_KNOWN | MEMORY_UNALIGNED)
}

fn access(segment: &Segment, writes: bool) -> Access {
    Access {
        writes,
        offset: segment.offset,
        length: segment.length(),
        start: start(segment),
        end: segment.end,
        memory_unaligned: (segment.start & MEMORY_KNOWN != 0).then_some(segment.start & MEMORY_UNALIGNED != 0),
    }
}
