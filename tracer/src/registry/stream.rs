//! Streams by (file, operation, flags, error number), and the counters of segments that have no place on record.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::file;
use super::folded::{Adder, Folded};
use super::memory;
use super::others;
use super::records::{File, Stream};
use crate::budget::STREAM_BYTES;
use crate::filters;
use crate::memory::{Lent, Record, Table};
use crate::ops::{FREQUENT, Op};
use crate::spool::journal;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use trace_format::Segment;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{StreamDef, stream_flags};
use trace_format::segment::{MAX_STREAMS, StreamId};

// SAFETY: found only when it is whole.
unsafe impl Record for Stream {}

// SAFETY: atomics only, as readers of the spool find them; zeros are counters of nothing.
unsafe impl Record for Folded {
    const VALID_WHEN_ZERO: bool = true;
}

static STREAMS: Table<Stream> = Table::new();
static FOLDED: Table<Folded> = Table::new();

/// Inside calls of which libraries a call was made: bit 0 MPI-IO, bit 1 HDF5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Within(u8);

impl Within {
    /// Number of combinations.
    pub(super) const COUNT: usize = 4;
    /// Inside none.
    pub(crate) const NOTHING: Self = Self(0);

    /// From whether the thread is inside an MPI call, and inside one of HDF5.
    pub(crate) fn new(mpi: bool, hdf5: bool) -> Self {
        Self(u8::from(mpi) | u8::from(hdf5) << 1)
    }

    /// Whether inside MPI-IO.
    pub(crate) fn mpi(self) -> bool {
        self.0 & 1 != 0
    }

    /// Place of a frequent operation's stream in a file's table.
    #[inline(always)]
    fn place(self, place: u8) -> usize {
        usize::from(place) + usize::from(self.0 & 3) * FREQUENT
    }

    /// The bits of [`stream_flags`].
    pub(super) fn flags(self) -> u8 {
        let nested = if self.mpi() { stream_flags::NESTED } else { 0 };
        nested | if self.0 & 2 != 0 { stream_flags::IN_HDF5 } else { 0 }
    }
}

/// Takes address space for `streams` streams.
pub(super) fn prepare(streams: usize) {
    let streams = streams.min(MAX_STREAMS as usize);
    STREAMS.prepare(streams);
    FOLDED.prepare(streams);
    memory::prepare(streams);
}

/// Streams from which on only the condensed record gets new ones.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// As [`prepare`], for counters mode: `streams` of files with records, and `condensed` more of the condensed record.
pub(super) fn prepare_counters(streams: usize, condensed: usize) {
    let all = (streams + condensed).min(MAX_STREAMS as usize);
    STREAMS.prepare(all);
    FOLDED.prepare(all);
    LIMIT.store(all - condensed, Ordering::Relaxed);
}

/// Streams that there may be.
pub(super) fn capacity() -> usize {
    STREAMS.capacity()
}

/// About what they take in a trace.
pub(super) fn bytes() -> u64 {
    STREAMS.len() as u64 * STREAM_BYTES
}

/// All streams, by id.
pub(crate) fn streams() -> impl Iterator<Item = (u32, &'static Stream)> {
    STREAMS.numbered().map(|(id, stream)| (id as u32, stream))
}

/// The stream with this id.
pub(crate) fn by_id(id: StreamId) -> Option<&'static Stream> {
    STREAMS.get(id.0 as usize)
}

/// Id of the stream of `op` on `file`; `None` when the table is full.
#[inline(always)]
pub(crate) fn id_of(file: &'static File, op: &'static Op, within: Within) -> Option<StreamId> {
    if let Some(place) = op.frequent() {
        let id = file.frequent[within.place(place)].load(Ordering::Relaxed);
        if id != 0 {
            return Some(StreamId(id - 1));
        }
    }
    let id = find_or_add(file, op, within.flags(), 0)?;
    if let Some(place) = op.frequent() {
        file.frequent[within.place(place)].store(id.0 + 1, Ordering::Relaxed);
    }
    Some(id)
}

/// Id of the stream of calls of `op` on `file` that failed with `errno`; `None` when the table is full.
#[cold]
pub(crate) fn failed_id_of(file: &'static File, op: &'static Op, within: Within, errno: u16) -> Option<StreamId> {
    find_or_add(file, op, stream_flags::FAILED | within.flags(), errno)
}

/// Id of the stream of calls of `op` on `file` that have `marks`, bits of [`stream_flags`]; `None` when the table is full.
#[cold]
pub(crate) fn marked_id_of(file: &'static File, op: &'static Op, within: Within, marks: u8) -> Option<StreamId> {
    find_or_add(file, op, marks | within.flags(), 0)
}

/// A new stream of `op` on `file` that is not among the file's own: for a data set inside it, which keeps its streams itself.
#[cold]
pub(super) fn add_apart(file: &'static File, op: &Op, flags: u8) -> Option<StreamId> {
    if is_left_out(op) {
        return None;
    }
    let (id, stream) = STREAMS.push_with(|id| Stream {
        id: AtomicU64::new(id as u64),
        file,
        op: op.code(),
        layer: op.layer(),
        role: op.role(flags & stream_flags::FAILED != 0),
        is_data: op.is_data(),
        flags,
        errno: 0,
        used: AtomicBool::new(false),
        counters: AtomicPtr::new(std::ptr::null_mut()),
        memory: memory::none(),
        next: std::ptr::null(),
    })?;
    note(stream);
    Some(StreamId(id as u32))
}

