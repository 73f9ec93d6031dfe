//! Blocking data access of MPI-IO (MPI 4.0, 14.4). The length is what the status says was transferred; the offset is in
//! bytes from the file's start, whatever the view.
#![expect(unsafe_code, reason = "C functions")]

use super::life::ERR_OTHER;
use crate::clock;
use crate::handles::{self, MpiFile};
use crate::mpi::{Handle, SUCCESS, api, world};
use crate::ops::{
    MPIIO_READ, MPIIO_READ_ALL, MPIIO_READ_ORDERED, MPIIO_READ_SHARED, MPIIO_WRITE, MPIIO_WRITE_ALL,
    MPIIO_WRITE_ORDERED, MPIIO_WRITE_SHARED, Op,
};
use crate::real::hooks;
use crate::record::{self, Call};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use trace_format::segment::NO_OFFSET;

/// Where a transfer begins.
#[derive(Clone, Copy)]
enum Where {
    /// At this offset of the view, in etypes.
    Explicit(i64),
    /// At the individual file pointer.
    Individual,
    /// At the shared file pointer, which nobody can read without moving others: the POSIX calls inside tell.
    Shared,
}

/// Offset in bytes from the file's start.
fn byte_offset(handle: Handle, file: &MpiFile, place: Where) -> i64 {
    let view_offset = match place {
        Where::Explicit(offset) => offset,
        Where::Individual => {
            let mut offset = NO_OFFSET;
            if api().file_get_position(handle, &raw mut offset) != SUCCESS {
                return NO_OFFSET;
            }
            offset
        }
        Where::Shared => return NO_OFFSET,
    };
    if file.default_view.load(Ordering::Acquire) {
        return view_offset;
    }
    let mut bytes = NO_OFFSET;
    if api().file_get_byte_offset(handle, view_offset, &raw mut bytes) == SUCCESS { bytes } else { NO_OFFSET }
}

/// Room for a status of any implementation, for programs that pass MPI_STATUS_IGNORE.
type OwnStatus = [u64; 16];

/// Runs `call` with a status that can be read afterwards.
fn transferring(
    handle: Handle,
    op: &'static Op,
    place: Where,
    status: *mut c_void,
    call: impl FnOnce(*mut c_void) -> c_int,
) -> c_int {
    let Some(thread) = record::thread().filter(|thread| thread.mpi_depth.get() == 0) else { return call(status) };
    let (Some(file), Some(world)) = (handles::find_mpi_file(handle), world()) else { return call(status) };
    thread.mpi_depth.set(1);
    let known = byte_offset(handle, file, place);
    let mut own: OwnStatus = [0; 16];
    let ignored = status as usize == world.abi.status_ignore;
    let readable = if ignored { own.as_mut_ptr().cast() } else { status };
    thread.mpi_file.set(file.file());
    thread.nested_offset.set(NO_OFFSET);
    let timer = Call::begin(thread);
    let result = call(readable);
    let end = clock::now();
    if result == SUCCESS {
        let mut bytes = 0;
        if api().get_elements(readable, world.abi.byte, &raw mut bytes) != SUCCESS {
            bytes = 0;
        }
        let offset = match place {
            Where::Shared => thread.nested_offset.get(),
            Where::Explicit(_) | Where::Individual => known,
        };
        thread.mpi_depth.set(0);
        // MPI_UNDEFINED is negative in every implementation.
        timer.end_at(end, file.file(), op, offset, u64::try_from(bytes).unwrap_or(0));
    }
    thread.mpi_depth.set(0);
    thread.mpi_file.set(std::ptr::null());
    result
}

hooks! { DATA, missing = ERR_OTHER;
    /// MPI_File_read_at.
    [MPI_File_read_at, PMPI_File_read_at](handle: Handle, offset: i64, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Explicit(offset), status, |status| real(handle, offset, buffer, count, datatype, status));
    /// MPI_File_read_at_all.
    [MPI_File_read_at_all, PMPI_File_read_at_all](handle: Handle, offset: i64, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Explicit(offset), status, |status| real(handle, offset, buffer, count, datatype, status));
    /// MPI_File_write_at.
    [MPI_File_write_at, PMPI_File_write_at](handle: Handle, offset: i64, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Explicit(offset), status, |status| real(handle, offset, buffer, count, datatype, status));
    /// MPI_File_write_at_all.
    [MPI_File_write_at_all, PMPI_File_write_at_all](handle: Handle, offset: i64, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Explicit(offset), status, |status| real(handle, offset, buffer, count, datatype, status));
    /// MPI_File_read.
    [MPI_File_read, PMPI_File_read](handle: Handle, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ, Where::Individual, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_read_all.
    [MPI_File_read_all, PMPI_File_read_all](handle: Handle, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ALL, Where::Individual, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_write.
    [MPI_File_write, PMPI_File_write](handle: Handle, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE, Where::Individual, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_write_all.
    [MPI_File_write_all, PMPI_File_write_all](handle: Handle, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ALL, Where::Individual, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_read_shared.
    [MPI_File_read_shared, PMPI_File_read_shared](handle: Handle, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_SHARED, Where::Shared, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_write_shared.
    [MPI_File_write_shared, PMPI_File_write_shared](handle: Handle, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_SHARED, Where::Shared, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_read_ordered.
    [MPI_File_read_ordered, PMPI_File_read_ordered](handle: Handle, buffer: *mut c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_READ_ORDERED, Where::Shared, status, |status| real(handle, buffer, count, datatype, status));
    /// MPI_File_write_ordered.
    [MPI_File_write_ordered, PMPI_File_write_ordered](handle: Handle, buffer: *const c_void, count: c_int, datatype: Handle, status: *mut c_void) -> c_int
        = |real| transferring(handle, &MPIIO_WRITE_ORDERED, Where::Shared, status, |status| real(handle, buffer, count, datatype, status));
}
