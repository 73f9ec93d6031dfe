//! Wraps HDF5's file functions: H5Fopen, H5Fcreate, H5Fclose, H5Fflush and their asynchronous variants (HDF5 reference manual, H5F).
#![expect(unsafe_code, reason = "C functions")]

use super::{hooks, outermost};
use crate::handles::{self, Hdf5Id, Hdf5Object, PATH_BYTES};
use crate::hdf5::{Hid, Library};
use crate::ops::{HDF5_CLOSE, HDF5_CREATE, HDF5_OPEN, HDF5_SYNC, Op};
use crate::record::End;
use crate::registry::{File, Identity};
use std::ffi::{CStr, c_char, c_int, c_uint};

/// Returns the recorded file with the HDF5 file name `name`, by its canonical path.
pub(super) fn file_named(name: &CStr) -> Option<&'static File> {
    let mut path = [0; PATH_BYTES];
    let length = handles::canonical_path(name, &mut path);
    handles::file_of(&path[..length], Identity::default())
}

/// Returns the recorded file that contains the open HDF5 object `id`, by querying HDF5.
pub(super) fn file_of_object(library: &Library, id: Hid) -> Option<&'static File> {
    let mut name = [0_u8; PATH_BYTES];
    let length = library.file_name(id, &mut name).len();
    let name = CStr::from_bytes_until_nul(&name).ok().filter(|_| length > 0)?;
    file_named(name)
}

fn opening(library: &Library, op: &'static Op, name: *const c_char, call: impl FnOnce() -> Hid) -> Hid {
    let (id, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| id >= 0 && !name.is_null()) {
        done.then(|_, timer, end| {
            // SAFETY: the call succeeded, so the name is a string.
            let name = unsafe { CStr::from_ptr(name) };
            if let Some(file) = file_named(name) {
                Hdf5Id { library: library.id(), id }.remember(Hdf5Object::File(file));
                timer.finish(file, op, End::at(end));
            }
        });
    }
    id
}

fn closing(library: &Library, id: Hid, call: impl FnOnce() -> c_int) -> c_int {
    let object = Hdf5Id { library: library.id(), id };
    let (result, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| result >= 0) {
        done.then(|_, timer, end| {
            if let Some(Hdf5Object::File(file)) = object.find() {
                timer.finish(file, &HDF5_CLOSE, End::at(end));
            }
            object.forget();
        });
    }
    result
}

/// Runs and records `call`, which flushes the file of the HDF5 object `id`.
fn flushing(library: &Library, id: Hid, call: impl FnOnce() -> c_int) -> c_int {
    let (result, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| result >= 0) {
        done.then(|thread, timer, end| {
            let file = match (Hdf5Id { library: library.id(), id }).find() {
                Some(Hdf5Object::File(file)) => Some(file),
                Some(Hdf5Object::DataSet(set)) => Some(set.file),
                None => thread.while_asking(|| file_of_object(library, id)),
            };
            if let Some(file) = file {
                timer.finish(file, &HDF5_SYNC, End::at(end));
            }
        });
    }
    result
}

hooks! {
    H5Fopen(name: *const c_char, flags: c_uint, access: Hid) -> Hid
        = |library, real| opening(library, &HDF5_OPEN, name, real);
    H5Fcreate(name: *const c_char, flags: c_uint, creation: Hid, access: Hid) -> Hid
        = |library, real| opening(library, &HDF5_CREATE, name, real);
    H5Fclose(id: Hid) -> c_int = |library, real| closing(library, id, real);
    H5Fflush(id: Hid, scope: c_int) -> c_int = |library, real| flushing(library, id, real);
    /// Wraps H5Fopen_async (HDF5 1.14).
    H5Fopen_async(file: *const c_char, function: *const c_char, line: c_uint, name: *const c_char, flags: c_uint, access: Hid, events: Hid) -> Hid
        = |library, real| opening(library, &HDF5_OPEN, name, real);
    /// Wraps H5Fcreate_async (HDF5 1.14).
    H5Fcreate_async(file: *const c_char, function: *const c_char, line: c_uint, name: *const c_char, flags: c_uint, creation: Hid, access: Hid, events: Hid) -> Hid
        = |library, real| opening(library, &HDF5_CREATE, name, real);
    /// Wraps H5Fclose_async (HDF5 1.14).
    H5Fclose_async(file: *const c_char, function: *const c_char, line: c_uint, id: Hid, events: Hid) -> c_int
        = |library, real| closing(library, id, real);
    /// Wraps H5Fflush_async (HDF5 1.14).
    H5Fflush_async(file: *const c_char, function: *const c_char, line: c_uint, id: Hid, scope: c_int, events: Hid) -> c_int
        = |library, real| flushing(library, id, real);
}
