//! Structures that occur once in a trace file (header, trailer) or once per region in its index (index entry).

use super::fields::{Fields, Parts};
use super::{FILE_HEADER_BYTES, INDEX_ENTRY_BYTES, MAGIC, TRAILER_BYTES, TRAILER_MAGIC, VERSION_MAJOR, VERSION_MINOR};
use crate::error::{Error, Result};

/// File header: the first 64 bytes of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Major version of the format that the writer used.
    pub major: u16,
    /// Minor version of the format that the writer used.
    pub minor: u16,
    /// Number of process regions (parts with the data of one process each) in the file; 0 if it was unknown when the header was written.
    pub regions: u32,
    /// File offset of the first process region (the end of the job frame), in bytes.
    pub regions_offset: u64,
}

impl FileHeader {
    /// Creates a header with this crate's format version.
    #[must_use]
    pub fn new(regions: u32, regions_offset: u64) -> Self {
        Self { major: VERSION_MAJOR, minor: VERSION_MINOR, regions, regions_offset }
    }

    /// Encodes the file header.
    #[must_use]
    pub fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        Fields::new()
            .put(&MAGIC)
            .put(&self.major.to_le_bytes())
            .put(&self.minor.to_le_bytes())
            .put(&self.regions.to_le_bytes())
            .put(&self.regions_offset.to_le_bytes())
            .seal()
    }

    /// Decodes the header from the first bytes of a file.
    ///
    /// # Errors
    /// Returns [`Error::NotATrace`], [`Error::Version`], [`Error::Truncated`] or [`Error::Checksum`] if the bytes are not a valid header.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::NotATrace { found: bytes[..bytes.len().min(8)].to_vec(), expected: MAGIC });
        }
        // Size and checksum of the header are equal in every version, so that a damaged header is not mistaken for a newer version.
        let mut parts = Parts::open::<FILE_HEADER_BYTES>(bytes, "the file header", 0)?;
        parts.take::<8>();
        let (major, minor) = (parts.u16(), parts.u16());
        if major > VERSION_MAJOR {
            return Err(Error::Version { found: major, supported: VERSION_MAJOR });
        }
        Ok(Self { major, minor, regions: parts.u32(), regions_offset: parts.u64() })
    }
}

/// Index entry: position and counts of one process's region in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Rank in `MPI_COMM_WORLD`; in a process without MPI the launcher's process number, or -1.
    pub rank: i32,
    /// Process id of the process whose region this is.
    pub pid: u32,
    /// File offset of the process's region, in bytes.
    pub offset: u64,
    /// Length of the process's region, in bytes.
    pub length: u64,
    /// Number of segments (recorded calls) stored in the process's region.
    pub segments: u64,
    /// Number of recorded calls that are stored in counters instead of segments.
    pub missing: u64,
    /// Number of segment frames (compressed blocks of segments) in the process's region.
    pub blocks: u32,
}

impl IndexEntry {
    /// Encodes the index entry.
    #[must_use]
    pub fn encode(&self) -> [u8; INDEX_ENTRY_BYTES] {
        Fields::new()
            .put(&self.rank.to_le_bytes())
            .put(&self.pid.to_le_bytes())
            .put(&self.offset.to_le_bytes())
            .put(&self.length.to_le_bytes())
            .put(&self.segments.to_le_bytes())
            .put(&self.missing.to_le_bytes())
            .put(&self.blocks.to_le_bytes())
            .seal()
    }

    /// Decodes the index entry at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] or [`Error::Checksum`] if the bytes are not a valid entry.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Self> {
        let mut parts = Parts::open::<INDEX_ENTRY_BYTES>(bytes, "an index entry", offset)?;
        Ok(Self {
            rank: i32::from_le_bytes(parts.take()),
            pid: parts.u32(),
            offset: parts.u64(),
            length: parts.u64(),
            segments: parts.u64(),
            missing: parts.u64(),
            blocks: parts.u32(),
        })
    }
}

/// Trailer: the last 32 bytes of a file; an intact trailer marks a complete file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// File offset of the first index entry, in bytes.
    pub index_offset: u64,
    /// Number of index entries, one per process region.
    pub regions: u32,
}

impl Trailer {
    /// Encodes the trailer.
    #[must_use]
    pub fn encode(&self) -> [u8; TRAILER_BYTES] {
        Fields::new().put(&TRAILER_MAGIC).put(&self.index_offset.to_le_bytes()).put(&self.regions.to_le_bytes()).seal()
    }

    /// Decodes the trailer from the last bytes of a file, which begin at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`], [`Error::Malformed`] or [`Error::Checksum`] if the bytes are not a valid trailer.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Self> {
        let what = "the trailer";
        if bytes.len() >= 8 && !bytes.starts_with(&TRAILER_MAGIC) {
            return Err(Error::Malformed {
                what,
                offset,
                why: "the file does not end with it: the file was cut short".into(),
            });
        }
        let mut parts = Parts::open::<TRAILER_BYTES>(bytes, what, offset)?;
        parts.take::<8>();
        Ok(Self { index_offset: parts.u64(), regions: parts.u32() })
    }
}
