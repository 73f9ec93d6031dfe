//! What the program holds: descriptors (and the open file descriptions behind them) and MPI files. Hooks ask here which
//! file a handle stands for and where its position is.

mod description;
mod descriptors;
pub(crate) mod mappings;
mod mpi_files;
mod names;
pub(crate) mod pending;
mod resolve;

pub(crate) use description::Description;
pub(crate) use descriptors::{after_fork, duplicate, forget, forget_range, prepare, take};
pub(crate) use mpi_files::{MpiFile, add as add_mpi_file, find as find_mpi_file, remove as remove_mpi_file};
pub(crate) use names::{failed_name, named};
pub(crate) use resolve::{NOT_RECORDED, PATH_BYTES, canonical_path, descriptor, file_of, opened};
