//! Wraps MPI functions under both their MPI_ and PMPI_ names, since language bindings use one or the other. A call is recorded once,
//! because MPI calls made inside an MPI call are not recorded. Handles are passed on unchanged, as values of register width.

mod collectives;
mod completion;
mod data;
mod extent;
mod files;
mod hints;
mod init_finalize;
mod narrow;
mod nonblocking;
mod positions;
mod split;
mod sync_points;

use crate::real::Slot;

/// Tables of the wrapped MPI functions that every MPI library has.
pub(super) const FAMILIES: [&[&Slot]; 9] = [
    init_finalize::LIFE,
    files::FILES,
    positions::POSITIONS,
    data::DATA,
    nonblocking::NONBLOCKING,
    completion::COMPLETION,
    split::SPLIT,
    collectives::COLLECTIVES,
    sync_points::SYNC_POINTS,
];

/// Groups of tables of MPI 4.0's functions with 64-bit counts (MPI_..._c). A library has either all functions of a group or none. If an
/// older library lacks a group, its functions are not resolved, and a call to one of them returns MPI_ERR_OTHER.
pub(super) const LARGE: [&[&[&Slot]]; 2] =
    [&[data::large::DATA, nonblocking::large::NONBLOCKING, split::large::SPLIT], &[collectives::large::COLLECTIVES]];
