//! Segments of a spool, from chunks, packed blocks (compressed segments) and scratch buffers, merged per thread in the order of recording.

use crate::columns::TickScale;
use crate::error::Result;
use crate::frame::{BlockHead, FrameHeader};
use crate::meta::ProcessInfo;
use crate::read::{BlockRef, Decoder, Source};
use crate::segment::{MARKS, Segment, WRITTEN};
use crate::spool::block::mark;
use crate::spool::parts::{i64_at, u32_at, u64_at};
use crate::spool::scratches::{Fold, fold};
use crate::spool::sparse::Sparse;
use crate::spool::{blocks, chunk, scratch, staging};
use crate::write::Encoder;
use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{Arena, owner};
use super::spilled::{self, Place, Places};

#[derive(Debug)]
enum Piece {
    Slots(Vec<Segment>),
    Frame { bytes: Vec<u8>, mult: u64, head: BlockHead },
}

impl Piece {
    fn borrowed(&self) -> crate::write::Piece<'_> {
        match self {
            Self::Slots(slots) => crate::write::Piece::Slots(slots),
            Self::Frame { bytes, mult, .. } => crate::write::Piece::Frame(bytes, *mult),
        }
    }
}

/// Marks of data that is already in a trace: `Written`, or also `Taken` if the trace that was being written exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    Written,
    WrittenAndTaken,
}

impl Gone {
    fn marks(self) -> u64 {
        if self == Self::Written { WRITTEN } else { MARKS }
    }

    pub(super) fn has(self, mark: u32) -> bool {
        mark == mark::WRITTEN || mark == mark::TAKEN && self == Self::WrittenAndTaken
    }
}

/// Segments of one thread as pieces (raw slots or packed blocks), by the sequence number of their chunk (segment buffer). A packed block
/// takes precedence over the slots that it was encoded from.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    kept: BTreeMap<u32, Piece>,
    spilled: Vec<Place>,
    /// Number of segments in `spilled`, set by [`Self::note_streams`].
    spilled_segments: u64,
}

/// Consecutive part of a process's region in a trace file: encoded bytes, or locations of packed blocks (compressed segments) to copy from
/// the spill file.
pub(super) enum Part {
    Bytes(Vec<u8>),
    Spilled(Vec<Place>),
}

impl Part {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Spilled(places) => places.iter().map(Place::frame_bytes).sum(),
        }
    }
}

/// Piece of segments in memory, or packed block (compressed segments) in the spill file.
enum Either<'a> {
    Kept(&'a Piece),
    Spilled(Place),
}

type Threads = BTreeMap<u32, Pieces>;

impl Pieces {
    /// Collects the segments of all threads from chunks (segment buffers), staging slots and spill file, except data already in a trace
    /// (`gone`).
    pub(super) fn of_chunks(arenas: &[&Arena], staged: &Sparse, spilled: Places, gone: Gone) -> Threads {
        let of_thread = |(thread, spilled)| (thread, Self { spilled, ..Self::default() });
        let mut threads: Threads = spilled.into_iter().map(of_thread).collect();
        let mut packing = Vec::new();
        for (header, body) in arenas.iter().flat_map(|arena| arena.slots()) {
            match u32_at(header, chunk::STATE) {
                chunk::PACKING => packing.push((header, body)),
                _ => add_slots(owner(header), body, gone, &mut threads),
            }
        }
        for blocks in arenas.iter().flat_map(|arena| arena.blocks()) {
            add_blocks(blocks, gone, &mut threads);
        }
        for (_, place) in staged.records(staging::BYTES) {
            let length = u32_at(place, staging::LENGTH) as usize;
            let bytes = place.get(staging::FIRST..).and_then(|rest| rest.get(..length)).unwrap_or_default();
            add_blocks(bytes, gone, &mut threads);
        }
        // Chunks that are being packed are used only if their packed block exists nowhere, because their slots may be partly erased otherwise.
        for (header, body) in packing {
            let (thread, sequence) = owner(header);
            if !threads.get(&thread).is_some_and(|pieces| pieces.kept.contains_key(&sequence)) {
                add_slots((thread, sequence), body, gone, &mut threads);
            }
        }
        threads
    }

    /// True if the spill file contains the packed block (compressed segments) of the chunk with sequence number `sequence`.
    fn has_spilled(&self, sequence: u32) -> bool {
        self.spilled.binary_search_by_key(&sequence, |place| place.sequence).is_ok()
    }

