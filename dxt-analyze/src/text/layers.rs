//! Names of layers for people. Files, JSON and CSV keep the names of the format.

/// A layer's name, or a label in which it stands: `MPI-IO` for `MPIIO`.
#[must_use]
pub fn layer(name: &str) -> String {
    name.replace("MPIIO", "MPI-IO")
}
