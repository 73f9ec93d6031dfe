//! What a trace that was made of another tool's log says of that.

use super::Problem;

/// Setting of a trace that has segments of these calls only, and says so: what a Darshan log has.
pub const DATA_ONLY: (&str, &str) = ("segments", "POSIX and MPI-IO reads and writes");

/// Name of the setting that tells what a trace was made of, and by which version of it.
pub const SOURCE: &str = "source";

/// What a conversion found.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// What of the log could not be read.
    pub problems: Vec<Problem>,
    /// What is different from a trace.
    pub remarks: Vec<String>,
}
