//! MPI-IO file views, which map the bytes of a transfer to offsets in the file.

use serde::{Deserialize, Serialize};

/// Consecutive successful calls of `MPI_File_set_view` on one file whose etypes have the same size and whose filetypes have the same
/// structure (MPI 4.0, 14.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Number of consecutive calls of `MPI_File_set_view`.
    pub calls: u64,
    /// Size of the view's etype, in bytes.
    pub etype_bytes: u64,
    /// Number of data bytes in one filetype.
    pub size: u64,
    /// Extent of the filetype: distance from the start of one filetype to the start of the next, in bytes.
    pub extent: i64,
    /// Offset of a filetype's first data byte from the filetype's origin, in bytes.
    pub first: i64,
    /// Size of the contiguous block that the filetype repeats, in bytes; 0 if the structure of the filetype is unknown.
    pub block: u64,
    /// Repetitions of the contiguous block in the filetype, innermost first.
    pub dimensions: Vec<DimensionDef>,
}

/// Repetition inside a filetype: repeats the contiguous block or the next inner dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DimensionDef {
    /// Number of repetitions in the dimension.
    pub count: u64,
    /// Distance from the start of one repetition to the start of the next, in bytes.
    pub stride: u64,
}
