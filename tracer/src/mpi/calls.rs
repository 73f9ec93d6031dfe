//! MPI functions that the tracer itself calls, by their PMPI_ names (MPI 4.0, chapter 15), so that no tool records the calls.
#![expect(unsafe_code, reason = "C functions")]
#![expect(clippy::too_many_arguments, reason = "MPI_Reduce takes seven")]

use crate::real::{Slot, called, next};
use std::ffi::{c_char, c_int, c_void};

/// MPI handle: a pointer or an integer, as wide as a register.
pub(crate) type Handle = usize;

/// Return code `MPI_SUCCESS`: 0 in every implementation (MPI 4.0, 9.4).
pub(crate) const SUCCESS: c_int = 0;

/// True if the program was linked with the MPI library, directly or through other libraries.
pub(crate) fn is_linked() -> bool {
    !next!("PMPI_Init").is_null()
}

macro_rules! functions {
    ($($(#[$doc:meta])* $method:ident = $symbol:literal ($($arg:ident : $type:ty),*);)+) => {
        /// MPI functions that the tracer calls, resolved in the loaded MPI library.
        pub(crate) struct Api {
            $($method: Slot,)+
        }

        static API: Api = Api {
            $($method: called!($symbol),)+
        };

        impl Api {
            $(
                $(#[$doc])*
                pub(crate) fn $method(&self, $($arg: $type),*) -> c_int {
                    let address = self.$method.address();
                    if address.is_null() {
                        return -1;
                    }
                    // SAFETY: the symbol has this C type (MPI 4.0, appendix A.3).
                    let function = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address)
                    };
                    // SAFETY: called between MPI_Init and MPI_Finalize with handles of this library and live buffers.
                    unsafe { function($($arg),*) }
                }
            )+
        }
    };
}

functions! {
    comm_rank = "PMPI_Comm_rank"(comm: Handle, rank: *mut c_int);
    comm_size = "PMPI_Comm_size"(comm: Handle, size: *mut c_int);
    comm_test_inter = "PMPI_Comm_test_inter"(comm: Handle, is_inter: *mut c_int);
    comm_remote_size = "PMPI_Comm_remote_size"(comm: Handle, size: *mut c_int);
    comm_call_errhandler = "PMPI_Comm_call_errhandler"(comm: Handle, code: c_int);
    comm_group = "PMPI_Comm_group"(comm: Handle, group: *mut Handle);
    group_translate_ranks = "PMPI_Group_translate_ranks"(group: Handle, count: c_int, ranks: *const c_int, to: Handle, there: *mut c_int);
    group_free = "PMPI_Group_free"(group: *mut Handle);
    barrier = "PMPI_Barrier"(comm: Handle);
    bcast = "PMPI_Bcast"(buffer: *mut c_void, count: c_int, datatype: Handle, root: c_int, comm: Handle);
    exscan = "PMPI_Exscan"(send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle);
    allreduce = "PMPI_Allreduce"(send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, comm: Handle);
    reduce = "PMPI_Reduce"(send: *const c_void, receive: *mut c_void, count: c_int, datatype: Handle, op: Handle, root: c_int, comm: Handle);
    /// Creates a reduction operator; `function` is the address of an MPI_User_function.
    op_create = "PMPI_Op_create"(function: *const c_void, commutes: c_int, op: *mut Handle);
    op_free = "PMPI_Op_free"(op: *mut Handle);
    /// Calls MPI_Type_contiguous. If handles are `int`, only the low half of `datatype` is written.
    type_contiguous = "PMPI_Type_contiguous"(count: c_int, of: Handle, datatype: *mut Handle);
    type_commit = "PMPI_Type_commit"(datatype: *mut Handle);
    type_free = "PMPI_Type_free"(datatype: *mut Handle);
    library_version = "PMPI_Get_library_version"(text: *mut c_char, length: *mut c_int);
    get_elements = "PMPI_Get_elements_x"(status: *const c_void, datatype: Handle, count: *mut i64);
    type_size = "PMPI_Type_size_x"(datatype: Handle, size: *mut i64);
    /// Queries lower bound and extent of a datatype, as 64-bit numbers (MPI 3.0).
    type_get_extent = "PMPI_Type_get_extent_x"(datatype: Handle, lower_bound: *mut i64, extent: *mut i64);
    error_class = "PMPI_Error_class"(code: c_int, class: *mut c_int);
    type_get_envelope = "PMPI_Type_get_envelope"(datatype: Handle, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int, combiner: *mut c_int);
    /// Queries with which constructor and how many arguments a datatype was made (MPI 4.0).
    type_get_envelope_c = "PMPI_Type_get_envelope_c"(datatype: Handle, integers: *mut i64, addresses: *mut i64, counts: *mut i64, types: *mut i64, combiner: *mut c_int);
    /// Calls MPI_Type_get_contents. If handles are `int`, only the low half of `to_types` is written.
    type_get_contents = "PMPI_Type_get_contents"(datatype: Handle, integers: c_int, addresses: c_int, types: c_int, to_integers: *mut c_int, to_addresses: *mut i64, to_types: *mut Handle);
    info_get_nkeys = "PMPI_Info_get_nkeys"(info: Handle, count: *mut c_int);
    info_get_nthkey = "PMPI_Info_get_nthkey"(info: Handle, number: c_int, key: *mut c_char);
    /// Calls MPI_Info_get; `room` is the capacity for the value in bytes, without its NUL.
    info_get = "PMPI_Info_get"(info: Handle, key: *const c_char, room: c_int, value: *mut c_char, found: *mut c_int);
    info_free = "PMPI_Info_free"(info: *mut Handle);
    file_get_info = "PMPI_File_get_info"(file: Handle, info: *mut Handle);
    file_open = "PMPI_File_open"(comm: Handle, name: *const c_char, mode: c_int, info: Handle, file: *mut Handle);
    file_close = "PMPI_File_close"(file: *mut Handle);
    file_write_at_all = "PMPI_File_write_at_all"(file: Handle, offset: i64, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void);
    file_get_position = "PMPI_File_get_position"(file: Handle, offset: *mut i64);
    file_get_byte_offset = "PMPI_File_get_byte_offset"(file: Handle, offset: i64, displacement: *mut i64);
    file_get_size = "PMPI_File_get_size"(file: Handle, size: *mut i64);
    file_set_errhandler = "PMPI_File_set_errhandler"(file: Handle, handler: Handle);
}

pub(crate) fn api() -> &'static Api {
    &API
}

impl Api {
    /// True if the MPI library has MPI 4.0's functions with 64-bit counts.
    pub(super) fn has_large_counts(&self) -> bool {
        !self.type_get_envelope_c.address().is_null()
    }

    /// Returns an address inside the code of the MPI library.
    pub(super) fn init_address(&self) -> *const c_void {
        self.comm_rank.address()
    }
}
