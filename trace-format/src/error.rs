//! What can be wrong with the bytes of a trace. Every variant carries where, what was expected and what was found.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes could not be read as a trace, or a part of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first bytes are not those of a trace.
    #[error("not a DXT trace: it begins with {found:02x?}, not with {expected:02x?}")]
    NotATrace {
        /// The first bytes, eight at most.
        found: Vec<u8>,
        /// The magic of a trace.
        expected: [u8; 8],
    },
    /// Written by a version whose layout this reader does not know.
    #[error(
        "trace format version {found} is newer than this reader's {supported}: use a dxt-analyze at least as new as the tracer that wrote it"
    )]
    Version {
        /// Major version in the file.
        found: u16,
        /// Newest major version this reader knows.
        supported: u16,
    },
    /// The bytes end before the structure does.
    #[error("{what} at offset {offset} needs {needed} bytes, but only {available} are there: the file was cut short")]
    Truncated {
        /// Structure that was being read.
        what: &'static str,
        /// Where it starts in the file.
        offset: u64,
        /// Its size in bytes.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A checksum does not match.
    #[error("{what} at offset {offset} is damaged: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// Structure that was being read.
        what: &'static str,
        /// Where it starts in the file.
        offset: u64,
        /// CRC-32 that the file states.
        expected: u32,
        /// CRC-32 of the bytes.
        found: u32,
    },
    /// A length is over its limit.
    #[error(
        "{what} of {value} at offset {offset} is over the limit of {limit}: the file is damaged or was not written by this tracer"
    )]
    Limit {
        /// What the length is of.
        what: &'static str,
        /// The length in the file.
        value: u64,
        /// Its limit.
        limit: u64,
        /// Where it stands in the file.
        offset: u64,
    },
    /// The structure passes its checksum and still makes no sense.
    #[error("{what} at offset {offset} makes no sense: {why}")]
    Malformed {
        /// Structure that was being read.
        what: &'static str,
        /// Where it starts in the file.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The source of the bytes failed.
    #[error("failed to read {length} bytes at offset {offset}: {source}")]
    Io {
        /// Where in the file.
        offset: u64,
        /// How many bytes were asked for.
        length: u64,
        /// What the source said.
        source: std::io::Error,
    },
}
