//! File views of MPI-IO: where in the file the bytes of a transfer lie.

use serde::{Deserialize, Serialize};

/// What calls of `MPI_File_set_view` on a file were given that came one after another (MPI 4.0, 14.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Calls.
    pub calls: u64,
    /// Size of the etype in bytes.
    pub etype_bytes: u64,
    /// Bytes of data in a filetype.
    pub size: u64,
    /// Bytes from one filetype to the next.
    pub extent: i64,
    /// Where a filetype's data begins, from its origin.
    pub first: i64,
    /// Bytes side by side; 0: it is not known how the filetype is made.
    pub block: u64,
    /// How blocks are repeated, the innermost first.
    pub dimensions: Vec<DimensionDef>,
}

/// One way in which what is inside of it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DimensionDef {
    /// How often.
    pub count: u64,
    /// Bytes from the start of one to the start of the next.
    pub stride: u64,
}
