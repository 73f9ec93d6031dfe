//! Data sets: the arrays inside a self-describing file (HDF5), and what of them each transfer selected. A data set is no
//! file; its streams belong to the file that holds it, and the table here says which data set they are about.

use serde::{Deserialize, Serialize};

/// What a transfer selected of a data set; its number is its place in [`DataSetAccess::selections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// Nothing, as processes without a part in a collective call do.
    None,
    /// All of it.
    All,
    /// A regular hyperslab: one start, stride, count and block per dimension.
    RegularHyperslab,
    /// Any other union of hyperslabs.
    IrregularHyperslab,
    /// A list of points.
    Points,
    /// Something else.
    Other,
}

impl Selection {
    /// All kinds, by number.
    pub const ALL: [Self; Self::COUNT] =
        [Self::None, Self::All, Self::RegularHyperslab, Self::IrregularHyperslab, Self::Points, Self::Other];

    /// Number of kinds, the unknown one included.
    pub const COUNT: usize = 6;

    /// What every output calls it.
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

/// What one stream did to a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSetAccess {
    /// Stream id.
    pub stream: u32,
    /// Calls by kind of selection, in the order of [`Selection`].
    pub selections: [u64; Selection::COUNT],
    /// Elements selected, summed over the calls.
    pub elements: u64,
}

/// A data set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSetDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Its path inside the file; empty if it has none, or it is not known.
    pub path: Vec<u8>,
    /// Size of an element in the file in bytes, 0 if unknown.
    pub element_bytes: u32,
    /// Its extent when it was last looked at, the slowest dimension first; empty for a scalar.
    pub extent: Vec<u64>,
    /// Its streams.
    pub accesses: Vec<DataSetAccess>,
}
