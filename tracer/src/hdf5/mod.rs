//! HDF5 libraries of the process: which copy a caller uses, and queries to it. Nothing of HDF5 is needed at build time. Several copies may
//! be loaded at once (Python packages bring their own), so a call goes to the copy to which the dynamic linker would have bound the caller.

mod calls;
#[cfg(not(dxt_static))]
mod dynamic;
#[cfg(dxt_static)]
#[path = "linked.rs"]
mod dynamic;
mod library;

pub(crate) use calls::{Hid, SPACE_ALL};
pub(crate) use library::{Function, Library, library_of};

/// Remembers the return address of the wrapped function just entered on this thread. Called by its first instructions, before other code.
pub(crate) extern "C" fn note_caller(address: usize) {
    crate::tls::current().hdf5_caller.set(address);
}
