//! Constants of each MPI binary interface (ABI). Handles are pointers or integers; both fit into a register and are passed on unchanged.
//! Sources: mpi.h of MPICH 4, of Open MPI 4 and 5, and of the MPI 5.0 standard ABI (MPI 5.0, chapter 20).
#![expect(unsafe_code, reason = "a handle that a program keeps")]

use super::calls::{Handle, api};
use super::datatypes::{Combiners, Predefined};
use super::errors::{self, ErrorClasses};
#[cfg(not(dxt_static))]
use crate::real::object_path;
use crate::real::{object_range, variable};
#[cfg(not(dxt_static))]
use std::ffi::CStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abi {
    /// Name of the MPI library's binary interface, as shown in the trace.
    pub(crate) family: &'static str,
    pub(crate) comm_world: Handle,
    pub(crate) byte: Handle,
    pub(crate) uint64: Handle,
    pub(crate) sum: Handle,
    pub(crate) max: Handle,
    pub(crate) info_null: Handle,
    pub(crate) file_null: Handle,
    pub(crate) errors_return: Handle,
    /// Value of `MPI_STATUS_IGNORE`, which equals `MPI_STATUSES_IGNORE`.
    pub(crate) status_ignore: usize,
    /// Size of an `MPI_Status`, in bytes.
    pub(crate) status_bytes: usize,
    /// Size of an `MPI_Request` in an array of requests, in bytes.
    pub(crate) request_bytes: usize,
    /// Offset of the error code `MPI_ERROR` in an `MPI_Status`, in bytes.
    pub(crate) status_error: usize,
    pub(crate) errors: ErrorClasses,
    pub(crate) request_null: Handle,
    pub(crate) seek_set: i32,
    pub(crate) write_only: i32,
    /// Rule that recognizes predefined datatypes by their handle.
    pub(super) predefined: Predefined,
    /// Values of [`MPI_ORDER_C`, `MPI_ORDER_FORTRAN`]; `None` if unknown.
    pub(super) orders: Option<[i32; 2]>,
    /// Numbers of the datatype combiners (`MPI_COMBINER_NAMED`, ...).
    pub(super) combiners: Combiners,
}

/// ABI of MPICH and compatible libraries: Intel MPI, MVAPICH, Cray MPICH (MPICH ABI Compatibility Initiative).
const MPICH: Abi = Abi {
    family: "MPICH",
    comm_world: 0x4400_0000,
    byte: 0x4c00_010d,
    uint64: 0x4c00_083e,
    sum: 0x5800_0003,
    max: 0x5800_0001,
    info_null: 0x1c00_0000,
    file_null: 0,
    errors_return: 0x5400_0001,
    status_ignore: 1,
    status_bytes: 20,
    status_error: 16,
    errors: errors::MPICH,
    request_bytes: 4,
    request_null: 0x2c00_0000,
    seek_set: 600,
    write_only: 4,
    predefined: Predefined::ByKind,
    orders: Some([56, 57]),
    combiners: Combiners::HistoricFrom(1),
};

const STANDARD: Abi = Abi {
    family: "MPI ABI",
    comm_world: 0x101,
    byte: 0x247,
    uint64: 0x259,
    sum: 0x21,
    max: 0x23,
    info_null: 0x130,
    file_null: 0x118,
    errors_return: 0x143,
    status_ignore: 0,
    status_bytes: 32,
    status_error: 8,
    errors: errors::OPEN_MPI,
    request_bytes: 8,
    request_null: 0x180,
    seek_set: 403,
    write_only: 256,
    predefined: Predefined::Small,
    orders: None,
    combiners: Combiners::Standard,
};

/// Returns the ABI of Open MPI, whose handles are addresses of the library's variables. `None` if the loaded library lacks any of them.
fn open_mpi() -> Option<Abi> {
    /// Returns the address of a variable of Open MPI as a handle; lets `open_mpi` return `None` if the library lacks the variable.
    macro_rules! handle {
        ($name:literal) => {{
            let address = variable!($name) as Handle;
            if address == 0 {
                return None;
            }
            address
        }};
    }
    let byte = handle!("ompi_mpi_byte");
    Some(Abi {
        family: "Open MPI",
        comm_world: handle!("ompi_mpi_comm_world"),
        byte,
        uint64: handle!("ompi_mpi_uint64_t"),
        sum: handle!("ompi_mpi_op_sum"),
        max: handle!("ompi_mpi_op_max"),
        info_null: handle!("ompi_mpi_info_null"),
        file_null: handle!("ompi_mpi_file_null"),
        errors_return: handle!("ompi_mpi_errors_return"),
        status_ignore: 0,
        status_bytes: 24,
        status_error: 8,
        errors: errors::OPEN_MPI,
        request_bytes: 8,
        request_null: handle!("ompi_request_null"),
        seek_set: 600,
        write_only: 4,
        // A program may contain copies of the library's variables (R_X86_64_COPY and similar relocations).
        predefined: Predefined::Within([object_range(api().init_address()), object_range(byte as *const _)]),
        orders: Some([0, 1]),
        combiners: Combiners::HistoricFrom(0),
    })
}

impl Abi {
    /// Normalizes a handle for comparison: MPICH's handles have 32 bits, and the upper bits of the register are undefined.
    #[inline(always)]
    pub(crate) fn handle(&self, handle: Handle) -> Handle {
        if self.has_short_handles() { handle & u32::MAX as usize } else { handle }
    }

    fn has_short_handles(&self) -> bool {
        self.request_bytes == size_of::<u32>()
    }

    /// Reads the program's MPI handle at address `place`; `None` if `place` is null.
    pub(crate) fn handle_at(&self, place: *const Handle) -> Option<Handle> {
        if place.is_null() {
            None
        } else if self.has_short_handles() {
            // SAFETY: the program's own handle, whose address was passed to a function of MPI.
            Some(unsafe { place.cast::<u32>().read() } as usize)
        } else {
            // SAFETY: the program's own handle, whose address was passed to a function of MPI.
            Some(unsafe { place.read() })
        }
    }

    pub(crate) fn is_null_info(&self, info: Handle) -> bool {
        self.handle(info) == self.handle(self.info_null)
    }

    pub(crate) fn detect() -> Self {
        if is_standard() { STANDARD } else { open_mpi().unwrap_or(MPICH) }
    }
}

/// True if the MPI library implements the standard ABI, judged by its file name (MPI 5.0, 20.2: libmpi_abi). The function
/// MPI_Abi_get_version proves nothing, since libraries with their own ABI have it too.
#[cfg(not(dxt_static))]
fn is_standard() -> bool {
    let path = object_path(api().init_address()).map(CStr::to_bytes).unwrap_or_default();
    path.windows(7).any(|part| part == b"mpi_abi")
}

/// Returns false: an MPI library that was linked in has no file name, and is assumed to have its own ABI.
#[cfg(dxt_static)]
fn is_standard() -> bool {
    false
}
