//! The segment: one I/O operation in 32 bytes. This is the tracer's memory form; on disk, segments are columns.
//!
//! ```text
//!  byte 0        8             16            24            32
//!       ├────────┼─────────────┼─────────────┼─────────────┤
//!       │ offset │ word        │ start       │ end         │   little-endian
//!       └────────┴──────┬──────┴─────────────┴─────────────┘
//!                       │ bits 0..40  length in bytes
//!                       │ bits 40..64 stream id
//! ```

/// Number of bits of [`Segment::word`] that hold the length.
pub const LENGTH_BITS: u32 = 40;
/// Longest length one segment can hold, in bytes (1 TiB less one). No Linux transfer call moves more than 2 GiB.
pub const MAX_LENGTH: u64 = (1 << LENGTH_BITS) - 1;
/// Number of stream ids a process can give.
pub const MAX_STREAMS: u32 = 1 << 24;
/// [`Segment::offset`] of an operation that has none (open, close, sync, a read from a terminal).
pub const NO_OFFSET: i64 = -1;

/// Start and end of each call where calls are not timed. It is not 0, since in the tracer's memory a segment without an end is none.
pub const NO_TIME: u64 = 1;

/// Bit of [`Segment::end`] in the tracer's memory: the segment belongs to the trace that is being written. No clock counts that far.
pub const TAKEN: u64 = 1 << 62;
/// The same: the segment is in a trace.
pub const WRITTEN: u64 = 1 << 63;
/// Both marks, and the bits of a start below.
pub const MARKS: u64 = TAKEN | WRITTEN;

/// Bit of [`Segment::start`] in the tracer's memory: it is known where in memory the bytes came from or went to.
pub const MEMORY_KNOWN: u64 = 1 << 62;
/// The same: that is off a multiple of the alignment.
pub const MEMORY_UNALIGNED: u64 = 1 << 63;

/// Which file, through which interface, doing what: an index into the process's stream table, 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// One I/O operation. `start` and `end` are clock ticks in the tracer's memory and nanoseconds since the process's
/// epoch everywhere else. An `end` of zero marks a slot that was reserved and never filled; in the tracer's memory it may carry
/// [`MARKS`].
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Byte offset in the file, or [`NO_OFFSET`].
    pub offset: i64,
    /// Length in bytes (low 40 bits) and stream id (high 24 bits).
    pub word: u64,
    /// When the call was made.
    pub start: u64,
    /// When the call returned; never before `start`.
    pub end: u64,
}

const _: () = {
    assert!(size_of::<Segment>() == 32);
    assert!(align_of::<Segment>() == 32);
    assert!(std::mem::offset_of!(Segment, offset) == 0);
    assert!(std::mem::offset_of!(Segment, word) == 8);
    assert!(std::mem::offset_of!(Segment, start) == 16);
    assert!(std::mem::offset_of!(Segment, end) == 24);
    assert!(cfg!(target_endian = "little"), "the format is little-endian and so must be the machine");
};

impl Segment {
    /// A segment of `length` bytes at `offset`; a length over [`MAX_LENGTH`] is cut to it.
    #[inline]
    #[must_use]
    pub const fn new(stream: StreamId, offset: i64, length: u64, start: u64, end: u64) -> Self {
        Self { offset, word: pack(stream, length), start, end }
    }

    /// Length in bytes.
    #[inline]
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.word & MAX_LENGTH
    }

    /// When the call returned, without marks.
    #[inline]
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.end & !MARKS
    }

    /// When the call was made, without the bits that tell of its memory.
    #[inline]
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.start & !(MEMORY_KNOWN | MEMORY_UNALIGNED)
    }

    /// Whether the call's memory began off a multiple of the alignment; `None` where that is not known. In the tracer's memory only.
    #[inline]
    #[must_use]
    pub const fn memory_unaligned(&self) -> Option<bool> {
        if self.start & MEMORY_KNOWN == 0 { None } else { Some(self.start & MEMORY_UNALIGNED != 0) }
    }

    /// The segment without marks.
    #[inline]
    #[must_use]
    pub const fn unmarked(&self) -> Self {
        Self { end: self.ended(), ..*self }
    }

    /// The stream it belongs to.
    #[inline]
    #[must_use]
    pub const fn stream(&self) -> StreamId {
        StreamId((self.word >> LENGTH_BITS) as u32)
    }
}

/// Packs a stream id and a length into [`Segment::word`].
#[inline]
#[must_use]
pub const fn pack(stream: StreamId, length: u64) -> u64 {
    let length = if length > MAX_LENGTH { MAX_LENGTH } else { length };
    length | (stream.0 as u64) << LENGTH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_keeps_both_parts_at_their_limits() {
        for stream in [0, 1, MAX_STREAMS - 1] {
            for length in [0, 1, 4096, MAX_LENGTH] {
                let segment = Segment::new(StreamId(stream), 7, length, 1, 2);
                assert_eq!((segment.stream(), segment.length()), (StreamId(stream), length));
            }
        }
        assert_eq!(Segment::new(StreamId(5), 0, u64::MAX, 0, 0).length(), MAX_LENGTH);
        assert_eq!(Segment::new(StreamId(5), 0, u64::MAX, 0, 0).stream(), StreamId(5));
    }
}
