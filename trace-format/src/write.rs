//! Writer of trace files: turns segments and metadata into bytes.
//!
//! A file consists of the header, the job frame, one region per process, the index and the trailer. This module encodes these parts; the
//! caller (one process, or all ranks of a job at their own offsets) writes the parts one after another.

use crate::columns::{self, Scratch, TickScale};
use crate::error::{Error, Result};
use crate::frame::{
    BLOCK_HEAD_BYTES, BlockHead, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileHeader, FlushTimes, FrameHeader,
    IndexEntry, Trailer, codec, crc, kind,
};
use crate::limits;
use crate::meta::{Job, Process, ProcessInfo};
use crate::segment::Segment;
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, compress_bound, get_error_name};

/// Compression level of zstd for every payload: the fastest regular level, because the column encoding has done most of the work.
const ZSTD_LEVEL: i32 = 1;
/// Minimum number of segments for which each byte plane becomes a zstd block of its own. A zstd block has one entropy table, and planes
/// have different statistics.
const PLANE_BLOCK_SEGMENTS: usize = 2048;
/// Target number of segments (recorded calls) in each block that [`Encoder::region`] writes. Larger blocks compress better; smaller blocks
/// let readers skip more precisely.
pub const TARGET_BLOCK_SEGMENTS: usize = 32 * 1024;

/// Encoder of the frames of a trace file; reuses working memory between frames.
pub struct Encoder {
    zstd: CCtx<'static>,
    scratch: Scratch,
    raw: Vec<u8>,
    clock: fn() -> u64,
    compress_ticks: u64,
}

/// Segments of one thread in the order of recording, in one or more pieces of the thread's buffer.
#[derive(Debug)]
pub struct ThreadSegments<'a> {
    /// Index of the thread in the process's thread table.
    pub thread: u32,
    /// Pieces of the thread's segment buffer, oldest first.
    pub pieces: Vec<Piece<'a>>,
}

/// Piece of a thread's segment buffer: uncompressed slots or an already compressed frame.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Segments as recorded, including empty slots.
    Slots(&'a [Segment]),
    /// Segment frame encoded earlier by [`Encoder::block`], and the clock rate used then, in the unit of [`TickScale::mult`].
    Frame(&'a [u8], u64),
}

impl<'a> From<&'a [Segment]> for Piece<'a> {
    fn from(slots: &'a [Segment]) -> Self {
        Self::Slots(slots)
    }
}

/// Encoded process region: all data of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Frames of the process region, one after another.
    pub bytes: Vec<u8>,
    /// Entry of the process region for the file's index; the caller sets the region's offset in the file.
    pub entry: IndexEntry,
}

impl Region {
    /// Appends a flush frame: the times that the process took to write the region, if known so far. To update them later, the result of
    /// [`FlushTimes::frame`] may overwrite the last [`crate::frame::FLUSH_FRAME_BYTES`] of the region.
    pub fn add_flush(&mut self, times: &FlushTimes) {
        self.bytes.extend_from_slice(&times.frame(0));
        self.entry.length = self.bytes.len() as u64;
    }

    /// Sets the number of the process region in all its frames. A rank knows the numbers of its regions only after all ranks have encoded
    /// their regions.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`], [`Error::Truncated`] or [`Error::Checksum`] if the region's bytes are not frames.
    pub fn renumber(&mut self, number: u32) -> Result<()> {
        let mut at = 0;
        while at < self.bytes.len() {
            let header = FrameHeader::decode(&self.bytes[at..], at as u64)?;
            let renumbered = FrameHeader { region: number, ..header };
            self.bytes[at..at + FRAME_HEADER_BYTES].copy_from_slice(&renumbered.encode());
            at += usize::try_from(header.frame_bytes()).unwrap_or(usize::MAX - at);
        }
        Ok(())
    }
}

