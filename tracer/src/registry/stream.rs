//! Streams by (file, operation, flags, errno), and counters of segments that were folded instead of recorded individually.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::file;
use super::folded::{Adder, Folded};
use super::memory;
use super::others;
use super::records::{File, Stream};
use crate::budget::STREAM_BYTES;
use crate::config;
use crate::memory::{Lent, Record, Table};
use crate::ops::{FREQUENT, Op};
use crate::sites::{self, Site};
use crate::spool::journal;
use crate::tls::Thread;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use trace_format::Segment;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{StreamDef, StreamSite, stream_flags};
use trace_format::segment::{MAX_STREAMS, StreamId};

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Stream {}

// SAFETY: all fields are atomics in the layout that readers of the spool expect; zeros are empty counters.
unsafe impl Record for Folded {
    const VALID_WHEN_ZERO: bool = true;
}

static STREAMS: Table<Stream> = Table::new();
static FOLDED: Table<Folded> = Table::new();

/// Set of libraries that a call is nested in: bit 0 for an MPI call, bit 1 for an HDF5 call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Within(u8);

impl Within {
    /// Number of values of [`Within`]: sets of the libraries (MPI, HDF5) in whose calls a call may be nested.
    pub(super) const COUNT: usize = 4;
    /// Empty set of libraries: the program itself made the call.
    pub(crate) const NOTHING: Self = Self(0);

    /// Builds the set of libraries that a call is nested in. `mpi`: true if the call is inside an MPI call; `hdf5`: true if the call is
    /// inside an HDF5 call.
    pub(crate) fn new(mpi: bool, hdf5: bool) -> Self {
        Self(u8::from(mpi) | u8::from(hdf5) << 1)
    }

    pub(crate) fn mpi(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns the index of a stream in a file's table of streams of frequent operations (read, write). `place`: index of the operation in
    /// that table.
    #[inline(always)]
    fn place(self, place: u8) -> usize {
        usize::from(place) + usize::from(self.0 & 3) * FREQUENT
    }

    /// Returns the bits of [`stream_flags`] that mark calls nested in these libraries.
    pub(super) fn flags(self) -> u8 {
        let nested = if self.mpi() { stream_flags::NESTED } else { 0 };
        nested | if self.0 & 2 != 0 { stream_flags::IN_HDF5 } else { 0 }
    }
}

/// Reserves address space for the tables of `streams` streams (calls with the same file, operation, flags and errno).
pub(super) fn prepare(streams: usize) {
    let streams = streams.min(MAX_STREAMS as usize);
    STREAMS.prepare(streams);
    FOLDED.prepare(streams);
    memory::prepare(streams);
}

/// Number of streams (file, operation, flags) beyond which new streams are created only for the condensed record (all files without records
/// of their own).
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Reserves address space like [`prepare`], in counters mode: `streams` streams for files with records of their own, `condensed` for all
/// other files.
pub(super) fn prepare_counters(streams: usize, condensed: usize) {
    let all = (streams + condensed).min(MAX_STREAMS as usize);
    STREAMS.prepare(all);
    FOLDED.prepare(all);
    LIMIT.store(all - condensed, Ordering::Relaxed);
}

pub(super) fn capacity() -> usize {
    STREAMS.capacity()
}

/// Returns the approximate size that the definitions of all streams (file, operation, flags) take in a trace, in bytes.
pub(super) fn bytes() -> u64 {
    STREAMS.len() as u64 * STREAM_BYTES
}

/// Iterates over all streams (calls with the same file, operation, flags and errno) with their IDs, in order of ID.
pub(crate) fn streams() -> impl Iterator<Item = (u32, &'static Stream)> {
    STREAMS.numbered().map(|(id, stream)| (id as u32, stream))
}

pub(crate) fn by_id(id: StreamId) -> Option<&'static Stream> {
    STREAMS.get(id.0 as usize)
}

