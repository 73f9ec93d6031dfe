//! Chunks (segment buffers of one thread each) of a growing spool, read one after another. A chunk's header is read before and after its
//! slots: if the owning thread has changed, the chunk was packed, and its packed block will be delivered instead.

use super::{Follower, Looking, in_ns};
use crate::error::{Error, Result};
use crate::limits;
use crate::read::Source;
use crate::segment::Segment;
use crate::spool::parts::{i64_at, u32_at, u64_at};
use crate::spool::place::SpoolReader;
use crate::spool::{Part, chunk};

const SLOT: usize = size_of::<Segment>();
/// Number of slots per read in a chunk (segment buffer) that is still being filled.
const STEP: usize = 64;

/// Chunk (segment buffer) found by an earlier call of [`Follower::look`]; chunks never move.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: usize,
    bytes: usize,
    /// Number of leading bytes of the chunk's packed blocks (compressed segments) that need not be read again.
    taken: usize,
}

#[derive(Debug, Default)]
pub(super) struct Chunks {
    known: Vec<Known>,
    /// Number of chunks (segment buffers) at the start of `known` that have delivered all their segments. They are skipped until the region
    /// is full, because chunks may then have been packed (compressed).
    settled: usize,
}

struct Header([u8; chunk::HEADER_BYTES]);

impl Header {
    fn state(&self) -> u32 {
        u32_at(&self.0, chunk::STATE)
    }

    fn owner(&self) -> (u32, u32) {
        (u32_at(&self.0, chunk::THREAD), u32_at(&self.0, chunk::SEQUENCE))
    }

    /// Returns the length of a chunk (segment buffer) in bytes, as its header `bytes` states; `None` if `bytes` is not a valid header.
    fn length(bytes: &[u8], most: usize) -> Option<usize> {
        let length = u32_at(bytes, chunk::BYTES) as usize;
        let whole = u64_at(bytes, chunk::MAGIC) == chunk::MAGIC_VALUE;
        let most = most.min(limits::SPOOL_CHUNK_BYTES);
        (whole && (chunk::HEADER_BYTES..=most).contains(&length)).then_some(length)
    }
}

/// Region of a spool that contains chunks (segment buffers); the region's file offset is read only once.
struct Arena<'a, S: ?Sized> {
    place: SpoolReader<'a, S>,
    offset: u64,
}

impl<S: Source + ?Sized> Arena<'_, S> {
    fn fill(&self, at: usize, into: &mut [u8]) -> Result<()> {
        self.place.read(self.offset + at as u64, into)
    }

    /// Returns the first position at or after `at` in the region that is not in a hole of the file.
    fn stored(&self, at: usize) -> Result<Option<usize>> {
        let offset = self.offset + at as u64;
        let stored = self.place.0.stored(offset).map_err(|source| Error::Io { offset, length: 0, source })?;
        Ok(stored.map(|stored| stored.start.max(offset).saturating_sub(self.offset) as usize))
    }

    fn header(&self, at: usize) -> Result<Header> {
        let mut bytes = [0; chunk::HEADER_BYTES];
        self.fill(at, &mut bytes)?;
        Ok(Header(bytes))
    }
}

impl Chunks {
    /// Returns the memory used by the list of chunks (segment buffers), in bytes.
    pub(super) const fn weight(&self) -> usize {
        self.known.capacity() * size_of::<Known>()
    }

    /// Delivers new segments: those in the slots of chunks (segment buffers), except chunks that are being packed, and those in packed
    /// blocks (compressed segments).
    pub(super) fn look<S: Source + ?Sized>(
        &mut self,
        part: Part,
        follower: &mut Follower,
        to: &mut Looking<'_, S>,
    ) -> Result<()> {
        let place = SpoolReader(to.spool);
        let (offset, used) = place.part(part)?;
        let arena = Arena { place, offset };
        self.find(&arena, used as usize)?;
        // Chunks are packed only when there is no space for another chunk.
        if arena.place.room(part)? < 2 * chunk::HEADER_BYTES as u64 || to.last {
            self.settled = 0;
        }
        let mut in_order = true;
        for index in self.settled..self.known.len() {
            if to.is_full() {
                return Ok(());
            }
            let known = self.known[index];
            let header = arena.header(known.at)?;
            let done = match header.state() {
                chunk::HOLDS_BLOCKS => {
                    self.known[index].taken = take_blocks(&arena, known, &header, follower, to)?;
                    false
                }
                chunk::PACKING => false,
                _ => take_slots(&arena, known, &header, follower, to)?,
            };
            in_order &= done;
            self.settled += usize::from(in_order);
        }
        Ok(())
    }

