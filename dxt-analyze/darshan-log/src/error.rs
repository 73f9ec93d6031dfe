//! Errors in the bytes of a log. Variants carry the offset, the expected and the found value.

use crate::module::Module;

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why bytes could not be read as a Darshan log, or as a part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Magic missing at offset 8, in either byte order.
    #[error(
        "not a Darshan log: the 8 bytes at offset 8 are {found:02x?}, not the number {expected:#x} in either byte order"
    )]
    NotALog {
        /// Bytes at offset 8; fewer than 8 if the file is shorter.
        found: Vec<u8>,
        /// Magic of a log.
        expected: u64,
    },
    /// Log of Darshan 2.x, which is one compressed stream of other structures.
    #[error(
        "the file is one {compression} stream, as Darshan 2.x wrote its logs; this reader knows 3.00 to 3.41: read it with the darshan-util 2.3 it was written for"
    )]
    Darshan2 {
        /// `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// Log of a supported format inside a compressed stream that Darshan does not make.
    #[error("the file is a Darshan log inside one {compression} stream: decompress it first")]
    Packed {
        /// `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// Log format version with an unknown layout.
    #[error(
        "log format version {found:?} is not one of {supported}: read it with the darshan-util of the release that wrote it"
    )]
    Version {
        /// Version in the file.
        found: String,
        /// Supported versions.
        supported: &'static str,
    },
    /// Unknown compression.
    #[error("compression type {found} is not 0 (zlib), 1 (bzip2) or 2 (none): the header is damaged")]
    Compression {
        /// Compression type in the file.
        found: u8,
    },
    /// Module version newer than this reader supports.
    #[error("module {module} has version {found}, this reader knows 1 to {supported}: use a newer reader")]
    ModuleVersion {
        /// Module.
        module: Module,
        /// Version in the file.
        found: u32,
        /// Newest supported version.
        supported: u32,
    },
    /// Region that neither the official sizes of a module's records nor larger ones fit.
    #[error(
        "unknown record layout: the {length} bytes of {module} are no records of the official size, nor of one with more bytes; a modified Darshan wrote them, and nothing is read of them"
    )]
    UnknownLayout {
        /// Module.
        module: Module,
        /// Size of the module's region in the file, in bytes.
        length: u64,
    },
    /// Structure that extends past the end of the bytes.
    #[error("{what} at offset {offset} needs {needed} bytes, but only {available} are there: the file was cut short")]
    Truncated {
        /// Structure being read.
        what: &'static str,
        /// Offset in the file of the structure, or of the compressed bytes that it is made from.
        offset: u64,
        /// Size of the structure, in bytes.
        needed: u64,
        /// Number of bytes available.
        available: u64,
    },
    /// Damaged compressed stream.
    #[error("the {compression} stream of {what} is damaged near offset {offset}: {why}")]
    Stream {
        /// Region being read.
        what: &'static str,
        /// Approximate offset in the file.
        offset: u64,
        /// `zlib` or `bzip2`.
        compression: &'static str,
        /// Message of the decompressor.
        why: String,
    },
    /// Length over its limit.
    #[error("{what} of {value} near offset {offset} is over the limit of {limit}: the file is damaged")]
    Limit {
        /// Name of the length.
        what: &'static str,
        /// Length in the file.
        value: u64,
        /// Limit of the length.
        limit: u64,
        /// Approximate offset in the file.
        offset: u64,
    },
    /// Invalid structure.
    #[error("{what} near offset {offset} makes no sense: {why}")]
    Malformed {
        /// Structure being read.
        what: &'static str,
        /// Approximate offset in the file.
        offset: u64,
        /// Reason.
        why: String,
    },
    /// Failure of the source of the bytes.
    #[error("failed to read near offset {offset}: {source}")]
    Io {
        /// Offset in the file.
        offset: u64,
        /// Error from the operating system.
        source: std::io::Error,
    },
}

/// Part of a log that could not be read, while the rest could.
#[derive(Debug)]
pub struct Problem {
    /// Offset in the file, in bytes; for compressed data, the position of the decompressor.
    pub offset: u64,
    /// Reason.
    pub error: Error,
}
