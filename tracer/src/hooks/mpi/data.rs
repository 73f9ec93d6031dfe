//! Wraps blocking MPI-IO data access (MPI 4.0, 14.4). The length of a segment is the number of bytes transferred according to the status;
//! its offset is in bytes from the start of the file, regardless of the file view.
#![expect(unsafe_code, reason = "C functions")]

use super::extent::{OwnStatus, Where, moved_bytes, readable, status_bytes};
use super::files::failed;
use super::init_finalize::ERR_OTHER;
use super::narrow;
use crate::handles::{self, Placed};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, world};
use crate::ops::{
    MPIIO_READ, MPIIO_READ_ALL, MPIIO_READ_ORDERED, MPIIO_READ_SHARED, MPIIO_WRITE, MPIIO_WRITE_ALL,
    MPIIO_WRITE_ORDERED, MPIIO_WRITE_SHARED, Op,
};
use crate::real::hooks;
use crate::record::{Call, End};
use crate::{clock, errno, tls};
use std::ffi::{c_int, c_void};
use trace_format::segment::NO_OFFSET;

/// Runs and records the blocking transfer `call`, and passes it a status that is readable after the transfer.
fn transferring(
    handle: Handle,
    op: &'static Op,
    place: Where,
    datatype: Handle,
    status: *mut c_void,
    call: impl FnOnce(*mut c_void) -> c_int,
) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call(status) };
    let (Some(file), Some(world)) = (handles::find_mpi_file(handle), world()) else { return call(status) };
    let mut begin = thread.mpi.run(|| place.find(handle, file));
    let mut own: OwnStatus = [0; 16];
    let status = readable(world, status, &mut own);
    thread.mpi_file.set(std::ptr::from_ref(file.file()).addr());
    thread.nested_offset.set(NO_OFFSET);
    let timer = Call::begin(thread);
    let result = thread.mpi.run(|| call(status));
    let thread = tls::current_now();
    let (end, errno) = (clock::of_call(), errno::save());
    if result == SUCCESS {
        if matches!(place, Where::Shared) {
            begin.in_file = thread.nested_offset.get();
        }
        file.count_datatype(op, world.datatype(datatype));
        let bytes = thread.mpi.run(|| moved_bytes(handle, file, op, begin, status_bytes(world, status)));
        timer.finish(file.file(), op, End { at: end, placed: Placed::at(begin.in_file), length: bytes });
    } else {
        failed(timer, file, op, begin.in_file, result);
    }
    thread.mpi_file.set(0);
    errno.restore();
    result
}

hooks! { DATA, missing = ERR_OTHER, with Count = c_int | i64;
    [MPI_File_read_at, PMPI_File_read_at; MPI_File_read_at_c, PMPI_File_read_at_c](handle: Handle, offset: i64, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_read_at_all, PMPI_File_read_at_all; MPI_File_read_at_all_c, PMPI_File_read_at_all_c](handle: Handle, offset: i64, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_write_at, PMPI_File_write_at; MPI_File_write_at_c, PMPI_File_write_at_c](handle: Handle, offset: i64, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_write_at_all, PMPI_File_write_at_all; MPI_File_write_at_all_c, PMPI_File_write_at_all_c](handle: Handle, offset: i64, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Explicit(offset), datatype, status, |status| real(handle, offset, buffer, count, datatype, status));
    [MPI_File_read, PMPI_File_read; MPI_File_read_c, PMPI_File_read_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_all, PMPI_File_read_all; MPI_File_read_all_c, PMPI_File_read_all_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write, PMPI_File_write; MPI_File_write_c, PMPI_File_write_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_all, PMPI_File_write_all; MPI_File_write_all_c, PMPI_File_write_all_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Individual, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_shared, PMPI_File_read_shared; MPI_File_read_shared_c, PMPI_File_read_shared_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_SHARED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_shared, PMPI_File_write_shared; MPI_File_write_shared_c, PMPI_File_write_shared_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_SHARED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_read_ordered, PMPI_File_read_ordered; MPI_File_read_ordered_c, PMPI_File_read_ordered_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ORDERED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
    [MPI_File_write_ordered, PMPI_File_write_ordered; MPI_File_write_ordered_c, PMPI_File_write_ordered_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ORDERED, Where::Shared, datatype, status, |status| real(handle, buffer, count, datatype, status));
}
