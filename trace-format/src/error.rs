//! Errors in the bytes of a trace. Variants state the offset, the expected value and the value found.

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why bytes could not be read as a trace, or as part of a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not begin with the magic number of a trace file.
    #[error("not a DXT trace: it begins with {found:02x?}, not with {expected:02x?}")]
    NotATrace {
        /// First bytes of the file, eight at most.
        found: Vec<u8>,
        /// Magic number with which every trace file begins.
        expected: [u8; 8],
    },
    /// The format version has a layout unknown to this reader.
    #[error(
        "trace format version {found} is newer than this reader's {supported}: use a dxt-analyze at least as new as the tracer that wrote it"
    )]
    Version {
        /// Major format version stated in the file.
        found: u16,
        /// Newest major format version that this reader supports.
        supported: u16,
    },
    /// A part of the trace extends past the end of the file, or of the bytes that were read.
    #[error(
        "{what} at offset {offset} needs {needed} bytes, but only {available} are available: the file was cut short"
    )]
    Truncated {
        /// Name of the part of the trace that was read, such as `the trailer`.
        what: &'static str,
        /// File offset of the part that was read, in bytes.
        offset: u64,
        /// Size of the part that was to be read, in bytes.
        needed: u64,
        /// Number of bytes from `offset` to the end of the file, or of the part of it that was read.
        available: u64,
    },
    /// The checksum of a structure does not match its contents.
    #[error("{what} at offset {offset} is damaged: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Name of the part of the trace that was read, such as `the trailer`.
        what: &'static str,
        /// File offset of the part that was read, in bytes.
        offset: u64,
        /// CRC-32 stored in the file for the part that was read.
        expected: u32,
        /// CRC-32 computed from the bytes of the part that was read.
        found: u32,
    },
    /// A length stated in the file exceeds its limit.
    #[error(
        "{what} of {value} at offset {offset} exceeds the limit of {limit}: the file is damaged or was not written by this tracer"
    )]
    Limit {
        /// Description of the number in the file that exceeds the limit, such as a size or a count.
        what: &'static str,
        /// Value of `what`, in bytes or as a count: stated in the file, or needed to read the file.
        value: u64,
        /// Maximum value allowed for `what`, in the unit of `value`.
        limit: u64,
        /// File offset of the bytes that state the value, in bytes.
        offset: u64,
    },
    /// A structure has a valid checksum but invalid contents.
    #[error("{what} at offset {offset} is invalid: {why}")]
    Malformed {
        /// Name of the part of the trace that was read, such as `the trailer`.
        what: &'static str,
        /// File offset of the part that was read, in bytes.
        offset: u64,
        /// Reason why the contents are invalid.
        why: String,
    },
    /// Reading the file, or another source of the bytes, failed.
    #[error("failed to read {length} bytes at offset {offset}: {source}")]
    Io {
        /// Offset in the file where the read began.
        offset: u64,
        /// Number of bytes requested by the read.
        length: u64,
        /// Error returned by the file or other source that was read.
        source: std::io::Error,
    },
}
