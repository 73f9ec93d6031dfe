//! MPI-IO metadata other than transfers: hints, and the datatypes of file views and memory buffers.

use crate::coded::coded;
use crate::counters::{SIZE_BINS, size_bin};
use serde::{Deserialize, Serialize};

/// Source of an MPI-IO hint: the program or the MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum HintOrigin {
    /// Hint requested by the program when it opened the file.
    Asked,
    /// Hint reported by the MPI library for the open file.
    InEffect,
    /// Hint source that this version does not know.
    Other,
}

coded!(HintOrigin { Asked = 0, InEffect = 1, Other = 0xffff_ffff } else Other);

impl HintOrigin {
    /// Returns the hint source's name as shown in all outputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::InEffect => "in effect",
            Self::Other => "other",
        }
    }
}

/// Hint (key and value) of a file opened through MPI-IO (MPI 4.0, 14.2.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Source of the hint: the program or the MPI library.
    pub origin: HintOrigin,
    /// Key of the hint, such as `cb_nodes`.
    pub key: Vec<u8>,
    /// Value of the hint, as text.
    pub value: Vec<u8>,
}

/// Purpose for which an MPI-IO call uses a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum DatatypeRole {
    /// Elementary type (etype) of a file view.
    Etype,
    /// Filetype of a file view (the repeated pattern of etypes).
    Filetype,
    /// Memory datatype of a read call.
    ReadBuffer,
    /// Memory datatype of a write call.
    WriteBuffer,
    /// Purpose that this version does not know.
    Other,
}

coded!(DatatypeRole { Etype = 0, Filetype = 1, ReadBuffer = 2, WriteBuffer = 3, Other = 0xffff_ffff } else Other);

impl DatatypeRole {
    /// Returns the purpose's name as shown in all outputs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etype => "etype",
            Self::Filetype => "filetype",
            Self::ReadBuffer => "read buffer",
            Self::WriteBuffer => "write buffer",
            Self::Other => "other",
        }
    }
}

/// Constructor of an MPI datatype (MPI 4.0, 5.1.13), with codes of this format, because each MPI library has its own codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum Combiner {
    /// Predefined datatype: `MPI_BYTE`, `MPI_DOUBLE`, ...
    Named,
    /// Datatype made by `MPI_Type_dup`.
    Dup,
    /// Datatype made by `MPI_Type_contiguous`.
    Contiguous,
    /// Datatype made by `MPI_Type_vector`.
    Vector,
    /// Datatype made by `MPI_Type_create_hvector`.
    Hvector,
    /// Datatype made by `MPI_Type_indexed`.
    Indexed,
    /// Datatype made by `MPI_Type_create_hindexed`.
    Hindexed,
    /// Datatype made by `MPI_Type_create_indexed_block`.
    IndexedBlock,
    /// Datatype made by `MPI_Type_create_hindexed_block`.
    HindexedBlock,
    /// Datatype made by `MPI_Type_create_struct`.
    Struct,
    /// Datatype made by `MPI_Type_create_subarray`.
    Subarray,
    /// Datatype made by `MPI_Type_create_darray`.
    Darray,
    /// Datatype made by `MPI_Type_create_f90_integer`.
    F90Integer,
    /// Datatype made by `MPI_Type_create_f90_real`.
    F90Real,
    /// Datatype made by `MPI_Type_create_f90_complex`.
    F90Complex,
    /// Datatype made by `MPI_Type_create_resized`.
    Resized,
    /// Datatype made by `MPI_Type_get_value_index` (MPI 4.1).
    ValueIndex,
    /// Datatype constructor that this version does not know.
    Other,
}

coded!(Combiner {
    Named = 0, Dup = 1, Contiguous = 2, Vector = 3, Hvector = 4, Indexed = 5, Hindexed = 6, IndexedBlock = 7,
    HindexedBlock = 8, Struct = 9, Subarray = 10, Darray = 11, F90Integer = 12, F90Real = 13, F90Complex = 14,
    Resized = 15, ValueIndex = 16, Other = 0xffff_ffff
} else Other);

impl Combiner {
    /// Number of known datatype constructors, excluding [`Self::Other`].
    pub const COUNT: usize = 17;

    /// Returns the constructor's name as shown in all outputs: MPI's name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Dup => "dup",
            Self::Contiguous => "contiguous",
            Self::Vector => "vector",
            Self::Hvector => "hvector",
            Self::Indexed => "indexed",
            Self::Hindexed => "hindexed",
            Self::IndexedBlock => "indexed_block",
            Self::HindexedBlock => "hindexed_block",
            Self::Struct => "struct",
            Self::Subarray => "subarray",
            Self::Darray => "darray",
            Self::F90Integer => "f90_integer",
            Self::F90Real => "f90_real",
            Self::F90Complex => "f90_complex",
            Self::Resized => "resized",
            Self::ValueIndex => "value_index",
            Self::Other => "other",
        }
    }
}

/// Number of MPI-IO calls on one file that used datatypes with the same constructor for the same purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatatypeUse {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Purpose for which the datatypes were used.
    pub role: DatatypeRole,
    /// Constructor of the MPI datatypes that the calls used.
    pub combiner: Combiner,
    /// Number of MPI-IO calls that used datatypes with this constructor for this purpose.
    pub count: u64,
}

/// Extents of the MPI datatypes used on one file for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatatypeExtents {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Purpose for which the datatypes were used.
    pub role: DatatypeRole,
    /// Number of MPI-IO calls by the datatype's extent in bytes, in the bins of [`extent_bin`].
    pub extents: [u64; SIZE_BINS],
}

/// Returns the index of the histogram bin for a datatype's extent in bytes; a negative extent (resized type) counts in the first bin.
#[must_use]
pub fn extent_bin(extent: i64) -> usize {
    size_bin(u64::try_from(extent).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_have_the_bins_of_sizes() {
        for (extent, bin) in [(i64::MIN, 0), (-1, 0), (0, 0), (100, 0), (101, 1), (1 << 30, 8), (i64::MAX, 9)] {
            assert_eq!(extent_bin(extent), bin, "{extent}");
        }
    }

    #[test]
    fn combiners_keep_their_numbers_and_are_counted() {
        for code in 0..Combiner::COUNT as u32 {
            assert_eq!(u32::from(Combiner::from(code)), code);
            assert_ne!(Combiner::from(code), Combiner::Other);
        }
        assert_eq!(Combiner::from(Combiner::COUNT as u32), Combiner::Other);
    }
}
