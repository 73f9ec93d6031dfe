//! What [`super::steps`] found, as rows.

use super::steps::{FormKey, Partial, Strides};
use crate::model::Within;
use crate::topics::layers::parts::Form;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// Reads or writes on record of one layer, by how far each begins from where the last one ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrideRow {
    /// Layer.
    pub layer: &'static str,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Reads or writes on record.
    pub accesses: u64,
    /// Those of them whose layer's last call on the file by their thread was a seek.
    pub after_seek: u64,
    /// Strides below 0 by distance: [`trace_format::counters::SIZE_BOUNDS`].
    pub back: [u64; SIZE_BINS],
    /// Strides of 0.
    pub none: u64,
    /// Strides above 0, by distance.
    pub on: [u64; SIZE_BINS],
}

/// Reads and writes on record of one form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlignmentRow {
    /// Layer.
    pub layer: &'static str,
    /// Who made the calls: `program`, `HDF5`, `MPI-IO`.
    pub called_by: &'static str,
    /// How calls of MPI-IO were made; empty for others.
    pub form: &'static str,
    /// Calls on files whose alignment (stripe size, or preferred I/O size) is known.
    pub known: u64,
    /// Those of them that begin off a multiple of it.
    pub unaligned: u64,
}

/// Strides by layer and direction.
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

/// Alignment by form of call.
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
