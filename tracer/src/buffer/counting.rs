//! Counters mode: what happens instead of taking chunks from the arena. A thread has one small chunk; each time that is
//! full its segments are folded into the counters of their streams and the profiles of their files, and it begins again.
//! A chunk whose thread is gone is given to the next one, so there are no more than threads were alive at a time.
#![expect(unsafe_code, reason = "memory shared by the program's threads; gettid(2), tgkill(2), sched_yield(2)")]

use crate::memory::{Record, Table};
use crate::notes::Note;
use crate::registry::{self, Role, Stream};
use crate::tls::{self, Lane};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use trace_format::counters::Counters;
use trace_format::profile::Access;
use trace_format::{Segment, StreamId};

/// Bit of a segment's start until it is folded: it is known where in memory its bytes came from or went to. No clock counts
/// that far.
pub(crate) const MEMORY_KNOWN: u64 = 1 << 62;
/// The same: that is off a multiple of [`trace_format::profile::MEMORY_ALIGNMENT`].
pub(crate) const MEMORY_UNALIGNED: u64 = 1 << 63;

/// Segments of a chunk: with its header it takes 2 KiB and a little.
const SLOTS: usize = 64;
/// Index of the last one, which is spare, as in the arena's chunks.
const SPARE: usize = SLOTS - 1;
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
    /// Room for that, of whoever has set `folding`: a thread's stack may have none.
    batch: UnsafeCell<Batch>,
}

// SAFETY: the batch is touched only by whoever has set `folding`; all else is atomic.
unsafe impl Sync for Chunk {}

// SAFETY: slots that are not filled, of no thread, and a batch of the first stream's segments, of which none is used.
unsafe impl Record for Chunk {
    const VALID_WHEN_ZERO: bool = true;
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
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { CHUNKS.clear() };
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
        return Some(tls::advance(lane, size_of::<Slot>()));
    }
    // SAFETY: 0, or set below to a chunk of the table.
    let own = unsafe { (lane.scratch.get() as *const Chunk).as_ref() };
    // A call that a signal handler has interrupted, or left, may yet have to write into its slot: others must not get it. The
    // chunk is folded once more at the end.
    let free = own.filter(|chunk| {
        let slots = chunk.slots.split_at(SPARE).0;
        lane.limit.get() == 0 || slots.iter().all(|slot| slot.end.load(Ordering::Relaxed) != 0)
    });
    let Some(chunk) = free.or_else(take) else {
        lane.limit.set(0);
        lane.cursor.set(0);
        return None;
    };
    lane.scratch.set(std::ptr::from_ref(chunk) as usize);
    // Nobody else holds it for longer than it takes to fold it.
    if !chunk.fold() {
        return None;
    }
    let first = chunk.slots.as_ptr() as usize;
    lane.limit.set(first + SPARE * size_of::<Slot>());
    lane.cursor.set(first + size_of::<Slot>());
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
            return Some(chunk);
        }
        // All are alive: look again when there are twice as many.
        CHECK_AT.fetch_max(chunks * 2, Ordering::Relaxed);
    }
    let chunk = CHUNKS.push_zeroed()?;
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
            crate::threads::give_way();
        }
        // SAFETY: `folding` has been set by this call.
        let run = unsafe { &mut *self.batch.get() };
        run.empty();
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

/// Segments of one thread, in order, on their way into counters and profiles. Valid when all zero.
struct Batch {
    segments: Segments,
    streams: [u32; SLOTS],
    used: usize,
    /// While it is folded: its segments by stream, and by file and layer, and a stream of each of the latter.
    alike: Alike,
    profiles: Alike,
    kinds: [Option<&'static Stream>; SLOTS],
}

struct Segments([Segment; SLOTS]);

/// Which segments of a batch have something in common.
#[derive(Clone, Copy)]
struct Same {
    key: u64,
    members: u64,
    /// Which of them write.
    writes: u64,
}

/// The segments of a batch by what they have in common, in the order in which that is first met. A batch may have as many
/// streams as segments, so they are found by a table of hashes.
struct Alike {
    list: [Same; SLOTS],
    used: usize,
    /// Position in the list plus one, or 0.
    places: [u8; 2 * SLOTS],
}

impl Alike {
    fn empty(&mut self) {
        self.used = 0;
        self.places.fill(0);
    }

