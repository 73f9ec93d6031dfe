//! Applies the job's byte budget (DXT_JOB_BYTES, `crate::budget`) to a trace: segments beyond the budget are replaced by the exact counters
//! of their streams. Each thread loses its last segments, since the first ones are written first.

use super::gather::{Held, Ordered};
use super::left_out::LeftOut;
use super::unpack::Unpacker;
use crate::budget::{self, FILE_BYTES, STREAM_BYTES};
use crate::{buffer, cpu_times, registry};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::Segment;
use trace_format::columns::TickScale;

/// Number of bytes that this process adds to the trace being written.
static GOING: AtomicU64 = AtomicU64::new(0);

/// Approximate fixed size of a process's record in a trace, in bytes: description and headers of the parts.
const PROCESS_BYTES: u64 = 1 << 10;

/// Ends writing a trace. If `written`, counts the trace's bytes as used from the job's byte budget.
pub(super) fn settle(written: bool) {
    let bytes = GOING.swap(0, Ordering::Relaxed);
    if written {
        budget::settle(bytes);
    }
}

/// Stores the size of this process's trace (or of its part of a common trace) that is about to be written.
pub(super) fn goes_into(bytes: usize) {
    GOING.store(bytes as u64, Ordering::Relaxed);
}

/// Resets the count of bytes that go into a trace, in a forked child, which has written nothing yet.
pub(super) fn in_child() {
    budget::in_child();
    GOING.store(0, Ordering::Relaxed);
}

/// Bytes that this process may still add to traces under the job's byte budget.
struct Room {
    /// Bytes available for segments (records of single calls): the process's share minus its tables and the bytes already written.
    segments: u64,
    tables: u64,
}

impl Room {
    /// Returns the bytes that remain to this process under the job's byte budget; `None` if there is no limit.
    fn now() -> Option<Self> {
        let share = budget::share()?;
        let files: u64 = registry::files().map(|file| FILE_BYTES + file.reported.len() as u64).sum();
        let tables = PROCESS_BYTES
            + files
            + registry::streams().count() as u64 * STREAM_BYTES
            + cpu_times::bytes()
            + registry::chunks_bytes();
        budget::asks_anew();
        Some(Self { segments: share.saturating_sub(tables).saturating_sub(budget::left()), tables })
    }

    fn is_for(&self, bytes: u64) -> bool {
        bytes <= self.segments && budget::covers_trace(self.tables + bytes)
    }
}

/// Moves segments beyond the budget from `threads` to the counters in `left_out`; returns the number of segments moved.
pub(super) fn fit(threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) -> u64 {
    match Room::now() {
        Some(room) => fit_into(&room, threads, left_out, scale),
        None => 0,
    }
}

fn fit_into(room: &Room, threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) -> u64 {
    let mut unpacker = Unpacker::new(scale);
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    for (thread, of_thread) in threads.iter().enumerate() {
        pieces.extend((0..of_thread.len()).map(|index| (index, thread)));
    }
    // Pieces are handled round robin over threads.
    pieces.sort_unstable();
    let (mut used, mut folded, mut is_full) = (0, 0, false);
    for (index, thread) in pieces {
        let Some(ordered) = threads.get_mut(thread).and_then(|pieces| pieces.get_mut(index)) else { continue };
        if !is_full {
            let bytes = encoded_bytes(&mut ordered.piece, thread as u32, &mut unpacker, scale);
            is_full = !room.is_for(used + bytes);
            if !is_full {
                used += bytes;
                continue;
            }
        }
        for segment in segments(&ordered.piece, &mut unpacker, scale) {
            left_out.fold(&segment);
            folded += 1;
        }
        ordered.piece = Held::Slots(Cow::Owned(Vec::new()));
    }
    for pieces in threads {
        pieces.retain(|ordered| !matches!(&ordered.piece, Held::Slots(slots) if slots.is_empty()));
    }
    folded
}

/// Returns the encoded size of a piece (chunk, packed block or scratch) of a thread's segments, in bytes. Encodes the segments if they are
/// not encoded yet.
fn encoded_bytes(piece: &mut Held, thread: u32, unpacker: &mut Unpacker<'_>, scale: &TickScale) -> u64 {
    if let Held::Slots(slots) = piece {
        let slots: Vec<Segment> =
            slots.iter().filter(|slot| buffer::is_filled(slot)).map(|s| in_ns(s, scale)).collect();
        match unpacker.packed(thread, &slots) {
            Some(frame) => {
                slots
                    .iter()
                    .filter_map(|slot| registry::stream_by_id(slot.stream()))
                    .for_each(registry::Stream::mark_used);
                *piece = Held::Again(frame);
            }
            // Without memory to encode them, the segments count with their raw size.
            None => return slots.len() as u64 * size_of::<Segment>() as u64,
        }
    }
    match piece {
        Held::Again(frame) => frame.len() as u64,
        Held::Packed(block) => block.frame.len() as u64,
        Held::Slots(_) => 0,
    }
}

/// Returns the decoded segments of a piece (chunk, packed block or scratch), with times in ns since the epoch.
fn segments(piece: &Held, unpacker: &mut Unpacker<'_>, scale: &TickScale) -> Vec<Segment> {
    match piece {
        Held::Slots(slots) => slots.iter().filter(|slot| buffer::is_filled(slot)).map(|s| in_ns(s, scale)).collect(),
        Held::Packed(block) => unpacker.segments(block).unwrap_or_default(),
        Held::Again(frame) => unpacker.again(frame).unwrap_or_default(),
    }
}

fn in_ns(segment: &Segment, scale: &TickScale) -> Segment {
    Segment { start: scale.nanoseconds(segment.started()), end: scale.nanoseconds(segment.ended()), ..*segment }
}