    fn all(&self) -> impl Iterator<Item = Either<'_>> {
        let (mut kept, mut spilled) = (self.kept.iter().peekable(), self.spilled.iter().peekable());
        std::iter::from_fn(move || match (kept.peek(), spilled.peek()) {
            (Some((sequence, _)), Some(place)) if place.sequence < **sequence => {
                spilled.next().copied().map(Either::Spilled)
            }
            (Some((sequence, _)), place) => {
                // The spilled block is a duplicate of a block that is still in memory.
                if place.is_some_and(|place| place.sequence == **sequence) {
                    spilled.next();
                }
                kept.next().map(|(_, piece)| Either::Kept(piece))
            }
            (None, _) => spilled.next().copied().map(Either::Spilled),
        })
    }

    /// Adds the ids of the streams (operations on files) of all segments to `used`; returns the latest end time of a segment, in ns.
    pub(super) fn note_streams(
        &mut self,
        spill: &dyn Source,
        scale: &TickScale,
        used: &mut BTreeSet<u32>,
    ) -> Result<u64> {
        let (mut latest, mut spilled_segments) = (0, 0);
        let (mut decoder, mut buffer) = (Decoder::default(), Vec::new());
        for piece in self.all() {
            let piece = match piece {
                Either::Kept(piece) => piece,
                Either::Spilled(place) => {
                    let look = spilled::look(place, spill, &mut buffer, &mut decoder)?;
                    latest = latest.max(look.head.at_rate(look.mult, scale.mult).max_end);
                    used.extend(look.streams);
                    spilled_segments += u64::from(look.head.segments);
                    continue;
                }
            };
            match piece {
                Piece::Slots(slots) => {
                    for slot in slots {
                        used.insert(slot.stream().0);
                        latest = latest.max(scale.nanoseconds(slot.end));
                    }
                }
                Piece::Frame { bytes, head, mult } => {
                    latest = latest.max(head.at_rate(*mult, scale.mult).max_end);
                    let Ok(frame) = FrameHeader::decode(bytes, 0) else { continue };
                    if let Ok(columns) = decoder.block(bytes, &BlockRef { offset: 0, frame, head: *head }) {
                        used.extend(columns.stream.iter());
                    }
                }
            }
        }
        self.spilled_segments = spilled_segments;
        Ok(latest)
    }

    #[cfg(test)]
    pub(super) fn sequences(&self) -> Vec<u32> {
        self.kept.keys().copied().collect()
    }

    /// Returns the end times of the segments, one list per piece.
    #[cfg(test)]
    pub(super) fn ends(&self) -> Vec<Vec<u64>> {
        let ends = |piece: &Piece| match piece {
            Piece::Slots(slots) => slots.iter().map(|slot| slot.end).collect(),
            Piece::Frame { bytes, head, .. } => {
                let frame = FrameHeader::decode(bytes, 0).expect("a block");
                let block = BlockRef { offset: 0, frame, head: *head };
                Decoder::default().block(bytes, &block).expect("a block").end.clone()
            }
        };
        self.kept.values().map(ends).collect()
    }

    /// Returns an iterator over the uncompressed segments (those in slots of chunks), with times in ns. In a thread whose segments only
    /// wait to be added to counters, no segments are compressed.
    pub(super) fn waiting(&self, scale: &TickScale) -> impl Iterator<Item = Segment> {
        let slots = self.kept.values().filter_map(|piece| match piece {
            Piece::Slots(slots) => Some(slots),
            Piece::Frame { .. } => None,
        });
        slots.flatten().map(|slot| Segment {
            start: scale.nanoseconds(slot.start),
            end: scale.nanoseconds(slot.end),
            ..*slot
        })
    }

    /// Encodes the pieces in memory as blocks of thread `thread` in region `number`, and counts all blocks in `info`. Packed blocks
    /// (compressed segments) in the spill file are copied later, when the region is written.
    pub(super) fn encode(
        &self,
        (number, thread): (u32, u32),
        encoder: &mut Encoder,
        scale: &TickScale,
        info: &mut ProcessInfo,
    ) -> Result<Vec<Part>> {
        let (mut parts, mut gathered, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for piece in self.all() {
            match piece {
                Either::Kept(piece) => {
                    encoder.piece(number, thread, piece.borrowed(), scale, &mut gathered, info, &mut bytes)?;
                }
                Either::Spilled(place) => {
                    encoder.gathered(number, thread, scale, &mut gathered, info, &mut bytes)?;
                    info.blocks += 1;
                    if !bytes.is_empty() {
                        parts.push(Part::Bytes(std::mem::take(&mut bytes)));
                    }
                    match parts.last_mut() {
                        Some(Part::Spilled(places)) => places.push(place),
                        _ => parts.push(Part::Spilled(vec![place])),
                    }
                }
            }
        }
        info.segments += self.spilled_segments;
        encoder.gathered(number, thread, scale, &mut gathered, info, &mut bytes)?;
        parts.push(Part::Bytes(bytes));
        Ok(parts)
    }
}

