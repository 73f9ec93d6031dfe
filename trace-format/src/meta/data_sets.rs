//! Data sets: arrays inside a self-describing file (HDF5), and the selections of their transfers. A data set is not a file: streams belong
//! to the file that contains the data set, and the data-set table assigns streams to data sets.

use serde::{Deserialize, Serialize};

/// Form of the elements selected by a transfer to or from a data set. The form's code is its index in [`DataSetAccess::selections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// No elements are selected, as in processes that transfer nothing in a collective call.
    None,
    /// All elements of the data set are selected.
    All,
    /// Regular hyperslab: one start, stride, count and block per dimension.
    RegularHyperslab,
    /// Irregular hyperslab: any other union of hyperslabs.
    IrregularHyperslab,
    /// List of single elements (points).
    Points,
    /// Any other form of selection.
    Other,
}

impl Selection {
    /// All forms of selections, in the order of their codes.
    pub const ALL: [Self; Self::COUNT] =
        [Self::None, Self::All, Self::RegularHyperslab, Self::IrregularHyperslab, Self::Points, Self::Other];

    /// Number of forms of selections, including [`Self::Other`].
    pub const COUNT: usize = 6;

    /// Returns the selection form's name as shown in all outputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::All => "all",
            Self::RegularHyperslab => "regular hyperslab",
            Self::IrregularHyperslab => "irregular hyperslab",
            Self::Points => "points",
            Self::Other => "other",
        }
    }
}

/// Accesses of one stream (one operation on one file) to a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSetAccess {
    /// Id of the stream (operation on a file) whose calls access the data set.
    pub stream: u32,
    /// Number of calls by form of the selection, in the order of [`Selection`].
    pub selections: [u64; Selection::COUNT],
    /// Number of selected elements, summed over the calls.
    pub elements: u64,
}

/// Chunk shape and chunk cache of a chunked data set, when the data set was last opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkDef {
    /// Index of the data set in the process's table of data sets.
    pub data_set: u32,
    /// Number of elements of an HDF5 chunk per dimension, slowest first.
    pub shape: Vec<u64>,
    /// Size of the cache that HDF5 keeps for the data set's chunks, in bytes; 0 if unknown.
    pub cache_bytes: u64,
}

/// Data set (array) inside a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSetDef {
    /// Index of the containing file in the process's file table.
    pub file: u32,
    /// Path of the data set inside the file; empty if unknown or if the data set has no path.
    pub path: Vec<u8>,
    /// Size of an element as stored in the file, in bytes; 0 if unknown.
    pub element_bytes: u32,
    /// Extent when last queried: number of elements per dimension, slowest first; empty for a scalar.
    pub extent: Vec<u64>,
    /// Accesses to the data set, by stream (operation on the file).
    pub accesses: Vec<DataSetAccess>,
}
