//! MPI functions, under both their MPI_ and PMPI_ names: language bindings use one or the other. A call counts once,
//! since calls made inside an MPI call pass through. Handles are passed on as they came, as wide as a register.

mod data;
mod files;
mod life;

pub(super) use data::DATA;
pub(super) use files::FILES;
pub(super) use life::LIFE;
