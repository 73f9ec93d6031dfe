//! Follows a spool (a process's recordings in a mapped file) while the owner runs, and delivers each segment once, with a stable key.
//!
//! The key is (thread, sequence number of the thread's chunk (segment buffer), slot in that chunk). Packing (compressing) a chunk preserves
//! all three, so that delivered segments are recognized even if their chunk was packed or reused, also by a restarted reader ([`Shown`]).
//! Calls folded into counters have no key and appear only in [`Follower::counted`]. Data written during a call of [`Follower::look`] is
//! delivered by a later call; a call after the owner's end delivers the rest.

mod chunks;
mod shown;

pub use shown::Shown;

#[cfg(test)]
mod tests;

use super::counters::{self, Counts};
use super::head::{Clock, Head};
use super::journal::Shape;
use super::names::Names;
use super::parts::u32_at;
use super::place::{SpoolReader, zeros};
use super::{Part, blocks, scratch, scratches, staging};
use crate::columns::{Columns, TickScale};
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::frame::FrameHeader;
use crate::limits;
use crate::meta::{Note, stream_flags};
use crate::read::{BlockRef, Decoder, Source};
use crate::segment::{MARKS, Segment, StreamId, pack};
use chunks::Chunks;
use std::collections::{BTreeMap, BTreeSet};

/// First sequence number used for scratch buffers (segments that wait to be folded into counters). Scratch buffers follow all chunks
/// (segment buffers) of their thread, as in a recovered trace.
const BEHIND_CHUNKS: u32 = 1 << 31;
/// Tolerance, in ns, with which the end of a call is compared with the time from which a data set has a shape. The times in a packed block
/// (compressed segments) use the clock rate known when it was packed, so the call that opened the data set may seem to end slightly before
/// that time. No HDF5 open is shorter than this.
const ROUNDED_NS: u64 = 100;
/// Number of attempts to read an unfinished journal record before the record is skipped.
const MOST_WAITS: u32 = 100;

/// Segment that was not delivered before, with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Index of the thread that recorded the segment.
    pub thread: u32,
    /// Sequence number of the thread's chunk (segment buffer) that held the segment.
    pub sequence: u32,
    /// Slot number in the chunk (segment buffer). With `DXT_MIN_SIZE`: index among the chunk's segments, without reads and writes below the
    /// minimum size.
    pub slot: u32,
    /// The segment itself, with times in ns since the process's epoch.
    pub segment: Segment,
    /// True if [`Follower::counted`] also includes the segment's call.
    pub is_counted: bool,
}

/// Result of one call of [`Follower::look`]: the segments (recorded calls) read by it.
#[derive(Debug, Default)]
pub struct Look {
    /// Segments not delivered before; in order within each chunk (segment buffer), but chunks are in any order.
    pub segments: Vec<Seen>,
    /// True if more data is available already: call [`Follower::look`] again.
    pub more: bool,
}

/// Incremental reader of one spool (a process's recordings in a mapped file).
#[derive(Default)]
pub struct Follower {
    shown: Shown,
    names: Names,
    /// Number of processed bytes of the journal, and number of attempts to read the record after them.
    journal: (usize, u32),
    /// Conversion from ticks to ns, as of the latest call of [`Self::look`].
    scale: Option<TickScale>,
    arena: Chunks,
    sync_points: Chunks,
    spill_read: u64,
    counted: BTreeMap<u32, Counters>,
    folded: u64,
    /// Counters, by stream (operation on a file), of segments below the minimum size. These segments are not delivered, and are not added
    /// to the process's own counters while it runs.
    short: BTreeMap<u32, Counters>,
    decoder: Decoder,
    taken_back: u64,
    damaged: u64,
}

/// State of one call of [`Follower::look`], which reads the new data of a spool.
struct Looking<'a, S: ?Sized> {
    spool: &'a S,
    head: Head,
    scale: TickScale,
    last: bool,
    most: usize,
    /// Number of segments in the packed blocks (compressed segments) decoded during this call.
    decoded: usize,
    out: Look,
}

