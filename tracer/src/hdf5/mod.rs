//! HDF5 libraries of the process: the copy that a caller uses, and queries to this copy. HDF5 is not needed at build time. Several copies
//! may be loaded at once (Python packages bring their own), so a call goes to the copy that its caller would use without the tracer.

mod calls;
#[cfg(not(dxt_static))]
mod dynamic;
#[cfg(dxt_static)]
#[path = "linked.rs"]
mod dynamic;
mod library;

pub(crate) use calls::{Hid, SPACE_ALL};
pub(crate) use library::{Function, Library, library_of};

/// Stores the return address of the wrapped HDF5 function that this thread has just entered. The function's first instructions call this.
pub(crate) extern "C" fn note_caller(address: usize) {
    crate::tls::current().hdf5_caller.set(address);
}
