//! Wraps functions that open, create and close data sets (HDF5 reference manual, H5D and H5O). A data set's properties are queried once.
#![expect(unsafe_code, reason = "C functions")]

use super::files::file_of_object;
use super::{hooks, outermost};
use crate::handles::{self, Hdf5Id, Hdf5Object, PATH_BYTES};
use crate::hdf5::{Hid, Library};
use crate::ops::{HDF5_CLOSE, HDF5_CLOSE_DATA_SET, HDF5_CREATE_DATA_SET, HDF5_OPEN_DATA_SET, Op};
use crate::record::End;
use crate::registry::{self, DataSet};
use crate::{mpi, tls};
use std::ffi::{CStr, c_char, c_int, c_uint};

/// State of a data set just opened: determines what HDF5 can be asked about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    /// The HDF5 data set is open, and HDF5 knows its path.
    Named,
    /// The HDF5 data set is open, but has no path yet.
    Nameless,
    /// The data set is opened asynchronously: it may be open only once the operations in the event set `events` are complete, and a query
    /// might wait for them too. `datatype` and `space` are those of a data set being created, else 0.
    Later { events: Hid, datatype: Hid, space: Hid },
}

/// Registers the data set with identifier `id` and all properties that HDF5 reports. `named`: true if HDF5 knows its path. `opened`: end
/// time of the call that opened it, in clock ticks. The caller must have turned off the recording of HDF5 calls, since this function makes
/// some.
fn learn(library: &Library, id: Hid, named: bool, opened: Option<u64>) -> Option<&'static DataSet> {
    let file = file_of_object(library, id)?;
    let mut path = [0; PATH_BYTES];
    let path = if named { library.path_inside(id, &mut path) } else { &[] };
    let set = registry::data_set(file, path)?;
    set.set_element_bytes(library.element_bytes(id));
    if let Some(shape) = library.whole(id) {
        set.set_extent(&shape.extent[..shape.rank]);
        if let Some(end) = opened.or((!set.has_shape()).then_some(0)) {
            set.set_opened(end, shape.rank, shape.elements);
        }
    }
    if let Some(chunks) = library.chunks(id) {
        set.set_chunks(&chunks.shape[..chunks.rank], chunks.cache_bytes);
    }
    Hdf5Id { library: library.id(), id }.remember(Hdf5Object::DataSet(set));
    Some(set)
}

/// Returns the data set with identifier `id`, even if a function that is not wrapped opened it. HDF5 may have to search the file for the
/// path of a data set; the path is not queried if the search might be a collective operation.
pub(super) fn data_set(library: &Library, id: Hid) -> Option<&'static DataSet> {
    match (Hdf5Id { library: library.id(), id }).find() {
        Some(Hdf5Object::DataSet(set)) => Some(set),
        Some(Hdf5Object::File(_)) => None,
        None => tls::current().while_asking(|| learn(library, id, mpi::active().is_none(), None)),
    }
}

/// Registers a data set that is opened asynchronously, under the name that the caller passed.
fn expected(library: &Library, id: Hid, location: Hid, name: *const c_char) -> Option<&'static DataSet> {
    let (file, group) = match (Hdf5Id { library: library.id(), id: location }).find()? {
        Hdf5Object::File(file) => (file, b"/"),
        Hdf5Object::DataSet(_) => return None,
    };
    // SAFETY: HDF5 has accepted the pointer as a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let mut path = [0; PATH_BYTES];
    let slash = usize::from(!name.starts_with(group));
    path[0] = b'/';
    path.get_mut(slash..slash + name.len())?.copy_from_slice(name);
    let set = registry::data_set(file, &path[..slash + name.len()])?;
    Hdf5Id { library: library.id(), id }.remember(Hdf5Object::DataSet(set));
    Some(set)
}

/// Registers the properties of a data set that is being created with this datatype and space; each is 0 if unknown. `end`: end time of the
/// creating call, in clock ticks.
fn learn_as_made(library: &Library, set: &DataSet, datatype: Hid, space: Hid, end: u64) {
    if datatype != 0 {
        set.set_element_bytes(library.type_bytes(datatype));
    }
    if let Some(shape) = library.selected(space) {
        let extent = &shape.extent[..shape.rank];
        set.set_extent(extent);
        // The selection may cover only part of the space; a space without dimensions has one element or none.
        let elements =
            if extent.is_empty() { shape.elements } else { extent.iter().copied().fold(1, u64::saturating_mul) };
        set.set_opened(end, shape.rank, elements);
    }
}

fn opening(
    library: &Library,
    op: &'static Op,
    opened: Opened,
    (location, name): (Hid, *const c_char),
    call: impl FnOnce() -> Hid,
) -> Hid {
    let (id, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| id >= 0) {
        done.then(|thread, timer, end| {
            let set = match opened {
                Opened::Later { events, datatype, space } if events != 0 && !name.is_null() => {
                    let set = expected(library, id, location, name);
                    if let Some(set) = set {
                        thread.while_asking(|| learn_as_made(library, set, datatype, space, end));
                    }
                    set
                }
                Opened::Later { .. } | Opened::Named => thread.while_asking(|| learn(library, id, true, Some(end))),
                Opened::Nameless => thread.while_asking(|| learn(library, id, false, Some(end))),
            };
            if let Some(set) = set {
                timer.end_on(end, set, op, None);
            }
            if opened == Opened::Nameless {
                // The data set may have a path by the time of its first transfer, so that it is queried again.
                Hdf5Id { library: library.id(), id }.forget();
            }
        });
    }
    id
}