/// Returns the ID of the stream of calls of `op` on `file` with `marks` (bits of [`stream_flags`]) from `site`, created if absent; `None` if
/// the table is full. `within`: libraries that the calls are nested in.
#[inline(always)]
pub(crate) fn id_of(
    thread: &Thread,
    file: &'static File,
    op: &'static Op,
    within: Within,
    marks: u8,
    site: Site,
) -> Option<StreamId> {
    let Some(place) = op.frequent().filter(|_| marks == 0) else {
        return less_frequent(thread, file, op, within, marks, site);
    };
    let known = file.frequent[within.place(place)].load(Ordering::Relaxed);
    // The first call site is stored above the stream's ID plus one; what is left of it at the same call site fits into 24 bits.
    let id = (known ^ u64::from(site) << u32::BITS).wrapping_sub(1);
    if id < u64::from(MAX_STREAMS) {
        return Some(StreamId(id as u32));
    }
    let found = less_frequent(thread, file, op, within, marks, site);
    if known == 0
        && let Some(id) = found
    {
        let first = u64::from(site) << u32::BITS | u64::from(id.0 + 1);
        file.frequent[within.place(place)].store(first, Ordering::Relaxed);
    }
    found
}

/// Looks up a stream in the thread's cache first, then in the file's list.
#[inline(never)]
fn less_frequent(
    thread: &Thread,
    file: &'static File,
    op: &'static Op,
    within: Within,
    marks: u8,
    site: Site,
) -> Option<StreamId> {
    let flags = marks | within.flags();
    let of = u64::from(site) << 32 | u64::from(op.code()) << 8 | u64::from(flags);
    let address = std::ptr::from_ref(file).addr();
    if let Some(id) = sites::known_stream(thread, address, of) {
        return Some(StreamId(id));
    }
    let found = find_or_add(file, op, flags, 0, site);
    if let Some(id) = found {
        sites::remember_stream(thread, address, of, id.0);
    }
    found
}

/// Returns the ID of the stream of failed calls of `op` on `file` with `errno` from `site`, created if absent; `None` if the table is full.
#[cold]
pub(crate) fn failed_id_of(
    file: &'static File,
    op: &'static Op,
    within: Within,
    errno: u16,
    site: Site,
) -> Option<StreamId> {
    find_or_add(file, op, stream_flags::FAILED | within.flags(), errno, site)
}

/// Creates a stream (calls with the same operation and flags) of `op` on `file` outside of the file's list of streams, for an HDF5 data
/// set, which has its own list.
#[cold]
pub(super) fn add_apart(file: &'static File, op: &Op, flags: u8, site: Site) -> Option<StreamId> {
    if is_left_out(op) {
        return None;
    }
    count_sited(site);
    let (id, stream) = STREAMS.push_with(|id| Stream {
        id: AtomicU64::new(id as u64),
        file,
        op: op.code(),
        layer: op.layer(),
        role: op.role(flags & stream_flags::FAILED != 0),
        is_data: op.is_data(),
        flags,
        errno: 0,
        site,
        used: AtomicBool::new(false),
        counters: AtomicPtr::new(std::ptr::null_mut()),
        memory: memory::none(),
        next: std::ptr::null(),
    })?;
    note(stream);
    Some(StreamId(id as u32))
}

