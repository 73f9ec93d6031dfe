//! Errors in the bytes of a log. Variants carry the offset, the expected and the found value.

use crate::module::Module;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why bytes could not be read as a Darshan log, or as a part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// File without a log's magic number at offset 8, in either byte order.
    #[error(
        "not a Darshan log: the 8 bytes at offset 8 are {found:02x?}, not the number {expected:#x} in either byte order"
    )]
    NotALog {
        /// Bytes found at offset 8; fewer than 8 if the file is shorter.
        found: Vec<u8>,
        /// Magic number of a log.
        expected: u64,
    },
    /// Log of Darshan 2.x: one compressed stream of structures that this reader does not know.
    #[error(
        "the file is one {compression} stream, as Darshan 2.x wrote its logs; this reader knows 3.00 to 3.41: use darshan-util 2.3 to read the file"
    )]
    Darshan2 {
        /// Compression of the file: `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// Log of a supported format that was compressed as a whole, which Darshan does not do.
    #[error("the file is a Darshan log inside one {compression} stream: decompress it first")]
    Packed {
        /// Compression of the file: `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// Version of the log format with a layout unknown to this reader.
    #[error(
        "log format version {found:?} is not one of {supported}: use the darshan-util of the release that wrote the log"
    )]
    Version {
        /// Version in the file.
        found: String,
        /// Versions supported by this reader.
        supported: &'static str,
    },
    /// Compression type unknown to this reader.
    #[error("compression type {found} is not 0 (zlib), 1 (bzip2) or 2 (none): the header is damaged")]
    Compression {
        /// Compression type in the file.
        found: u8,
    },
    /// Version of a module's records that is newer than this reader supports.
    #[error("module {module} has version {found}, this reader knows 1 to {supported}: use a newer reader")]
    ModuleVersion {
        /// Module with the unsupported version.
        module: Module,
        /// Version in the file.
        found: u32,
        /// Newest version supported by this reader.
        supported: u32,
    },
    /// Region of a module whose records have neither the official sizes nor larger ones that fit.
    #[error(
        "unknown record layout: the {length} bytes of {module} fit neither records of the official size nor larger ones; a modified Darshan wrote these records, and they are not read"
    )]
    UnknownLayout {
        /// Module with the unknown record layout.
        module: Module,
        /// Size of the module's region in the file, in bytes.
        length: u64,
    },
    /// Structure that extends past the end of the bytes.
    #[error(
        "{what} at offset {offset} needs {needed} bytes, but only {available} are available: the file was cut short"
    )]
    Truncated {
        /// Name of the structure being read.
        what: &'static str,
        /// File offset of the structure, or of the compressed bytes that contain it.
        offset: u64,
        /// Size of the structure, in bytes.
        needed: u64,
        /// Number of bytes available.
        available: u64,
    },
    /// Damaged compressed stream.
    #[error("the {compression} stream of {what} is damaged near offset {offset}: {why}")]
    Stream {
        /// Name of the region being read.
        what: &'static str,
        /// Approximate offset in the file.
        offset: u64,
        /// Compression of the stream: `zlib` or `bzip2`.
        compression: &'static str,
        /// Message of the decompressor.
        why: String,
    },
    /// Length in the file that exceeds its limit.
    #[error("{what} of {value} near offset {offset} exceeds the limit of {limit}: the file is damaged")]
    Limit {
        /// Description of the length.
        what: &'static str,
        /// Length in the file.
        value: u64,
        /// Maximum value allowed.
        limit: u64,
        /// Approximate offset in the file.
        offset: u64,
    },
    /// Structure with invalid contents.
    #[error("{what} near offset {offset} is invalid: {why}")]
    Malformed {
        /// Name of the structure being read.
        what: &'static str,
        /// Approximate offset in the file.
        offset: u64,
        /// Reason why the contents are invalid.
        why: String,
    },
    /// Failure to read from the source of the bytes.
    #[error("failed to read near offset {offset}: {source}")]
    Io {
        /// Offset of the failed read in the file.
        offset: u64,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

/// Part of a log that could not be read, although the rest could.
#[derive(Debug)]
pub struct Problem {
    /// Offset in the file, in bytes; for compressed data, the position that the decompressor had reached.
    pub offset: u64,
    /// Reason why this part could not be read.
    pub error: Error,
}