fn slots(body: &[u8], gone: Gone) -> Vec<Segment> {
    // In counters mode the top bits of `start` describe the call's buffer; recovery does not need these bits.
    let slot = |at: &[u8]| Segment {
        offset: i64_at(at, 0),
        word: u64_at(at, 8),
        start: u64_at(at, 16) & !MARKS,
        end: u64_at(at, 24),
    };
    let kept = |slot: &Segment| slot.end != 0 && slot.end & gone.marks() == 0;
    body.chunks_exact(size_of::<Segment>()).map(slot).filter(kept).map(|slot| slot.unmarked()).collect()
}

fn add_slots((thread, sequence): (u32, u32), body: &[u8], gone: Gone, threads: &mut Threads) {
    let slots = slots(body, gone);
    if !slots.is_empty() {
        let pieces = threads.entry(thread).or_default();
        if !pieces.has_spilled(sequence) {
            pieces.kept.entry(sequence).or_insert(Piece::Slots(slots));
        }
    }
}

fn add_blocks(bytes: &[u8], gone: Gone, threads: &mut Threads) {
    for block in blocks(bytes).filter(|block| !gone.has(block.mark)) {
        let piece = Piece::Frame { bytes: block.frame.to_vec(), mult: block.mult, head: block.head };
        threads.entry(block.thread).or_default().kept.insert(block.sequence, piece);
    }
}

/// First sequence number used for scratch buffers (segments that wait to be added to counters). A thread uses scratch buffers when no more
/// chunks (segment buffers) are available, so they follow its chunks.
const BEHIND_CHUNKS: u32 = 1 << 31;

