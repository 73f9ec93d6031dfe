//! The HDF5 libraries of the process: which one a caller means, and what is asked of it. Nothing of HDF5 is needed at build
//! time. Several copies may be loaded at once (Python packages bring their own), so a call goes to the copy that the
//! dynamic linker would have bound the caller to.

mod calls;
mod dynamic;
mod library;

pub(crate) use calls::{Hid, SPACE_ALL};
pub(crate) use dynamic::note_caller;
pub(crate) use library::{Function, Library, library_of};
