//! Names of I/O layers as shown to people. Files, JSON and CSV keep the names of the trace format.

/// Replaces `MPIIO` by `MPI-IO` in a layer's name, or in a label that contains one.
#[must_use]
pub fn layer(name: &str) -> String {
    name.replace("MPIIO", "MPI-IO")
}
