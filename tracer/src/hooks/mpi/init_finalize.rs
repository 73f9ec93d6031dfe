//! Wraps MPI_Init, MPI_Init_thread, MPI_Finalize and MPI_Abort.
#![expect(unsafe_code, reason = "C functions")]

use crate::hooks::admission;
use crate::lifecycle;
use crate::mpi::{Handle, SUCCESS};
use crate::real::hooks;
use crate::tls;
use std::ffi::{c_char, c_int};

/// Value of `MPI_ERR_OTHER` in MPICH; returned only if the program has no MPI library at all.
pub(super) const ERR_OTHER: c_int = 15;

/// Runs `call` as one MPI call. I/O calls made inside are marked as nested; MPI calls made inside are not recorded. Returns the call's
/// result, and true if the call itself is not nested.
pub(super) fn outermost(call: impl FnOnce() -> c_int) -> (c_int, bool) {
    let Some(thread) = admission::thread_or_muted() else { return (call(), false) };
    let outermost = !thread.mpi.is_set();
    (thread.mpi.run(call), outermost)
}

fn starting(call: impl FnOnce() -> c_int) -> c_int {
    let (result, outermost) = outermost(call);
    if outermost && result == SUCCESS {
        super::super::resolve_mpi();
        lifecycle::mpi_started();
    }
    result
}

fn finalizing(call: impl FnOnce() -> c_int) -> c_int {
    // Unconditional, even if recording is off or this thread is busy: a rank that took part in MPI_Init must take part in writing the trace.
    if !tls::current().mpi.is_set() {
        lifecycle::mpi_finalizing();
    }
    outermost(call).0
}

hooks! { LIFE, missing = ERR_OTHER;
    /// Wraps MPI_Init (MPI 4.0, 11.2). Afterwards the tracer determines its rank.
    [MPI_Init, PMPI_Init](argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int
        = |real| starting(|| real(argc, argv));
    /// Wraps MPI_Init_thread (MPI 4.0, 11.6). Afterwards the tracer determines its rank.
    [MPI_Init_thread, PMPI_Init_thread](argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) -> c_int
        = |real| starting(|| real(argc, argv, required, provided));
    /// Wraps MPI_Finalize. The trace is written before the call.
    [MPI_Finalize, PMPI_Finalize]() -> c_int
        = |real| finalizing(real);
    /// Wraps MPI_Abort. This rank's trace is written before the call, without the other ranks.
    [MPI_Abort, PMPI_Abort](comm: Handle, code: c_int) -> c_int
        = |real| { lifecycle::ending("MPI_Abort", lifecycle::Next::Destructors); real(comm, code) };
}
