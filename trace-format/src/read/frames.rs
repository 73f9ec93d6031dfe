//! Iteration over the frames in a range of a file, header by header; after damage, iteration continues at the next intact frame header.

use super::source::{Source, fill};
use crate::error::{Error, Result};
use crate::frame::{BLOCK_HEAD_BYTES, BlockHead, FRAME_HEADER_BYTES, FRAME_MAGIC, FrameHeader, kind};
use crate::limits;

/// Segment block that was located in the file but not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// File offset of the frame, in bytes.
    pub offset: u64,
    /// Header of the segment frame.
    pub frame: FrameHeader,
    /// Head of the block, which summarizes the block's segments.
    pub head: BlockHead,
}

pub(super) enum Step {
    Block(BlockRef),
    /// Intact frame that is not a segment block, with its file offset.
    Other(u64, FrameHeader),
    /// Bytes that are not a frame, with their file offset and the reason.
    Lost(u64, Error),
}

/// Iterator over the frames in the byte range `at..end` of a file.
pub(super) struct Frames<'a, S: ?Sized> {
    source: &'a S,
    at: u64,
    end: u64,
}

impl<'a, S: Source + ?Sized> Frames<'a, S> {
    /// Creates an iterator over the frames that begin in the byte range `at..end`; `end` must not exceed the source's size.
    pub(super) fn new(source: &'a S, at: u64, end: u64) -> Self {
        Self { source, at, end }
    }

    fn step(&mut self) -> Result<Step> {
        let (at, left) = (self.at, self.end - self.at);
        let mut bytes = [0; FRAME_HEADER_BYTES + BLOCK_HEAD_BYTES];
        let there = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        fill(self.source, at, &mut bytes[..there])?;
        let (header_bytes, head_bytes) = bytes[..there].split_at(there.min(FRAME_HEADER_BYTES));
        let frame = FrameHeader::decode(header_bytes, at)?;
        let limit = if frame.kind == kind::SEGMENTS { limits::BLOCK_BYTES } else { limits::METADATA_BYTES };
        limits::check("decoded frame size", u64::from(frame.raw), u64::from(limit), at)?;
        if frame.frame_bytes() > left {
            let (what, needed) = ("a frame", frame.frame_bytes());
            return Err(Error::Truncated { what, offset: at, needed, available: left });
        }
        if frame.kind != kind::SEGMENTS {
            self.at += frame.frame_bytes();
            return Ok(Step::Other(at, frame));
        }
        let head = BlockHead::decode(head_bytes, at + FRAME_HEADER_BYTES as u64)?;
        limits::check("segment count", u64::from(head.segments), u64::from(limits::BLOCK_SEGMENTS), at)?;
        self.at += frame.frame_bytes();
        Ok(Step::Block(BlockRef { offset: at, frame, head }))
    }

    /// Returns the file offset of the next intact frame header at or after `from`, or the end of the range.
    fn resynchronize(&self, from: u64) -> u64 {
        // The window starts small and grows, so that many small damages cost little each.
        let mut window = vec![0; 4 * 1024];
        let mut at = from;
        while at < self.end {
            // Skips holes of the file, which contain no frames and may be terabytes long.
            match self.source.stored(at) {
                Ok(Some(data)) if data.start < self.end => at = at.max(data.start),
                _ => return self.end,
            }
            let there = window.len().min(usize::try_from(self.end - at).unwrap_or(usize::MAX));
            let bytes = &mut window[..there];
            if fill(self.source, at, bytes).is_err() {
                return self.end;
            }
            let found = bytes
                .windows(FRAME_HEADER_BYTES)
                .position(|candidate| candidate.starts_with(&FRAME_MAGIC) && FrameHeader::decode(candidate, 0).is_ok());
            if let Some(found) = found {
                return at + found as u64;
            }
            if there < window.len() {
                return self.end;
            }
            at += (window.len() - FRAME_HEADER_BYTES + 1) as u64;
            window.resize((window.len() * 2).min(1 << 20), 0);
        }
        self.end
    }
}

impl<S: Source + ?Sized> Iterator for Frames<'_, S> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.at >= self.end {
            return None;
        }
        let from = self.at;
        Some(self.step().unwrap_or_else(|error| {
            self.at = self.resynchronize(from + 1);
            Step::Lost(from, error)
        }))
    }
}
