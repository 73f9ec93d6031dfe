//! Why a log cannot be written.

use crate::module::Module;

/// A result of the writer.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a log, or a part of one, cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something is longer than the format, or Darshan's tools, can have it.
    #[error("{what} of {length} bytes is over the limit of {limit} of Darshan's log format")]
    TooLong {
        /// What.
        what: &'static str,
        /// Its length in bytes.
        length: u64,
        /// Most bytes it may have.
        limit: u64,
    },
    /// A text has a byte that ends it in the format, or is empty.
    #[error("{what} {text:?} cannot be written: {why}")]
    BadText {
        /// What.
        what: &'static str,
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no mount, and without one Darshan's tools lose the command line.
    #[error("the job has no mount, and without one Darshan's tools lose the command line: give at least one")]
    NoMount,
    /// The metadata lacks `lib_ver`, without which PyDarshan makes no summary.
    #[error(
        "the metadata has no lib_ver, without which PyDarshan makes no summary: give the version to be compatible with"
    )]
    NoLibraryVersion,
    /// Two names have the same record id.
    #[error("the names {first:?} and {second:?} both have the record id {id}: leave one out")]
    SameId {
        /// The id.
        id: u64,
        /// A name.
        first: String,
        /// Another.
        second: String,
    },
    /// A record's id has no name.
    #[error(
        "a record of {module} has the id {id}, which no name has: Darshan's tools would drop it, so give its name to the writer"
    )]
    NoName {
        /// The module.
        module: Module,
        /// The id.
        id: u64,
    },
    /// Modules are written in the order of their places in the header, each once.
    #[error("{module} cannot be written after {last}: modules are in the order of the log format, each once")]
    Order {
        /// The module.
        module: Module,
        /// The one before it.
        last: Module,
    },
    /// The writer has no such module.
    #[error("{module} records cannot be written")]
    NotWritten {
        /// The module.
        module: Module,
    },
    /// A record has not the numbers that its module's newest version has.
    #[error("a record of {module} has {found} {what}, not {expected}")]
    Shape {
        /// The module.
        module: Module,
        /// What of it.
        what: &'static str,
        /// How many it should have.
        expected: u64,
        /// How many it has.
        found: u64,
    },
    /// The sink failed.
    #[error("failed to write the log: {0}")]
    Io(#[from] std::io::Error),
}

/// Passes a length of at most `limit`.
///
/// # Errors
/// [`Error::TooLong`].
pub(super) fn check(what: &'static str, length: u64, limit: u64) -> Result<()> {
    if length <= limit { Ok(()) } else { Err(Error::TooLong { what, length, limit }) }
}

/// Passes a count that has to be another.
///
/// # Errors
/// [`Error::Shape`].
pub(super) fn expect(module: Module, what: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { module, what, expected, found }) }
}
