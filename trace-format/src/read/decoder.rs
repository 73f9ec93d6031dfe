//! Decoder of frame payloads. A decoder reuses its working memory, so each thread should have its own.

use super::frames::BlockRef;
use super::room::{Meter, Room};
use super::source::{Source, fill};
use crate::columns::{self, Columns};
use crate::error::{Error, Result};
use crate::frame::{BLOCK_HEAD_BYTES, FRAME_HEADER_BYTES, FrameHeader, codec, crc, kind};
use crate::limits;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

/// Maximum decompressed size of metadata, in bytes, for which the decoder keeps one decompressor: creating a decompressor costs more time
/// than decompressing this many bytes.
const SMALL: u32 = 1 << 20;

/// Lock held while a metadata block larger than [`SMALL`] is decompressed and decoded: only one thread at a time
/// needs much memory, so that success does not depend on other threads.
static LARGE: Mutex<()> = Mutex::new(());

/// Decoder of the payloads of frames; reuses its buffers.
#[derive(Default)]
pub struct Decoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    /// Buffer whose first bytes are the payload as stored in the file. Only grows, but is freed after metadata larger than [`SMALL`].
    stored: Vec<u8>,
    /// Buffer whose first bytes are the decompressed payload. Only grows, but is freed after metadata larger than [`SMALL`].
    raw: Vec<u8>,
    columns: Columns,
    work: columns::Unpacked,
}

impl Decoder {
    /// Decodes the segments of one block.
    ///
    /// # Errors
    /// Returns [`Error::Checksum`], [`Error::Malformed`], [`Error::Limit`] or [`Error::Io`] if the block cannot be read, which loses its segments.
    pub fn block<S: Source + ?Sized>(&mut self, source: &S, block: &BlockRef) -> Result<&Columns> {
        self.fetch(source, block.offset, &block.frame)?;
        let raw = match block.frame.codec {
            codec::STORED => &self.stored[..block.frame.stored as usize],
            _ => {
                self.inflate(block.offset, &block.frame)?;
                &self.raw[..block.frame.raw as usize]
            }
        };
        columns::decode(raw, block.head.segments, block.offset, &mut self.work, &mut self.columns)?;
        self.columns.correct(block.head.rate);
        Ok(&self.columns)
    }

    /// Decompresses the payload of a metadata frame and returns the result of `decode` for the payload. Fails like [`Self::block`] or
    /// `decode`, and with [`Error::Limit`] if `room` has too little memory left for buffers and decoded values.
    pub(super) fn metadata<S: Source + ?Sized, T>(
        &mut self,
        source: &S,
        offset: u64,
        frame: &FrameHeader,
        room: &Room,
        decode: impl FnOnce(&[u8], &Meter<'_>) -> Result<T>,
    ) -> Result<T> {
        if frame.raw <= SMALL {
            self.fetch(source, offset, frame)?;
            if frame.codec != codec::STORED {
                self.inflate(offset, frame)?;
            }
            let (stored, raw) = (frame.stored as usize, frame.raw as usize);
            let raw = if frame.codec == codec::STORED { &self.stored[..stored] } else { &self.raw[..raw] };
            return decode(raw, &Meter::new(room));
        }
        // Only one thread at a time decodes large metadata, so that other threads do not affect if it fits. The buffers are freed afterwards.
        let _alone = LARGE.lock().unwrap_or_else(PoisonError::into_inner);
        let buffers = u64::from(frame.stored).saturating_add(u64::from(frame.raw));
        let _lent = room.lend("a metadata block's buffers", buffers, offset)?;
        let decoded = self.large(source, offset, frame).and_then(|raw| decode(raw, &Meter::new(room)));
        (self.stored, self.raw) = (Vec::new(), Vec::new());
        decoded
    }

    /// Reads and decompresses the payload of a metadata frame larger than [`SMALL`].
    fn large<S: Source + ?Sized>(&mut self, source: &S, offset: u64, frame: &FrameHeader) -> Result<&[u8]> {
        self.fetch(source, offset, frame)?;
        let stored = &self.stored[..frame.stored as usize];
        if frame.codec == codec::STORED {
            return Ok(stored);
        }
        // Grows with the bytes actually decompressed, so that a false size in the header costs no memory.
        self.raw.clear();
        let limit = u64::from(frame.raw);
        let undone = zstd::stream::read::Decoder::with_buffer(stored).and_then(|mut decoder| {
            decoder.window_log_max(limits::WINDOW_LOG)?;
            let mut unpacked = decoder.take(limit + 1);
            loop {
                // Doubles the buffer, up to the size in the header.
                let more = self.raw.len().max(SMALL as usize).min((limit as usize + 1).saturating_sub(self.raw.len()));
                self.raw.reserve_exact(more);
                if unpacked.by_ref().take(more as u64).read_to_end(&mut self.raw)? < more || more == 0 {
                    return Ok(self.raw.len());
                }
            }
        });
        Self::same_size(undone, offset, frame)?;
        Ok(&self.raw)
    }

    /// Reads a frame's payload from the file and checks the payload's CRC.
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
        let stored = front(&mut self.stored, frame.stored);
        fill(source, offset + (FRAME_HEADER_BYTES + head) as u64, stored)?;
        let found = crc(stored);
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
        let undone = zstd.decompress_to_buffer(&self.stored[..frame.stored as usize], front(&mut self.raw, frame.raw));
        Self::same_size(undone, offset, frame)
    }

    fn same_size(undone: std::io::Result<usize>, offset: u64, frame: &FrameHeader) -> Result<()> {
        let why = match undone {
            Ok(size) if size == frame.raw as usize => return Ok(()),
            Ok(size) => format!("it decompresses to {size} bytes instead of {}", frame.raw),
            Err(error) => format!("decompression failed: {error}"),
        };
        Err(Error::Malformed { what: "a frame's payload", offset, why })
    }
}

/// Returns the first `bytes` bytes of `memory`, after growing `memory` if it is shorter.
fn front(memory: &mut Vec<u8>, bytes: u32) -> &mut [u8] {
    let bytes = bytes as usize;
    if memory.len() < bytes {
        memory.resize(bytes, 0);
    }
    &mut memory[..bytes]
}
