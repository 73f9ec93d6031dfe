//! Results of [`super::steps`] as rows.

use super::steps::{FormKey, Partial, Strides};
use crate::model::Within;
use crate::topics::layers::parts::Form;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// Recorded reads or writes of one layer, by distance from the end of the previous call to the beginning of the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrideRow {
    /// Name of the layer.
    pub layer: &'static str,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Number of recorded reads or writes.
    pub accesses: u64,
    /// Reads or writes directly after a seek of the same thread on the file in the same layer.
    pub after_seek: u64,
    /// Strides below 0 by distance, with the bins of [`trace_format::counters::SIZE_BOUNDS`].
    pub back: [u64; SIZE_BINS],
    /// Strides of 0.
    pub none: u64,
    /// Strides above 0, by distance.
    pub on: [u64; SIZE_BINS],
}

/// Recorded reads and writes of one form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlignmentRow {
    /// Name of the layer.
    pub layer: &'static str,
    /// Caller: `program`, `HDF5` or `MPI-IO`.
    pub called_by: &'static str,
    /// Form of MPI-IO calls; empty for others.
    pub form: &'static str,
    /// Calls on files whose alignment (stripe size, or preferred I/O size) is known.
    pub known: u64,
    /// Calls in `known` that do not begin at a multiple of the alignment.
    pub unaligned: u64,
}

/// Returns strides by layer and direction.
#[must_use]
pub fn strides(found: &Partial) -> Vec<StrideRow> {
    let row = |(&(layer, writes), strides): (&(trace_format::op::Layer, bool), &Strides)| StrideRow {
        layer: layer.name(),
        direction: if writes { "write" } else { "read" },
        accesses: strides.accesses,
        after_seek: strides.after_seek,
        back: strides.back,
        none: strides.none,
        on: strides.on,
    };
    found.strides.iter().map(row).collect()
}

/// Returns alignment by form of call.
#[must_use]
pub fn alignment(found: &Partial) -> Vec<AlignmentRow> {
    let row = |(&(layer, within, form), aligned): (&FormKey, &super::steps::Aligned)| AlignmentRow {
        layer: layer.name(),
        called_by: match within {
            Within::Nothing | Within::Overview => "program",
            Within::Hdf5 => "HDF5",
            Within::Mpiio => "MPI-IO",
        },
        form: form.map_or("", Form::name),
        known: aligned.known,
        unaligned: aligned.unaligned,
    };
    found.aligned.iter().map(row).collect()
}
