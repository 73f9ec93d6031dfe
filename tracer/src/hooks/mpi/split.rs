//! Wraps split collective MPI-IO (MPI 4.0, 14.4.5). A segment lasts from the `_begin` call to the return of the `_end` call.
#![expect(unsafe_code, reason = "C functions")]

use super::extent::{Begin, OwnStatus, Where, moved_bytes, readable, status_bytes};
use super::files::failed;
use super::init_finalize::ERR_OTHER;
use super::narrow;
use crate::handles::{self, Placed};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, world};
use crate::ops::{
    MPIIO_SPLIT_READ_ALL, MPIIO_SPLIT_READ_ORDERED, MPIIO_SPLIT_WRITE_ALL, MPIIO_SPLIT_WRITE_ORDERED, MPIIO_SUBMIT,
    MPIIO_WAIT, Op,
};
use crate::real::hooks;
use crate::record::{Call, End};
use crate::registry::Datatype;
use crate::{clock, errno, tls};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use trace_format::segment::NO_OFFSET;

/// Runs `call`, the `_begin` part of a split collective call, and stores the start time and offset of the operation.
fn beginning(handle: Handle, op: &'static Op, datatype: Handle, place: Where, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call() };
    let (Some(file), Some(world)) = (handles::find_mpi_file(handle), world()) else { return call() };
    let begin = thread.mpi.run(|| place.find(handle, file));
    thread.mpi_file.set(std::ptr::from_ref(file.file()).addr());
    thread.nested_offset.set(NO_OFFSET);
    let timer = Call::begin(thread);
    let result = thread.mpi.run(call);
    let thread = tls::current_now();
    if result == SUCCESS {
        timer.again().kept(clock::of_call(), file.file(), &MPIIO_SUBMIT);
        let in_file = if matches!(place, Where::Shared) { thread.nested_offset.get() } else { begin.in_file };
        file.split.in_view.store(begin.in_view, Ordering::Relaxed);
        file.split.in_file.store(in_file, Ordering::Relaxed);
        // Decode the datatype now, since the program may free it before the `_end` call.
        file.split.datatype.store(world.datatype(datatype).to_raw(), Ordering::Relaxed);
        file.split.start.store(timer.start(), Ordering::Release);
    } else {
        failed(timer, file, op, begin.in_file, result);
    }
    thread.mpi_file.set(0);
    result
}

/// Runs `call`, the `_end` part of a split collective call, and records the whole operation as `op`.
fn ending(handle: Handle, op: &'static Op, status: *mut c_void, call: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call(status) };
    let (Some(file), Some(world)) = (handles::find_mpi_file(handle), world()) else { return call(status) };
    let start = file.split.start.swap(0, Ordering::AcqRel);
    let mut begin = Begin {
        in_view: file.split.in_view.load(Ordering::Relaxed),
        in_file: file.split.in_file.load(Ordering::Relaxed),
    };
    let mut own: OwnStatus = [0; 16];
    let status = readable(world, status, &mut own);
    thread.mpi_file.set(std::ptr::from_ref(file.file()).addr());
    thread.nested_offset.set(NO_OFFSET);
    let timer = Call::begin(thread);
    let result = thread.mpi.run(|| call(status));
    let thread = tls::current_now();
    let (end, errno) = (clock::of_call(), errno::save());
    if result == SUCCESS && start != 0 {
        if begin.in_file < 0 {
            begin.in_file = thread.nested_offset.get();
        }
        file.count_datatype(op, Datatype::from_raw(file.split.datatype.load(Ordering::Relaxed)));
        let bytes = thread.mpi.run(|| moved_bytes(handle, file, op, begin, status_bytes(world, status)));
        let moved = End { at: end, placed: Placed::at(begin.in_file), length: bytes };
        Call::since(thread, start).finish(file.file(), op, moved);
        timer.kept(end, file.file(), &MPIIO_WAIT);
    } else if start != 0 {
        failed(Call::since(thread, start), file, op, begin.in_file, result);
    }
    thread.mpi_file.set(0);
    errno.restore();
    result
}

hooks! { SPLIT, missing = ERR_OTHER, with Count = c_int | i64;
    [MPI_File_read_at_all_begin, PMPI_File_read_at_all_begin; MPI_File_read_at_all_begin_c, PMPI_File_read_at_all_begin_c](handle: Handle, offset: i64, buffer: *mut c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ALL, datatype, Where::Explicit(offset), || real(handle, offset, buffer, count, datatype));
    [MPI_File_write_at_all_begin, PMPI_File_write_at_all_begin; MPI_File_write_at_all_begin_c, PMPI_File_write_at_all_begin_c](handle: Handle, offset: i64, buffer: *const c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ALL, datatype, Where::Explicit(offset), || real(handle, offset, buffer, count, datatype));
    [MPI_File_read_all_begin, PMPI_File_read_all_begin; MPI_File_read_all_begin_c, PMPI_File_read_all_begin_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ALL, datatype, Where::Individual, || real(handle, buffer, count, datatype));
    [MPI_File_write_all_begin, PMPI_File_write_all_begin; MPI_File_write_all_begin_c, PMPI_File_write_all_begin_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ALL, datatype, Where::Individual, || real(handle, buffer, count, datatype));
    [MPI_File_read_ordered_begin, PMPI_File_read_ordered_begin; MPI_File_read_ordered_begin_c, PMPI_File_read_ordered_begin_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_READ_ORDERED, datatype, Where::Shared, || real(handle, buffer, count, datatype));
    [MPI_File_write_ordered_begin, PMPI_File_write_ordered_begin; MPI_File_write_ordered_begin_c, PMPI_File_write_ordered_begin_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle) -> c_int
        = |real| beginning(handle, &MPIIO_SPLIT_WRITE_ORDERED, datatype, Where::Shared, || real(handle, buffer, count, datatype));
    [MPI_File_read_at_all_end, PMPI_File_read_at_all_end](handle: Handle, buffer: *mut c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_READ_ALL, status, |status| real(handle, buffer, status));
    [MPI_File_write_at_all_end, PMPI_File_write_at_all_end](handle: Handle, buffer: *const c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_WRITE_ALL, status, |status| real(handle, buffer, status));
    [MPI_File_read_all_end, PMPI_File_read_all_end](handle: Handle, buffer: *mut c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_READ_ALL, status, |status| real(handle, buffer, status));
    [MPI_File_write_all_end, PMPI_File_write_all_end](handle: Handle, buffer: *const c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_WRITE_ALL, status, |status| real(handle, buffer, status));
    [MPI_File_read_ordered_end, PMPI_File_read_ordered_end](handle: Handle, buffer: *mut c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_READ_ORDERED, status, |status| real(handle, buffer, status));
    [MPI_File_write_ordered_end, PMPI_File_write_ordered_end](handle: Handle, buffer: *const c_void, status: *mut c_void) -> c_int
        = |real| ending(handle, &MPIIO_SPLIT_WRITE_ORDERED, status, |status| real(handle, buffer, status));
}
