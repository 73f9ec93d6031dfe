//! Wraps nonblocking MPI-IO (MPI 4.0, 14.4). A segment lasts from the submitting call until a call in `completion` reports the request as complete.
#![expect(unsafe_code, reason = "C functions")]

use super::completion::request_at;
use super::extent::{Where, asked_bytes};
use super::files::failed;
use super::init_finalize::ERR_OTHER;
use super::narrow;
use crate::handles::{self, Placed, Submitted};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, world};
use crate::ops::{
    MPIIO_IREAD, MPIIO_IREAD_ALL, MPIIO_IREAD_SHARED, MPIIO_IWRITE, MPIIO_IWRITE_ALL, MPIIO_IWRITE_SHARED,
    MPIIO_SUBMIT, Op,
};
use crate::real::hooks;
use crate::record::{Call, End};
use crate::{clock, errno, tls};
use std::ffi::{c_int, c_void};
use trace_format::segment::NO_OFFSET;

/// Runs `call`, which submits a nonblocking MPI-IO operation, and remembers the request.
fn submitting(
    handle: Handle,
    op: &'static Op,
    place: Where,
    (count, datatype): (impl Into<i64>, Handle),
    request: *mut c_void,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call() };
    let (Some(file), Some(world)) = (handles::find_mpi_file(handle), world()) else { return call() };
    let mut begin = thread.mpi.run(|| place.find(handle, file));
    thread.mpi_file.set(std::ptr::from_ref(file.file()).addr());
    thread.nested_offset.set(NO_OFFSET);
    let timer = Call::begin(thread);
    let result = thread.mpi.run(call);
    let thread = tls::current_now();
    let (end, errno) = (clock::of_call(), errno::save());
    if result == SUCCESS && !request.is_null() {
        if matches!(place, Where::Shared) {
            begin.in_file = thread.nested_offset.get();
        }
        file.count_datatype(op, world.datatype(datatype));
        let asked = asked_bytes(datatype, count.into());
        let (in_view, in_file) = (begin.in_view, begin.in_file);
        let submitted = Submitted { file, op, start: timer.start(), in_view, in_file, asked };
        let request = request_at(world, request, 0);
        // Record now: the operation is complete, or there is no room to remember the request.
        if request == world.abi.request_null || !handles::add_mpi_request(request, submitted) {
            timer.again().finish(file.file(), op, End { at: end, placed: Placed::at(in_file), length: asked });
        }
        timer.kept(end, file.file(), &MPIIO_SUBMIT);
    } else if result != SUCCESS {
        failed(timer, file, op, begin.in_file, result);
    }
    thread.mpi_file.set(0);
    errno.restore();
    result
}

hooks! { NONBLOCKING, missing = ERR_OTHER, with Count = c_int | i64;
    [MPI_File_iread_at, PMPI_File_iread_at; MPI_File_iread_at_c, PMPI_File_iread_at_c](handle: Handle, offset: i64, buffer: *mut c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD, Where::Explicit(offset), (count, datatype), request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iwrite_at, PMPI_File_iwrite_at; MPI_File_iwrite_at_c, PMPI_File_iwrite_at_c](handle: Handle, offset: i64, buffer: *const c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE, Where::Explicit(offset), (count, datatype), request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iread_at_all, PMPI_File_iread_at_all; MPI_File_iread_at_all_c, PMPI_File_iread_at_all_c](handle: Handle, offset: i64, buffer: *mut c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_ALL, Where::Explicit(offset), (count, datatype), request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iwrite_at_all, PMPI_File_iwrite_at_all; MPI_File_iwrite_at_all_c, PMPI_File_iwrite_at_all_c](handle: Handle, offset: i64, buffer: *const c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_ALL, Where::Explicit(offset), (count, datatype), request, || real(handle, offset, buffer, count, datatype, request));
    [MPI_File_iread, PMPI_File_iread; MPI_File_iread_c, PMPI_File_iread_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD, Where::Individual, (count, datatype), request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite, PMPI_File_iwrite; MPI_File_iwrite_c, PMPI_File_iwrite_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE, Where::Individual, (count, datatype), request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iread_all, PMPI_File_iread_all; MPI_File_iread_all_c, PMPI_File_iread_all_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_ALL, Where::Individual, (count, datatype), request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite_all, PMPI_File_iwrite_all; MPI_File_iwrite_all_c, PMPI_File_iwrite_all_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_ALL, Where::Individual, (count, datatype), request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iread_shared, PMPI_File_iread_shared; MPI_File_iread_shared_c, PMPI_File_iread_shared_c](handle: Handle, buffer: *mut c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IREAD_SHARED, Where::Shared, (count, datatype), request, || real(handle, buffer, count, datatype, request));
    [MPI_File_iwrite_shared, PMPI_File_iwrite_shared; MPI_File_iwrite_shared_c, PMPI_File_iwrite_shared_c](handle: Handle, buffer: *const c_void, count: Count, datatype: Handle, request: *mut c_void) -> c_int
        = |real| submitting(handle, &MPIIO_IWRITE_SHARED, Where::Shared, (count, datatype), request, || real(handle, buffer, count, datatype, request));
}
