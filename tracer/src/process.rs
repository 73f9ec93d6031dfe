//! Identity of the recording process, and its limit of file sizes. A vfork(2) child runs in the memory of this process under another
//! process id; its calls are not recorded.
#![expect(unsafe_code, reason = "getpid(2), prlimit(2)")]

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Returns the id of the calling process.
pub(crate) fn id() -> libc::c_int {
    // SAFETY: no preconditions. Raw system call, since the program may wrap getpid(2).
    unsafe { crate::sys::syscall!(libc::SYS_getpid) as libc::c_int }
}

/// Makes the calling process the recording process: its calls are recorded from now on.
pub(crate) fn adopt() {
    PROCESS.store(id(), Ordering::Relaxed);
}

/// Returns the process id of the recording process.
pub(crate) fn adopted() -> libc::c_int {
    PROCESS.load(Ordering::Relaxed)
}

/// True if the caller runs in the recording process. Assumed in a process confined by seccomp, which may not ask the kernel.
pub(crate) fn is_own() -> bool {
    crate::sys::is_shut() || id() == PROCESS.load(Ordering::Relaxed)
}

/// True once another process may run in this process's memory (after vfork(2) or clone(2)).
pub(crate) static SHARED: AtomicBool = AtomicBool::new(false);

/// Records that another process may run in this process's memory (after vfork(2) or clone(2)).
pub(crate) fn may_be_shared() {
    SHARED.store(true, Ordering::Relaxed);
}

/// True if another process may run in this process's memory, or may have done so.
pub(crate) fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// True if the caller seems to run in the recording process. Faster than [`is_own`]: asks the kernel only after a vfork(2) or clone(2) was
/// seen. So a process that the program's own machine code has created by a system call is mistaken for the recording process.
pub(crate) fn seems_own() -> bool {
    !is_shared() || is_own()
}

/// Returns the maximum size of a file that this process may write, in bytes (RLIMIT_FSIZE); 0 if unknown.
pub(crate) fn size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is a local variable.
    let known = unsafe {
        crate::sys::syscall!(libc::SYS_prlimit64, 0, libc::RLIMIT_FSIZE, std::ptr::null::<u8>(), &raw mut limit)
    } == 0;
    if known { limit.rlim_cur } else { 0 }
}
