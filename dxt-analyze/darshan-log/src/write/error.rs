//! Errors of the log writer.

use crate::module::Module;

/// Result type of the writer.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a log, or a part of it, cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Length that exceeds a limit of the format or of Darshan's tools.
    #[error("{what} of {length} bytes exceeds the limit of {limit} of Darshan's log format")]
    TooLong {
        /// Description of the length.
        what: &'static str,
        /// Length, in bytes.
        length: u64,
        /// Maximum length, in bytes.
        limit: u64,
    },
    /// Text that is empty or contains a byte that would end it in the format.
    #[error("{what} {text:?} cannot be written: {why}")]
    BadText {
        /// Description of the text.
        what: &'static str,
        /// Rejected text.
        text: String,
        /// Reason why the text was rejected.
        why: &'static str,
    },
    /// Job without mounts. Darshan's tools would lose its command line.
    #[error("the job has no mount: give at least one, or Darshan's tools lose the command line")]
    NoMount,
    /// Metadata without `lib_ver`, which PyDarshan needs to create a summary.
    #[error(
        "the metadata has no lib_ver, which PyDarshan needs for a summary: give the Darshan version to be compatible with"
    )]
    NoLibraryVersion,
    /// Two different names with the same record id.
    #[error("the names {first:?} and {second:?} both have the record id {id}: remove one name")]
    SameId {
        /// Record id.
        id: u64,
        /// One of the names.
        first: String,
        /// Other name.
        second: String,
    },
    /// Record whose id has no name in the log.
    #[error(
        "a record of {module} has the id {id} without a name: give the name to the writer, or Darshan's tools drop the record"
    )]
    NoName {
        /// Module of the record.
        module: Module,
        /// Record id.
        id: u64,
    },
    /// Module written out of order or twice. Modules must be written once each, in the order of their indices in the header.
    #[error("{module} cannot be written after {last}: write each module once, in the order of the log format")]
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
    /// Record with another number of counters, segments or the like than the format requires.
    #[error("a record of {module} has {found} {what}, not {expected}")]
    Shape {
        /// Module of the rejected record.
        module: Module,
        /// Description of what was counted.
        what: &'static str,
        /// Expected count.
        expected: u64,
        /// Count found.
        found: u64,
    },
    /// Failure to write to the output.
    #[error("failed to write the log: {0}")]
    Io(#[from] std::io::Error),
}

/// Fails if `length` exceeds `limit`.
///
/// # Errors
/// Returns [`Error::TooLong`] if `length` exceeds `limit`.
pub(super) fn check(what: &'static str, length: u64, limit: u64) -> Result<()> {
    if length <= limit { Ok(()) } else { Err(Error::TooLong { what, length, limit }) }
}

/// Fails unless `found` equals `expected`.
///
/// # Errors
/// Returns [`Error::Shape`] unless `found` equals `expected`.
pub(super) fn expect(module: Module, what: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { module, what, expected, found }) }
}