/// Runs H5Oopen, which may also open a group or a datatype, and registers the object if it is a data set.
fn opening_object(library: &Library, call: impl FnOnce() -> Hid) -> Hid {
    let (id, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| id >= 0) {
        done.then(|thread, timer, end| {
            let learnt = || if library.is_data_set(id) { learn(library, id, true, Some(end)) } else { None };
            if let Some(set) = thread.while_asking(learnt) {
                timer.end_on(end, set, &HDF5_OPEN_DATA_SET, None);
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
            if let Some(Hdf5Object::DataSet(set)) = object.find() {
                timer.end_on(end, set, &HDF5_CLOSE_DATA_SET, None);
                object.forget();
            }
        });
    }
    result
}

/// Runs a call that releases one reference to any HDF5 object, which closes the object if it was the last one (h5py closes this way).
fn giving_up(library: &Library, id: Hid, call: impl FnOnce() -> c_int) -> c_int {
    let object = Hdf5Id { library: library.id(), id };
    let (left, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| left == 0) {
        done.then(|_, timer, end| {
            match object.find() {
                Some(Hdf5Object::DataSet(set)) => timer.end_on(end, set, &HDF5_CLOSE_DATA_SET, None),
                Some(Hdf5Object::File(file)) => timer.finish(file, &HDF5_CLOSE, End::at(end)),
                None => return,
            }
            object.forget();
        });
    }
    left
}

/// Runs `call`, which is H5close, and empties the cache of identifiers: HDF5 then starts afresh and issues the same identifiers for other
/// files and data sets.
fn ending(library: &Library, call: impl FnOnce() -> c_int) -> c_int {
    let (result, done) = outermost(library, call);
    handles::forget_hdf5_objects();
    if let Some(done) = done {
        done.then(|_, _, _| {});
    }
    result
}

hooks! {
    /// Wraps H5Dopen of HDF5 1.6, which libraries still export.
    H5Dopen1(location: Hid, name: *const c_char) -> Hid
        = |library, real| opening(library, &HDF5_OPEN_DATA_SET, Opened::Named, (location, name), real);
    /// Wraps H5Dopen of HDF5 1.8 and later.
    H5Dopen2(location: Hid, name: *const c_char, access: Hid) -> Hid
        = |library, real| opening(library, &HDF5_OPEN_DATA_SET, Opened::Named, (location, name), real);
    /// Wraps H5Dcreate of HDF5 1.6 (create a data set), which libraries still export.
    H5Dcreate1(location: Hid, name: *const c_char, datatype: Hid, space: Hid, creation: Hid) -> Hid
        = |library, real| opening(library, &HDF5_CREATE_DATA_SET, Opened::Named, (location, name), real);
    /// Wraps H5Dcreate of HDF5 1.8 and later.
    H5Dcreate2(location: Hid, name: *const c_char, datatype: Hid, space: Hid, link: Hid, creation: Hid, access: Hid) -> Hid
        = |library, real| {
            let opened = if name.is_null() { Opened::Nameless } else { Opened::Named };
            opening(library, &HDF5_CREATE_DATA_SET, opened, (location, name), real)
        };
    /// Wraps H5Dcreate_anon. The data set has no path until H5Olink gives it one.
    H5Dcreate_anon(location: Hid, datatype: Hid, space: Hid, creation: Hid, access: Hid) -> Hid
        = |library, real| opening(library, &HDF5_CREATE_DATA_SET, Opened::Nameless, (location, std::ptr::null()), real);
    H5Dclose(id: Hid) -> c_int = |library, real| closing(library, id, real);
    /// Wraps H5Oopen, which is recorded if it opens a data set.
    H5Oopen(location: Hid, name: *const c_char, access: Hid) -> Hid = |library, real| opening_object(library, real);
    /// Wraps H5Oclose, which is recorded if it closes a data set.
    H5Oclose(id: Hid) -> c_int = |library, real| closing(library, id, real);
    /// Wraps H5Idec_ref, which is recorded if it closes a file or a data set.
    H5Idec_ref(id: Hid) -> c_int = |library, real| giving_up(library, id, real);
    H5close() -> c_int = |library, real| ending(library, real);
    /// Wraps H5Dopen_async (HDF5 1.14).
    H5Dopen_async(file: *const c_char, function: *const c_char, line: c_uint, location: Hid, name: *const c_char, access: Hid, events: Hid) -> Hid
        = |library, real| opening(library, &HDF5_OPEN_DATA_SET, Opened::Later { events, datatype: 0, space: 0 }, (location, name), real);
    /// Wraps H5Dcreate_async (HDF5 1.14).
    H5Dcreate_async(file: *const c_char, function: *const c_char, line: c_uint, location: Hid, name: *const c_char, datatype: Hid, space: Hid, link: Hid, creation: Hid, access: Hid, events: Hid) -> Hid
        = |library, real| opening(library, &HDF5_CREATE_DATA_SET, Opened::Later { events, datatype, space }, (location, name), real);
    /// Wraps H5Dclose_async (HDF5 1.14).
    H5Dclose_async(file: *const c_char, function: *const c_char, line: c_uint, id: Hid, events: Hid) -> c_int
        = |library, real| closing(library, id, real);
}
