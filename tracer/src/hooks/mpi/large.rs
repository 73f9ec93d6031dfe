//! Wrappers of MPI 4.0's MPI-IO functions with 64-bit counts (MPI_File_..._c). If an older library lacks them, they are not resolved, and a
//! call that arrives here anyway returns MPI_ERR_OTHER.
#![expect(unsafe_code, reason = "C functions")]

use super::data::transferring;
use super::extent::Where;
use super::life::ERR_OTHER;
use super::nonblocking::{Buffer, submitting};
use super::split::beginning;
use crate::mpi::Handle;
use crate::ops::{
    MPIIO_IREAD, MPIIO_IREAD_ALL, MPIIO_IREAD_SHARED, MPIIO_IWRITE, MPIIO_IWRITE_ALL, MPIIO_IWRITE_SHARED, MPIIO_READ,
    MPIIO_READ_ALL, MPIIO_READ_ORDERED, MPIIO_READ_SHARED, MPIIO_SPLIT_READ_ALL, MPIIO_SPLIT_READ_ORDERED,
    MPIIO_SPLIT_WRITE_ALL, MPIIO_SPLIT_WRITE_ORDERED, MPIIO_WRITE, MPIIO_WRITE_ALL, MPIIO_WRITE_ORDERED,
    MPIIO_WRITE_SHARED,
};
use crate::real::hooks;
use std::ffi::{c_int, c_void};

hooks! { LARGE, missing = ERR_OTHER;
    [MPI_File_read_at_c, PMPI_File_read_at_c](handle: Handle, offset: i64, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_write_at_c, PMPI_File_write_at_c](handle: Handle, offset: i64, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_read_at_all_c, PMPI_File_read_at_all_c](handle: Handle, offset: i64, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_write_at_all_c, PMPI_File_write_at_all_c](handle: Handle, offset: i64, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_read_c, PMPI_File_read_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_c, PMPI_File_write_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_all_c, PMPI_File_read_all_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_all_c, PMPI_File_write_all_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_shared_c, PMPI_File_read_shared_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_SHARED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_shared_c, PMPI_File_write_shared_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_SHARED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_ordered_c, PMPI_File_read_ordered_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ORDERED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_ordered_c, PMPI_File_write_ordered_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ORDERED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_iread_at_c, PMPI_File_iread_at_c](handle: Handle, offset: i64, buffer: *mut c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD, Where::Explicit(offset), Buffer { count, datatype }, request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iwrite_at_c, PMPI_File_iwrite_at_c](handle: Handle, offset: i64, buffer: *const c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE, Where::Explicit(offset), Buffer { count, datatype }, request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iread_at_all_c, PMPI_File_iread_at_all_c](handle: Handle, offset: i64, buffer: *mut c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_ALL, Where::Explicit(offset), Buffer { count, datatype }, request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iwrite_at_all_c, PMPI_File_iwrite_at_all_c](handle: Handle, offset: i64, buffer: *const c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_ALL, Where::Explicit(offset), Buffer { count, datatype }, request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iread_c, PMPI_File_iread_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD, Where::Individual, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite_c, PMPI_File_iwrite_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE, Where::Individual, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iread_all_c, PMPI_File_iread_all_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_ALL, Where::Individual, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite_all_c, PMPI_File_iwrite_all_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_ALL, Where::Individual, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iread_shared_c, PMPI_File_iread_shared_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_SHARED, Where::Shared, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite_shared_c, PMPI_File_iwrite_shared_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_SHARED, Where::Shared, Buffer { count, datatype }, request, || real(handle, buffer, count, datatype, request));
    [MPI_File_read_at_all_begin_c, PMPI_File_read_at_all_begin_c](handle: Handle, offset: i64, buffer: *mut c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ALL, datatype, Where::Explicit(offset), || real(handle, offset, buffer, count, datatype));
    [MPI_File_write_at_all_begin_c, PMPI_File_write_at_all_begin_c](handle: Handle, offset: i64, buffer: *const c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ALL, datatype, Where::Explicit(offset), || real(handle, offset, buffer, count, datatype));
    [MPI_File_read_all_begin_c, PMPI_File_read_all_begin_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ALL, datatype, Where::Individual, || real(handle, buffer, count, datatype));
    [MPI_File_write_all_begin_c, PMPI_File_write_all_begin_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ALL, datatype, Where::Individual, || real(handle, buffer, count, datatype));
    [MPI_File_read_ordered_begin_c, PMPI_File_read_ordered_begin_c](handle: Handle, buffer: *mut c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ORDERED, datatype, Where::Shared, || real(handle, buffer, count, datatype));
    [MPI_File_write_ordered_begin_c, PMPI_File_write_ordered_begin_c](handle: Handle, buffer: *const c_void, count: i64, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ORDERED, datatype, Where::Shared, || real(handle, buffer, count, datatype));
}
