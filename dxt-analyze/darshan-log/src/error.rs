//! Errors in the bytes of a log. Variants state the offset, the expected value and the value found.

use crate::module::Module;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why bytes could not be read as a Darshan log, or as part of a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file has no log's magic number at offset 8, in either byte order.
    #[error(
        "not a Darshan log: the 8 bytes at offset 8 are {found:02x?}, not the number {expected:#x} in either byte order"
    )]
    NotALog {
        /// Bytes found at offset 8; fewer than 8 if the file is shorter.
        found: Vec<u8>,
        /// Magic number that every log has at offset 8, in either byte order.
        expected: u64,
    },
    /// The log is of Darshan 2.x: one compressed stream of structures that this reader does not know.
    #[error(
        "the file is one {compression} stream, as Darshan 2.x wrote its logs; this reader knows 3.00 to 3.41: use darshan-util 2.3 to read the file"
    )]
    Darshan2 {
        /// Compression of the file: `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// The file is a log of a supported format that was compressed as a whole, which Darshan does not do.
    #[error("the file is a Darshan log inside one {compression} stream: decompress it first")]
    Packed {
        /// Compression of the file: `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// The version of the log format has a layout unknown to this reader.
    #[error(
        "log format version {found:?} is not one of {supported}: use the darshan-util of the release that wrote the log"
    )]
    Version {
        /// Format version stated in the file.
        found: String,
        /// Format versions that this reader supports.
        supported: &'static str,
    },
    /// The compression type is unknown to this reader.
    #[error("compression type {found} is not 0 (zlib), 1 (bzip2) or 2 (none): the header is damaged")]
    Compression {
        /// Compression type stated in the file.
        found: u8,
    },
    /// The version of a module's records is newer than this reader supports.
    #[error("module {module} has version {found}, this reader knows 1 to {supported}: use a newer reader")]
    ModuleVersion {
        /// Module with the unsupported version.
        module: Module,
        /// Record version stated in the file.
        found: u32,
        /// Newest record version that this reader supports.
        supported: u32,
    },
    /// A module's records have neither the official sizes nor larger sizes that fit.
    #[error(
        "unknown record layout: the {length} bytes of {module} fit neither records of the official size nor larger ones; a modified Darshan wrote these records, and they are not read"
    )]
    UnknownLayout {
        /// Module with the unknown record layout.
        module: Module,
        /// Size of the module's region in the file, in bytes.
        length: u64,
    },
    /// A part of the log extends past the end of the file, or of the region that is being read.
    #[error(
        "{what} at offset {offset} needs {needed} bytes, but only {available} are available: the file was cut short"
    )]
    Truncated {
        /// Name of the part of the log that was read, such as `the header`.
        what: &'static str,
        /// File offset of the structure, or of the compressed bytes that contain it.
        offset: u64,
        /// Size of the part that was to be read, in bytes.
        needed: u64,
        /// Number of bytes from `offset` to the end of the file, or of the region that is being read.
        available: u64,
    },
    /// A compressed stream in the log is damaged.
    #[error("the {compression} stream of {what} is damaged near offset {offset}: {why}")]
    Stream {
        /// Name of the region being read.
        what: &'static str,
        /// Approximate file offset of the damage.
        offset: u64,
        /// Compression of the stream: `zlib` or `bzip2`.
        compression: &'static str,
        /// Error message of the decompressor.
        why: String,
    },
    /// A length stated in the file exceeds its limit.
    #[error("{what} of {value} near offset {offset} exceeds the limit of {limit}: the file is damaged")]
    Limit {
        /// Description of the number in the file that exceeds the limit, such as a size or a count.
        what: &'static str,
        /// Value of `what`, in bytes or as a count: stated in the file, or needed to read the file.
        value: u64,
        /// Maximum value allowed for `what`, in the unit of `value`.
        limit: u64,
        /// Approximate file offset of the bytes that state the value, in bytes.
        offset: u64,
    },
    /// A structure in the log has invalid contents.
    #[error("{what} near offset {offset} is invalid: {why}")]
    Malformed {
        /// Name of the part of the log that was read, such as `the header`.
        what: &'static str,
        /// Approximate file offset of the part that was read, in bytes.
        offset: u64,
        /// Reason why the contents are invalid.
        why: String,
    },
    /// Reading the file, or another source of the bytes, failed.
    #[error("failed to read near offset {offset}: {source}")]
    Io {
        /// File offset where the read began.
        offset: u64,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

/// Part of a log that could not be read, while the rest could.
#[derive(Debug)]
pub struct Problem {
    /// File offset of the unreadable part, in bytes; in compressed data, the position that the decompressor had reached.
    pub offset: u64,
    /// Reason why this part could not be read.
    pub error: Error,
}
