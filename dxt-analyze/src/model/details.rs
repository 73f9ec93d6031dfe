//! Details of a job beyond files and segments: HDF5 data sets with their selections, MPI-IO hints, MPI datatypes.

use super::FileId;
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{Combiner, DatatypeRole, HintOrigin, Selection};

/// Reads or writes of one HDF5 data set: calls by type of selection, and elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Number of calls by type of HDF5 selection, in the order of [`Selection`].
    pub selections: [u64; Selection::COUNT],
    /// Number of data set elements selected, over all calls.
    pub elements: u64,
}

/// HDF5 data set, with the selections and elements that the job accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// File that contains the data set, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Path of the data set inside the file; `?` if unknown.
    pub path: String,
    /// Element size in bytes, 0 if unknown.
    pub element_bytes: u32,
    /// Largest extent of the data set that any process saw, in elements per dimension, slowest dimension first.
    pub extent: Vec<u64>,
    /// Elements of a chunk per dimension, slowest first; empty if unknown or if the data set has no chunks.
    pub chunk: Vec<u64>,
    /// Size of the smallest chunk cache that a process has for the data set, in bytes; 0 if unknown.
    pub cache_bytes: u64,
    /// Selections and elements of the calls that read the data set.
    pub reads: Selected,
    /// Selections and elements of the calls that write the data set.
    pub writes: Selected,
}

/// MPI-IO hint (MPI_Info) of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// File for which the hint is set, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Name of the MPI-IO hint.
    pub key: String,
    /// Source of the value: requested by the program, or in effect in MPI-IO.
    pub origin: HintOrigin,
    /// Value of the hint, as text.
    pub value: String,
}

/// Number of calls that used MPI datatypes of one constructor in one role on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatatypeSum {
    /// File on which the datatypes were used, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Use of the datatype (etype or filetype of a view, read or write buffer).
    pub role: DatatypeRole,
    /// Constructor of the datatype (MPI combiner, such as `vector`).
    pub combiner: Combiner,
    /// Number of calls that used the datatypes, over all processes.
    pub count: u64,
}

/// Extents of the MPI datatypes used in one role on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentSum {
    /// File on which the datatypes were used, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Use of the datatype (etype or filetype of a view, read or write buffer).
    pub role: DatatypeRole,
    /// Number of calls, over all processes, by extent of the datatype, in the histogram bins of request sizes.
    pub extents: [u64; SIZE_BINS],
}