impl<S: ?Sized> Looking<'_, S> {
    fn is_full(&mut self) -> bool {
        self.out.more |= self.out.segments.len() >= self.most || self.decoded / 4 >= self.most;
        self.out.more
    }
}

impl Follower {
    /// Creates a reader that follows a spool (a process's recordings) from its beginning and skips the segments in `shown`.
    #[must_use]
    pub fn new(shown: Shown) -> Self {
        Self { shown, ..Self::default() }
    }

    /// Reads new segments; stops after about `most` segments.
    ///
    /// `spill` is the spill file, to which the process moves packed blocks (compressed segments), if there is one. `now` is the current
    /// reading of the process's clock and of CLOCK_MONOTONIC; `None` if the spool is from another machine or boot. `last` is true once the
    /// owner has ended or its recordings are in its trace.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] if `spool` is not a spool, [`Error::Limit`] if a limit is exceeded, and [`Error::Io`] if reading fails.
    /// A later call delivers the data that was not read.
    pub fn look<S: Source + ?Sized>(
        &mut self,
        spool: &S,
        spill: Option<&S>,
        now: Option<Clock>,
        last: bool,
        most: usize,
    ) -> Result<Look> {
        let Some(head) = Head::read(spool)? else { return Ok(Look::default()) };
        let place = SpoolReader(spool);
        place.check()?;
        let scale = head.scale(now);
        self.scale = Some(scale);
        let mut looking = Looking { spool, head, scale, last, most, decoded: 0, out: Look::default() };
        if self.read_journal(&place)? {
            looking.out.more = true;
            return Ok(looking.out);
        }
        // Moved out of `self`, so that `Chunks::look` can use the other fields.
        for part in [Part::Arena, Part::SyncPoints] {
            let mut chunks = std::mem::take(self.chunks_of(part));
            let done = chunks.look(part, self, &mut looking);
            *self.chunks_of(part) = chunks;
            done?;
        }
        if let Some(spill) = spill {
            self.look_at_spill(spill, &mut looking)?;
        }
        if last && !looking.out.more {
            self.look_at_staging(&place, &mut looking)?;
            for part in [Part::Arena, Part::SyncPoints] {
                let chunks = std::mem::take(self.chunks_of(part));
                let done = chunks.look_at_packing(part, self, &mut looking);
                *self.chunks_of(part) = chunks;
                done?;
            }
        }
        self.count(&place, &mut looking)?;
        looking.out.more |= self.read_journal(&place)?;
        // Frees some MiB of decoder memory per spool.
        self.decoder = Decoder::default();
        Ok(looking.out)
    }

