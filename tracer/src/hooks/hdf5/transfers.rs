//! Wraps H5Dread, H5Dwrite and their variants for several data sets and for asynchronous transfers (HDF5 reference manual, H5D). Segment
//! length = selected elements × element size in the file, i.e. the request before compression and chunking. A segment has no offset; the
//! nested MPI-IO or POSIX calls have the file offsets.
#![expect(unsafe_code, reason = "C functions")]

use super::data_sets::data_set;
use super::{hooks, outermost};
use crate::hdf5::{Hid, Library, SPACE_ALL};
use crate::ops::{
    HDF5_READ, HDF5_READ_ALL, HDF5_READ_ASYNC, HDF5_READ_ASYNC_ALL, HDF5_READ_MULTI, HDF5_READ_MULTI_ALL, HDF5_WRITE,
    HDF5_WRITE_ALL, HDF5_WRITE_ASYNC, HDF5_WRITE_ASYNC_ALL, HDF5_WRITE_MULTI, HDF5_WRITE_MULTI_ALL, Op,
};
use crate::registry::{DataSet, Transfer};
use std::ffi::{c_char, c_int, c_uint, c_void};
use trace_format::meta::Selection;

/// Operations as which an HDF5 function is recorded: [independent transfer, collective transfer].
type Forms = [&'static Op; 2];

const READ: Forms = [&HDF5_READ, &HDF5_READ_ALL];
const WRITE: Forms = [&HDF5_WRITE, &HDF5_WRITE_ALL];
const READ_MULTI: Forms = [&HDF5_READ_MULTI, &HDF5_READ_MULTI_ALL];
const WRITE_MULTI: Forms = [&HDF5_WRITE_MULTI, &HDF5_WRITE_MULTI_ALL];
const READ_ASYNC: Forms = [&HDF5_READ_ASYNC, &HDF5_READ_ASYNC_ALL];
const WRITE_ASYNC: Forms = [&HDF5_WRITE_ASYNC, &HDF5_WRITE_ASYNC_ALL];

/// Arguments of an HDF5 transfer for one data set.
#[derive(Clone, Copy)]
struct Part {
    data_set: Hid,
    memory_type: Hid,
    memory_space: Hid,
    file_space: Hid,
}

/// Argument arrays of an HDF5 call that transfers several data sets.
#[derive(Clone, Copy)]
struct Lists {
    count: usize,
    data_sets: *const Hid,
    memory_types: *const Hid,
    memory_spaces: *const Hid,
    file_spaces: *const Hid,
}

impl Lists {
    fn parts(self) -> impl Iterator<Item = Part> {
        let lists = [self.data_sets, self.memory_types, self.memory_spaces, self.file_spaces];
        let count = if lists.iter().any(|list| list.is_null()) { 0 } else { self.count };
        (0..count).map(move |index| {
            // SAFETY: HDF5 has just read `count` identifiers of each list.
            let [data_set, memory_type, memory_space, file_space] =
                lists.map(|list| unsafe { list.wrapping_add(index).read() });
            Part { data_set, memory_type, memory_space, file_space }
        })
    }
}

impl Part {
    /// Returns the elements and bytes transferred. `background`: true for an asynchronous transfer; HDF5 is then not queried about the data
    /// set, since the query would wait for the transfer.
    fn transfer(self, library: &Library, set: &DataSet, background: bool) -> Transfer {
        let shape = match self.file_space {
            SPACE_ALL if background => None,
            SPACE_ALL => library.whole(self.data_set),
            space => library.selected(space),
        };
        let element_bytes = match set.element_bytes() {
            0 => library.type_bytes(self.memory_type),
            bytes => bytes,
        };
        let (selection, elements) = match shape {
            Some(shape) => {
                set.set_extent(&shape.extent[..shape.rank]);
                (shape.selection, shape.elements)
            }
            // Use the whole extent if known, else the extent of the memory space.
            None if self.file_space == SPACE_ALL && set.element_bytes() != 0 => {
                (Selection::All, set.extent().fold(1, u64::saturating_mul))
            }
            None => {
                let selection = if self.file_space == SPACE_ALL { Selection::All } else { Selection::Other };
                (selection, library.selected(self.memory_space).map_or(0, |shape| shape.elements))
            }
        };
        Transfer { selection, elements, bytes: elements.saturating_mul(element_bytes.into()) }
    }
}

fn transferring(
    library: &Library,
    forms: Forms,
    properties: Hid,
    events: Hid,
    parts: impl IntoIterator<Item = Part>,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let (result, done) = outermost(library, call);
    if let Some(done) = done.filter(|_| result >= 0) {
        done.then(|thread, timer, end| {
            let collective = thread.while_asking(|| library.is_collective(properties));
            let op = forms[usize::from(collective)];
            for part in parts {
                let Some(set) = data_set(library, part.data_set) else { continue };
                let transfer = thread.while_asking(|| part.transfer(library, set, events != 0));
                timer.again().end_on(end, set, op, Some(transfer));
            }
        });
    }
    result
}

hooks! {
    H5Dread(data_set: Hid, memory_type: Hid, memory_space: Hid, file_space: Hid, properties: Hid, buffer: *mut c_void) -> c_int
        = |library, real| transferring(library, READ, properties, 0, [Part { data_set, memory_type, memory_space, file_space }], real);
    H5Dwrite(data_set: Hid, memory_type: Hid, memory_space: Hid, file_space: Hid, properties: Hid, buffer: *const c_void) -> c_int
        = |library, real| transferring(library, WRITE, properties, 0, [Part { data_set, memory_type, memory_space, file_space }], real);
    /// Wraps H5Dread_multi (HDF5 1.14), recorded as one segment per data set, each with the duration of the whole call.
    H5Dread_multi(count: usize, data_sets: *const Hid, memory_types: *const Hid, memory_spaces: *const Hid, file_spaces: *const Hid, properties: Hid, buffers: *mut *mut c_void) -> c_int
        = |library, real| {
            let lists = Lists { count, data_sets, memory_types, memory_spaces, file_spaces };
            transferring(library, READ_MULTI, properties, 0, lists.parts(), real)
        };
    /// Wraps H5Dwrite_multi (HDF5 1.14), recorded as one segment per data set, each with the duration of the whole call.
    H5Dwrite_multi(count: usize, data_sets: *const Hid, memory_types: *const Hid, memory_spaces: *const Hid, file_spaces: *const Hid, properties: Hid, buffers: *const *const c_void) -> c_int
        = |library, real| {
            let lists = Lists { count, data_sets, memory_types, memory_spaces, file_spaces };
            transferring(library, WRITE_MULTI, properties, 0, lists.parts(), real)
        };
    /// Wraps H5Dread_async (HDF5 1.14). The segment covers only the call; the transfer may continue afterwards.
    H5Dread_async(file: *const c_char, function: *const c_char, line: c_uint, data_set: Hid, memory_type: Hid, memory_space: Hid, file_space: Hid, properties: Hid, buffer: *mut c_void, events: Hid) -> c_int
        = |library, real| transferring(library, READ_ASYNC, properties, events, [Part { data_set, memory_type, memory_space, file_space }], real);
    /// Wraps H5Dwrite_async (HDF5 1.14). The segment covers only the call; the transfer may continue afterwards.
    H5Dwrite_async(file: *const c_char, function: *const c_char, line: c_uint, data_set: Hid, memory_type: Hid, memory_space: Hid, file_space: Hid, properties: Hid, buffer: *const c_void, events: Hid) -> c_int
        = |library, real| transferring(library, WRITE_ASYNC, properties, events, [Part { data_set, memory_type, memory_space, file_space }], real);
    /// Wraps H5Dread_multi_async (HDF5 1.14).
    H5Dread_multi_async(file: *const c_char, function: *const c_char, line: c_uint, count: usize, data_sets: *const Hid, memory_types: *const Hid, memory_spaces: *const Hid, file_spaces: *const Hid, properties: Hid, buffers: *mut *mut c_void, events: Hid) -> c_int
        = |library, real| {
            let lists = Lists { count, data_sets, memory_types, memory_spaces, file_spaces };
            transferring(library, READ_ASYNC, properties, events, lists.parts(), real)
        };
    /// Wraps H5Dwrite_multi_async (HDF5 1.14).
    H5Dwrite_multi_async(file: *const c_char, function: *const c_char, line: c_uint, count: usize, data_sets: *const Hid, memory_types: *const Hid, memory_spaces: *const Hid, file_spaces: *const Hid, properties: Hid, buffers: *const *const c_void, events: Hid) -> c_int
        = |library, real| {
            let lists = Lists { count, data_sets, memory_types, memory_spaces, file_spaces };
            transferring(library, WRITE_ASYNC, properties, events, lists.parts(), real)
        };
}
