//! What can be wrong with the bytes of a log. Every variant carries where, what was expected and what was found.

use crate::module::Module;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes could not be read as a Darshan log, or a part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The magic is missing at offset 8, in either byte order.
    #[error(
        "not a Darshan log: the 8 bytes at offset 8 are {found:02x?}, not the number {expected:#x} in either byte order"
    )]
    NotALog {
        /// The bytes at offset 8; fewer than 8 if the file is shorter.
        found: Vec<u8>,
        /// The magic of a log.
        expected: u64,
    },
    /// A log of Darshan 2.x, which is one compressed stream of other structures.
    #[error(
        "the file is one {compression} stream, as Darshan 2.x wrote its logs; this reader knows 3.00 to 3.41: read it with the darshan-util 2.3 it was written for"
    )]
    Darshan2 {
        /// `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// A log of a format that this reader knows, inside a stream that Darshan does not make.
    #[error("the file is a Darshan log inside one {compression} stream: decompress it first")]
    Packed {
        /// `gzip` or `bzip2`.
        compression: &'static str,
    },
    /// A log format version whose layout this reader does not know.
    #[error(
        "log format version {found:?} is not one of {supported}: read it with the darshan-util of the release that wrote it"
    )]
    Version {
        /// Version in the file.
        found: String,
        /// Versions this reader knows.
        supported: &'static str,
    },
    /// A compression this reader does not know.
    #[error("compression type {found} is not 0 (zlib), 1 (bzip2) or 2 (none): the header is damaged")]
    Compression {
        /// Type in the file.
        found: u8,
    },
    /// A module whose version is newer than this reader knows.
    #[error("module {module} has version {found}, this reader knows 1 to {supported}: use a newer reader")]
    ModuleVersion {
        /// The module.
        module: Module,
        /// Version in the file.
        found: u32,
        /// Newest version this reader knows.
        supported: u32,
    },
    /// Neither the official sizes of a module's records nor larger ones fit its region.
    #[error(
        "unknown record layout: the {length} bytes of {module} are no records of the official size, nor of one with more bytes; a modified Darshan wrote them, and nothing is read of them"
    )]
    UnknownLayout {
        /// The module.
        module: Module,
        /// Bytes of its region in the file.
        length: u64,
    },
    /// The bytes end before the structure does.
    #[error("{what} at offset {offset} needs {needed} bytes, but only {available} are there: the file was cut short")]
    Truncated {
        /// Structure that was being read.
        what: &'static str,
        /// Where in the file it, or the compressed bytes it is made from, begin.
        offset: u64,
        /// Its size in bytes.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A compressed stream is damaged.
    #[error("the {compression} stream of {what} is damaged near offset {offset}: {why}")]
    Stream {
        /// Region that was being read.
        what: &'static str,
        /// Where in the file, as far as can be said.
        offset: u64,
        /// `zlib` or `bzip2`.
        compression: &'static str,
        /// What the decompressor says.
        why: String,
    },
    /// A length is over its limit.
    #[error("{what} of {value} near offset {offset} is over the limit of {limit}: the file is damaged")]
    Limit {
        /// What the length is of.
        what: &'static str,
        /// The length in the file.
        value: u64,
        /// Its limit.
        limit: u64,
        /// Where in the file, as far as can be said.
        offset: u64,
    },
    /// The structure could be read and makes no sense.
    #[error("{what} near offset {offset} makes no sense: {why}")]
    Malformed {
        /// Structure that was being read.
        what: &'static str,
        /// Where in the file, as far as can be said.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The source of the bytes failed.
    #[error("failed to read near offset {offset}: {source}")]
    Io {
        /// Where in the file.
        offset: u64,
        /// The operating system's reason.
        source: std::io::Error,
    },
}

/// Something that could not be read, while the rest of the log could.
#[derive(Debug)]
pub struct Problem {
    /// Where in the file, in bytes; of compressed data, how far the decompressor had got.
    pub offset: u64,
    /// Why.
    pub error: Error,
}
