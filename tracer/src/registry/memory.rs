//! Memory alignment of buffers in reads and writes, in trace mode. Two bits of a segment's start time hold the alignment while the segment
//! is in the tracer's memory. Before a segment is encoded or folded, the bits are counted here per stream, since encoded segments lack
//! them.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::records::Stream;
use super::stream;
use crate::memory::{Record, Table};
use crate::ops::Role;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use trace_format::counters::{SIZE_BINS, size_bin};
use trace_format::{Segment, StreamId};

/// Buffer alignment counts of a stream's calls whose segments are encoded or folded into counters: [calls with a known buffer address,
/// calls with an unaligned buffer].
#[derive(Debug)]
pub(crate) struct Memory {
    /// Alignment counts of all calls so far: [calls with a known buffer address, calls with an unaligned buffer].
    seen: [AtomicU64; 2],
    /// Value of `seen` when the counts for the trace being written were taken.
    telling: [AtomicU64; 2],
    /// Alignment counts, out of `seen`, that earlier traces contain.
    reported: [AtomicU64; 2],
}

/// Number of values in the table [`Costs`]: calls and clock ticks of aligned and of unaligned accesses, by direction and size bin.
const COSTS: usize = 2 * SIZE_BINS * 4;

/// Table of the number of reads and writes and their total time in clock ticks, by direction (reads, writes), size bin, and buffer
/// alignment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs([u64; COSTS]);

/// Costs (number and time, by size and alignment) of calls whose segments are encoded or folded into counters: of all calls so far
/// (`seen`), at the snapshot for the trace being written (`telling`), and in earlier traces (`reported`).
struct SharedCosts {
    seen: [AtomicU64; COSTS],
    telling: [AtomicU64; COSTS],
    reported: [AtomicU64; COSTS],
}

static SEEN: SharedCosts = SharedCosts {
    seen: [const { AtomicU64::new(0) }; COSTS],
    telling: [const { AtomicU64::new(0) }; COSTS],
    reported: [const { AtomicU64::new(0) }; COSTS],
};

// SAFETY: atomics only; zeros are valid counts.
unsafe impl Record for Memory {
    const VALID_WHEN_ZERO: bool = true;
}

/// Buffer alignment counts, one entry per stream (file and operation) with counted buffers.
static MEMORIES: Table<Memory> = Table::new();

pub(super) fn prepare(streams: usize) {
    MEMORIES.prepare(streams);
}

/// Returns a null pointer, for a stream that has no buffer alignment counts yet.
pub(super) const fn none() -> AtomicPtr<Memory> {
    AtomicPtr::new(std::ptr::null_mut())
}

impl Stream {
    /// Returns the buffer alignment counts of the stream (file and operation), if any.
    fn memory(&self) -> Option<&'static Memory> {
        // SAFETY: null or a record of the table, which is never moved.
        unsafe { self.memory.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the buffer alignment counts of the stream (file and operation), created if absent; `None` if the table is full.
    fn own_memory(&self) -> Option<&'static Memory> {
        if self.memory().is_none() {
            let new = std::ptr::from_ref(MEMORIES.push_zeroed()?).cast_mut();
            // A thread that loses the exchange leaves an unused record behind.
            let _ = self.memory.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        }
        self.memory()
    }
}

impl Memory {
    /// Takes a snapshot of the alignment counts for the trace about to be written, and returns the counts since the last trace. Excludes
    /// segments that are not encoded yet.
    fn take(&self) -> [u64; 2] {
        take(&self.seen, &self.telling, &self.reported)
    }
}

fn take<const N: usize>(seen: &[AtomicU64; N], telling: &[AtomicU64; N], reported: &[AtomicU64; N]) -> [u64; N] {
    std::array::from_fn(|i| {
        let now = seen[i].load(Ordering::Relaxed);
        telling[i].store(now, Ordering::Relaxed);
        now.wrapping_sub(reported[i].load(Ordering::Relaxed))
    })
}

fn settle<const N: usize>(telling: &[AtomicU64; N], reported: &[AtomicU64; N]) {
    telling
        .iter()
        .zip(reported)
        .for_each(|(telling, reported)| reported.store(telling.load(Ordering::Relaxed), Ordering::Relaxed));
}

impl Default for Costs {
    fn default() -> Self {
        Self([0; COSTS])
    }
}

impl Costs {
    fn see(&mut self, at: usize, ticks: u64) {
        if let Some([calls, time]) = self.0.get_mut(at..at + 2) {
            *calls += 1;
            *time += ticks;
        }
    }

    /// Iterates over the rows of the table that are not all zero: (true for writes, size bin, [calls and clock ticks of aligned, then of
    /// unaligned calls]).
    pub(crate) fn rows(&self) -> impl Iterator<Item = (bool, usize, [u64; 4])> {
        let of = |(number, row): (usize, &[u64])| {
            let row: [u64; 4] = row.try_into().unwrap_or_default();
            (number >= SIZE_BINS, number % SIZE_BINS, row)
        };
        self.0.chunks_exact(4).enumerate().map(of).filter(|(.., row)| row[0] + row[2] > 0)
    }
}

