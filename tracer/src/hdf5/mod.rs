//! The HDF5 libraries of the process: which one a caller means, and what is asked of it. Nothing of HDF5 is needed at build
//! time. Several copies may be loaded at once (Python packages bring their own), so a call goes to the copy that the
//! dynamic linker would have bound the caller to.

mod calls;
#[cfg(not(dxt_static))]
mod dynamic;
#[cfg(dxt_static)]
#[path = "linked.rs"]
mod dynamic;
mod library;

pub(crate) use calls::{Hid, SPACE_ALL};
pub(crate) use library::{Function, Library, library_of};

/// Remembers the return address of the wrapped function that this thread has just entered. Called by its first
/// instructions, before anything else of it runs.
pub(crate) extern "C" fn note_caller(address: usize) {
    crate::tls::current().hdf5_caller.set(address);
}
