//! Fixed structures of a trace file: file header, frame header, block head, index entry, trailer. Each ends in a CRC-32 of its preceding
//! bytes, so that a reader can distinguish intact structures from damaged ones at any place in the file.

mod fields;
mod file;
mod flush;

pub use file::{FileHeader, IndexEntry, Trailer};
pub use flush::{FLUSH_FRAME_BYTES, FlushStage, FlushTimes};

use crate::error::{Error, Result};
use fields::{Fields, Parts};

/// Magic number of a trace file: not a text, and changed by any conversion of line ends.
pub const MAGIC: [u8; 8] = *b"\x89DXT\r\n\x1a\n";
/// Magic number of the trailer at the end of a trace file.
pub const TRAILER_MAGIC: [u8; 8] = *b"DXTend\r\n";
/// Magic number at the start of each frame.
pub const FRAME_MAGIC: [u8; 4] = *b"\xd7FRM";
/// Major version of the format; readers refuse files with a larger one.
pub const VERSION_MAJOR: u16 = 1;
/// Minor version of the format, raised for additions that older readers may ignore.
pub const VERSION_MINOR: u16 = 4;

/// Size of [`FileHeader`] in bytes.
pub const FILE_HEADER_BYTES: usize = 64;
/// Size of [`FrameHeader`] in bytes.
pub const FRAME_HEADER_BYTES: usize = 32;
/// Size of [`BlockHead`] in bytes.
pub const BLOCK_HEAD_BYTES: usize = 64;
/// Size of [`IndexEntry`] in bytes.
pub const INDEX_ENTRY_BYTES: usize = 64;
/// Size of [`Trailer`] in bytes.
pub const TRAILER_BYTES: usize = 32;

/// Returns the CRC-32 (IEEE 802.3) of `bytes`, as in zlib and gzip.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Types of frames. Readers skip types they do not know.
pub mod kind {
    /// Job block: data shared by all processes, as sections of [`crate::meta::Job`].
    pub const JOB: u8 = 1;
    /// Process block: metadata of one process, as sections of [`crate::meta::Process`]; first frame of a region.
    pub const PROCESS: u8 = 2;
    /// Segment block: compressed segments of one thread, as a block head and columns.
    pub const SEGMENTS: u8 = 3;
    /// Flush frame: times that the process took to write its region, [`super::FlushTimes`]; last frame of a region.
    pub const FLUSH: u8 = 4;
}

/// Encodings of a frame's payload.
pub mod codec {
    /// Payload stored without compression.
    pub const STORED: u8 = 0;
    /// Payload compressed as one zstd frame (RFC 8878).
    pub const ZSTD: u8 = 1;
}

/// Header of a frame, which precedes each payload (block of data), so that a file can be read without its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Type of the frame, one of [`kind`].
    pub kind: u8,
    /// Encoding of the payload, one of [`codec`].
    pub codec: u8,
    /// Number of the process region that contains the frame; 0 for the job frame.
    pub region: u32,
    /// Size of the payload in the file, in bytes, without this header (and without the block head in a segment frame).
    pub stored: u32,
    /// Size of the payload after decompression, in bytes.
    pub raw: u32,
    /// CRC-32 of the payload as stored (compressed).
    pub payload_crc: u32,
}

impl FrameHeader {
    /// Encodes the frame header.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAME_HEADER_BYTES] {
        Fields::new()
            .put(&FRAME_MAGIC)
            .put(&[self.kind, self.codec, 0, 0])
            .put(&self.region.to_le_bytes())
            .put(&self.stored.to_le_bytes())
            .put(&self.raw.to_le_bytes())
            .put(&self.payload_crc.to_le_bytes())
            .seal()
    }

    /// Decodes the header at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] if no frame begins here, and [`Error::Truncated`] or [`Error::Checksum`] if its header is damaged.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Self> {
        let what = "a frame header";
        if bytes.len() >= 4 && !bytes.starts_with(&FRAME_MAGIC) {
            return Err(Error::Malformed { what, offset, why: "no frame begins here".into() });
        }
        let mut parts = Parts::open::<FRAME_HEADER_BYTES>(bytes, what, offset)?;
        parts.take::<4>();
        let (kind, codec) = (parts.u8(), parts.u8());
        parts.take::<2>();
        Ok(Self { kind, codec, region: parts.u32(), stored: parts.u32(), raw: parts.u32(), payload_crc: parts.u32() })
    }

    /// Returns the distance from the start of this frame header to the start of the next frame, in bytes.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        let head = if self.kind == kind::SEGMENTS { BLOCK_HEAD_BYTES } else { 0 };
        (FRAME_HEADER_BYTES + head) as u64 + u64::from(self.stored)
    }
}

/// Uncompressed head between the frame header and the columns of a segment frame, from which a reader can decide to skip the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHead {
    /// Number of segments in the block.
    pub segments: u32,
    /// Index of the calling thread in the process's thread table.
    pub thread: u32,
    /// Earliest start of a segment, in nanoseconds since the process's epoch.
    pub min_start: u64,
    /// Latest end of a segment, in nanoseconds since the process's epoch.
    pub max_end: u64,
    /// Lowest file offset of a segment, in bytes; [`crate::segment::NO_OFFSET`] (-1) counts as an offset.
    pub min_offset: i64,
    /// Highest end offset (offset plus length) of a segment, in bytes.
    pub max_end_offset: i64,
    /// Set of stream ids in the block as a 64-bit filter: bit `id % 64` is set for each id.
    pub stream_mask: u64,
    /// Sum of the segments' lengths in bytes, modulo 2^64.
    pub bytes: u64,
    /// Clock-rate correction of the times in the columns, in units of 2^-42; see [`corrected`].
    pub rate: i32,
}

