//! DXT_JOB_BYTES in traces (`crate::budget`): what has no room goes into the exact counters of its streams: what each thread did
//! last, since its first calls are written first.

use super::gather::{Held, Ordered};
use super::left_out::LeftOut;
use super::unpack::Unpacker;
use crate::budget::{self, FILE_BYTES, STREAM_BYTES};
use crate::{buffer, registry};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::Segment;
use trace_format::columns::TickScale;

/// Bytes of segments in the trace that is being written.
static NOW: AtomicU64 = AtomicU64::new(0);

/// About what is written of a process besides what grows: its description and the heads of its parts.
const PROCESS_BYTES: u64 = 1 << 10;

/// What was taken is in a trace now, or (`written` is false) is not.
pub(super) fn settle(written: bool) {
    budget::settle(NOW.swap(0, Ordering::Relaxed), written);
}

/// A trace with so many bytes of this process is about to be written.
pub(super) fn goes_into(bytes: usize) {
    budget::goes_into(bytes);
}

/// In a forked child, which has left nothing yet.
pub(super) fn in_child() {
    budget::in_child();
    NOW.store(0, Ordering::Relaxed);
}

/// What this process may still write.
struct Room {
    /// Bytes of segments: its share less what its tables take.
    segments: u64,
    /// Bytes of its tables.
    tables: u64,
}

impl Room {
    /// `None`: there is no budget.
    fn now() -> Option<Self> {
        let share = budget::share()?;
        let files: u64 = registry::files().map(|file| FILE_BYTES + file.told.len() as u64).sum();
        let tables = PROCESS_BYTES + files + registry::streams().count() as u64 * STREAM_BYTES;
        budget::asks_anew();
        Some(Self { segments: share.saturating_sub(tables).saturating_sub(budget::written()), tables })
    }

    /// Whether there is room for so many bytes of segments.
    fn is_for(&self, bytes: u64) -> bool {
        bytes <= self.segments && budget::covers_trace(self.tables + bytes)
    }
}

/// Takes out of `threads` what has no room and adds it to `left_out`; returns how many calls that were.
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
    // Threads take turns.
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
    NOW.store(used, Ordering::Relaxed);
    folded
}

/// How many bytes a piece takes in the file. What is not encoded yet is, to know that.
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
            // It is written as it is, if it can be.
            None => return slots.len() as u64 * size_of::<Segment>() as u64,
        }
    }
    match piece {
        Held::Again(frame) => frame.len() as u64,
        Held::Packed(block) => block.frame.len() as u64,
        Held::Slots(_) => 0,
    }
}

/// The segments of a piece, with times in ns since the epoch.
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
