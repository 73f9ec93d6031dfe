//! Copies of a spool's regions, taken while the spool's owner may still be running.
//!
//! While the owner runs, data moves in one direction only: from slots (one segment each) through a staging slot to packed blocks
//! (compressed segments), and from scratch buffers (segments to be counted only) to counters. Regions are copied in this order, so that
//! every segment is seen at least once; thread and sequence number identify duplicates. The journal is copied last, because it defines an
//! id before the id is used elsewhere. `chunks.rs` in the tracer's models checks this protocol for one chunk.

use crate::error::Result;
use crate::read::Source;
use crate::segment::{MARKS, Segment};
use crate::spool::parts::{u32_at, u64_at};
use crate::spool::place::SpoolReader;
use crate::spool::sparse::Sparse;
use crate::spool::{HEADER_BYTES, PART_BYTES, PARTS, Part, chunk, header, scratch, staging};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

const SLOT: usize = size_of::<Segment>();
/// Byte range of a segment's field `end` within a slot.
const END: Range<usize> = SLOT - 8..SLOT;
/// Number of bytes per read when slots are copied a second time.
const PIECE: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) journal: Vec<u8>,
    pub(super) arena: Arena,
    pub(super) sync_points: Arena,
    pub(super) scratches: Sparse,
    pub(super) folded: Sparse,
    pub(super) staging: Sparse,
    /// Number of segments in the copied scratch buffers that may have been folded (added to the counters) before the counters were copied.
    pub(super) folded_meanwhile: u64,
    /// Number of bytes that are in use according to the header but beyond the end of the file.
    pub(super) missing_bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Arena {
    /// Copy of the chunks (segment buffers), of which only slots with uncompressed segments are used; packed blocks (compressed segments)
    /// are in `blocks`.
    part: Sparse,
    /// Byte ranges of the chunks (segment buffers) whose slots hold valid uncompressed segments.
    slots: Vec<Range<usize>>,
    /// Contents of the chunks that hold packed blocks (compressed segments), copied after the slots.
    blocks: Vec<Vec<u8>>,
}

/// Returns (index of the thread that owns the chunk, sequence number of the chunk among the thread's chunks); a chunk is a segment buffer.
pub(super) fn owner(header: &[u8]) -> (u32, u32) {
    (u32_at(header, chunk::THREAD), u32_at(header, chunk::SEQUENCE))
}

/// Returns an iterator over the byte ranges of chunks (segment buffers). A chunk never moves once it is allocated.
fn chunks(part: &Sparse) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at = part.next(at, chunk::HEADER_BYTES)?;
            let rest = part.bytes.get(at..).filter(|rest| rest.len() >= chunk::HEADER_BYTES)?;
            let length = u32_at(rest, chunk::BYTES) as usize;
            let whole = u64_at(rest, chunk::MAGIC) == chunk::MAGIC_VALUE;
            let here = at;
            if whole && (chunk::HEADER_BYTES..=rest.len()).contains(&length) {
                at += length;
                return Some(here..at);
            }
            // The chunk was allocated by a thread that has not written the header yet, so the chunk is still empty.
            at += chunk::HEADER_BYTES;
        }
    })
}

fn holds_blocks(header: &[u8]) -> bool {
    u32_at(header, chunk::STATE) == chunk::HOLDS_BLOCKS
}

impl Arena {
    fn of<S: Source + ?Sized>(spool: &SpoolReader<'_, S>, part: Part) -> Result<Self> {
        let copy = spool.slots(part)?;
        // If the owner has changed, the chunk was packed and reused while its slots were copied; the packed block is elsewhere.
        let mut slots = Vec::new();
        for place in chunks(&copy).filter(|place| !holds_blocks(&copy.bytes[place.clone()])) {
            let mut now = [0; chunk::HEADER_BYTES];
            spool.fill(part, place.start, &mut now)?;
            if owner(&now) == owner(&copy.bytes[place.clone()]) {
                slots.push(place);
            }
        }
        Ok(Self { part: copy, slots, blocks: Vec::new() })
    }

    /// Copies the packed blocks (compressed segments). Slots and staging slots, from which blocks are encoded, must have been copied
    /// before.
    fn add_blocks<S: Source + ?Sized>(&mut self, spool: &SpoolReader<'_, S>, part: Part) -> Result<()> {
        let copy = spool.copy(part)?;
        for place in chunks(&copy) {
            let (header, body) = copy.bytes[place].split_at(chunk::HEADER_BYTES);
            if holds_blocks(header) {
                let taken = (u32_at(header, chunk::PACKED) as usize).min(body.len());
                self.blocks.push(body[..taken].to_vec());
            }
        }
        Ok(())
    }

    /// Builds a copy of chunks (segment buffers) from bytes that no process modifies.
    #[cfg(test)]
    pub(super) fn at_rest(bytes: &[u8]) -> Self {
        let mut arena = Self { part: bytes.into(), ..Self::default() };
        for place in chunks(&bytes.into()) {
            let (header, body) = bytes[place.clone()].split_at(chunk::HEADER_BYTES);
            match holds_blocks(header) {
                true => arena.blocks.push(body[..u32_at(header, chunk::PACKED) as usize].to_vec()),
                false => arena.slots.push(place),
            }
        }
        arena
    }

