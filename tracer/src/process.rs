//! Which process records. A vfork(2) child runs in our memory with another id: what it does is not ours to book.
#![expect(unsafe_code, reason = "getpid(2)")]

use std::sync::atomic::{AtomicI32, Ordering};

static PROCESS: AtomicI32 = AtomicI32::new(0);

fn id() -> libc::c_int {
    // SAFETY: no preconditions. The raw system call: a program may wrap getpid.
    unsafe { crate::sys::syscall!(libc::SYS_getpid) as libc::c_int }
}

/// This process is the one that records, from now on.
pub(crate) fn adopt() {
    PROCESS.store(id(), Ordering::Relaxed);
}

/// Whether this is the process that records. One that has confined itself may not ask, and takes it for granted.
pub(crate) fn is_own() -> bool {
    crate::sys::is_shut() || id() == PROCESS.load(Ordering::Relaxed)
}
