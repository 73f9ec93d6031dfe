//! A spool that is looked at again and again while its owner runs: each segment is given once, with the place that it is known by.
//!
//! A segment is known by its thread, by which of the thread's chunks it was recorded into, and by its slot there; packing keeps all
//! three, so whatever has become of a chunk since, what was given before is told from what is new, by a reader that was started anew
//! too ([`Shown`]). Segments that were folded into counters have no place any more: they are in [`Follower::counted`] only. What is
//! written into the spool while it is looked at comes with a later look; once its owner has ended, a last look gives the rest.

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
use super::{Part, blocks, landing, scratch, scratches};
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

/// SpoolReader of scratches in a thread's order, as in a recovered trace.
const BEHIND_CHUNKS: u32 = 1 << 31;
/// Blocks hold times in ns at the rate that was known when they were packed: by so much may the end of a call differ from the same moment
/// elsewhere. HDF5 opens nothing in less.
const ROUNDED_NS: u64 = 100;
/// Looks after which a record of the journal that was begun and never finished is passed over.
const MOST_WAITS: u32 = 100;

/// A segment that was not given before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Index of the thread.
    pub thread: u32,
    /// Which of the thread's chunks.
    pub sequence: u32,
    /// Which slot of it. With `DXT_MIN_SIZE`, which of the segments that are long enough.
    pub slot: u32,
    /// The segment; times in ns since the process's epoch.
    pub segment: Segment,
    /// It is in [`Follower::counted`] too.
    pub is_counted: bool,
}

/// What one look met.
#[derive(Debug, Default)]
pub struct Look {
    /// Segments that were not given before: in the order of one chunk, chunks in any order.
    pub segments: Vec<Seen>,
    /// There is more already than was asked for: look again.
    pub more: bool,
}

/// Follows one spool.
#[derive(Default)]
pub struct Follower {
    shown: Shown,
    names: Names,
    /// Bytes of the journal that need not be read again, and how often those behind them have been.
    journal: (usize, u32),
    /// How the latest look read times.
    scale: Option<TickScale>,
    arena: Chunks,
    meetings: Chunks,
    spill_read: u64,
    counted: BTreeMap<u32, Counters>,
    folded: u64,
    /// Those that are too short to be given, and will not be folded any more while the process runs.
    short: BTreeMap<u32, Counters>,
    decoder: Decoder,
    taken_back: u64,
    damaged: u64,
}

