//! Details of a job beyond files and segments: data sets with their selections, hints, datatypes.

use super::FileId;
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{Combiner, DatatypeRole, HintOrigin, Selection};

/// Calls on a data set in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Calls by type of selection, in the order of [`Selection`].
    pub selections: [u64; Selection::COUNT],
    /// Elements selected.
    pub elements: u64,
}

/// HDF5 data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Path inside the file, `?` if unknown.
    pub path: String,
    /// Element size in bytes, 0 if unknown.
    pub element_bytes: u32,
    /// Largest extent seen, slowest dimension first.
    pub extent: Vec<u64>,
    /// Reads.
    pub reads: Selected,
    /// Writes.
    pub writes: Selected,
}

/// MPI-IO hint of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Key.
    pub key: String,
    /// Requested or in effect.
    pub origin: HintOrigin,
    /// Value.
    pub value: String,
}

/// MPI datatypes of one kind used on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatatypeSum {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Use of the datatype (etype or filetype of a view, read or write buffer).
    pub role: DatatypeRole,
    /// Constructor of the datatype.
    pub combiner: Combiner,
    /// Number of calls, over all processes.
    pub count: u64,
}

/// Extents of the datatypes used on a file in one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentSum {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Use of the datatype.
    pub role: DatatypeRole,
    /// Calls of all processes by extent, in the bins of request sizes.
    pub extents: [u64; SIZE_BINS],
}
