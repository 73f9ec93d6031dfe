//! DXT: every read and write of a file by a rank, with offset, length and time.
//!
//! A record may have millions of segments. They are delivered in pieces from one buffer, so that memory does not grow with the log.

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

/// API of the recorded calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// POSIX calls: `read`, `pwrite` and so on.
    Posix,
    /// MPI-IO calls.
    MpiIo,
}

/// Operation of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Write to the file.
    Write,
    /// Read from the file.
    Read,
}

/// Head of a record, which precedes its segments: the accesses of one rank to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DxtRecord {
    /// Record id; [`crate::Log::names`] has the name.
    pub id: u64,
    /// MPI rank.
    pub rank: i64,
    /// Host of the rank.
    pub hostname: Text,
    /// Number of writes, whose segments come first.
    pub write_count: u64,
    /// Number of reads.
    pub read_count: u64,
}

/// Consecutive segments of a record, all of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Operation of the segments.
    pub operation: Operation,
    /// Index of the first segment among the record's segments of this operation.
    pub first: u64,
    /// Segments, in the order in which the calls began.
    pub segments: &'a [Segment],
}

/// Reader of the DXT records of one API, in the log's order.
pub struct Dxt<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    kind: SegmentKind,
    fit: Fit,
    writes_left: u64,
    reads_left: u64,
    /// Bytes after the reads, of further segments that a modified Darshan wrote.
    further: u64,
    /// Number of delivered segments of the current operation.
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

    /// Returns the next record, skipping segments of the previous one that were not read. `None` at the end, or at damage, which is then in
    /// [`crate::Log::problems`].
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

    /// Returns the next segments of the current record. `None` after the last, or at damage, after which there are no more records.
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
        // Numbering restarts with the reads.
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
