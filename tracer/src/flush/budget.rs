//! DXT_JOB_BYTES: each rank may write an equal share of the job's bytes, a process without MPI all of them. Nobody has to ask others
//! for that, so it holds however the ranks write. What has no room goes into the exact counters of its streams: what each thread did
//! last, since its first calls are written first.

use super::gather::{Held, Ordered};
use super::left_out::LeftOut;
use super::unpack::Unpacker;
use crate::{buffer, config, mpi, registry};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::Segment;
use trace_format::columns::TickScale;

/// Bytes of segments in the traces of this process so far, and in the one that is being written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static NOW: AtomicU64 = AtomicU64::new(0);

/// About what is written of a process besides what grows: its description and the heads of its parts.
const PROCESS_BYTES: u64 = 1 << 10;
/// The same of a file besides its path, and of a stream with counters; both are compressed afterwards.
const FILE_BYTES: u64 = 48;
const STREAM_BYTES: u64 = 64;

/// What was taken is in a trace now, or (`written` is false) is not.
pub(super) fn settle(written: bool) {
    let now = NOW.swap(0, Ordering::Relaxed);
    if written {
        WRITTEN.fetch_add(now, Ordering::Relaxed);
    }
}

/// In a forked child, which has its own share.
pub(super) fn in_child() {
    WRITTEN.store(0, Ordering::Relaxed);
    NOW.store(0, Ordering::Relaxed);
}

/// Bytes of segments that this process may still write: its share less what its tables take. `None`: as many as there are.
fn room() -> Option<u64> {
    let job = config::current()?.site.job_bytes?;
    let share = job / mpi::world().map_or(1, |world| u64::from(world.size.unsigned_abs()).max(1));
    let files: u64 = registry::files().map(|file| FILE_BYTES + file.told.len() as u64).sum();
    let tables = PROCESS_BYTES + files + registry::streams().count() as u64 * STREAM_BYTES;
    Some(share.saturating_sub(tables).saturating_sub(WRITTEN.load(Ordering::Relaxed)))
}

/// Takes out of `threads` what has no room and adds it to `left_out`; returns how many calls that were.
pub(super) fn fit(threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) -> u64 {
    match room() {
        Some(room) => fit_into(room, threads, left_out, scale),
        None => 0,
    }
}

fn fit_into(room: u64, threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) -> u64 {
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
            is_full = used + bytes > room;
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