    /// Delivers the segments in chunks (segment buffers) that a killed process was packing and whose packed blocks (compressed segments) do
    /// not exist.
    pub(super) fn look_at_packing<S: Source + ?Sized>(
        &self,
        part: Part,
        follower: &mut Follower,
        to: &mut Looking<'_, S>,
    ) -> Result<()> {
        let place = SpoolReader(to.spool);
        let arena = Arena { offset: place.part(part)?.0, place };
        for known in &self.known {
            let header = arena.header(known.at)?;
            if header.state() == chunk::PACKING {
                take_slots(&arena, *known, &header, follower, to)?;
            }
        }
        Ok(())
    }

    /// Finds chunks (segment buffers) allocated since the previous call: after the last known chunk, and at positions that had no chunk
    /// header yet.
    fn find<S: Source + ?Sized>(&mut self, arena: &Arena<'_, S>, used: usize) -> Result<()> {
        let (mut found, mut at, mut next) = (Vec::new(), 0, 0);
        let mut room = limits::SPOOL_SEARCH_BYTES;
        while at + chunk::HEADER_BYTES <= used {
            if let Some(known) = self.known.get(next).filter(|known| known.at == at) {
                at += known.bytes;
                next += 1;
                continue;
            }
            let end = self.known.get(next).map_or(used, |known| known.at.min(used));
            match first_in(arena, at, end, &mut room)? {
                Some(known) => {
                    found.push(known);
                    at = known.at + known.bytes;
                    // Earlier matches inside this chunk were not chunks.
                    while self.known.get(next).is_some_and(|other| other.at < at) {
                        self.known.remove(next);
                    }
                }
                None => at = end.max(at + chunk::HEADER_BYTES),
            }
        }
        limits::check("chunks", (self.known.len() + found.len()) as u64, limits::SPOOL_CHUNKS as u64, arena.offset)?;
        if !found.is_empty() {
            self.known.extend(found);
            self.known.sort_by_key(|known| known.at);
            self.settled = self.settled.min(self.known.len());
        }
        Ok(())
    }
}

/// Finds the first chunk (segment buffer) that begins between `at` and `end`. `room` is the number of bytes that may still be searched; it
/// is reduced accordingly.
fn first_in<S: Source + ?Sized>(
    arena: &Arena<'_, S>,
    at: usize,
    end: usize,
    room: &mut usize,
) -> Result<Option<Known>> {
    const PIECE: usize = 64 << 10;
    let mut from = at;
    while from + chunk::HEADER_BYTES <= end {
        // Usually a chunk begins exactly at this position.
        let wanted = if from == at { chunk::HEADER_BYTES } else { PIECE.min(end - from) };
        let mut bytes = vec![0; wanted];
        arena.fill(from, &mut bytes)?;
        for (i, header) in bytes.chunks_exact(chunk::HEADER_BYTES).enumerate() {
            let here = from + i * chunk::HEADER_BYTES;
            if let Some(bytes) = Header::length(header, end - here) {
                return Ok(Some(Known { at: here, bytes, taken: 0 }));
            }
        }
        from += wanted;
        if wanted > chunk::HEADER_BYTES {
            let Some(left) = room.checked_sub(wanted) else { return Ok(None) };
            *room = left;
        }
        // Skips holes, which may have any size at no cost for their creator.
        if end - from.min(end) > limits::SPOOL_HOLES_BYTES as usize && bytes.iter().all(|byte| *byte == 0) {
            let Some(next) = arena.stored(from)? else { return Ok(None) };
            from += next.saturating_sub(from) / chunk::HEADER_BYTES * chunk::HEADER_BYTES;
        }
    }
    Ok(None)
}

/// Delivers the segments of new packed blocks (compressed segments) in a chunk; returns the number of leading bytes of blocks that need not
/// be read again.
fn take_blocks<S: Source + ?Sized>(
    arena: &Arena<'_, S>,
    known: Known,
    header: &Header,
    follower: &mut Follower,
    to: &mut Looking<'_, S>,
) -> Result<usize> {
    let packed = (u32_at(&header.0, chunk::PACKED) as usize).min(known.bytes - chunk::HEADER_BYTES);
    if packed <= known.taken {
        return Ok(known.taken);
    }
    // A block is complete once its length is stored. A first copy may contain the length but not yet the rest of the block; a second copy
    // contains all of it.
    let mut lengths = vec![0; packed - known.taken];
    let mut bytes = lengths.clone();
    let at = known.at + chunk::HEADER_BYTES + known.taken;
    arena.fill(at, &mut lengths)?;
    arena.fill(at, &mut bytes)?;
    for (first, second) in lengths.chunks(8).zip(bytes.chunks_mut(8)) {
        // Words that were zero in the first copy count as zero.
        if first.iter().all(|byte| *byte == 0) {
            second.fill(0);
        }
    }
    Ok(known.taken + follower.take_blocks(&bytes, to))
}