impl Encoder {
    /// Creates an encoder.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if zstd cannot allocate its memory.
    pub fn new() -> Result<Self> {
        let mut zstd = CCtx::try_create().ok_or_else(|| memory("no context"))?;
        zstd.set_parameter(CParameter::CompressionLevel(ZSTD_LEVEL)).map_err(refused)?;
        Ok(Self { zstd, scratch: Scratch::default(), raw: Vec::new(), clock: || 0, compress_ticks: 0 })
    }

    /// Sets the clock with which [`Self::compress_ticks`] measures the time spent in zstd.
    #[must_use]
    pub fn timed_by(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
    }

    /// Returns the time spent in zstd so far, in ticks of the clock set by [`Self::timed_by`]; 0 without a clock.
    #[must_use]
    pub const fn compress_ticks(&self) -> u64 {
        self.compress_ticks
    }

    /// Appends the job frame to `out`.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if zstd cannot allocate its memory, and [`Error::Limit`] if the job block exceeds [`limits::METADATA_BYTES`].
    pub fn job(&mut self, job: &Job, out: &mut Vec<u8>) -> Result<()> {
        self.metadata(kind::JOB, 0, &job.encode(), out)
    }

    /// Encodes the region of one process: the process frame, then the segments, thread by thread. Sets the counts of segments, blocks and
    /// missing calls in `process.info`. `number` is the region's index in the job.
    ///
    /// # Errors
    /// Returns the errors of [`Self::job`]; also [`Error::Malformed`], [`Error::Truncated`] or [`Error::Checksum`] if a [`Piece::Frame`] is
    /// not a segment frame.
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
        let mut gathered: Vec<Segment> = Vec::new();
        for thread in threads {
            for piece in &thread.pieces {
                self.piece(number, thread.thread, *piece, scale, &mut gathered, &mut process.info, &mut blocks)?;
            }
            self.gathered(number, thread.thread, scale, &mut gathered, &mut process.info, &mut blocks)?;
        }
        let mut bytes = Vec::with_capacity(blocks.len() + 1024);
        let entry = self.region_head(number, process, blocks.len() as u64, &mut bytes)?;
        bytes.extend_from_slice(&blocks);
        Ok(Region { bytes, entry })
    }

    /// Appends the process frame of region `number` and returns the region's index entry. The region's blocks, `blocks` bytes in total,
    /// must already be encoded and counted in `process.info`.
    pub(crate) fn region_head(
        &mut self,
        number: u32,
        process: &mut Process,
        blocks: u64,
        out: &mut Vec<u8>,
    ) -> Result<IndexEntry> {
        process.info.missing = process.missing.iter().map(|missing| missing.counters.segments).sum();
        let before = out.len();
        self.metadata(kind::PROCESS, number, &process.encode(), out)?;
        let info = &process.info;
        Ok(IndexEntry {
            rank: info.rank,
            pid: info.pid,
            offset: 0,
            length: (out.len() - before) as u64 + blocks,
            segments: info.segments,
            missing: info.missing,
            blocks: info.blocks,
        })
    }

    /// Appends a piece of a thread's segments as blocks and counts the blocks in `info`. Segments that do not fill a block stay in `gathered`.
    #[expect(clippy::too_many_arguments, reason = "one loop of `region`, cut out")]
    pub(crate) fn piece(
        &mut self,
        region: u32,
        thread: u32,
        piece: Piece<'_>,
        scale: &TickScale,
        gathered: &mut Vec<Segment>,
        info: &mut ProcessInfo,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match piece {
            Piece::Slots(slots) => self.slots(region, thread, slots, scale, gathered, info, out),
            Piece::Frame(frame, mult) => {
                self.gathered(region, thread, scale, gathered, info, out)?;
                count(info, &adopt(frame, region, scale.mult, mult, out)?);
                Ok(())
            }
        }
    }

    /// Appends the segments in `gathered`, all of one thread, as one block, counts the block in `info` and clears `gathered`.
    pub(crate) fn gathered(
        &mut self,
        region: u32,
        thread: u32,
        scale: &TickScale,
        gathered: &mut Vec<Segment>,
        info: &mut ProcessInfo,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.counted_block(region, thread, gathered, scale, info, out)?;
        gathered.clear();
        Ok(())
    }

    /// Encodes slots in blocks of [`TARGET_BLOCK_SEGMENTS`] segments; segments that do not fill a block stay in `gathered`.
    #[expect(clippy::too_many_arguments, reason = "one loop of `region`, cut out")]
    fn slots(
        &mut self,
        region: u32,
        thread: u32,
        mut rest: &[Segment],
        scale: &TickScale,
        gathered: &mut Vec<Segment>,
        info: &mut ProcessInfo,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        while !rest.is_empty() {
            // Slots that fill a block are encoded in place; fewer slots are gathered first.
            let room = TARGET_BLOCK_SEGMENTS - gathered.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            rest = later;
            if gathered.is_empty() && now.len() == TARGET_BLOCK_SEGMENTS {
                self.counted_block(region, thread, now, scale, info, out)?;
                continue;
            }
            gathered.extend_from_slice(now);
            if gathered.len() == TARGET_BLOCK_SEGMENTS {
                self.counted_block(region, thread, gathered, scale, info, out)?;
                gathered.clear();
            }
        }
        Ok(())
    }

    fn counted_block(
        &mut self,
        region: u32,
        thread: u32,
        segments: &[Segment],
        scale: &TickScale,
        info: &mut ProcessInfo,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(head) = self.block(region, thread, segments, scale, out)? {
            count(info, &head);
        }
        Ok(())
    }

    /// Appends one segment frame to `out` and returns the frame's block head; `None` if all slots are empty. Takes at most
    /// [`limits::BLOCK_SEGMENTS`] slots.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if zstd cannot allocate its memory.
    pub fn block(
        &mut self,
        region: u32,
        thread: u32,
        segments: &[Segment],
        scale: &TickScale,
        out: &mut Vec<u8>,
    ) -> Result<Option<BlockHead>> {
        self.raw.clear();
        let summary = columns::encode(segments, scale, &mut self.scratch, &mut self.raw);
        if summary.segments == 0 {
            return Ok(None);
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
            rate: 0,
        };
        let raw = std::mem::take(&mut self.raw);
        self.search(summary.noise_only)?;
        let pieces = if segments.len() < PLANE_BLOCK_SEGMENTS {
            (raw.len(), raw.len())
        } else {
            (summary.planes_at, summary.segments as usize)
        };
        let result = self.frame(kind::SEGMENTS, region, &head.encode(), &raw, pieces, out);
        self.raw = raw;
        result.map(|()| Some(head))
    }

    /// Sets the effort of zstd's search for repetitions. Blocks whose segments have one stream and one length (`noise_only`) repeat only by
    /// chance, and short chance matches cost more bytes than they save.
    fn search(&mut self, noise_only: bool) -> Result<()> {
        let (shortest, table_bits) = if noise_only { (7, 6) } else { (0, 0) };
        self.zstd.reset(ResetDirective::SessionOnly).map_err(refused)?;
        self.zstd.set_parameter(CParameter::MinMatch(shortest)).map_err(refused)?;
        self.zstd.set_parameter(CParameter::HashLog(table_bits)).map_err(refused)?;
        Ok(())
    }

    fn metadata(&mut self, kind: u8, region: u32, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (value, limit) = (raw.len() as u64, u64::from(limits::METADATA_BYTES));
        if value > limit {
            return Err(Error::Limit { what: "metadata bytes", value, limit, offset: 0 });
        }
        self.search(false)?;
        self.frame(kind, region, &[], raw, (raw.len(), raw.len()), out)
    }

    /// Appends a frame: header, `head` and `raw`, which is compressed if that makes it smaller. zstd ends a block after `first` bytes of
    /// `raw`, then every `then` bytes.
    fn frame(
        &mut self,
        kind: u8,
        region: u32,
        head: &[u8],
        raw: &[u8],
        (first, then): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let at = out.len();
        let body = at + FRAME_HEADER_BYTES + head.len();
        out.resize(body, 0);
        let (first, rest) = raw.split_at(first.min(raw.len()));
        let pieces = std::iter::once(first).chain(rest.chunks(then.max(1)));
        let before = (self.clock)();
        let stored = self.compress(raw.len(), pieces, out)?;
        self.compress_ticks += (self.clock)().saturating_sub(before);
        let codec = if stored < raw.len() {
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

    /// Appends one zstd frame that contains all `pieces`, `length` bytes in total; returns the size of the frame in bytes.
    fn compress<'a>(
        &mut self,
        length: usize,
        pieces: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        let body = out.len();
        self.zstd.reset(ResetDirective::SessionOnly).map_err(refused)?;
        self.zstd.set_pledged_src_size(Some(length as u64)).map_err(refused)?;
        // Reserves space for the worst case, so that no call below fails for lack of space.
        out.reserve(compress_bound(length) + length / 1024 + 64);
        let mut output = OutBuffer::around_pos(out, body);
        let mut given = 0;
        for piece in pieces {
            given += piece.len();
            let directive = if given == length { Directive::ZSTD_e_end } else { Directive::ZSTD_e_flush };
            let mut input = InBuffer::around(piece);
            while self.zstd.compress_stream2(&mut output, &mut input, directive).map_err(refused)? != 0 {}
            if given == length {
                break;
            }
        }
        Ok(output.pos() - body)
    }
}

