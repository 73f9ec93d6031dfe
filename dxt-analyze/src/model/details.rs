//! What a job says beyond files and segments: data sets and what was selected of them, hints, datatypes.

use super::FileId;
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{Combiner, DatatypeRole, HintOrigin, Selection};

/// Calls on a data set in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Calls by what they selected, in the order of [`Selection`].
    pub selections: [u64; Selection::COUNT],
    /// Elements selected.
    pub elements: u64,
}

/// A data set of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSet {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Its path inside the file, `?` if it is not known.
    pub path: String,
    /// Size of an element in bytes, 0 if unknown.
    pub element_bytes: u32,
    /// The largest extent seen, slowest dimension first.
    pub extent: Vec<u64>,
    /// Reads.
    pub reads: Selected,
    /// Writes.
    pub writes: Selected,
}

/// A hint of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Its key.
    pub key: String,
    /// Asked for, or in effect.
    pub origin: HintOrigin,
    /// Its value.
    pub value: String,
}

/// Datatypes of one kind that were used on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatatypeSum {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// For what.
    pub role: DatatypeRole,
    /// How they were made.
    pub combiner: Combiner,
    /// In how many calls of all processes.
    pub count: u64,
}

/// Extents of the datatypes that were used on a file in one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExtentSum {
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// For what.
    pub role: DatatypeRole,
    /// Calls of all processes by extent, in the bins of request sizes.
    pub extents: [u64; SIZE_BINS],
}