/// Returns the index in [`Costs`] of the number of calls of the size of `segment`, the direction (`writes`) and the alignment
/// (`unaligned`); the next index holds the time.
fn place(writes: bool, segment: &Segment, unaligned: bool) -> usize {
    ((usize::from(writes) * SIZE_BINS + size_bin(segment.length())) * 2 + usize::from(unaligned)) * 2
}

/// Counts buffer alignment in the filled `slots`. Calls `with` per run of segments of one stream: [known buffers, unaligned buffers]. Calls
/// `cost` per segment: index in [`Costs`], and duration in clock ticks.
fn tally(slots: &[Segment], mut cost: impl FnMut(usize, u64), mut with: impl FnMut(StreamId, [u64; 2])) {
    for run in slots.chunk_by(|one, next| one.stream() == next.stream()) {
        let Some(first) = run.first().filter(|_| run.iter().any(|slot| slot.memory_unaligned().is_some())) else {
            continue;
        };
        let Some(stream) = stream::by_id(first.stream()).filter(|stream| stream.role != Role::None) else { continue };
        let mut sums = [0; 2];
        for slot in run.iter().filter(|slot| slot.end != 0) {
            let Some(unaligned) = slot.memory_unaligned() else { continue };
            sums[0] += 1;
            sums[1] += u64::from(unaligned);
            let ticks = slot.ended().saturating_sub(slot.started());
            cost(place(stream.role == Role::Writes, slot, unaligned), ticks);
        }
        with(first.stream(), sums);
    }
}

/// Counts the buffer alignment of segments that are about to be encoded, since encoded segments lack the alignment bits. If `back` is true,
/// subtracts the counts again, because the segments could not be encoded.
pub(crate) fn note(slots: &[Segment], back: bool) {
    let add = |place: &AtomicU64, count: u64| {
        let count = if back { count.wrapping_neg() } else { count };
        if count != 0 {
            place.fetch_add(count, Ordering::Relaxed);
        }
    };
    let mut costs = Costs::default();
    let cost = |at, ticks| costs.see(at, ticks);
    tally(slots, cost, |id, sums| {
        if let Some(memory) = stream::by_id(id).and_then(Stream::own_memory) {
            memory.seen.iter().zip(sums).for_each(|(place, count)| add(place, count));
        }
    });
    SEEN.seen.iter().zip(costs.0).for_each(|(place, count)| add(place, count));
}

/// Counts the buffer alignment of segments about to be folded. Uses no local [`Costs`] table, which would not fit on the program's stack.
pub(crate) fn note_folded(slots: &[Segment]) {
    let cost = |at: usize, ticks| {
        if let Some([calls, time]) = SEEN.seen.get(at..at + 2) {
            calls.fetch_add(1, Ordering::Relaxed);
            time.fetch_add(ticks, Ordering::Relaxed);
        }
    };
    tally(slots, cost, |id, sums| {
        if let Some(memory) = stream::by_id(id).and_then(Stream::own_memory) {
            memory.seen.iter().zip(sums).for_each(|(place, count)| {
                place.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
}

/// Takes the snapshot of buffer alignment for the trace about to be written: counts per stream (file and operation), and costs (calls,
/// time). Adds `slots`, segments that are not encoded yet and still have their alignment bits.
pub(crate) fn reported<'s>(slots: impl Iterator<Item = &'s [Segment]>) -> (Vec<[u64; 2]>, Costs) {
    let mut costs = Costs(take(&SEEN.seen, &SEEN.telling, &SEEN.reported));
    let mut by_stream: Vec<[u64; 2]> = Vec::new();
    for (id, stream) in stream::streams() {
        by_stream.resize(id as usize, [0; 2]);
        by_stream.push(stream.memory().map_or([0; 2], Memory::take));
    }
    for slots in slots {
        tally(
            slots,
            |at, ticks| costs.see(at, ticks),
            |id, sums| {
                if let Some(place) = by_stream.get_mut(id.0 as usize) {
                    place.iter_mut().zip(sums).for_each(|(place, count)| *place += count);
                }
            },
        );
    }
    (by_stream, costs)
}

/// Marks the buffer alignment counts in the snapshot as written to a trace.
pub(crate) fn settle_reported() {
    stream::streams()
        .filter_map(|(_, stream)| stream.memory())
        .for_each(|memory| settle(&memory.telling, &memory.reported));
    settle(&SEEN.telling, &SEEN.reported);
}

/// Discards all buffer alignment counts in a forked child, since they belong to the parent process.
pub(super) fn forget(streams: impl Iterator<Item = &'static Stream>) {
    let zero = |places: &[AtomicU64]| places.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    streams.for_each(|stream| stream.memory.store(std::ptr::null_mut(), Ordering::Relaxed));
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { MEMORIES.clear() };
    zero(&SEEN.seen);
    zero(&SEEN.telling);
    zero(&SEEN.reported);
}