/// Adds a block to the counts of segments and blocks in the process's metadata.
fn count(info: &mut ProcessInfo, head: &BlockHead) {
    info.segments += u64::from(head.segments);
    info.blocks += 1;
}

/// Appends an already encoded segment frame to region `number`, corrects the frame's times from `old` to `new` nanoseconds per tick, and
/// returns the frame's block head.
pub(crate) fn adopt(frame: &[u8], number: u32, new: u64, old: u64, out: &mut Vec<u8>) -> Result<BlockHead> {
    let malformed = |why: &str| Error::Malformed { what: "a frame made earlier", offset: 0, why: why.into() };
    let body = frame.get(FRAME_HEADER_BYTES..).ok_or_else(|| malformed("the frame is cut short"))?;
    let header = FrameHeader::decode(frame, 0)?;
    let head = BlockHead::decode(body, 0)?.at_rate(old, new);
    out.extend_from_slice(&FrameHeader { region: number, ..header }.encode());
    out.extend_from_slice(&head.encode());
    out.extend_from_slice(body.get(BLOCK_HEAD_BYTES..).unwrap_or_default());
    Ok(head)
}

fn memory(why: &str) -> Error {
    Error::Io { offset: 0, length: 0, source: std::io::Error::other(format!("zstd: {why}")) }
}