    fn all(&self) -> &[Same] {
        self.list.get(..self.used).unwrap_or_default()
    }

    /// Adds members, at most as many times as a batch has segments; returns their position in the list.
    fn add(&mut self, key: u64, members: u64, writes: u64) -> usize {
        let mut place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            // Half of the places are free, so the search ends.
            let Some(number) = self.places.get_mut(place % (2 * SLOTS)) else { return SLOTS };
            if *number == 0 {
                *number = self.used as u8 + 1;
                if let Some(new) = self.list.get_mut(self.used) {
                    *new = Same { key, members, writes };
                    self.used += 1;
                }
                return self.used - 1;
            }
            let at = usize::from(*number) - 1;
            if let Some(same) = self.list.get_mut(at).filter(|same| same.key == key) {
                same.members |= members;
                same.writes |= writes;
                return at;
            }
            place += 1;
        }
    }
}

impl Batch {
    fn empty(&mut self) {
        self.streams.fill(u32::MAX);
        self.used = 0;
    }

    fn add(&mut self, segment: Segment) {
        if let (Some(place), Some(stream)) = (self.segments.0.get_mut(self.used), self.streams.get_mut(self.used)) {
            (*place, *stream) = (segment, segment.stream().0);
            self.used += 1;
        }
    }

    /// Folds stream by stream, then profile by profile, each in the order of the segments: the atomics and the lock are
    /// taken once for each and batch, however they alternate.
    fn fold(&mut self) {
        let Self { segments, streams, used, alike, profiles, kinds } = self;
        alike.empty();
        profiles.empty();
        for (at, &id) in streams.iter().enumerate().take(*used) {
            alike.add(u64::from(id), 1 << at, 0);
        }
        for &Same { key: id, members, .. } in alike.all() {
            let Some(stream) = registry::stream_by_id(StreamId(id as u32)) else { continue };
            segments.count(stream, members);
            if stream.role != Role::None {
                let key = std::ptr::from_ref(stream.file).addr() as u64 | stream.layer as u64;
                let writes = if stream.role == Role::Writes { members } else { 0 };
                if let Some(kind) = kinds.get_mut(profiles.add(key, members, writes)) {
                    *kind = Some(stream);
                }
            }
        }
        for (same, stream) in profiles.all().iter().zip(kinds) {
            if let Some(stream) = stream {
                segments.profile(stream, same.members, same.writes);
            }
        }
    }
}

impl Segments {
    /// The `members` and their bits.
    fn those(&self, mut members: u64) -> impl Iterator<Item = (u64, &Segment)> {
        std::iter::from_fn(move || {
            let at = members.trailing_zeros();
            let segment = self.0.get(at as usize)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_found_however_many_kinds_there_are() {
        for kinds in [1, 2, 3, 63, 64_u64] {
            let mut alike =
                Alike { list: [Same { key: 0, members: 0, writes: 0 }; SLOTS], used: 7, places: [1; 2 * SLOTS] };
            alike.empty();
            for at in 0..SLOTS as u64 {
                // Keys that are apart by what hashes like.
                let position = alike.add((at % kinds) << 40, 1 << at, (at % 2) << at);
                assert_eq!(position as u64, at % kinds);
            }
            assert_eq!(alike.all().len() as u64, kinds);
            for (number, same) in (0..).zip(alike.all()) {
                let members = (0..64).filter(|at| at % kinds == number).fold(0, |all, at| all | 1_u64 << at);
                assert_eq!((same.key, same.members), (number << 40, members));
                assert_eq!(same.writes, members & 0xaaaa_aaaa_aaaa_aaaa);
            }
        }
    }
}