    /// Returns the approximate memory used by the follower, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let counters = (self.counted.len() + self.short.len()) * size_of::<(u32, Counters)>() * 2;
        self.names.weight() + self.shown.weight() + self.arena.weight() + self.sync_points.weight() + counters
    }

    /// Returns the number of files whose paths are in memory.
    #[must_use]
    pub const fn paths(&self) -> usize {
        self.names.paths
    }

    /// Drops the paths of all files except the file numbers in `but`, to free memory. Returns the number of dropped paths.
    pub fn forget_paths(&mut self, but: &BTreeSet<u32>) -> u64 {
        self.names.forget_paths(but)
    }

    /// Returns the definitions of ids (files, streams, threads); complete for all segments delivered so far.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the shape that a data set had when a call used it: the shape at the data set's latest open before `end`, the end of the call
    /// in ns as delivered by the latest [`Self::look`]. Returns `None` if the shape is unknown.
    #[must_use]
    pub fn shape(&self, data_set: u32, end: u64) -> Option<Shape> {
        let (shapes, scale) = (self.names.shapes.get(&data_set)?, self.scale?);
        let known = shapes.partition_point(|shape| scale.nanoseconds(shape.since) <= end.saturating_add(ROUNDED_NS));
        shapes.get(known.checked_sub(1)?).copied()
    }

    /// Returns the keys of the segments delivered so far, with which [`Self::new`] resumes later.
    #[must_use]
    pub const fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the counters, by stream (operation on a file), of calls that were added to counters or wait to be added. Sums only grow;
    /// times are in ns.
    #[must_use]
    pub const fn counted(&self) -> &BTreeMap<u32, Counters> {
        &self.counted
    }

    /// Returns the number of calls folded into counters, none of which is ever delivered as a segment.
    #[must_use]
    pub const fn folded(&self) -> u64 {
        self.folded
    }

    /// Returns the number of delivered segments that are not in the process's trace because their calls were made after it was
    /// written; these segments are in the process's next spool.
    #[must_use]
    pub const fn taken_back(&self) -> u64 {
        self.taken_back
    }

    /// Returns the number of packed blocks (compressed segments) that could not be decoded.
    #[must_use]
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Returns the events that the process did not record, with their counts from the current header `head`.
    #[must_use]
    pub fn notes(&self, head: &Head) -> Vec<Note> {
        head.notes(&self.names.notes)
    }

    fn chunks_of(&mut self, part: Part) -> &mut Chunks {
        if part == Part::SyncPoints { &mut self.sync_points } else { &mut self.arena }
    }

    /// Reads the next part of the journal; returns true if more records are available.
    fn read_journal<S: Source + ?Sized>(&mut self, place: &SpoolReader<'_, S>) -> Result<bool> {
        let used = place.part(Part::Journal)?.1 as usize;
        let (at, waits) = &mut self.journal;
        let Some(left) = used.checked_sub(*at).filter(|left| *left > 0) else { return Ok(false) };
        let length = left.min(limits::SPOOL_PIECE_BYTES);
        let mut bytes = zeros(*at as u64, length as u64)?;
        place.fill_zeros(Part::Journal, *at, &mut bytes)?;
        let whole = self.names.add_all(&bytes)?;
        *waits = if whole > 0 { 0 } else { *waits + 1 };
        *at += if *waits > MOST_WAITS { length } else { whole };
        Ok(whole > 0 && length < left)
    }

    /// True if a segment is a successful read or write of less than `least` bytes. The tracer removes such segments from their chunk
    /// (segment buffer) and eventually folds them into counters.
    fn is_short(&self, least: u64, segment: &Segment) -> bool {
        let stream = self.names.streams.get(&segment.stream().0);
        let succeeded = stream.filter(|stream| stream.flags & stream_flags::FAILED == 0);
        let op = succeeded.and_then(|stream| self.names.op(stream.op));
        segment.length() < least && op.is_some_and(|op| op.class.is_data())
    }

    /// Adds a segment below the minimum size, with times in ns, to the counters of short segments.
    fn count_short(&mut self, segment: &Segment) {
        let counters = self.short.entry(segment.stream().0).or_default();
        counters.fold_alone(segment.offset, segment.length(), segment.start, segment.end);
    }

    /// Delivers the segments of a packed block (compressed segments); returns false if the block is incomplete.
    fn take_block<S: ?Sized>(&mut self, block: &blocks::Block<'_>, looking: &mut Looking<'_, S>) -> bool {
        if self.shown.is_done(block.thread, block.sequence) {
            return true;
        }
        // A block contains segments of one chunk only, which limits the slot number of its first segment.
        if block.first as usize > limits::SPOOL_CHUNK_BYTES / size_of::<Segment>() {
            return false;
        }
        let Ok(frame) = FrameHeader::decode(block.frame, 0) else { return false };
        if frame.stored as usize > block.frame.len() {
            return false;
        }
        let head = block.head.at_rate(block.mult, looking.scale.mult);
        let Ok(columns) = self.decoder.block(&block.frame, &BlockRef { offset: 0, frame, head }) else { return false };
        let least = self.names.least();
        let segments = rows(columns);
        looking.decoded += segments.len();
        let (mut kept, first) = (0, if least > 0 { 0 } else { block.first });
        for segment in segments {
            if least > 0 && self.is_short(least, &segment) {
                self.count_short(&segment);
                continue;
            }
            self.give(block.thread, block.sequence, first + kept, segment, looking);
            kept += 1;
        }
        self.shown.finish(block.thread, block.sequence);
        true
    }

    /// Delivers a segment, with times in ns, unless it was delivered before.
    fn give<S: ?Sized>(&mut self, thread: u32, sequence: u32, slot: u32, segment: Segment, to: &mut Looking<'_, S>) {
        if self.shown.mark(thread, sequence, slot) {
            to.out.segments.push(Seen { thread, sequence, slot, segment, is_counted: false });
        }
    }

    fn look_at_spill<S: Source + ?Sized>(&mut self, spill: &S, looking: &mut Looking<'_, S>) -> Result<()> {
        // Larger than any packed block, in bytes.
        const STEP: u64 = 4 << 20;
        let size = spill.size().map_err(|source| Error::Io { offset: 0, length: 0, source })?;
        while self.spill_read < size && !looking.is_full() {
            let length = STEP.min(size - self.spill_read);
            let mut bytes = vec![0; length as usize];
            spill.read_exact_at(self.spill_read, &mut bytes).map_err(|source| Error::Io {
                offset: self.spill_read,
                length,
                source,
            })?;
            let whole = self.take_blocks(&bytes, looking);
            self.spill_read += whole as u64;
            // The next block is still being written, or there is no next block.
            if whole == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Delivers the packed blocks (compressed segments) in `bytes`; returns the number of leading bytes that need not be read again.
    fn take_blocks<S: ?Sized>(&mut self, bytes: &[u8], looking: &mut Looking<'_, S>) -> usize {
        let (mut whole, mut at) = (true, 0);
        for (place, block) in blocks::placed(bytes) {
            whole &= place.start == at;
            let taken = self.take_block(&block, looking);
            if !taken && looking.last {
                self.damaged += 1;
            }
            whole &= taken || looking.last;
            if whole {
                at = place.end;
            }
            if looking.is_full() {
                break;
            }
        }
        at
    }

    /// Delivers packed blocks (compressed segments) that a killed process left in staging slots. Blocks that had already been copied to
    /// their destination were delivered from there.
    fn look_at_staging<S: Source + ?Sized>(
        &mut self,
        place: &SpoolReader<'_, S>,
        to: &mut Looking<'_, S>,
    ) -> Result<()> {
        let mut from = 0;
        while let Some((first, staged)) = place.records(Part::Staging, staging::BYTES, from)? {
            for staged in staged.chunks_exact(staging::BYTES) {
                let length = u32_at(staged, staging::LENGTH) as usize;
                let bytes = staged.get(staging::FIRST..).and_then(|rest| rest.get(..length)).unwrap_or_default();
                self.take_blocks(bytes, to);
            }
            from = first + staged.len() / staging::BYTES;
        }
        Ok(())
    }

    /// Reads the counters, then the scratch buffers, whose segments wait to be added to counters. Calls that the process adds in between
    /// are missing until the next read, but no call is counted twice.
    fn count<S: Source + ?Sized>(&mut self, place: &SpoolReader<'_, S>, looking: &mut Looking<'_, S>) -> Result<()> {
        let mut now = self.short.clone();
        self.folded = now.values().map(|counters| counters.segments).sum();
        let mut from = 0;
        let is_of_version_4 = looking.head.is_of_version_4();
        let entry_bytes = looking.head.entry_bytes();
        while let Some((first, mut folded)) = place.records(Part::Folded, entry_bytes, from)? {
            if looking.last && !is_of_version_4 {
                for entry in folded.chunks_exact_mut(entry_bytes) {
                    let Some(number) = scratches::adder(entry) else { continue };
                    let mut adding = vec![0; scratch::BYTES];
                    let is_there = number < (place.part(Part::Scratch)?.1 / scratch::BYTES as u64) as usize;
                    if is_there && place.fill(Part::Scratch, number * scratch::BYTES, &mut adding).is_ok() {
                        scratches::take_back_from(entry, &adding);
                    }
                }
            }
            let entries = folded.chunks_exact(entry_bytes);
            for missing in entries.filter_map(|entry| counters::of(entry, &looking.scale, Counts::All)) {
                self.folded = self.folded.saturating_add(missing.counters.segments);
                now.entry(missing.stream).or_default().merge(&missing.counters);
            }
            check_counted(&now)?;
            from = first + folded.len() / entry_bytes;
        }
        from = 0;
        while let Some((first, before)) = place.records(Part::Scratch, scratch::BYTES, from)? {
            // All slots are read twice; slots that differ are ignored.
            let mut again = vec![0; before.len()];
            place.fill(Part::Scratch, first * scratch::BYTES, &mut again)?;
            from = first + before.len() / scratch::BYTES;
            let pairs = before.chunks_exact(scratch::BYTES).zip(again.chunks_exact(scratch::BYTES));
            (first..).zip(pairs).for_each(|(number, (before, scratch))| {
                self.count_scratch(number, before, scratch, &mut now, looking);
            });
            check_counted(&now)?;
        }
        for (stream, counters) in now {
            let known = self.counted.entry(stream).or_default();
            if counters.segments >= known.segments {
                *known = counters;
            }
        }
        Ok(())
    }

    /// Adds the segments of scratch buffer `number` to the counters `now`, except those already in the counters. `before` and `scratch` are
    /// copies of the buffer made one after the other: slots that differ are ignored, because the process was writing to them.
    fn count_scratch<S: ?Sized>(
        &mut self,
        number: usize,
        before: &[u8],
        scratch: &[u8],
        now: &mut BTreeMap<u32, Counters>,
        looking: &mut Looking<'_, S>,
    ) {
        let least = self.names.least();
        let is_of_version_4 = looking.head.is_of_version_4();
        let under_way = [before, scratch].into_iter().find_map(|one| scratches::fold(one, is_of_version_4));
        if under_way.is_some() && !looking.last {
            return;
        }
        let thread = u32_at(scratch, scratch::THREAD);
        let done = |slot: usize| under_way.is_some_and(|fold| fold.counted >> slot & 1 != 0);
        let slots = |bytes: &[u8]| chunks::slots(bytes.get(scratch::FIRST..).unwrap_or_default());
        for (slot, (before, segment)) in slots(before).into_iter().zip(slots(scratch)).enumerate() {
            if segment.end == 0 || before != segment || done(slot) {
                continue;
            }
            let segment = in_ns(&segment, &looking.scale);
            let counters = now.entry(segment.stream().0).or_default();
            counters.fold_alone(segment.offset, segment.length(), segment.start, segment.end);
            let is_counted = self.names.counted_threads.contains(&thread);
            if is_counted || least > 0 && self.is_short(least, &segment) {
                self.folded += u64::from(looking.last);
                continue;
            }
            // The process's trace contains these calls as segments.
            let sequence = BEHIND_CHUNKS + number as u32;
            if looking.last && self.shown.mark(thread, sequence, slot as u32) {
                looking.out.segments.push(Seen { thread, sequence, slot: slot as u32, segment, is_counted: true });
            }
        }
    }
}

/// Fails if more than [`limits::SPOOL_COUNTED`] streams (operations on files) have counters: such a spool is not followed.
fn check_counted(now: &BTreeMap<u32, Counters>) -> Result<()> {
    limits::check("streams in a spool's counters", now.len() as u64, limits::SPOOL_COUNTED, 0)
}

/// Returns the segments of a decoded block, with times in ns since the process's epoch.
fn rows(columns: &Columns) -> Vec<Segment> {
    let sizes = columns.stream.iter().zip(&columns.length).map(|(stream, length)| pack(StreamId(*stream), *length));
    let times = columns.start.iter().zip(&columns.end);
    let all = columns.offset.iter().zip(sizes).zip(times);
    all.map(|((offset, word), (start, end))| Segment { offset: *offset, word, start: *start, end: *end }).collect()
}

/// Converts a segment's times to ns since the process's epoch.
fn in_ns(segment: &Segment, scale: &TickScale) -> Segment {
    // In counters mode the top bits of `start` describe the call's buffer; followers do not need these bits.
    let (start, end) = (scale.nanoseconds(segment.start & !MARKS), scale.nanoseconds(segment.ended()));
    Segment { start, end, ..*segment }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("shown", &self.shown).field("journal", &self.journal).finish_non_exhaustive()
    }
}
