//! Darshan's DXT records: each read or write of a file by a rank, with offset, length and time.
//!
//! A record may have millions of segments, which are delivered in pieces from one buffer, so that memory does not grow with the log.

mod segment;

use crate::bytes::{Endian, Text, until_nul};
use crate::error::Result;
use crate::fit::Fit;
use crate::limits;
use crate::stream::Stream;
pub use segment::{Segment, SegmentKind};
use std::io::{Read, Seek};

pub(crate) const HEAD_BYTES: usize = 104;
const PIECE_SEGMENTS: usize = 1024;

/// Programming interface (API) of the recorded calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// POSIX calls such as `read` and `pwrite`.
    Posix,
    /// MPI-IO calls: `MPI_File_read`, `MPI_File_write` and so on.
    MpiIo,
}

/// Operation of a segment: read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Segment that writes to the file.
    Write,
    /// Segment that reads from the file.
    Read,
}

/// Head of a DXT record with file, rank and numbers of segments. In the log, the segments (reads and writes of the rank to the file) follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DxtRecord {
    /// Record id of the file; [`crate::Log::names`] has the file's name.
    pub id: u64,
    /// MPI rank whose reads and writes the record contains.
    pub rank: i64,
    /// Host name of the node on which the rank ran.
    pub hostname: Text,
    /// Number of write segments, which come before the read segments.
    pub write_count: u64,
    /// Number of read segments, which follow the write segments.
    pub read_count: u64,
}

/// Piece of a DXT record: consecutive segments, either all writes or all reads.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Operation (read or write) of all segments in the piece.
    pub operation: Operation,
    /// Index of the piece's first segment among the record's writes, or among its reads.
    pub first: u64,
    /// Segments of the piece, in the order in which their calls began.
    pub segments: &'a [Segment],
}

/// Reader of the DXT records of one API, in the order of the log.
pub struct Dxt<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    kind: SegmentKind,
    fit: Fit,
    writes_left: u64,
    reads_left: u64,
    /// Number of bytes of further segments, written by a modified Darshan, after the current record's reads.
    further: u64,
    /// Number of segments of the current operation that were delivered already.
    given: u64,
    segments: Vec<Segment>,
}

impl<'a, R: Read + Seek> Dxt<'a, R> {
    pub(crate) fn new(stream: Stream<'a, R>, endian: Endian, kind: SegmentKind, fit: Fit) -> Self {
        Self { stream, endian, kind, fit, writes_left: 0, reads_left: 0, further: 0, given: 0, segments: Vec::new() }
    }

    /// Returns the encoding of the log's segments.
    #[must_use]
    pub fn kind(&self) -> SegmentKind {
        self.kind
    }

    /// Returns the next record, after skipping unread segments of the previous record. Returns `None` at the end, or at damage, which
    /// [`crate::Log::problems`] then reports.
    pub fn next_record(&mut self) -> Option<DxtRecord> {
        let left = self.writes_left.saturating_add(self.reads_left) * self.kind.bytes() as u64 + self.further;
        (self.writes_left, self.reads_left, self.further, self.given) = (0, 0, 0, 0);
        if left > 0 && !self.stream.skip("the segments of a DXT record", left) {
            return None;
        }
        let head = self.stream.head("a DXT record", self.fit.bytes())?;
        self.further = self.fit.further_bytes(head, self.endian).unwrap_or(0);
        let head: [u8; HEAD_BYTES] = head.first_chunk().copied()?;
        match decode_head(&head, self.endian, self.stream.offset()) {
            Ok(record) => {
                (self.writes_left, self.reads_left) = (record.write_count, record.read_count);
                Some(record)
            }
            Err(error) => {
                self.stream.problem(error);
                self.stream.close();
                None
            }
        }
    }

    /// Returns the next segments of the current record. Returns `None` after the last segment, or at damage, after which no more records follow.
    pub fn next_piece(&mut self) -> Option<Piece<'_>> {
        if self.writes_left == 0 && self.reads_left == 0 {
            return None;
        }
        let writing = self.writes_left > 0;
        let left = if writing { &mut self.writes_left } else { &mut self.reads_left };
        let size = self.kind.bytes();
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(PIECE_SEGMENTS) * size;
        let Some(bytes) = self.stream.pieces("a DXT segment", size, most) else {
            (self.writes_left, self.reads_left) = (0, 0);
            return None;
        };
        self.kind.decode(bytes, self.endian, &mut self.segments);
        let count = self.segments.len() as u64;
        *left -= count;
        let (first, operation) = (self.given, if writing { Operation::Write } else { Operation::Read });
        // Numbering restarts at 0 with the first read.
        self.given = if *left == 0 { 0 } else { first + count };
        Some(Piece { operation, first, segments: &self.segments })
    }
}

pub(crate) fn decode_head(head: &[u8; HEAD_BYTES], endian: Endian, offset: u64) -> Result<DxtRecord> {
    let count = |what, at: usize| limits::check_count(what, endian.i64(&head[at..]), limits::SEGMENTS, offset);
    Ok(DxtRecord {
        id: endian.u64(head),
        rank: endian.i64(&head[8..]),
        hostname: until_nul(&head[24..88]).into(),
        write_count: count("the number of writes of a DXT record", 88)?,
        read_count: count("the number of reads of a DXT record", 96)?,
    })
}