/// What a look is given.
struct Looking<'a, S: ?Sized> {
    spool: &'a S,
    head: Head,
    scale: TickScale,
    last: bool,
    most: usize,
    /// Segments of blocks that were decoded.
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
    /// Follows a spool from its beginning, without what is `shown`.
    #[must_use]
    pub fn new(shown: Shown) -> Self {
        Self { shown, ..Self::default() }
    }

    /// Looks for what is new: at most some more than `most` segments. `spill` is the file of packed blocks beside the spool, if there is
    /// one; `now` are both clocks now, if this is the machine and the boot of the spool. `last`: the owner has ended, or what it recorded is in
    /// its trace.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is no spool, [`Error::Io`]. What was not read is given by a later look.
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
        // Each is taken out, so that it can use the rest.
        for part in [Part::Arena, Part::Meetings] {
            let mut chunks = std::mem::take(self.chunks_of(part));
            let done = chunks.look(part, self, &mut looking);
            *self.chunks_of(part) = chunks;
            done?;
        }
        if let Some(spill) = spill {
            self.look_at_spill(spill, &mut looking)?;
        }
        if last && !looking.out.more {
            self.look_at_landing(&place, &mut looking)?;
            for part in [Part::Arena, Part::Meetings] {
                let chunks = std::mem::take(self.chunks_of(part));
                let done = chunks.look_at_packing(part, self, &mut looking);
                *self.chunks_of(part) = chunks;
                done?;
            }
        }
        self.count(&place, &mut looking)?;
        looking.out.more |= self.read_journal(&place)?;
        // Some MB of each spool whose blocks were decoded.
        self.decoder = Decoder::default();
        Ok(looking.out)
    }

    /// Bytes of memory that are kept of the spool, about.
    #[must_use]
    pub fn weight(&self) -> usize {
        let counters = (self.counted.len() + self.short.len()) * size_of::<(u32, Counters)>() * 2;
        self.names.weight() + self.shown.weight() + self.arena.weight() + self.meetings.weight() + counters
    }

    /// Files whose paths are known.
    #[must_use]
    pub const fn paths(&self) -> usize {
        self.names.paths
    }

    /// Forgets the paths of files, but for those of these numbers; returns how many.
    pub fn forget_paths(&mut self, but: &BTreeSet<u32>) -> u64 {
        self.names.forget_paths(but)
    }

    /// What the ids mean. Everything that was given has its meaning here.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// How large a data set was when a call that returned at `end` (in ns, as the latest look gave it) used it: what it was when it was opened
    /// last. `None` if that is not known.
    #[must_use]
    pub fn shape(&self, data_set: u32, end: u64) -> Option<Shape> {
        let (shapes, scale) = (self.names.shapes.get(&data_set)?, self.scale?);
        let known = shapes.partition_point(|shape| scale.nanoseconds(shape.since) <= end.saturating_add(ROUNDED_NS));
        shapes.get(known.checked_sub(1)?).copied()
    }

    /// What was given, to go on with another time.
    #[must_use]
    pub const fn shown(&self) -> &Shown {
        &self.shown
    }

    /// What calls have been folded into counters, or wait for it, by stream: sums that only grow, times in ns.
    #[must_use]
    pub const fn counted(&self) -> &BTreeMap<u32, Counters> {
        &self.counted
    }

    /// Calls that have been folded: they are in no segment that was or will be given.
    #[must_use]
    pub const fn folded(&self) -> u64 {
        self.folded
    }

    /// Segments that were given, and whose calls turned out to have come after the trace: they are in the next spool of the process.
    #[must_use]
    pub const fn taken_back(&self) -> u64 {
        self.taken_back
    }

    /// Blocks that could not be decoded.
    #[must_use]
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// What the process did not record, and how often, by the header as it is now.
    #[must_use]
    pub fn notes(&self, head: &Head) -> Vec<Note> {
        head.notes(&self.names.notes)
    }

    fn chunks_of(&mut self, part: Part) -> &mut Chunks {
        if part == Part::Meetings { &mut self.meetings } else { &mut self.arena }
    }

    /// Reads on in the journal; returns whether there is more of it.
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

    /// Whether a segment is left out of the chunks as too short, and gets into the counters sooner or later.
    fn is_short(&self, least: u64, segment: &Segment) -> bool {
        let stream = self.names.streams.get(&segment.stream().0);
        let succeeded = stream.filter(|stream| stream.flags & stream_flags::FAILED == 0);
        let op = succeeded.and_then(|stream| self.names.op(stream.op));
        segment.length() < least && op.is_some_and(|op| op.class.is_data())
    }

    /// Counts a segment that is too short to be given; times in ns.
    fn count_short(&mut self, segment: &Segment) {
        let counters = self.short.entry(segment.stream().0).or_default();
        counters.fold_alone(segment.offset, segment.length(), segment.start, segment.end);
    }

    /// Takes the segments of a block; false if it is not whole.
    fn take_block<S: ?Sized>(&mut self, block: &blocks::Block<'_>, looking: &mut Looking<'_, S>) -> bool {
        if self.shown.is_done(block.thread, block.sequence) {
            return true;
        }
        // A block is of one chunk.
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

    /// Gives a segment, times in ns, unless it was given before.
    fn give<S: ?Sized>(&mut self, thread: u32, sequence: u32, slot: u32, segment: Segment, to: &mut Looking<'_, S>) {
        if self.shown.mark(thread, sequence, slot) {
            to.out.segments.push(Seen { thread, sequence, slot, segment, is_counted: false });
        }
    }

    fn look_at_spill<S: Source + ?Sized>(&mut self, spill: &S, looking: &mut Looking<'_, S>) -> Result<()> {
        // Longer than any block.
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
            // The block is being written, or there is none.
            if whole == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Takes the blocks in `bytes`; returns how many of those need not be read again.
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

    /// Blocks of a process that was killed while it moved them. Those that are in their place by now were given.
    fn look_at_landing<S: Source + ?Sized>(
        &mut self,
        place: &SpoolReader<'_, S>,
        to: &mut Looking<'_, S>,
    ) -> Result<()> {
        let mut from = 0;
        while let Some((first, landed)) = place.records(Part::Landing, landing::BYTES, from)? {
            for landed in landed.chunks_exact(landing::BYTES) {
                let length = u32_at(landed, landing::LENGTH) as usize;
                let bytes = landed.get(landing::FIRST..).and_then(|rest| rest.get(..length)).unwrap_or_default();
                self.take_blocks(bytes, to);
            }
            from = first + landed.len() / landing::BYTES;
        }
        Ok(())
    }

    /// Reads the counters, and the scratches behind them: a fold in between is missed by this look, and no call counts twice.
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
            // Looked at twice, as all slots are.
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

    /// Counts what stands in a scratch that was read twice.
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
            // They stay in the trace as segments.
            let sequence = BEHIND_CHUNKS + number as u32;
            if looking.last && self.shown.mark(thread, sequence, slot as u32) {
                looking.out.segments.push(Seen { thread, sequence, slot: slot as u32, segment, is_counted: true });
            }
        }
    }
}

/// Only so many streams are told apart by their counters: a spool of more is not followed.
fn check_counted(now: &BTreeMap<u32, Counters>) -> Result<()> {
    limits::check("streams in a spool's counters", now.len() as u64, limits::SPOOL_COUNTED, 0)
}

/// The segments of a block, times in ns since the epoch.
fn rows(columns: &Columns) -> Vec<Segment> {
    let sizes = columns.stream.iter().zip(&columns.length).map(|(stream, length)| pack(StreamId(*stream), *length));
    let times = columns.start.iter().zip(&columns.end);
    let all = columns.offset.iter().zip(sizes).zip(times);
    all.map(|((offset, word), (start, end))| Segment { offset: *offset, word, start: *start, end: *end }).collect()
}

/// The segment with times in ns since the epoch.
fn in_ns(segment: &Segment, scale: &TickScale) -> Segment {
    // The highest bits of a start tell of its memory in counters mode, and are of no interest here.
    let (start, end) = (scale.nanoseconds(segment.start & !MARKS), scale.nanoseconds(segment.ended()));
    Segment { start, end, ..*segment }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("shown", &self.shown).field("journal", &self.journal).finish_non_exhaustive()
    }
}
