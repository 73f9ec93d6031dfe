//! DXT: every read and write of a file by a rank, with place, size and time.
//!
//! A record may have millions of segments, so they are given in pieces out of one buffer: memory does not grow with a log.

mod segment;

use crate::bytes::{Endian, Text, until_nul};
use crate::error::Result;
use crate::fit::Fit;
use crate::limits;
use crate::stream::Stream;
pub use segment::{Segment, SegmentKind};
use std::io::{Read, Seek};

/// Bytes of a record's head.
pub(crate) const HEAD_BYTES: usize = 104;
/// Segments given at once, at most.
const PIECE_SEGMENTS: usize = 1024;

/// The API whose calls are on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// POSIX calls: `read`, `pwrite` and so on.
    Posix,
    /// MPI-IO calls.
    MpiIo,
}

/// What a segment did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Wrote to the file.
    Write,
    /// Read from the file.
    Read,
}

/// Accesses of one rank to one file: what precedes its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DxtRecord {
    /// Record id; [`crate::Log::names`] has its name.
    pub id: u64,
    /// MPI rank.
    pub rank: i64,
    /// Host that the rank ran on.
    pub hostname: Text,
    /// Number of writes; their segments come first.
    pub write_count: u64,
    /// Number of reads.
    pub read_count: u64,
}

/// Some consecutive segments of a record, all of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// What they did.
    pub operation: Operation,
    /// Number of the first among the record's segments of this operation.
    pub first: u64,
    /// The segments, in the order in which the calls began.
    pub segments: &'a [Segment],
}

/// Reads the DXT records of one API, in the log's order.
pub struct Dxt<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    kind: SegmentKind,
    fit: Fit,
    writes_left: u64,
    reads_left: u64,
    /// Bytes behind the reads, of segments that a modified Darshan has besides.
    further: u64,
    /// Segments of the current operation that were given.
    given: u64,
    segments: Vec<Segment>,
}

impl<'a, R: Read + Seek> Dxt<'a, R> {
    pub(crate) fn new(stream: Stream<'a, R>, endian: Endian, kind: SegmentKind, fit: Fit) -> Self {
        Self { stream, endian, kind, fit, writes_left: 0, reads_left: 0, further: 0, given: 0, segments: Vec::new() }
    }

    /// How the log's segments are made.
    #[must_use]
    pub fn kind(&self) -> SegmentKind {
        self.kind
    }

    /// The next record; segments of the one before that were not taken are passed over. `None` at the end, or at damage,
    /// which [`crate::Log::problems`] then has.
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

    /// The next segments of the current record; `None` when it has no more, or at damage, after which no record comes either.
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
        // Numbering begins again with the reads.
        self.given = if *left == 0 { 0 } else { first + count };
        Some(Piece { operation, first, segments: &self.segments })
    }
}

/// Decodes a record's head.
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
