//! Decodes payloads; keeps its working memory between them. One per thread.

use super::frames::BlockRef;
use super::source::{Source, fill};
use crate::columns::{self, Columns};
use crate::error::{Error, Result};
use crate::frame::{BLOCK_HEAD_BYTES, FRAME_HEADER_BYTES, FrameHeader, codec, crc, kind};
use crate::limits;
use std::io::Read;

/// Metadata of at most so many bytes is unpacked by the decoder that is kept, since making one costs more than that.
const SMALL: u32 = 1 << 20;

/// Decodes frames.
#[derive(Default)]
pub struct Decoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    stored: Vec<u8>,
    raw: Vec<u8>,
    columns: Columns,
    work: columns::Unpacked,
}

impl Decoder {
    /// The segments of a block.
    ///
    /// # Errors
    /// [`Error::Checksum`], [`Error::Malformed`] or [`Error::Io`]: the block's segments are lost.
    pub fn block<S: Source + ?Sized>(&mut self, source: &S, block: &BlockRef) -> Result<&Columns> {
        self.fetch(source, block.offset, &block.frame)?;
        let raw = match block.frame.codec {
            codec::STORED => &self.stored,
            _ => {
                self.inflate(block.offset, &block.frame)?;
                &self.raw
            }
        };
        columns::decode(raw, block.head.segments, block.offset, &mut self.work, &mut self.columns)?;
        self.columns.correct(block.head.rate);
        Ok(&self.columns)
    }

    /// The payload of a metadata frame.
    ///
    /// # Errors
    /// As [`Self::block`].
    pub(super) fn metadata<S: Source + ?Sized>(
        &mut self,
        source: &S,
        offset: u64,
        frame: &FrameHeader,
    ) -> Result<&[u8]> {
        self.fetch(source, offset, frame)?;
        if frame.codec == codec::STORED {
            return Ok(&self.stored);
        }
        if frame.raw <= SMALL {
            self.inflate(offset, frame)?;
            return Ok(&self.raw);
        }
        // Grows with what really comes out, so that a claimed size costs nothing.
        self.raw.clear();
        let limit = u64::from(frame.raw);
        let undone = zstd::stream::read::Decoder::with_buffer(self.stored.as_slice()).and_then(|mut decoder| {
            decoder.window_log_max(limits::WINDOW_LOG)?;
            decoder.take(limit + 1).read_to_end(&mut self.raw)
        });
        Self::same_size(undone, offset, frame)?;
        Ok(&self.raw)
    }

    /// Reads the stored payload and checks it.
    fn fetch<S: Source + ?Sized>(&mut self, source: &S, offset: u64, frame: &FrameHeader) -> Result<()> {
        let head = if frame.kind == kind::SEGMENTS { BLOCK_HEAD_BYTES } else { 0 };
        let what = "a frame's payload";
        let fits = match frame.codec {
            codec::STORED => frame.stored == frame.raw,
            codec::ZSTD => frame.stored < frame.raw,
            _ => false,
        };
        if !fits {
            let why = format!("codec {} with {} bytes stored for {}", frame.codec, frame.stored, frame.raw);
            return Err(Error::Malformed { what, offset, why });
        }
        self.stored.clear();
        self.stored.resize(frame.stored as usize, 0);
        fill(source, offset + (FRAME_HEADER_BYTES + head) as u64, &mut self.stored)?;
        let found = crc(&self.stored);
        if found != frame.payload_crc {
            return Err(Error::Checksum { what, offset, expected: frame.payload_crc, found });
        }
        Ok(())
    }

    fn inflate(&mut self, offset: u64, frame: &FrameHeader) -> Result<()> {
        limits::check("decoded block size", u64::from(frame.raw), u64::from(limits::BLOCK_BYTES), offset)?;
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|source| Error::Io {
                offset,
                length: 0,
                source,
            })?),
        };
        self.raw.resize(frame.raw as usize, 0);
        let undone = zstd.decompress_to_buffer(&self.stored, &mut self.raw);
        Self::same_size(undone, offset, frame)
    }

    fn same_size(undone: std::io::Result<usize>, offset: u64, frame: &FrameHeader) -> Result<()> {
        let why = match undone {
            Ok(size) if size == frame.raw as usize => return Ok(()),
            Ok(size) => format!("{size} bytes came out of it, {} were expected", frame.raw),
            Err(error) => format!("failed to decompress it: {error}"),
        };
        Err(Error::Malformed { what: "a frame's payload", offset, why })
    }
}
