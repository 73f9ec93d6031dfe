//! What is recorded of a collective call, and when communicators are forgotten.
#![expect(unsafe_code, reason = "C functions")]

use super::life::{ERR_OTHER, outermost};
use crate::mpi::{Handle, SUCCESS, active, communicators, world};
use crate::ops::Op;
use crate::real::hooks;
use crate::record::{self, Call};
use crate::registry;
use crate::{clock, errno};
use std::ffi::c_int;
use trace_format::segment::NO_OFFSET;

/// Runs a collective call on `comm`. It is recorded unless a library makes it inside a call of its own; of what it does inside nothing is
/// marked: a program's reduction may do I/O.
#[inline]
pub(super) fn meeting(comm: Handle, op: &'static Op, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = record::thread() else { return call() };
    if thread.mpi.raw() | thread.hdf5.raw() | thread.meeting.raw() != 0
        && (thread.mpi.is_set() || thread.hdf5.is_set() || thread.meeting.is_set())
    {
        return call();
    }
    // Nothing is on record without MPI_Init; the library says what is wrong.
    let Some(world) = active() else { return call() };
    let timer = Call::begin(thread);
    let result = thread.meeting.run(call);
    let (end, errno) = (clock::now(), errno::save());
    if result == SUCCESS {
        timer.end_meeting(end, op, registry::meeting_stream_of(op), communicators::number_of_used(world, comm));
    } else {
        // Nothing is asked about a communicator that may be none.
        let number = communicators::number(world, comm).unwrap_or(NO_OFFSET);
        let code = world.abi.errno_of(result);
        timer.end_meeting(end, op, registry::failed_meeting_stream_of(op, code), number);
    }
    errno.restore();
    result
}

/// Runs a call that frees the communicator at `place`. It is forgotten before: behind the call another thread may get its handle.
fn freeing(place: *mut Handle, call: impl FnOnce() -> c_int) -> c_int {
    let Some(world) = world() else { return call() };
    let Some(handle) = world.abi.handle_at(place) else { return call() };
    let number = communicators::forget(world, handle);
    let result = match record::thread() {
        Some(thread) => thread.meeting.run(call),
        None => call(),
    };
    if let Some(number) = number.filter(|_| result != SUCCESS) {
        communicators::take_back(world, handle, number);
    }
    result
}

hooks! { MEETINGS, missing = ERR_OTHER;
    /// MPI_Comm_free (MPI 4.0, 7.4.3): nothing is recorded.
    [MPI_Comm_free, PMPI_Comm_free](comm: *mut Handle) -> c_int
        = |real| freeing(comm, || real(comm));
    /// MPI_Comm_disconnect (MPI 4.0, 11.10.4), likewise.
    [MPI_Comm_disconnect, PMPI_Comm_disconnect](comm: *mut Handle) -> c_int
        = |real| freeing(comm, || real(comm));
    /// MPI_File_set_info (MPI 4.0, 14.2.8): not recorded, nor what it calls.
    [MPI_File_set_info, PMPI_File_set_info](handle: Handle, info: Handle) -> c_int
        = |real| outermost(|| real(handle, info)).0;
    /// MPI_File_set_atomicity (MPI 4.0, 14.6.1), likewise.
    [MPI_File_set_atomicity, PMPI_File_set_atomicity](handle: Handle, flag: c_int) -> c_int
        = |real| outermost(|| real(handle, flag)).0;
}
