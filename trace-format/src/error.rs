//! Errors in the bytes of a trace. Variants carry the offset, the expected and the found value.

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why bytes could not be read as a trace, or as a part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// File that does not begin with the magic number of a trace file.
    #[error("not a DXT trace: it begins with {found:02x?}, not with {expected:02x?}")]
    NotATrace {
        /// First bytes of the file, eight at most.
        found: Vec<u8>,
        /// Magic number of a trace file.
        expected: [u8; 8],
    },
    /// Format version with a layout unknown to this reader.
    #[error(
        "trace format version {found} is newer than this reader's {supported}: use a dxt-analyze at least as new as the tracer that wrote it"
    )]
    Version {
        /// Major version in the file.
        found: u16,
        /// Newest supported major version.
        supported: u16,
    },
    /// Structure that extends past the end of the bytes.
    #[error(
        "{what} at offset {offset} needs {needed} bytes, but only {available} are available: the file was cut short"
    )]
    Truncated {
        /// Name of the structure being read.
        what: &'static str,
        /// Offset of the structure in the file.
        offset: u64,
        /// Size of the structure, in bytes.
        needed: u64,
        /// Number of bytes available.
        available: u64,
    },
    /// Checksum mismatch.
    #[error("{what} at offset {offset} is damaged: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Name of the structure being read.
        what: &'static str,
        /// Offset of the structure in the file.
        offset: u64,
        /// CRC-32 stored in the file.
        expected: u32,
        /// CRC-32 computed from the bytes.
        found: u32,
    },
    /// Length in the file that exceeds its limit.
    #[error(
        "{what} of {value} at offset {offset} exceeds the limit of {limit}: the file is damaged or was not written by this tracer"
    )]
    Limit {
        /// Description of the length.
        what: &'static str,
        /// Length in the file.
        value: u64,
        /// Maximum value allowed.
        limit: u64,
        /// Offset of the length in the file.
        offset: u64,
    },
    /// Structure with a valid checksum but invalid contents.
    #[error("{what} at offset {offset} is invalid: {why}")]
    Malformed {
        /// Name of the structure being read.
        what: &'static str,
        /// Offset of the structure in the file.
        offset: u64,
        /// Reason why the contents are invalid.
        why: String,
    },
    /// Failure to read from the source of the bytes.
    #[error("failed to read {length} bytes at offset {offset}: {source}")]
    Io {
        /// Offset of the failed read in the file.
        offset: u64,
        /// Number of bytes requested.
        length: u64,
        /// Error returned by the source.
        source: std::io::Error,
    },
}
