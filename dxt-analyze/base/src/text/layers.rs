//! Names of I/O layers as shown to people; files, JSON and CSV keep the names of the trace format.

/// Replaces `MPIIO` by `MPI-IO` in the name of a layer, or in a label that contains such a name.
#[must_use]
pub fn layer(name: &str) -> String {
    name.replace("MPIIO", "MPI-IO")
}
