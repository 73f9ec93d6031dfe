//! The writing half: segments and metadata in, bytes out. A file is the header, the job frame, one region per process,
//! the index and the trailer; whoever writes it (one process, or all ranks of a job at their own offsets) puts the
//! pieces made here one after another.

use crate::columns::{self, Scratch, TickScale};
use crate::error::{Error, Result};
use crate::frame::{
    BlockHead, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileHeader, FrameHeader, IndexEntry, Trailer, codec, crc, kind,
};
use crate::limits;
use crate::meta::{Job, Process};
use crate::segment::Segment;

/// zstd level of every payload: the fastest of the regular ones; the columns have done the work already.
const ZSTD_LEVEL: i32 = 1;
/// Segments per block that [`Encoder::region`] aims at: a compromise between what a reader can skip and what zstd can find.
pub const TARGET_BLOCK_SEGMENTS: usize = 32 * 1024;

/// Encodes frames; keeps its working memory between them.
pub struct Encoder {
    zstd: zstd::bulk::Compressor<'static>,
    scratch: Scratch,
    raw: Vec<u8>,
}

/// The segments of one thread, in order, in one or more pieces.
#[derive(Debug)]
pub struct ThreadSegments<'a> {
    /// Index in the process's thread table.
    pub thread: u32,
    /// Pieces of the thread's buffer, oldest first.
    pub pieces: Vec<&'a [Segment]>,
}

/// An encoded process region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The region's bytes.
    pub bytes: Vec<u8>,
    /// Its index entry; the offset is filled in by whoever knows it.
    pub entry: IndexEntry,
}

impl Encoder {
    /// A new encoder.
    ///
    /// # Errors
    /// [`Error::Io`] if zstd cannot get its memory.
    pub fn new() -> Result<Self> {
        let zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(memory)?;
        Ok(Self { zstd, scratch: Scratch::default(), raw: Vec::new() })
    }

    /// Appends the job frame to `out`.
    ///
    /// # Errors
    /// [`Error::Io`] if zstd cannot get its memory, [`Error::Limit`] for a block over [`limits::METADATA_BYTES`].
    pub fn job(&mut self, job: &Job, out: &mut Vec<u8>) -> Result<()> {
        self.metadata(kind::JOB, 0, &job.encode(), out)
    }

    /// Encodes the region of one process: its block, then its segments thread by thread. Sets the counts in
    /// `process.info` that follow from the segments. `number` is the region's place among all of the job's.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub fn region(
        &mut self,
        number: u32,
        process: &mut Process,
        threads: &[ThreadSegments<'_>],
        scale: &TickScale,
    ) -> Result<Region> {
        let mut blocks = Vec::new();
        process.info.segments = 0;
        process.info.blocks = 0;
        for thread in threads {
            let mut gathered: Vec<Segment> = Vec::new();
            for piece in &thread.pieces {
                let mut rest = *piece;
                while !rest.is_empty() {
                    // A piece that fills a block goes in as it lies; smaller ones are gathered first.
                    let room = TARGET_BLOCK_SEGMENTS - gathered.len();
                    let (now, later) = rest.split_at(room.min(rest.len()));
                    rest = later;
                    if gathered.is_empty() && now.len() == TARGET_BLOCK_SEGMENTS {
                        self.counted_block(number, thread.thread, now, scale, &mut process.info, &mut blocks)?;
                        continue;
                    }
                    gathered.extend_from_slice(now);
                    if gathered.len() == TARGET_BLOCK_SEGMENTS {
                        self.counted_block(number, thread.thread, &gathered, scale, &mut process.info, &mut blocks)?;
                        gathered.clear();
                    }
                }
            }
            self.counted_block(number, thread.thread, &gathered, scale, &mut process.info, &mut blocks)?;
        }
        process.info.missing = process.missing.iter().map(|missing| missing.counters.segments).sum();
        let mut bytes = Vec::with_capacity(blocks.len() + 1024);
        self.metadata(kind::PROCESS, number, &process.encode(), &mut bytes)?;
        bytes.extend_from_slice(&blocks);
        let info = &process.info;
        let entry = IndexEntry {
            rank: info.rank,
            pid: info.pid,
            offset: 0,
            length: bytes.len() as u64,
            segments: info.segments,
            missing: info.missing,
            blocks: info.blocks,
        };
        Ok(Region { bytes, entry })
    }

