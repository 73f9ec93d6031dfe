//! Records MPI's collective calls, which are synchronization points, and tracks freed communicators.
#![expect(unsafe_code, reason = "C functions")]

use super::init_finalize::{ERR_OTHER, outermost};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, World, active, communicators, world};
use crate::ops::Op;
use crate::real::hooks;
use crate::record::Call;
use crate::registry;
use crate::tls::{self, Thread};
use crate::{clock, errno};
use std::ffi::c_int;
use trace_format::segment::NO_OFFSET;

/// True if a collective call must not be recorded: a library or the tracer makes it inside another call, or recording is off. The hook must
/// then end in a tail call, so that code that inspects its return address finds the calling library instead of the tracer.
#[inline(always)]
pub(super) fn passes() -> bool {
    admission::thread().is_none_or(is_inside)
}

#[inline(always)]
fn is_inside(thread: &Thread) -> bool {
    thread.mpi.raw() | thread.hdf5.raw() | thread.sync_point.raw() != 0
        && (thread.mpi.is_set() || thread.hdf5.is_set() || thread.sync_point.is_set())
}

/// Runs a collective call on `comm` and records it. I/O calls made inside are not marked as nested: a user-defined reduction may do I/O.
#[inline(never)]
pub(super) fn sync_point(comm: Handle, op: &'static Op, call: impl FnOnce() -> c_int) -> c_int {
    let thread = tls::current_now();
    // Before MPI_Init nothing is recorded; the MPI library reports the error.
    let Some(world) = active() else { return call() };
    let timer = Call::begin_anywhere(thread);
    let result = thread.sync_point.run(call);
    let end = clock::of_call();
    // Preserves errno: what may change it lies in cold functions that restore it.
    if result == SUCCESS {
        let (number, keep) = communicators::number_of_used(world, comm, op);
        timer.end_sync_point(end, op, registry::sync_stream_of(op), number, keep);
    } else {
        let errno = errno::save();
        // Do not query the communicator, which may be invalid.
        let number = communicators::number_of_failed(world, comm, op).unwrap_or(NO_OFFSET);
        let code = world.abi.errno_of(result);
        timer.end_sync_point(end, op, registry::failed_sync_stream_of(op, code), number, true);
        errno.restore();
    }
    result
}

/// Forgets the communicator at `place`, which is about to be freed: after the call, another thread may get the same handle.
fn forget(place: *const Handle) -> Option<(&'static World, Handle, u32)> {
    let world = world()?;
    let handle = world.abi.handle_at(place)?;
    Some((world, handle, communicators::forget(world, handle)?))
}

#[inline(never)]
fn freeing(place: *mut Handle, call: impl FnOnce() -> c_int) -> c_int {
    let known = forget(place);
    let result = tls::current_now().sync_point.run(call);
    if let Some((world, handle, number)) = known.filter(|_| result != SUCCESS) {
        communicators::take_back(world, handle, number);
    }
    result
}

hooks! { SYNC_POINTS, missing = ERR_OTHER;
    /// Wraps MPI_Comm_free (MPI 4.0, 7.4.3). Not recorded; the communicator is forgotten.
    [MPI_Comm_free, PMPI_Comm_free](comm: *mut Handle) -> c_int
        = |real| if passes() { forget(comm); real(comm) } else { freeing(comm, move || real(comm)) };
    /// Wraps MPI_Comm_disconnect (MPI 4.0, 11.10.4). Not recorded; the communicator is forgotten.
    [MPI_Comm_disconnect, PMPI_Comm_disconnect](comm: *mut Handle) -> c_int
        = |real| if passes() { forget(comm); real(comm) } else { freeing(comm, move || real(comm)) };
    /// Wraps MPI_File_set_info (MPI 4.0, 14.2.8). Neither this call nor the calls made inside are recorded.
    [MPI_File_set_info, PMPI_File_set_info](handle: Handle, info: Handle) -> c_int
        = |real| outermost(|| real(handle, info)).0;
    /// Wraps MPI_File_set_atomicity (MPI 4.0, 14.6.1). Neither this call nor the calls made inside are recorded.
    [MPI_File_set_atomicity, PMPI_File_set_atomicity](handle: Handle, flag: c_int) -> c_int
        = |real| outermost(|| real(handle, flag)).0;
}
