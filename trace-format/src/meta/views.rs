//! File views of MPI-IO, which determine where in the file the bytes of a transfer are.

use serde::{Deserialize, Serialize};

/// Consecutive successful calls of `MPI_File_set_view` on one file whose etypes have the same size and whose filetypes have the same
/// structure (MPI 4.0, 14.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Number of calls.
    pub calls: u64,
    /// Size of the etype, in bytes.
    pub etype_bytes: u64,
    /// Data in one filetype, in bytes.
    pub size: u64,
    /// Distance from the start of one filetype to the start of the next (its extent), in bytes.
    pub extent: i64,
    /// Offset of a filetype's first data byte from the filetype's origin, in bytes.
    pub first: i64,
    /// Size of a contiguous block in the filetype, in bytes; 0 if the structure of the filetype is unknown.
    pub block: u64,
    /// Repetitions of the contiguous block in the filetype, innermost first.
    pub dimensions: Vec<DimensionDef>,
}

/// Repetition inside a filetype: of the contiguous block, or of the next inner dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DimensionDef {
    /// Number of repetitions.
    pub count: u64,
    /// Distance from the start of one repetition to the start of the next, in bytes.
    pub stride: u64,
}