    fn counted_block(
        &mut self,
        region: u32,
        thread: u32,
        segments: &[Segment],
        scale: &TickScale,
        info: &mut crate::meta::ProcessInfo,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let count = self.block(region, thread, segments, scale, out)?;
        info.segments += u64::from(count);
        info.blocks += u32::from(count > 0);
        Ok(())
    }

    /// Appends one segment frame to `out`, unless there is no filled segment; returns how many there were. At most
    /// [`limits::BLOCK_SEGMENTS`] slots are taken.
    ///
    /// # Errors
    /// [`Error::Io`] if zstd cannot get its memory.
    pub fn block(
        &mut self,
        region: u32,
        thread: u32,
        segments: &[Segment],
        scale: &TickScale,
        out: &mut Vec<u8>,
    ) -> Result<u32> {
        self.raw.clear();
        let summary = columns::encode(segments, scale, &mut self.scratch, &mut self.raw);
        if summary.segments == 0 {
            return Ok(0);
        }
        let head = BlockHead {
            segments: summary.segments,
            thread,
            min_start: summary.min_start,
            max_end: summary.max_end,
            min_offset: summary.min_offset,
            max_end_offset: summary.max_end_offset,
            stream_mask: summary.stream_mask,
            bytes: summary.bytes,
        };
        let raw = std::mem::take(&mut self.raw);
        let result = self.frame(kind::SEGMENTS, region, &head.encode(), &raw, out);
        self.raw = raw;
        result.map(|()| summary.segments)
    }

    fn metadata(&mut self, kind: u8, region: u32, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (value, limit) = (raw.len() as u64, u64::from(limits::METADATA_BYTES));
        if value > limit {
            return Err(Error::Limit { what: "metadata bytes", value, limit, offset: 0 });
        }
        self.frame(kind, region, &[], raw, out)
    }

    /// Appends frame header, `head` and `raw`, compressed if that makes it smaller.
    fn frame(&mut self, kind: u8, region: u32, head: &[u8], raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let at = out.len();
        let body = at + FRAME_HEADER_BYTES + head.len();
        out.resize(body + zstd::zstd_safe::compress_bound(raw.len()), 0);
        let stored = self.zstd.compress_to_buffer(raw, &mut out[body..]).map_err(memory)?;
        let codec = if stored < raw.len() {
            out.truncate(body + stored);
            codec::ZSTD
        } else {
            out.truncate(body);
            out.extend_from_slice(raw);
            codec::STORED
        };
        let payload = &out[body..];
        let (stored, payload_crc) = (payload.len() as u32, crc(payload));
        let header = FrameHeader { kind, codec, region, stored, raw: raw.len() as u32, payload_crc };
        out[at..at + FRAME_HEADER_BYTES].copy_from_slice(&header.encode());
        out[at + FRAME_HEADER_BYTES..body].copy_from_slice(head);
        Ok(())
    }
}

fn memory(source: std::io::Error) -> Error {
    Error::Io { offset: 0, length: 0, source }
}

/// File header and job frame: what stands before the first region.
///
/// # Errors
/// As [`Encoder::job`].
pub fn preamble(encoder: &mut Encoder, job: &Job, regions: u32) -> Result<Vec<u8>> {
    let mut out = vec![0; FILE_HEADER_BYTES];
    encoder.job(job, &mut out)?;
    let header = FileHeader::new(regions, out.len() as u64);
    out[..FILE_HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(out)
}

/// The last bytes of a file whose index of `regions` entries begins at `index_offset`.
#[must_use]
pub fn trailer(index_offset: u64, regions: u32) -> [u8; crate::frame::TRAILER_BYTES] {
    Trailer { index_offset, regions }.encode()
}

/// A whole file from its parts.
///
/// # Errors
/// As [`Encoder::job`].
pub fn file(encoder: &mut Encoder, job: &Job, regions: Vec<Region>) -> Result<Vec<u8>> {
    let count = regions.len() as u32;
    let mut out = preamble(encoder, job, count)?;
    let mut index = Vec::new();
    for region in regions {
        let entry = IndexEntry { offset: out.len() as u64, ..region.entry };
        index.extend_from_slice(&entry.encode());
        out.extend_from_slice(&region.bytes);
    }
    let index_offset = out.len() as u64;
    out.extend_from_slice(&index);
    out.extend_from_slice(&trailer(index_offset, count));
    Ok(out)
}
