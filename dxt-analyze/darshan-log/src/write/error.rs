//! Errors of the log writer.

use crate::module::Module;

/// Result type of the writer.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a log, or a part of one, cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Length over a limit of the format or of Darshan's tools.
    #[error("{what} of {length} bytes is over the limit of {limit} of Darshan's log format")]
    TooLong {
        /// Name of the length.
        what: &'static str,
        /// Length, in bytes.
        length: u64,
        /// Maximum length, in bytes.
        limit: u64,
    },
    /// Text that is empty or has a byte that ends it in the format.
    #[error("{what} {text:?} cannot be written: {why}")]
    BadText {
        /// Name of the text.
        what: &'static str,
        /// Rejected text.
        text: String,
        /// Reason.
        why: &'static str,
    },
    /// Job without mounts: Darshan's tools would lose the command line.
    #[error("the job has no mount, and without one Darshan's tools lose the command line: give at least one")]
    NoMount,
    /// Metadata without `lib_ver`, without which PyDarshan makes no summary.
    #[error(
        "the metadata has no lib_ver, without which PyDarshan makes no summary: give the version to be compatible with"
    )]
    NoLibraryVersion,
    /// Two names with the same record id.
    #[error("the names {first:?} and {second:?} both have the record id {id}: leave one out")]
    SameId {
        /// Record id.
        id: u64,
        /// One of the names.
        first: String,
        /// Other name.
        second: String,
    },
    /// Record id without a name.
    #[error(
        "a record of {module} has the id {id}, which no name has: Darshan's tools would drop it, so give its name to the writer"
    )]
    NoName {
        /// Module of the record.
        module: Module,
        /// Record id.
        id: u64,
    },
    /// Module out of order: modules are written in the order of their indices in the header, each once.
    #[error("{module} cannot be written after {last}: modules are in the order of the log format, each once")]
    Order {
        /// Rejected module.
        module: Module,
        /// Module written last.
        last: Module,
    },
    /// Module that the writer does not support.
    #[error("{module} records cannot be written")]
    NotWritten {
        /// Rejected module.
        module: Module,
    },
    /// Record that does not have the numbers of its module's newest version.
    #[error("a record of {module} has {found} {what}, not {expected}")]
    Shape {
        /// Module of the record.
        module: Module,
        /// Name of the numbers.
        what: &'static str,
        /// Expected count.
        expected: u64,
        /// Count found.
        found: u64,
    },
    /// Failure of the output.
    #[error("failed to write the log: {0}")]
    Io(#[from] std::io::Error),
}

/// Fails if `length` exceeds `limit`.
///
/// # Errors
/// [`Error::TooLong`].
pub(super) fn check(what: &'static str, length: u64, limit: u64) -> Result<()> {
    if length <= limit { Ok(()) } else { Err(Error::TooLong { what, length, limit }) }
}

/// Fails unless `found` equals `expected`.
///
/// # Errors
/// [`Error::Shape`].
pub(super) fn expect(module: Module, what: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { module, what, expected, found }) }
}
