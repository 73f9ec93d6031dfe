//! Output filter: removes from the trace reads and writes shorter than DXT_MIN_SIZE, and all segments of files that triggers exclude.
//! Removed segments are added to the counters of their streams. That happens only here, so that a second attempt to write starts from the
//! same segments.

use super::gather::{Held, Ordered};
use super::left_out::LeftOut;
use super::unpack::Unpacker;
use crate::config;
use crate::filters::Triggers;
use crate::record::THREADS;
use crate::registry::{self, ByLayer, Counting, File};
use crate::{buffer, job, mpi};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use trace_format::columns::TickScale;
use trace_format::op::Layer;
use trace_format::{Segment, StreamId};

/// Value of the minimum length in bytes for a stream of which no segment is written: longer than any segment.
const NONE: u64 = u64::MAX;

/// Moves all segments of threads marked as only counted (`ThreadRecord::counts`) from `threads` to the counters in `left_out`.
pub(super) fn counted_only(threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) {
    for (index, _) in THREADS.numbered().filter(|(_, thread)| thread.counts.load(Ordering::Relaxed)) {
        let pieces = threads.get_mut(index).map(std::mem::take).unwrap_or_default();
        for slots in pieces.iter().filter_map(Ordered::slots) {
            let filled = slots.iter().filter(|slot| buffer::is_filled(slot));
            filled.for_each(|segment| left_out.fold(&in_nanoseconds(segment, scale)));
        }
    }
}

/// Converts the times of a segment to ns since the process's epoch (time zero).
fn in_nanoseconds(segment: &Segment, scale: &TickScale) -> Segment {
    let (start, end) = (scale.nanoseconds(segment.started()), scale.nanoseconds(segment.ended()));
    Segment { start, end, ..*segment }
}

/// Moves segments that DXT_MIN_SIZE or a trigger excludes from `threads` to the counters in `left_out`.
pub(super) fn apply(threads: &mut [Vec<Ordered>], left_out: &mut LeftOut, scale: &TickScale) {
    let triggers = config::triggers().filter(|triggers| !triggers.keep_all_of(rank()));
    // Files without names of their own (byte budget used up) keep no segments, since these files could not be distinguished.
    let others = registry::other_files_record();
    if others.is_none() && triggers.is_none() && config::filters().is_none_or(|filters| filters.min_size == 0) {
        return;
    }
    let mut unpacker = Unpacker::new(scale);
    // A stream that another thread is creating gets a placeholder.
    let mut least: Vec<u64> = Vec::new();
    for (id, stream) in registry::streams() {
        least.resize(id as usize, 0);
        let is_other = others.is_some_and(|others| std::ptr::eq(stream.file, others)) && stream.layer != Layer::Mpi;
        least.push(if is_other { NONE } else { buffer::least_length(StreamId(id)) });
    }
    if let Some(triggers) = triggers {
        let accesses = accesses(threads, triggers, &mut unpacker);
        let mut kept: BTreeMap<*const File, bool> = BTreeMap::new();
        for (id, stream) in registry::streams() {
            let Some(least) = least.get_mut(id as usize) else { break };
            // Collective MPI calls belong to no file.
            if stream.layer == Layer::Mpi {
                continue;
            }
            let file = stream.file;
            // Evaluated once per file, since its path may be compared with several expressions.
            let kept = *kept.entry(std::ptr::from_ref(file)).or_insert_with(|| {
                let of_file = accesses.get(&std::ptr::from_ref(file)).map_or_else(|| file.gone(), ByLayer::clone);
                triggers.keep(file.real_path, of_file.deciding())
            });
            if !kept {
                *least = NONE;
            }
        }
    }
    // Bit mask of the streams of which no segment is kept, as in the heads of frames.
    let none_of = least.iter().enumerate().filter(|(_, least)| **least == NONE);
    let mask = none_of.fold(0_u64, |mask, (id, _)| mask | 1 << (id % 64));
    for pieces in threads {
        for ordered in pieces.iter_mut() {
            match &mut ordered.piece {
                Held::Slots(slots) => {
                    let (kept, rest) = parted(slots.iter().filter(|slot| buffer::is_filled(slot)).copied(), &least);
                    rest.iter().for_each(|segment| left_out.fold(&in_nanoseconds(segment, scale)));
                    *slots = Cow::Owned(kept);
                }
                Held::Packed(block) if Unpacker::streams(block.frame) & mask != 0 => {
                    let Some(segments) = unpacker.segments(block) else { continue };
                    let (kept, rest) = parted(segments.into_iter(), &least);
                    let Some(frame) = unpacker.packed(block.thread, &kept) else { continue };
                    rest.iter().for_each(|segment| left_out.fold(segment));
                    ordered.piece = Held::Again(frame);
                }
                Held::Packed(_) | Held::Again(_) => {}
            }
        }
        pieces.retain(|ordered| match &ordered.piece {
            Held::Slots(slots) => !slots.is_empty(),
            Held::Packed(_) => true,
            Held::Again(frame) => !frame.is_empty(),
        });
    }
}

/// Returns the rank of this process, or -1 without one.
fn rank() -> i32 {
    mpi::world().map_or_else(|| job::identity().map_or(-1, |identity| identity.rank), |world| world.rank)
}

/// Splits segments into those to write (at least as long as their stream's minimum in `least`) and the shorter ones.
fn parted(segments: impl Iterator<Item = Segment>, least: &[u64]) -> (Vec<Segment>, Vec<Segment>) {
    let least = |segment: &Segment| least.get(segment.stream().0 as usize).copied().unwrap_or(0);
    segments.partition(|segment| segment.length() >= least(segment))
}

/// Returns the access counts by which triggers decide, per file: from the segments in memory (`threads`), and from segments already folded
/// into counters.
fn accesses(
    threads: &[Vec<Ordered>],
    triggers: &Triggers,
    unpacker: &mut Unpacker<'_>,
) -> BTreeMap<*const File, ByLayer> {
    let mut all: BTreeMap<*const File, ByLayer> = BTreeMap::new();
    let mut take_in = |segments: &[Segment]| {
        for run in segments.chunk_by(|one, next| one.stream() == next.stream()) {
            let Some(stream) = run.first().and_then(|first| registry::stream_by_id(first.stream())) else { continue };
            let Some(mut counting) = Counting::of(stream, triggers) else { continue };
            let filled = run.iter().filter(|slot| buffer::is_filled(slot));
            filled.for_each(|segment| counting.see(segment.offset, segment.length()));
            counting.add_to(all.entry(std::ptr::from_ref(stream.file)).or_insert_with(|| stream.file.gone()));
        }
    };
    for ordered in threads.iter().flatten() {
        match &ordered.piece {
            Held::Slots(slots) => take_in(slots),
            Held::Packed(block) => take_in(&unpacker.segments(block).unwrap_or_default()),
            Held::Again(_) => {}
        }
    }
    all
}
