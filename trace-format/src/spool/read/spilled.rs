//! Blocks of a spill, which may be far larger than memory: of each it is known where it lies, and it is read when it is needed.

use crate::error::{Error, Result};
use crate::frame::{BLOCK_HEAD_BYTES, BlockHead, FRAME_HEADER_BYTES, FrameHeader};
use crate::limits;
use crate::read::{BlockRef, Decoder, Source};
use crate::spool::block::{HEADER_BYTES, MULT};
use crate::spool::blocks::first;
use crate::spool::parts::u64_at;
use std::collections::BTreeMap;

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which of the thread's chunks it was.
    pub(super) sequence: u32,
    /// Bytes of its frame.
    bytes: u32,
    /// Its header's offset.
    at: u64,
}

/// The blocks of each thread, in the order of its chunks. Of two that were the same chunk the last counts.
pub(super) type Places = BTreeMap<u32, Vec<Place>>;

/// Finds the blocks from `from` on; `is_gone` tells by its mark which are in a trace already.
pub(super) fn places(spill: &dyn Source, from: u64, is_gone: impl Fn(u32) -> bool) -> Result<Places> {
    let mut places = Places::new();
    let mut reading = Reading { spill, end: size(spill)?, offset: from, window: Vec::new(), at: 0 };
    while let Some((thread, mark, place)) = reading.next()? {
        if !is_gone(mark) {
            places.entry(thread).or_default().push(place);
        }
    }
    for of_thread in places.values_mut() {
        of_thread.reverse();
        // Stable: of equal ones the last comes first now.
        of_thread.sort_by_key(|place| place.sequence);
        of_thread.dedup_by_key(|place| place.sequence);
        of_thread.shrink_to_fit();
    }
    Ok(places)
}

fn size(spill: &dyn Source) -> Result<u64> {
    spill.size().map_err(|source| Error::Io { offset: 0, length: 0, source })
}

fn fill(spill: &dyn Source, offset: u64, buffer: &mut [u8]) -> Result<()> {
    let length = buffer.len() as u64;
    spill.read_exact_at(offset, buffer).map_err(|source| Error::Io { offset, length, source })
}

/// Goes through a spill from its beginning to its end.
struct Reading<'a> {
    spill: &'a dyn Source,
    end: u64,
    /// Where the window begins, and the place in it that was reached.
    offset: u64,
    window: Vec<u8>,
    at: usize,
}

/// Bytes that are read at once: some blocks of any size.
const WINDOW: usize = 4 * limits::SPILLED_BYTES;

impl Reading<'_> {
    /// The next block's thread, mark and place.
    fn next(&mut self) -> Result<Option<(u32, u32, Place)>> {
        loop {
            if self.window.len() - self.at < HEADER_BYTES + limits::SPILLED_BYTES {
                self.go_on()?;
            }
            let rest = self.window.get(self.at..).unwrap_or_default();
            if rest.len() < HEADER_BYTES {
                return Ok(None);
            }
            let at = self.offset + self.at as u64;
            if let Some(block) = first(rest).filter(|block| block.frame.len() <= limits::SPILLED_BYTES) {
                self.at += (HEADER_BYTES + block.frame.len()).next_multiple_of(8);
                let place = Place { sequence: block.sequence, bytes: block.frame.len() as u32, at };
                return Ok(Some((block.thread, block.mark, place)));
            }
            // What was taken and never filled hides no block behind it.
            self.at += 8;
        }
    }

    /// Moves the window on to where it was reached.
    fn go_on(&mut self) -> Result<()> {
        let here = self.offset + self.at as u64;
        let known = self.window.len() as u64 + self.offset;
        if known >= self.end && !self.window.is_empty() || here >= self.end {
            return Ok(());
        }
        self.offset = here;
        self.at = 0;
        self.window.resize(WINDOW.min(usize::try_from(self.end - here).unwrap_or(WINDOW)), 0);
        fill(self.spill, here, &mut self.window)
    }
}

impl Place {
    /// Reads the block into `buffer`; returns the nanoseconds per tick that it was encoded with, and its frame.
    pub(super) fn read<'a>(&self, spill: &dyn Source, buffer: &'a mut Vec<u8>) -> Result<(u64, &'a [u8])> {
        buffer.resize(HEADER_BYTES + self.bytes as usize, 0);
        fill(spill, self.at, buffer)?;
        let (header, frame) = buffer.split_at(HEADER_BYTES);
        Ok((u64_at(header, MULT), frame))
    }

    /// Bytes that it takes in a trace.
    pub(super) const fn frame_bytes(&self) -> u64 {
        self.bytes as u64
    }
}

/// The rate, the head and, if it can be read, the streams of the segments of a block.
pub(super) struct Look<'a> {
    pub(super) mult: u64,
    pub(super) head: BlockHead,
    pub(super) streams: &'a [u32],
}

/// Looks into a block.
pub(super) fn look<'a>(
    place: Place,
    spill: &dyn Source,
    buffer: &mut Vec<u8>,
    decoder: &'a mut Decoder,
) -> Result<Look<'a>> {
    let (mult, frame) = place.read(spill, buffer)?;
    let head = frame.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + BLOCK_HEAD_BYTES).unwrap_or_default();
    let head = BlockHead::decode(head, 0)?;
    let columns = FrameHeader::decode(frame, 0)
        .and_then(|header| decoder.block(&frame, &BlockRef { offset: 0, frame: header, head }));
    Ok(Look { mult, head, streams: columns.map_or(&[], |columns| columns.stream.as_slice()) })
}