/// Adds the segments in scratch buffers, which wait to be folded into counters; returns the number of these segments that may already be in
/// the counters.
pub(super) fn of_scratches(scratches: &Sparse, is_of_version_4: bool, gone: Gone, threads: &mut Threads) -> u64 {
    let mut uncertain = 0;
    for (number, scratch) in scratches.records(scratch::BYTES) {
        let body = scratch.get(scratch::FIRST..).unwrap_or_default();
        let those = |of: u64| {
            let slots = body.chunks_exact(size_of::<Segment>()).enumerate().filter(|(at, _)| of >> at & 1 != 0);
            self::slots(&slots.flat_map(|(_, slot)| slot).copied().collect::<Vec<u8>>(), gone)
        };
        let fold = fold(scratch, is_of_version_4);
        let slots = those(fold.map_or(u64::MAX, |fold| !fold.counted));
        uncertain += match (fold, slots.first()) {
            (Some(Fold { counting: Some(counting), .. }), _) => those(counting).len() as u64,
            (Some(_), Some(first)) => slots.iter().take_while(|slot| slot.stream() == first.stream()).count() as u64,
            _ => 0,
        };
        if !slots.is_empty() {
            let pieces = threads.entry(u32_at(scratch, scratch::THREAD)).or_default();
            pieces.kept.insert(BEHIND_CHUNKS + number as u32, Piece::Slots(slots));
        }
    }
    uncertain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{StreamId, TAKEN};
    use crate::spool::block;

    fn put(bytes: &mut [u8], at: usize, value: u32) {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn chunk_of(state: u32, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut out = vec![0; chunk::HEADER_BYTES];
        out[..8].copy_from_slice(&chunk::MAGIC_VALUE.to_le_bytes());
        put(&mut out, chunk::BYTES, (chunk::HEADER_BYTES + body.len()) as u32);
        put(&mut out, chunk::STATE, state);
        put(&mut out, chunk::SEQUENCE, sequence);
        put(&mut out, chunk::PACKED, body.len() as u32);
        out.extend_from_slice(body);
        out
    }

    fn segment(end: u64) -> Vec<u8> {
        let word = Segment::new(StreamId(1), 0, 5, 0, 0).word;
        [0, word, end - 1, end].iter().flat_map(|field| field.to_le_bytes()).collect()
    }

    #[test]
    fn a_chunk_that_is_being_packed_counts_once() {
        let mut encoder = crate::write::Encoder::new().unwrap();
        let segments = [Segment::new(StreamId(1), 0, 5, 6, 7)];
        let mut packed = vec![0; block::HEADER_BYTES];
        encoder.block(0, 0, &segments, &TickScale::IDENTITY, &mut packed).unwrap();
        let length = (packed.len() - block::HEADER_BYTES) as u32;
        put(&mut packed, block::BYTES, length);
        put(&mut packed, block::SEQUENCE, 4);
        packed.resize(packed.len().next_multiple_of(8), 0);
        let packing = chunk_of(chunk::PACKING, 4, &segment(7));
        let count = |arena: &[u8], staged: &[u8]| -> Vec<u32> {
            Pieces::of_chunks(&[&Arena::at_rest(arena)], &staged.into(), Places::new(), Gone::Written)
                .values()
                .flat_map(|pieces| pieces.kept.keys().copied())
                .collect()
        };
        assert_eq!(count(&packing, &[]), [4]);
        let both = [packing.clone(), chunk_of(chunk::HOLDS_BLOCKS, 0, &packed)].concat();
        assert_eq!(count(&both, &[]), [4]);
        let mut staged = vec![0; staging::BYTES];
        put(&mut staged, staging::LENGTH, packed.len() as u32);
        staged[staging::FIRST..staging::FIRST + packed.len()].copy_from_slice(&packed);
        let erased = chunk_of(chunk::PACKING, 4, &[0; 64]);
        assert_eq!(count(&erased, &staged), [4]);
        // Data after an unwritten chunk header or after a block that was not copied is still found.
        let holes = [vec![0; 64], chunk_of(chunk::HOLDS_BLOCKS, 0, &[vec![0; 48], packed].concat())].concat();
        assert_eq!(count(&holes, &[]), [4]);
    }

    #[test]
    fn no_call_ends_behind_the_latest_end_whatever_the_rates() {
        let (second, mult) = (1_000_000_000, TickScale::IDENTITY.mult);
        let mut encoder = crate::write::Encoder::new().unwrap();
        for rate in [mult - mult / 10_000, mult, mult + mult / 10_000] {
            let mut bytes = Vec::new();
            let segments = [Segment::new(StreamId(1), 0, 5, second - 9, second)];
            encoder.block(0, 0, &segments, &TickScale { base: 0, mult: rate }, &mut bytes).unwrap();
            let head = BlockHead::decode(&bytes[crate::frame::FRAME_HEADER_BYTES..], 0).unwrap();
            let packed = Piece::Frame { bytes, mult: rate, head };
            let mut pieces = Pieces { kept: BTreeMap::from([(0, packed)]), ..Pieces::default() };
            let mut used = BTreeSet::new();
            let latest = pieces.note_streams(&[], &TickScale::IDENTITY, &mut used).unwrap();
            assert!(latest.abs_diff(second) <= 2, "{latest}");
            let Piece::Frame { bytes, head, .. } = &pieces.kept[&0] else { panic!("a block is a block") };
            let frame = FrameHeader::decode(bytes, 0).unwrap();
            // Block head in the form that the writer stores.
            let block = BlockRef { offset: 0, frame, head: head.at_rate(rate, TickScale::IDENTITY.mult) };
            assert_eq!(Decoder::default().block(bytes, &block).unwrap().end, [latest]);
        }
    }

    #[test]
    fn what_is_in_a_trace_already_is_left_out() {
        let mut marked = [segment(5), segment(6), vec![0; 32], segment(9)];
        marked[0][31] |= (WRITTEN >> 56) as u8;
        marked[1][31] |= (TAKEN >> 56) as u8;
        let arena = chunk_of(chunk::ACTIVE, 0, &marked.concat());
        for (gone, ends) in [(Gone::WrittenAndTaken, [9].as_slice()), (Gone::Written, &[6, 9])] {
            let kept = Pieces::of_chunks(&[&Arena::at_rest(&arena)], &Sparse::default(), Places::new(), gone);
            let Piece::Slots(slots) = &kept[&0].kept[&0] else { panic!("slots are slots") };
            assert_eq!(slots.iter().map(|slot| slot.end).collect::<Vec<_>>(), ends);
        }
    }

    #[test]
    fn a_fold_by_streams_is_uncertain_where_it_counts() {
        let mut scratch = vec![0; scratch::FIRST];
        (1..=10).for_each(|end| scratch.extend(segment(end)));
        scratch.resize(scratch::BYTES, 0);
        for (folding, counted, counting, kept, uncertain) in
            [(1, 0, 0b10101, 10, 3), (1, 0b10101, 0b10101, 7, 0), (1, 0b10101, 0xffea, 7, 7), (0, 0b111, 0b111, 10, 0)]
        {
            put(&mut scratch, scratch::FOLDED, folding);
            put(&mut scratch, scratch::COUNTED, counted);
            put(&mut scratch, scratch::COUNTING, counting);
            let mut threads = Threads::new();
            assert_eq!(of_scratches(&scratch[..].into(), true, Gone::Written, &mut threads), uncertain);
            assert!(matches!(&threads[&0].kept[&BEHIND_CHUNKS], Piece::Slots(slots) if slots.len() == kept));
        }
    }

    #[test]
    fn a_fold_under_way_is_uncertain_only_where_it_was() {
        let mut scratch = vec![0; scratch::FIRST];
        put(&mut scratch, scratch::FOLDED, 3);
        (1..=10).for_each(|end| scratch.extend(segment(end)));
        scratch.resize(scratch::BYTES, 0);
        let mut threads = Threads::new();
        assert_eq!(of_scratches(&scratch[..].into(), true, Gone::Written, &mut threads), 8);
        assert!(matches!(&threads[&0].kept[&BEHIND_CHUNKS], Piece::Slots(slots) if slots.len() == 8));
    }
}
