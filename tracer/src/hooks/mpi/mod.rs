//! MPI functions, under both their MPI_ and PMPI_ names: language bindings use one or the other. A call is counted once, since calls
//! inside an MPI call pass through. Handles are passed on unchanged, as wide as a register.

mod collectives;
mod completion;
mod data;
mod extent;
mod files;
mod hints;
mod large;
mod large_collectives;
mod life;
mod meetings;
mod nonblocking;
mod positions;
mod split;

use crate::real::Slot;

/// Slots of functions that every MPI library has.
pub(super) const FAMILIES: [&[&Slot]; 9] = [
    life::LIFE,
    files::FILES,
    positions::POSITIONS,
    data::DATA,
    nonblocking::NONBLOCKING,
    completion::COMPLETION,
    split::SPLIT,
    collectives::COLLECTIVES,
    meetings::MEETINGS,
];

/// Slots of MPI 4.0 functions; within a family either all or none exist.
pub(super) const LARGE: [&[&Slot]; 2] = [large::LARGE, large_collectives::LARGE_COLLECTIVES];
