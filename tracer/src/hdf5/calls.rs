//! Queries that the tracer makes to HDF5 after a successful call of the program. Each query is local to the process, moves no data, and
//! must not fail for its arguments: a failed query would print a message and leave an entry on the error stack.
#![expect(unsafe_code, reason = "C functions")]

use super::library::{Function, Library};
use std::ffi::{c_char, c_int, c_void};
use trace_format::meta::Selection;

/// Identifier of an HDF5 object (`hid_t` since HDF5 1.10). Older, narrower identifiers are passed on in a full register.
pub(crate) type Hid = i64;

/// HDF5 identifier `H5S_ALL`: the entire data space is selected.
pub(crate) const SPACE_ALL: Hid = 0;
/// Highest identifier that is a predefined constant (`H5S_BLOCK`, `H5S_PLIST` of HDF5 1.14) and not an HDF5 object.
const LAST_CONSTANT: Hid = 15;
/// Maximum number of dimensions of an HDF5 data space (`H5S_MAX_RANK`).
pub(crate) const MAX_RANK: usize = 32;
/// Type of a data set's identifier (`H5I_DATASET`).
const TYPE_DATA_SET: c_int = 5;
/// HDF5 transfer mode of collective I/O (`H5FD_MPIO_COLLECTIVE`).
const COLLECTIVE: c_int = 1;
/// Layout of a data set stored in chunks (`H5D_CHUNKED`).
const CHUNKED: c_int = 2;

/// Shape of an HDF5 data space, and type and size of the selection in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Type of selection (all, hyperslab, points, ...).
    pub(crate) selection: Selection,
    pub(crate) elements: u64,
    /// Number of dimensions of the data space (rank in the HDF5 sense).
    pub(crate) rank: usize,
    /// Size of each dimension of the data space, in elements.
    pub(crate) extent: [u64; MAX_RANK],
}

/// Shape of the chunks of an HDF5 data set, and the cache that HDF5 keeps for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    /// Number of dimensions of the data set's chunks (rank in the HDF5 sense).
    pub(crate) rank: usize,
    /// Size of a data set's chunk per dimension, in elements.
    pub(crate) shape: [u64; MAX_RANK],
    /// Size of HDF5's cache for the data set's chunks, in bytes; 0 if unknown.
    pub(crate) cache_bytes: u64,
}

macro_rules! calls {
    ($($method:ident = $function:ident ($($arg:ident : $type:ty),*) -> $ret:ty;)+) => {
        impl Library {
            $(
                fn $method(&self, $($arg: $type),*) -> $ret {
                    let address = self.address(Function::$function);
                    if address.is_null() {
                        return -1;
                    }
                    // SAFETY: the symbol of this name has this C type since HDF5 1.10.
                    let function = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $ret>(address)
                    };
                    // SAFETY: called with open identifiers and sufficiently large buffers.
                    unsafe { function($($arg),*) }
                }
            )+
        }
    };
}

calls! {
    h5i_get_type = H5Iget_type(id: Hid) -> c_int;
    h5i_get_name = H5Iget_name(id: Hid, name: *mut c_char, size: usize) -> isize;
    h5f_get_name = H5Fget_name(id: Hid, name: *mut c_char, size: usize) -> isize;
    h5d_get_space = H5Dget_space(id: Hid) -> Hid;
    h5d_get_type = H5Dget_type(id: Hid) -> Hid;
    h5t_get_size = H5Tget_size(id: Hid) -> isize;
    h5t_close = H5Tclose(id: Hid) -> c_int;
    h5s_close = H5Sclose(id: Hid) -> c_int;
    h5s_get_select_type = H5Sget_select_type(id: Hid) -> c_int;
    h5s_get_select_npoints = H5Sget_select_npoints(id: Hid) -> i64;
    h5s_is_regular_hyperslab = H5Sis_regular_hyperslab(id: Hid) -> c_int;
    h5s_get_simple_extent_ndims = H5Sget_simple_extent_ndims(id: Hid) -> c_int;
    h5s_get_simple_extent_dims = H5Sget_simple_extent_dims(id: Hid, dims: *mut u64, most: *mut u64) -> c_int;
    h5s_get_simple_extent_npoints = H5Sget_simple_extent_npoints(id: Hid) -> i64;
    h5p_get_dxpl_mpio = H5Pget_dxpl_mpio(id: Hid, mode: *mut c_int) -> c_int;
    h5d_get_create_plist = H5Dget_create_plist(id: Hid) -> Hid;
    h5d_get_access_plist = H5Dget_access_plist(id: Hid) -> Hid;
    h5p_get_layout = H5Pget_layout(id: Hid) -> c_int;
    h5p_get_chunk = H5Pget_chunk(id: Hid, most: c_int, shape: *mut u64) -> c_int;
    h5p_get_chunk_cache = H5Pget_chunk_cache(id: Hid, slots: *mut usize, bytes: *mut usize, preemption: *mut f64) -> c_int;
    h5p_close = H5Pclose(id: Hid) -> c_int;
}

impl Library {
    pub(crate) fn is_data_set(&self, id: Hid) -> bool {
        self.h5i_get_type(id) == TYPE_DATA_SET
    }

