//! Handles of the program (descriptors, open file descriptions, MPI files, ...): finds the file of a handle, and its file position.

mod canonical_name;
mod description;
mod descriptors;
mod hdf5_objects;
mod manner;
pub(crate) mod mappings;
mod mpi_files;
mod mpi_requests;
mod names;
mod paths;
pub(crate) mod pending;
mod resolve;
pub(crate) mod rings;
mod stream;
mod tables;
mod target;

pub(crate) use canonical_name::{
    Asked, changed as names_changed, differ as names_differ, do_without_openat2, has_children,
};
pub(crate) use description::{Description, Mover, Placed, doubt_positions};
pub(crate) use descriptors::{
    Taken, after_fork, duplicate, forget, in_child, known_description, prepare, take, take_range, take_to_book,
};
pub(crate) use hdf5_objects::{Hdf5Id, Hdf5Object, forget_all as forget_hdf5_objects};
pub(crate) use manner::Manner;
pub(crate) use mpi_files::{MpiFile, add as add_mpi_file, find as find_mpi_file, remove as remove_mpi_file};
pub(crate) use mpi_requests::{Held, MpiRequest, Submitted, add as add_mpi_request, none as no_mpi_requests};
pub(crate) use names::{failed_canonical, failed_name, hash_of_new_name, named};
pub(crate) use resolve::{
    Opened, PATH_BYTES, canonical_path, descriptor, file_of, opened, read_layouts_again, real_path,
};
pub(crate) use stream::{Marks, Trust};
pub(crate) use tables::{
    are_lost as tables_are_lost, is_only_thread, is_own as has_own_table, now_differ as tables_differ, unshared,
};
pub(crate) use target::{Sent, Since, Target, Used};
