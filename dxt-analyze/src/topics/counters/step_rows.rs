//! Converts the results of [`super::steps`] to rows of tables.

use super::steps::{FormKey, Partial, Strides};
use crate::model::Within;
use crate::shared::layer_calls::Form;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// Strides of a layer's reads or writes: distance from the end of the previous call in the same direction to the start of the next, bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrideRow {
    /// Name of the I/O layer, as in `POSIX`.
    pub layer: &'static str,
    /// Direction of the calls: `read` or `write`.
    pub direction: &'static str,
    /// Number of recorded reads (or writes) of the layer, including those without a known stride.
    pub accesses: u64,
    /// Number of reads or writes directly after a seek by the same thread on this file in this layer.
    pub after_seek: u64,
    /// Number of backward strides (below 0) by distance, bins as in [`trace_format::counters::SIZE_BOUNDS`].
    pub back: [u64; SIZE_BINS],
    /// Number of strides of 0: the call begins where the previous one ended.
    pub none: u64,
    /// Number of forward strides (above 0) by distance, bins as in [`trace_format::counters::SIZE_BOUNDS`].
    pub on: [u64; SIZE_BINS],
}

/// Alignment of file offsets, for recorded reads and writes of one form of call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlignmentRow {
    /// Name of the I/O layer, as in `POSIX`.
    pub layer: &'static str,
    /// Caller: `program`, `HDF5` or `MPI-IO`.
    pub called_by: &'static str,
    /// Form of the MPI-IO calls, such as `collective`; empty for other layers.
    pub form: &'static str,
    /// Number of calls on files whose alignment (stripe size or preferred I/O size) is known.
    pub known: u64,
    /// Number of calls of this form whose offset is no multiple of the file's alignment.
    pub unaligned: u64,
}

/// Returns the strides (distances between successive calls) by layer and direction.
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

/// Returns the numbers of calls with aligned and unaligned file offsets, by layer, caller and form of call.
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