/// Delivers new segments in the slots of a chunk (segment buffer); returns true if the chunk will deliver no more segments.
fn take_slots<S: Source + ?Sized>(
    arena: &Arena<'_, S>,
    known: Known,
    header: &Header,
    follower: &mut Follower,
    to: &mut Looking<'_, S>,
) -> Result<bool> {
    let (thread, sequence) = header.owner();
    if follower.shown.is_done(thread, sequence) {
        return Ok(true);
    }
    let least = follower.names.least();
    let count = (known.bytes - chunk::HEADER_BYTES) / SLOT;
    // The removal of short segments moves later segments to earlier slots.
    let from = if least > 0 || to.last { 0 } else { follower.shown.first_unknown(thread, sequence) };
    let grows = header.state() == chunk::ACTIVE && !to.last;
    let mut slots: Vec<Segment> = Vec::new();
    let mut at = from;
    while at < count {
        // If segments may move, one read covers all of them, so that no segment appears in two reads.
        let here = if grows && least == 0 { STEP.min(count - at) } else { count - at };
        let read = slots_twice(arena, known.at + chunk::HEADER_BYTES + at * SLOT, here)?;
        let empty = read.iter().all(|slot| slot.end == 0);
        slots.extend(read);
        at += here;
        if empty && grows {
            break;
        }
    }
    // Checks the owner again: slots are erased after their block is stored, and `end` is not erased before the other fields.
    let now = arena.header(known.at)?;
    let erased = now.state() == chunk::HOLDS_BLOCKS || now.state() == chunk::PACKING && !to.last;
    if now.owner() != header.owner() || erased {
        return Ok(false);
    }
    if least > 0 {
        follower.read_journal(&arena.place)?;
        take_long(&slots, (thread, sequence), least, follower, to);
    } else {
        for (slot, segment) in (from..).zip(&slots) {
            if segment.end != 0 {
                follower.give(thread, sequence, slot as u32, in_ns(segment, &to.scale), to);
            } else if to.last && header.state() != chunk::PACKING && follower.shown.has(thread, sequence, slot as u32) {
                follower.taken_back += 1;
            }
        }
    }
    let (awaited, full) = (u32_at(&header.0, chunk::SPARE_AWAITED) != 0, header.state() == chunk::FULL);
    let filled = slots.iter().take_while(|slot| slot.end != 0).count() + from;
    let done = to.last || full && now.state() == chunk::FULL && filled + usize::from(!awaited) >= count;
    if done {
        follower.shown.finish(thread, sequence);
    }
    Ok(done)
}

/// Delivers new segments of a chunk (segment buffer) if DXT_MIN_SIZE is set. The tracer may then remove short segments and move later ones
/// to earlier slots. Therefore a segment's key contains, instead of its slot number, the number of segments before it in the chunk that are
/// not too short ([`Follower::is_short`]). A segment that is being moved may be in two slots with only empty slots between them, and is
/// delivered once.
fn take_long<S: ?Sized>(
    slots: &[Segment],
    (thread, sequence): (u32, u32),
    least: u64,
    follower: &mut Follower,
    to: &mut Looking<'_, S>,
) {
    let (mut kept, mut previous) = (0, None);
    for slot in slots {
        if slot.end == 0 {
            if to.last { continue } else { break }
        }
        let moved = previous == Some(*slot);
        previous = Some(*slot);
        if moved {
            continue;
        }
        if follower.is_short(least, slot) {
            if to.last {
                follower.count_short(&in_ns(slot, &to.scale));
            }
            continue;
        }
        follower.give(thread, sequence, kept, in_ns(slot, &to.scale), to);
        kept += 1;
    }
}

/// Reads `count` slots (for one segment each) of a chunk twice. Slots that differ between both reads count as empty, because the end of a
/// segment may be read before its other fields.
fn slots_twice<S: Source + ?Sized>(arena: &Arena<'_, S>, at: usize, count: usize) -> Result<Vec<Segment>> {
    let mut bytes = vec![0; count * SLOT];
    arena.fill(at, &mut bytes)?;
    let first = slots(&bytes);
    arena.fill(at, &mut bytes)?;
    let mut second = slots(&bytes);
    for (slot, before) in second.iter_mut().zip(first) {
        if *slot != before {
            *slot = Segment::default();
        }
    }
    Ok(second)
}

/// Decodes the segments in `bytes`, without the bits of their end times that mark them as taken or written ([`crate::segment::MARKS`]).
pub(super) fn slots(bytes: &[u8]) -> Vec<Segment> {
    let slot = |at: &[u8]| {
        let (offset, word, start) = (i64_at(at, 0), u64_at(at, 8), u64_at(at, 16));
        Segment { offset, word, start, end: u64_at(at, 24) }.unmarked()
    };
    bytes.chunks_exact(SLOT).map(slot).collect()
}
