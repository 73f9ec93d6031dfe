//! Properties of traces converted from another tool's log.

use super::Problem;

/// Setting (name, value) of a converted trace in which only POSIX and MPI-IO reads and writes have segments, as in Darshan logs.
pub const DATA_ONLY: (&str, &str) = ("segments", "POSIX and MPI-IO reads and writes");

/// Name of the setting that holds the source format and its version.
pub const SOURCE: &str = "source";

/// Problems and differences found while converting another tool's log.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// Parts of the log that could not be read.
    pub problems: Vec<Problem>,
    /// Remarks on how the converted trace differs from a native one.
    pub remarks: Vec<String>,
}
