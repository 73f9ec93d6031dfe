//! Packed blocks (compressed segments) in a spill file, which may be far larger than memory: only locations are held in memory, and blocks
//! are read on demand.

use crate::error::{Error, Result};
use crate::frame::{BLOCK_HEAD_BYTES, BlockHead, FRAME_HEADER_BYTES, FrameHeader};
use crate::limits;
use crate::read::{BlockRef, Decoder, Source};
use crate::spool::block::{HEADER_BYTES, MULT};
use crate::spool::blocks::first;
use crate::spool::parts::u64_at;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Sequence number of the chunk (segment buffer) whose segments are in the block.
    pub(super) sequence: u32,
    /// Size of the segment frame that contains the block, in bytes.
    bytes: u32,
    /// Offset of the packed block's header in the spill file, in bytes.
    at: u64,
}

/// Locations of packed blocks (compressed segments) by thread, in the order of the thread's chunks; of two blocks of one chunk, the last is
/// valid.
pub(super) type Places = BTreeMap<u32, Vec<Place>>;

/// Locates the packed blocks (compressed segments) from file offset `from` on, except blocks already in a trace: those for whose mark
/// `is_gone` returns true.
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
        // The sort is stable, so that the last of several blocks of one chunk comes first.
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

/// Sequential scan of a spill file (packed blocks of segments), of which only one section, the window, is in memory.
struct Reading<'a> {
    spill: &'a dyn Source,
    end: u64,
    /// Offset in the spill file of the first byte of the window (section in memory).
    offset: u64,
    window: Vec<u8>,
    at: usize,
}

/// Size of the window (section of a spill file in memory), in bytes: four blocks of maximum size.
const WINDOW: usize = 4 * limits::SPILLED_BYTES;

impl Reading<'_> {
    /// Returns (thread index, mark, location) of the next packed block (compressed segments) in the spill file; `None` at the end.
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
            // Skips reserved space that was never filled, so that blocks after it are found.
            self.at += 8;
        }
    }

    /// Moves the window (section of the spill file in memory) forward, so that it begins at the position that the scan has reached.
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
    /// Reads the packed block (compressed segments) into `buffer`; returns the clock rate with which the block was encoded, and its segment
    /// frame.
    pub(super) fn read<'a>(&self, spill: &dyn Source, buffer: &'a mut Vec<u8>) -> Result<(u64, &'a [u8])> {
        buffer.resize(HEADER_BYTES + self.bytes as usize, 0);
        fill(spill, self.at, buffer)?;
        let (header, frame) = buffer.split_at(HEADER_BYTES);
        Ok((u64_at(header, MULT), frame))
    }

    /// Returns the number of bytes that the block takes in a trace file.
    pub(super) const fn frame_bytes(&self) -> u64 {
        self.bytes as u64
    }
}

/// Clock rate, block head and stream ids (operations on files) of a packed block (compressed segments); no stream ids if the segments
/// cannot be decoded.
pub(super) struct Look<'a> {
    pub(super) mult: u64,
    pub(super) head: BlockHead,
    pub(super) streams: &'a [u32],
}

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
