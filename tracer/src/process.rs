//! Which process records. A vfork(2) child runs in our memory with another id: what it does is not ours to book.
#![expect(unsafe_code, reason = "getpid(2)")]

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static PROCESS: AtomicI32 = AtomicI32::new(0);

fn id() -> libc::c_int {
    // SAFETY: no preconditions. The raw system call: a program may wrap getpid.
    unsafe { crate::sys::syscall!(libc::SYS_getpid) as libc::c_int }
}

/// This process is the one that records, from now on.
pub(crate) fn adopt() {
    PROCESS.store(id(), Ordering::Relaxed);
}

/// Its id.
pub(crate) fn adopted() -> libc::c_int {
    PROCESS.load(Ordering::Relaxed)
}

/// Whether this is the process that records. One that has confined itself may not ask, and takes it for granted.
pub(crate) fn is_own() -> bool {
    crate::sys::is_shut() || id() == PROCESS.load(Ordering::Relaxed)
}

/// Whether another process may run in this memory.
pub(crate) static SHARED: AtomicBool = AtomicBool::new(false);

/// From now on another process may run in this memory.
pub(crate) fn may_be_shared() {
    SHARED.store(true, Ordering::Relaxed);
}

/// Whether another process may run in this memory, or has.
pub(crate) fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// As [`is_own`], for what is done often: the kernel is asked only after vfork(2) or clone(2) was seen. A process that was made
/// so by machine code of the program's own is taken for this one.
pub(crate) fn seems_own() -> bool {
    !is_shared() || is_own()
}
