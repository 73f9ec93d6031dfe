//! Properties of traces converted from another tool's log.

use super::Problem;

/// Setting of a trace that has segments of these calls only, as Darshan logs have.
pub const DATA_ONLY: (&str, &str) = ("segments", "POSIX and MPI-IO reads and writes");

/// Name of the setting with the source format and its version.
pub const SOURCE: &str = "source";

/// Findings of a conversion.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// Parts of the log that could not be read.
    pub problems: Vec<Problem>,
    /// Differences from a native trace.
    pub remarks: Vec<String>,
}
