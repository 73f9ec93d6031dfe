//! Segment: one I/O operation in 32 bytes, as the tracer's memory holds it; trace files store segments as columns.
//!
//! ```text
//!  byte 0        8             16            24            32
//!       ├────────┼─────────────┼─────────────┼─────────────┤
//!       │ offset │ word        │ start       │ end         │   little-endian
//!       └────────┴──────┬──────┴─────────────┴─────────────┘
//!                       │ bits 0..40  length in bytes
//!                       │ bits 40..64 stream id
//! ```

/// Number of bits of [`Segment::word`] that hold the length of the transfer; the other bits hold the id of the stream (operation on a
/// file).
pub const LENGTH_BITS: u32 = 40;
/// Maximum length of one segment, in bytes (1 TiB less one). No Linux transfer call moves more than 2 GiB.
pub const MAX_LENGTH: u64 = (1 << LENGTH_BITS) - 1;
/// Maximum number of streams (operations on files) of one process.
pub const MAX_STREAMS: u32 = 1 << 24;
/// Value of [`Segment::offset`] for operations without a file offset (open, close, sync, a read from a terminal).
pub const NO_OFFSET: i64 = -1;

/// Returns the value of [`Segment::offset`] for a rename, which keeps 62 bits of the hash of the file's new path (see
/// [`crate::meta::path_hash`]). It is below [`NO_OFFSET`], so that nobody takes it for a position.
#[must_use]
pub const fn renamed_to(path_hash: u64) -> i64 {
    NO_OFFSET - 1 - (path_hash >> 2).cast_signed()
}

/// Start and end of calls that are not timed. Not 0, because an `end` of 0 in the tracer's memory marks an empty slot.
pub const NO_TIME: u64 = 1;

/// Mark bit of [`Segment::end`] in the tracer's memory: the segment belongs to the trace that is being written. No clock reaches 2^62.
pub const TAKEN: u64 = 1 << 62;
/// Mark bit of [`Segment::end`] in the tracer's memory: the segment has been written to a trace.
pub const WRITTEN: u64 = 1 << 63;
/// Mask of both mark bits of [`Segment::end`]; [`Segment::start`] uses the same two bits for [`MEMORY_KNOWN`] and [`MEMORY_UNALIGNED`].
pub const MARKS: u64 = TAKEN | WRITTEN;

/// Bit of [`Segment::start`] in the tracer's memory: the address of the call's buffer was recorded.
pub const MEMORY_KNOWN: u64 = 1 << 62;
/// Bit of [`Segment::start`] in the tracer's memory: the address of the call's buffer is not a multiple of the alignment checked.
pub const MEMORY_UNALIGNED: u64 = 1 << 63;

/// Id of a stream (24 bits): index into the process's stream table, which gives file, layer and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// One I/O operation. `start` and `end` are clock ticks in the tracer's memory and nanoseconds since the process's epoch everywhere else.
/// An `end` of 0 marks a slot that was reserved and never filled; in the tracer's memory `end` may carry the mark bits [`MARKS`].
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// File offset at which the operation begins, in bytes, or [`NO_OFFSET`].
    pub offset: i64,
    /// Length of the transfer in bytes (low 40 bits) and id of the stream, the operation on a file (high 24 bits).
    pub word: u64,
    /// Start time of the call; in the tracer's memory with the bits [`MEMORY_KNOWN`] and [`MEMORY_UNALIGNED`].
    pub start: u64,
    /// End time of the call, never before the start; in the tracer's memory with the bits [`MARKS`].
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
    /// Creates a segment of `length` bytes at file offset `offset`; lengths above [`MAX_LENGTH`] become [`MAX_LENGTH`].
    #[inline]
    #[must_use]
    pub const fn new(stream: StreamId, offset: i64, length: u64, start: u64, end: u64) -> Self {
        Self { offset, word: pack(stream, length), start, end }
    }

    /// Returns the length of the transfer in bytes.
    #[inline]
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.word & MAX_LENGTH
    }

    /// Returns the end time of the call, without the mark bits [`MARKS`].
    #[inline]
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.end & !MARKS
    }

    /// Returns the start time of the call, without the bits [`MEMORY_KNOWN`] and [`MEMORY_UNALIGNED`].
    #[inline]
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.start & !(MEMORY_KNOWN | MEMORY_UNALIGNED)
    }

    /// True if the address of the call's buffer is not a multiple of the alignment; `None` if unknown. Only meaningful in the tracer's memory.
    #[inline]
    #[must_use]
    pub const fn memory_unaligned(&self) -> Option<bool> {
        if self.start & MEMORY_KNOWN == 0 { None } else { Some(self.start & MEMORY_UNALIGNED != 0) }
    }

    /// Returns a copy of the segment without the mark bits in `end`.
    #[inline]
    #[must_use]
    pub const fn unmarked(&self) -> Self {
        Self { end: self.ended(), ..*self }
    }

    /// Returns the id of the stream (operation on a file) that the segment belongs to.
    #[inline]
    #[must_use]
    pub const fn stream(&self) -> StreamId {
        StreamId((self.word >> LENGTH_BITS) as u32)
    }
}

/// Packs the id of a stream (operation on a file) and a length in bytes into [`Segment::word`].
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