/// As its callers; also `None` for a layer that is left out.
#[cold]
pub(super) fn find_or_add(file: &'static File, op: &'static Op, flags: u8, errno: u16) -> Option<StreamId> {
    if is_left_out(op) {
        return None;
    }
    loop {
        let head = file.streams.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: the list holds null or pointers to records that were written before they were linked.
        while let Some(stream) = unsafe { at.as_ref() } {
            if (stream.op, stream.flags, stream.errno) == (op.code(), flags, errno) {
                return Some(StreamId(stream.id.load(Ordering::Acquire) as u32));
            }
            at = stream.next;
        }
        if STREAMS.len() >= LIMIT.load(Ordering::Relaxed) && !others::is_condensed(file) {
            return find_or_add(others::condensed()?, op, flags, errno);
        }
        let (_, stream) = STREAMS.push_with(|id| Stream {
            id: AtomicU64::new(id as u64),
            file,
            op: op.code(),
            is_data: op.is_data(),
            flags,
            errno,
            layer: op.layer(),
            role: op.role(flags & stream_flags::FAILED != 0),
            used: AtomicBool::new(false),
            counters: AtomicPtr::new(std::ptr::null_mut()),
            memory: memory::none(),
            next: head,
        })?;
        // Before anyone can find it: see `file::find_or_add`.
        note(stream);
        let new = std::ptr::from_ref(stream).cast_mut();
        // A thread that loses the exchange leaves an unused record behind and finds the winner's on the next turn.
        let _ = file.streams.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Whether the operation's layer is left out.
fn is_left_out(op: &Op) -> bool {
    filters::current().is_some_and(|filters| !filters.layers.contain(op.layer()))
}

/// What the trace says of a stream, with the file's number in the journal.
fn note(stream: &Stream) {
    if journal::is_kept() {
        let (id, file) = (stream.id.load(Ordering::Acquire) as u32, file::number(stream.file));
        journal::stream(&StreamDef { id, file, op: stream.op, flags: stream.flags, errno: stream.errno });
    }
}

/// Writes all streams into the journal.
pub(super) fn note_all() {
    // One that is being made has no operation yet; its maker sees that there is a journal by now.
    streams().filter(|(_, stream)| stream.op != 0).for_each(|(_, stream)| note(stream));
}

/// From now on counters lie in the spool. There may be none yet.
pub(super) fn lend_counters(part: Lent) {
    // SAFETY: the tracer is being set up, by one thread: nothing is recorded yet. A spool stays mapped.
    unsafe { FOLDED.lend(part) };
}

/// See `registry::back_ahead`.
pub(super) fn back_ahead() {
    FOLDED.back_ahead(256 << 10);
}

/// What was counted since the last trace belongs to the one that is about to be written. The caller has the gate alone.
pub(crate) fn take_counts() {
    FOLDED.iter().for_each(Folded::take);
}

/// What was taken is in a trace now, or (`written` is false) is not.
pub(crate) fn settle_counts(written: bool) {
    FOLDED.iter().for_each(|folded| folded.settle(written));
}

/// What was taken, in ticks, of every stream that has any.
pub(crate) fn taken_counts() -> Vec<(u32, &'static Stream, Counters)> {
    let mut by_stream: BTreeMap<u32, Counters> = BTreeMap::new();
    for folded in FOLDED.iter() {
        // A stream may have some that were left to a thread which did not come to its end.
        let taken = folded.stream().map(|id| (id, folded.taken())).filter(|(_, counters)| counters.segments > 0);
        if let Some((id, counters)) = taken {
            by_stream.entry(id).or_default().merge(&counters);
        }
    }
    let with_stream = |(id, counters)| by_id(StreamId(id)).map(|stream| (id, stream, counters));
    by_stream.into_iter().filter_map(with_stream).collect()
}

/// In a forked child: the counters are its parent's.
pub(super) fn forget_counters() {
    for (_, stream) in streams() {
        stream.counters.store(std::ptr::null_mut(), Ordering::Relaxed);
        stream.used.store(false, Ordering::Relaxed);
    }
    file::forget_gone();
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { FOLDED.clear() };
}

impl Stream {
    /// Whether its calls moved file data.
    pub(crate) fn moves_data(&self) -> bool {
        self.is_data && self.flags & stream_flags::FAILED == 0
    }

    /// Segments of it have been packed.
    pub(crate) fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether segments of it have been packed.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Adds what was folded by one thread; `previous` is where its last segment ended.
    pub(crate) fn add(&self, counters: &Counters, previous: Previous, adder: &Adder<'_>) -> bool {
        let add = |folded: &Folded| folded.add(counters, previous, adder);
        let known = self.counters();
        known.is_some_and(add) || self.new_counters(known).is_some_and(add)
    }

    /// Adds one segment; `ordered`: it is compared with the one before.
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

    /// To counters that it has alone.
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

    /// Its counters, made if there are none but the `known` ones, which another thread has for long: it may have been stopped. `None` if there
    /// is no room.
    #[cold]
    fn new_counters(&self, known: Option<&'static Folded>) -> Option<&'static Folded> {
        let (_, new) = FOLDED.push(Folded::new(self.id.load(Ordering::Acquire)))?;
        let place_of = |of: Option<&Folded>| of.map_or(std::ptr::null_mut(), |of| std::ptr::from_ref(of).cast_mut());
        let [known, place] = [known, Some(new)].map(place_of);
        let made = self.counters.compare_exchange(known, place, Ordering::AcqRel, Ordering::Acquire);
        if made.is_ok() { Some(new) } else { self.counters() }
    }

    /// Where the last folded segment ended.
    pub(crate) fn previous(&self) -> Previous {
        self.counters().map_or_else(Previous::default, Folded::previous)
    }

    fn counters(&self) -> Option<&'static Folded> {
        // SAFETY: null or a record of the table.
        unsafe { self.counters.load(Ordering::Acquire).as_ref() }
    }
}