    /// Returns an iterator over (header, slots) of the chunks (segment buffers) that hold raw segments.
    pub(super) fn slots(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.slots.iter().map(|place| self.part.bytes[place.clone()].split_at(chunk::HEADER_BYTES))
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Vec::as_slice)
    }
}

impl Snapshot {
    /// Copies all regions of a spool (a process's recordings). Returns [`Error::Malformed`] if the regions cannot belong to one file,
    /// [`Error::Limit`] if a region is too long, and [`Error::Io`] if reading fails.
    pub(super) fn of<S: Source + ?Sized>(source: &S) -> Result<Self> {
        let spool = SpoolReader(source);
        spool.check()?;
        let missing_bytes = spool.missing()?;
        let mut arena = Arena::of(&spool, Part::Arena)?;
        let mut sync_points = Arena::of(&spool, Part::SyncPoints)?;
        let staging = spool.staging()?;
        arena.add_blocks(&spool, Part::Arena)?;
        sync_points.add_blocks(&spool, Part::SyncPoints)?;
        let scratches = spool.slots(Part::Scratch)?;
        let folded = spool.copy(Part::Folded)?;
        let folded_meanwhile = touched_since(&scratches, &spool.copy(Part::Scratch)?);
        let journal = spool.copy(Part::Journal)?.bytes;
        Ok(Self { journal, arena, sync_points, scratches, folded, staging, folded_meanwhile, missing_bytes })
    }
}

/// Returns the number of segments in `before` that changed or vanished in `after`. If segments of a scratch buffer were added to the
/// counters between the two copies, all segments of that buffer count.
fn touched_since(before: &Sparse, after: &Sparse) -> u64 {
    let ends = |scratch: &[u8]| -> Vec<u64> {
        let slots = scratch.get(scratch::FIRST..).unwrap_or_default();
        slots.chunks_exact(size_of::<Segment>()).map(|slot| u64_at(slot, END.start) & !MARKS).collect()
    };
    let touched = |(before, after): (&[u8], &[u8])| {
        // A fold that was in progress in `before` may have advanced in `after`.
        let is_folded = u32_at(after, scratch::FOLDED) != 0 || u64_at(after, scratch::COUNTING) != 0;
        let folding = is_folded && after[scratch::FOLDED..scratch::FIRST] != before[scratch::FOLDED..scratch::FIRST];
        let is_touched = |(before, after): &(u64, u64)| *before != 0 && (folding || before != after);
        ends(before).into_iter().zip(ends(after)).filter(is_touched).count() as u64
    };
    let both =
        before.records(scratch::BYTES).filter_map(|(at, before)| Some((before, after.record(at, scratch::BYTES)?)));
    both.map(touched).sum()
}

impl<S: Source + ?Sized> SpoolReader<'_, S> {
    /// Copies a region of segment slots twice. Slots that have an end time and are equal in both copies are kept; other slots are emptied,
    /// because one copy may combine the end of a segment with other fields of the next (`copies.rs` in the tracer's models).
    fn slots(&self, part: Part) -> Result<Sparse> {
        let Sparse { mut bytes, stored } = self.copy(part)?;
        fence(Ordering::Acquire);
        let end = |slot: &[u8]| u64_at(slot, END.start) & !MARKS;
        let mut again = vec![0; bytes.len().min(PIECE)];
        let whole_slots =
            |place: Range<usize>| place.start / SLOT * SLOT..place.end.next_multiple_of(SLOT).min(bytes.len());
        let places: Vec<Range<usize>> = stored
            .iter()
            .cloned()
            .map(whole_slots)
            .flat_map(|place| place.clone().step_by(PIECE).map(move |at| at..(at + PIECE).min(place.end)))
            .collect();
        for place in places {
            let (at, piece) = (place.start, &mut bytes[place]);
            let again = &mut again[..piece.len()];
            self.fill(part, at, again)?;
            for (slot, again) in piece.chunks_exact_mut(SLOT).zip(again.chunks_exact(SLOT)) {
                let is_same = slot[..END.start] == again[..END.start] && end(slot) == end(again);
                slot.copy_from_slice(again);
                if !is_same {
                    slot[END].fill(0);
                }
            }
        }
        Ok(Sparse { bytes, stored })
    }

    /// Returns a copy of the staging slots (buffers for one packed block, that is compressed segments, each). Slots that changed during the
    /// copy are empty in it: their blocks have reached their destination, which is read later.
    fn staging(&self) -> Result<Sparse> {
        let mut first = self.copy(Part::Staging)?;
        let second = self.copy(Part::Staging)?;
        let is_changed = |(at, one): &(usize, &[u8])| second.record(*at, staging::BYTES) != Some(*one);
        let changed: Vec<usize> = first.records(staging::BYTES).filter(is_changed).map(|(at, _)| at).collect();
        for at in changed {
            first.bytes[at * staging::BYTES..][..staging::BYTES].fill(0);
        }
        Ok(first)
    }
}

const _: () = assert!(
    PARTS == 6
        && header::SPILL_TAKEN >= header::PARTS + PARTS * PART_BYTES
        && header::NOTES >= header::SPILL_INODE + 8
        && HEADER_BYTES >= header::PARTS + PARTS * PART_BYTES
);

#[cfg(all(test, feature = "write"))]
mod tests;