/// Number of fractional bits of the fixed-point number [`BlockHead::rate`] (clock-rate correction).
const RATE_SHIFT: u32 = 42;

/// Applies a block's clock-rate correction to a time: returns `time * (1 + rate * 2^-42)`, rounded down. A block encoded while the program
/// ran uses the clock rate known then; the writer knows the rate more precisely at the end.
#[inline]
#[must_use]
pub fn corrected(time: u64, rate: i32) -> u64 {
    let more = (i128::from(time) * i128::from(rate)) >> RATE_SHIFT;
    time.wrapping_add(more as u64)
}

/// Returns the correction from `old` to `new` nanoseconds per tick, both in the same unit. Rates more than 488 ppm apart (the clock was
/// adjusted meanwhile, adjtimex(2)) yield the nearest possible value: slightly wrong times are better than lost calls.
fn rate_between(old: u64, new: u64) -> i32 {
    let difference = i128::from(new) - i128::from(old);
    let rate = (difference << RATE_SHIFT) / i128::from(old.max(1));
    rate.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32
}

impl BlockHead {
    /// Returns the head with times converted from `old` to `new` nanoseconds per tick, both in the same unit.
    #[must_use]
    pub fn at_rate(self, old: u64, new: u64) -> Self {
        let rate = rate_between(old, new);
        Self { min_start: corrected(self.min_start, rate), max_end: corrected(self.max_end, rate), rate, ..self }
    }

    /// Encodes the block head.
    #[must_use]
    pub fn encode(&self) -> [u8; BLOCK_HEAD_BYTES] {
        Fields::new()
            .put(&self.segments.to_le_bytes())
            .put(&self.thread.to_le_bytes())
            .put(&self.min_start.to_le_bytes())
            .put(&self.max_end.to_le_bytes())
            .put(&self.min_offset.to_le_bytes())
            .put(&self.max_end_offset.to_le_bytes())
            .put(&self.stream_mask.to_le_bytes())
            .put(&self.bytes.to_le_bytes())
            .put(&self.rate.to_le_bytes())
            .seal()
    }

    /// Decodes the block head at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] or [`Error::Checksum`] if the bytes are not a valid head.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Self> {
        let mut parts = Parts::open::<BLOCK_HEAD_BYTES>(bytes, "a block head", offset)?;
        Ok(Self {
            segments: parts.u32(),
            thread: parts.u32(),
            min_start: parts.u64(),
            max_end: parts.u64(),
            min_offset: parts.i64(),
            max_end_offset: parts.i64(),
            stream_mask: parts.u64(),
            bytes: parts.u64(),
            rate: i32::from_le_bytes(parts.take()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_cannot_be_reported_is_the_nearest_that_can() {
        let mult = 1 << 52;
        assert_eq!(rate_between(mult, mult), 0);
        assert_eq!((rate_between(mult, mult * 2), rate_between(mult, mult / 2)), (i32::MAX, i32::MIN));
        assert_eq!(rate_between(0, u64::MAX), i32::MAX);
    }

    #[test]
    fn fixed_structures_survive_the_round_trip() {
        let header = FileHeader::new(3, 999);
        assert_eq!(FileHeader::decode(&header.encode()).unwrap(), header);
        let frame =
            FrameHeader { kind: kind::SEGMENTS, codec: codec::ZSTD, region: 7, stored: 10, raw: 20, payload_crc: 5 };
        assert_eq!(FrameHeader::decode(&frame.encode(), 0).unwrap(), frame);
        assert_eq!(frame.frame_bytes(), 32 + 64 + 10);
        let head = BlockHead {
            segments: 1,
            thread: 2,
            min_start: 3,
            max_end: 4,
            min_offset: -1,
            max_end_offset: 6,
            stream_mask: 7,
            bytes: 8,
            rate: -9,
        };
        assert_eq!(BlockHead::decode(&head.encode(), 0).unwrap(), head);
        let entry = IndexEntry { rank: -1, pid: 2, offset: 3, length: 4, segments: 5, missing: 6, blocks: 7 };
        assert_eq!(IndexEntry::decode(&entry.encode(), 0).unwrap(), entry);
        let trailer = Trailer { index_offset: 1, regions: 2 };
        assert_eq!(Trailer::decode(&trailer.encode(), 0).unwrap(), trailer);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let whole = BlockHead {
            segments: 1,
            thread: 2,
            min_start: 3,
            max_end: 4,
            min_offset: 5,
            max_end_offset: 6,
            stream_mask: 7,
            bytes: 8,
            rate: -9,
        }
        .encode();
        for bit in 0..whole.len() * 8 {
            let mut bad = whole;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(BlockHead::decode(&bad, 0), Err(Error::Checksum { .. })));
        }
        for cut in 0..whole.len() {
            assert!(matches!(BlockHead::decode(&whole[..cut], 0), Err(Error::Truncated { .. })));
        }
    }

    #[test]
    fn a_newer_version_says_what_to_do() {
        let newer = FileHeader { major: 9, ..FileHeader::new(1, 64) }.encode();
        let message = FileHeader::decode(&newer).unwrap_err().to_string();
        assert!(message.contains("version 9") && message.contains("dxt-analyze at least as new"), "{message}");
    }
}