/// Returns the ID of the stream with this file, operation, flags, errno and call site, created if absent; `None` if the table is full or
/// DXT_LAYERS excludes the operation's layer.
#[cold]
pub(super) fn find_or_add(file: &'static File, op: &'static Op, flags: u8, errno: u16, site: Site) -> Option<StreamId> {
    if is_left_out(op) {
        return None;
    }
    loop {
        let head = file.streams.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: the list holds null or pointers to records that were written before they were linked.
        while let Some(stream) = unsafe { at.as_ref() } {
            if (stream.op, stream.flags, stream.errno, stream.site) == (op.code(), flags, errno, site) {
                return Some(StreamId(stream.id.load(Ordering::Acquire) as u32));
            }
            at = stream.next;
        }
        if site != 0 && !has_room_for_sites() {
            return find_or_add(file, op, flags, errno, 0);
        }
        if STREAMS.len() >= LIMIT.load(Ordering::Relaxed) && !others::is_condensed(file) {
            return find_or_add(others::condensed()?, op, flags, errno, site);
        }
        let (_, stream) = STREAMS.push_with(|id| Stream {
            id: AtomicU64::new(id as u64),
            file,
            op: op.code(),
            is_data: op.is_data(),
            flags,
            errno,
            site,
            layer: op.layer(),
            role: op.role(flags & stream_flags::FAILED != 0),
            used: AtomicBool::new(false),
            counters: AtomicPtr::new(std::ptr::null_mut()),
            memory: memory::none(),
            next: head,
        })?;
        count_sited(site);
        // Write to the journal before any thread can find the stream; see `file::find_or_add`.
        note(stream);
        let new = std::ptr::from_ref(stream).cast_mut();
        // A thread that loses the exchange leaves an unused record behind and finds the winner's in the next iteration.
        let _ = file.streams.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Number of streams with a call site.
static SITED: AtomicUsize = AtomicUsize::new(0);

fn count_sited(site: Site) {
    SITED.fetch_add(usize::from(site != 0), Ordering::Relaxed);
}

/// False once so many streams have a call site that further ones would take the room of streams without: calls from new places then belong to
/// the streams without a call site.
pub(super) fn has_room_for_sites() -> bool {
    SITED.load(Ordering::Relaxed) < sites::MOST_STREAMS.min(STREAMS.capacity() / 4)
}

/// True if DXT_LAYERS excludes the operation's I/O layer.
fn is_left_out(op: &Op) -> bool {
    config::filters().is_some_and(|filters| !filters.layers.contain(op.layer()))
}

/// Writes the stream's definition (file, operation, flags) to the journal of the spool (the file that survives a kill).
fn note(stream: &Stream) {
    if journal::is_kept() {
        let (id, file) = (stream.id.load(Ordering::Acquire) as u32, file::number(stream.file));
        journal::stream(&StreamDef { id, file, op: stream.op, flags: stream.flags, errno: stream.errno });
        if stream.site != 0 {
            journal::stream_site(StreamSite { stream: id, frame: stream.site - 1 });
        }
    }
}

pub(super) fn note_all() {
    // A stream under construction has no operation yet; its creator will see that the journal exists.
    streams().filter(|(_, stream)| stream.op != 0).for_each(|(_, stream)| note(stream));
}

/// Keeps the counters of streams in `part` from now on, a part of the spool (the file that survives a kill). No counters may exist yet.
pub(super) fn lend_counters(part: Lent) {
    // SAFETY: set-up runs in one thread, before any call is recorded. A spool stays mapped.
    unsafe { FOLDED.lend(part) };
}

/// Makes memory for counters usable now, because the tracer is about to lose the right to make system calls (seccomp).
pub(super) fn back_ahead() {
    FOLDED.back_ahead(256 << 10);
}

/// Takes a snapshot of the counters of all streams (calls with the same file, operation and flags) for the trace about to be written. The
/// caller has exclusive access to segment memory (`gate`).
pub(crate) fn take_counts() {
    FOLDED.iter().for_each(Folded::take);
}

/// Ends the snapshot of the streams' counters: its values are in a trace, or (if `written` is false) will go into the next trace.
pub(crate) fn settle_counts(written: bool) {
    FOLDED.iter().for_each(|folded| folded.settle(written));
}

/// Returns the counters in the last snapshot ([`take_counts`]) of every stream that has any; times are in clock ticks.
pub(crate) fn taken_counts() -> Vec<(u32, &'static Stream, Counters)> {
    let mut by_stream: BTreeMap<u32, Counters> = BTreeMap::new();
    for folded in FOLDED.iter() {
        // A stream may have several sets of counters, if a thread did not finish adding to an earlier set.
        let taken = folded.stream().map(|id| (id, folded.taken())).filter(|(_, counters)| counters.segments > 0);
        if let Some((id, counters)) = taken {
            by_stream.entry(id).or_default().merge(&counters);
        }
    }
    let with_stream = |(id, counters)| by_id(StreamId(id)).map(|stream| (id, stream, counters));
    by_stream.into_iter().filter_map(with_stream).collect()
}

/// Discards all streams' counters in a forked child, since they belong to the parent process.
pub(super) fn forget_counters() {
    for (_, stream) in streams() {
        stream.counters.store(std::ptr::null_mut(), Ordering::Relaxed);
        stream.used.store(false, Ordering::Relaxed);
    }
    file::forget_gone();
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { FOLDED.clear() };
}

impl Stream {
    /// True if the stream's calls read or wrote file data.
    pub(crate) fn moves_data(&self) -> bool {
        self.is_data && self.flags & stream_flags::FAILED == 0
    }

    /// Notes that segments of the stream have been packed (encoded in memory).
    pub(crate) fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// True if segments of the stream have been packed (encoded in memory).
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Adds `counters`, computed by one thread from segments of which the last one ends at the offset `previous`, to the stream's counters.
    /// Returns false if there is no room.
    pub(crate) fn add(&self, counters: &Counters, previous: Previous, adder: &Adder<'_>) -> bool {
        let add = |folded: &Folded| folded.add(counters, previous, adder);
        let known = self.counters();
        known.is_some_and(add) || self.new_counters(known).is_some_and(add)
    }

    /// Adds one segment to the stream's counters, compared with the previous segment if `ordered`. Returns false if there is no room.
    #[inline]
    pub(crate) fn add_one(&self, segment: &Segment, ordered: bool, adder: &Adder<'_>) -> bool {
        let Some(folded) = self.counters().filter(|folded| folded.begin(adder)) else {
            return self.add_one_elsewhere(segment, ordered, adder);
        };
        Self::add_one_to(folded, segment, ordered, adder);
        true
    }

    #[cold]
    fn add_one_elsewhere(&self, segment: &Segment, ordered: bool, adder: &Adder<'_>) -> bool {
        let new = self.new_counters(self.counters()).filter(|folded| folded.begin(adder));
        new.map(|folded| Self::add_one_to(folded, segment, ordered, adder)).is_some()
    }

    /// Adds one segment (record of a call) to the counters `folded`, which this thread holds exclusively. If `ordered`, compares its offset
    /// with the previous segment's end, to detect sequential access.
    #[inline(always)]
    fn add_one_to(folded: &Folded, segment: &Segment, ordered: bool, adder: &Adder<'_>) {
        let (offset, length) = (segment.offset, segment.length());
        let (mut one, mut previous) = (Counters::default(), folded.previous());
        if ordered {
            one.fold_unsized(&mut previous, offset, length, segment.started(), segment.end);
        } else {
            one.fold_alone_unsized(offset, length, segment.started(), segment.end);
        }
        folded.add_one(&one, previous, adder);
    }

    /// Creates a further set of counters for the stream, to be used instead of `known`, which another thread (maybe stopped) has held for
    /// too long. `None` if there is no room.
    #[cold]
    fn new_counters(&self, known: Option<&'static Folded>) -> Option<&'static Folded> {
        let (_, new) = FOLDED.push(Folded::new(self.id.load(Ordering::Acquire)))?;
        let place_of = |of: Option<&Folded>| of.map_or(std::ptr::null_mut(), |of| std::ptr::from_ref(of).cast_mut());
        let [known, place] = [known, Some(new)].map(place_of);
        let made = self.counters.compare_exchange(known, place, Ordering::AcqRel, Ordering::Acquire);
        if made.is_ok() { Some(new) } else { self.counters() }
    }

    /// Returns the end offset of the last segment that was added to the stream's counters, to detect sequential access.
    pub(crate) fn previous(&self) -> Previous {
        self.counters().map_or_else(Previous::default, Folded::previous)
    }

    fn counters(&self) -> Option<&'static Folded> {
        // SAFETY: null or a record of the table.
        unsafe { self.counters.load(Ordering::Acquire).as_ref() }
    }
}