fn refused(code: usize) -> Error {
    memory(get_error_name(code))
}

/// Encodes the file header and the job frame, the parts that precede the first process region.
///
/// # Errors
/// Returns the errors of [`Encoder::job`].
pub fn preamble(encoder: &mut Encoder, job: &Job, regions: u32) -> Result<Vec<u8>> {
    let mut out = vec![0; FILE_HEADER_BYTES];
    encoder.job(job, &mut out)?;
    let header = FileHeader::new(regions, out.len() as u64);
    out[..FILE_HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(out)
}

/// Sets the number of process regions in a [`preamble`] that was encoded before this number was known.
///
/// # Errors
/// Returns the errors of [`FileHeader::decode`].
pub fn count_regions(preamble: &mut [u8], regions: u32) -> Result<()> {
    let header = FileHeader { regions, ..FileHeader::decode(preamble)? };
    preamble[..FILE_HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(())
}

/// Encodes the trailer of a file whose index of `regions` entries begins at `index_offset`.
#[must_use]
pub fn trailer(index_offset: u64, regions: u32) -> [u8; crate::frame::TRAILER_BYTES] {
    Trailer { index_offset, regions }.encode()
}

/// Assembles a whole trace file from the job block and the regions of all processes.
///
/// # Errors
/// Returns the errors of [`Encoder::job`].
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
