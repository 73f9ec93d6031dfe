//! Errors of the writer of Darshan logs.

use crate::module::Module;

/// Result type of the writer of Darshan logs.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a log, or part of a log, cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A length exceeds a limit of the format or of Darshan's tools.
    #[error("{what} of {length} bytes exceeds the limit of {limit} of Darshan's log format")]
    TooLong {
        /// Description of the text or region that is too long, such as `a name`.
        what: &'static str,
        /// Length of the text or region that `what` names, in bytes.
        length: u64,
        /// Maximum length of that text or region, in bytes.
        limit: u64,
    },
    /// A text is empty or contains a byte that would end the text in the format.
    #[error("{what} {text:?} cannot be written: {why}")]
    BadText {
        /// Description of the rejected text.
        what: &'static str,
        /// Contents of the rejected text.
        text: String,
        /// Reason why the text was rejected.
        why: &'static str,
    },
    /// The job has no mounts, so that Darshan's tools would lose its command line.
    #[error("the job has no mount: give at least one, or Darshan's tools lose the command line")]
    NoMount,
    /// The metadata has no `lib_ver`, which PyDarshan needs to create a summary.
    #[error(
        "the metadata has no lib_ver, which PyDarshan needs for a summary: give the Darshan version to be compatible with"
    )]
    NoLibraryVersion,
    /// Two different names have the same record id.
    #[error("the names {first:?} and {second:?} both have the record id {id}: remove one name")]
    SameId {
        /// Record id of both names.
        id: u64,
        /// First of the two names.
        first: String,
        /// Second of the two names.
        second: String,
    },
    /// The id of a record has no name in the log.
    #[error(
        "a record of {module} has the id {id} without a name: give the name to the writer, or Darshan's tools drop the record"
    )]
    NoName {
        /// Module of the record without a name.
        module: Module,
        /// Record id without a name.
        id: u64,
    },
    /// A module was written out of order or twice. Each module must be written once, in the order of the indices in the header.
    #[error("{module} cannot be written after {last}: write each module once, in the order of the log format")]
    Order {
        /// Module that was rejected.
        module: Module,
        /// Module that was written last.
        last: Module,
    },
    /// The writer does not support the module.
    #[error("{module} records cannot be written")]
    NotWritten {
        /// Module that the writer does not support.
        module: Module,
    },
    /// A record has another number of counters, segments or other elements than the format requires.
    #[error("a record of {module} has {found} {what}, not {expected}")]
    Shape {
        /// Module of the rejected record.
        module: Module,
        /// Description of the elements that were counted.
        what: &'static str,
        /// Number of elements that the format requires.
        expected: u64,
        /// Number of elements in the rejected record.
        found: u64,
    },
    /// Writing to the output failed.
    #[error("failed to write the log: {0}")]
    Io(#[from] std::io::Error),
}

/// Returns [`Error::TooLong`] if `length`, the length of `what` in bytes, exceeds `limit`.
pub(super) fn check(what: &'static str, length: u64, limit: u64) -> Result<()> {
    if length <= limit { Ok(()) } else { Err(Error::TooLong { what, length, limit }) }
}

/// Returns [`Error::Shape`] unless `found`, the number of elements `what` in a record of `module`, equals `expected`.
pub(super) fn expect(module: Module, what: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { module, what, expected, found }) }
}