    /// Writes the path of an HDF5 object (such as a data set) inside its file to `buffer` and returns the path; empty if the object has no
    /// path.
    pub(crate) fn path_inside<'a>(&self, id: Hid, buffer: &'a mut [u8]) -> &'a [u8] {
        let length = self.h5i_get_name(id, buffer.as_mut_ptr().cast(), buffer.len());
        text(buffer, length)
    }

    /// Writes the name under which the file of an HDF5 object was opened to `buffer` and returns the name.
    pub(crate) fn file_name<'a>(&self, id: Hid, buffer: &'a mut [u8]) -> &'a [u8] {
        let length = self.h5f_get_name(id, buffer.as_mut_ptr().cast(), buffer.len());
        text(buffer, length)
    }

    /// Returns the size of a data set's element as stored in the file, in bytes; 0 if unknown.
    pub(crate) fn element_bytes(&self, data_set: Hid) -> u32 {
        let datatype = self.h5d_get_type(data_set);
        if datatype < 0 {
            return 0;
        }
        let size = self.type_bytes(datatype);
        self.h5t_close(datatype);
        size
    }

    /// Returns the size of an element of `datatype`, in bytes; 0 if unknown.
    pub(crate) fn type_bytes(&self, datatype: Hid) -> u32 {
        if datatype <= LAST_CONSTANT { 0 } else { u32::try_from(self.h5t_get_size(datatype)).unwrap_or(0) }
    }

    /// Returns the shape of an entire HDF5 data set, with all elements selected.
    pub(crate) fn whole(&self, data_set: Hid) -> Option<Shape> {
        let space = self.h5d_get_space(data_set);
        if space < 0 {
            return None;
        }
        let elements = u64::try_from(self.h5s_get_simple_extent_npoints(space)).unwrap_or(0);
        let shape = self.extent(space, Selection::All, elements);
        self.h5s_close(space);
        Some(shape)
    }

    /// Returns the shape of the selection `space`; `None` for a constant that only HDF5 can interpret.
    pub(crate) fn selected(&self, space: Hid) -> Option<Shape> {
        if space <= LAST_CONSTANT {
            return None;
        }
        let selection = match self.h5s_get_select_type(space) {
            0 => Selection::None,
            1 => Selection::Points,
            2 if self.h5s_is_regular_hyperslab(space) > 0 => Selection::RegularHyperslab,
            2 => Selection::IrregularHyperslab,
            3 => Selection::All,
            _ => Selection::Other,
        };
        let elements = u64::try_from(self.h5s_get_select_npoints(space)).unwrap_or(0);
        Some(self.extent(space, selection, elements))
    }

    /// Returns the chunk shape of a data set and the size of its chunk cache; with 0 dimensions if the data set is not stored in chunks,
    /// and `None` if the query fails.
    pub(crate) fn chunks(&self, data_set: Hid) -> Option<Chunks> {
        let mut chunks = Chunks { rank: 0, shape: [0; MAX_RANK], cache_bytes: 0 };
        let creation = self.h5d_get_create_plist(data_set);
        if creation < 0 {
            return None;
        }
        let layout = self.h5p_get_layout(creation);
        let rank = match layout {
            CHUNKED => self.h5p_get_chunk(creation, MAX_RANK as c_int, chunks.shape.as_mut_ptr()),
            _ => layout.min(0),
        };
        self.h5p_close(creation);
        chunks.rank = usize::try_from(rank).ok()?.min(MAX_RANK);
        if chunks.rank == 0 {
            return Some(chunks);
        }
        let access = self.h5d_get_access_plist(data_set);
        if access >= 0 {
            let mut bytes = 0_usize;
            if self.h5p_get_chunk_cache(access, std::ptr::null_mut(), &raw mut bytes, std::ptr::null_mut()) >= 0 {
                chunks.cache_bytes = bytes as u64;
            }
            self.h5p_close(access);
        }
        Some(chunks)
    }

    fn extent(&self, space: Hid, selection: Selection, elements: u64) -> Shape {
        let mut shape = Shape { selection, elements, rank: 0, extent: [0; MAX_RANK] };
        let rank = usize::try_from(self.h5s_get_simple_extent_ndims(space)).unwrap_or(0);
        if (1..=MAX_RANK).contains(&rank) {
            self.h5s_get_simple_extent_dims(space, shape.extent.as_mut_ptr(), std::ptr::null_mut());
            shape.rank = rank;
        }
        shape
    }

    /// True if a transfer with this property list is collective; always false if HDF5 was built without MPI.
    pub(crate) fn is_collective(&self, properties: Hid) -> bool {
        let mut mode = 0;
        properties > LAST_CONSTANT && self.h5p_get_dxpl_mpio(properties, &raw mut mode) >= 0 && mode == COLLECTIVE
    }
}

/// Returns the string of `length` bytes that HDF5 wrote to `buffer`; a longer string was truncated and ends in NUL.
fn text(buffer: &[u8], length: isize) -> &[u8] {
    let length = usize::try_from(length).unwrap_or(0).min(buffer.len().saturating_sub(1));
    let bytes = &buffer[..length];
    &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(length)]
}
