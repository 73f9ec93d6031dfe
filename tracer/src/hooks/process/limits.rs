//! Wraps calls that lock a process's memory (mlockall) or limit its address space (setrlimit). These calls are not recorded. The tracer's
//! reserved address space must neither make them fail nor count against the limit.
#![expect(unsafe_code, reason = "C functions")]

use crate::real::hooks;
use crate::{errno, memory, stack, state, tls};
use libc::{c_int, c_uint, pid_t, rlimit};

/// Releases reserved address space, and shrinks the tracer's stacks, because the address space is now limited to `limit` bytes.
fn make_room_for(limit: u64) {
    if let Some(scale) = memory::make_room_for(limit) {
        stack::shrink(scale);
    }
}

/// Runs `call`, which is mlockall(2), such that the tracer's reserved address space does not make it fail.
fn locking(flags: c_int, call: impl Fn() -> c_int) -> c_int {
    let mut result = call();
    let before = errno::save();
    // The kernel compares the limit with all address space, used or not.
    if result != 0
        && state::is_begun()
        && before.value() == libc::ENOMEM
        && flags & libc::MCL_CURRENT != 0
        && let Some(limit) = memory::soft_limit(libc::RLIMIT_MEMLOCK)
    {
        tls::current().while_busy(|| make_room_for(limit));
        before.restore();
        result = call();
    }
    let errno = errno::save();
    if result == 0 {
        tls::current().while_busy(|| {
            memory::keep_out_of_locks();
            stack::ranges().for_each(|(start, bytes)| memory::unlock(start, bytes));
        });
    }
    errno.restore();
    result
}

/// Shrinks the tracer's reserved address space if a call, which returned `result`, has limited this process's address space.
fn limited(resource: c_uint, new: *const rlimit, result: c_int) -> c_int {
    // SAFETY: the program's own structure, which the successful call has read.
    let new = unsafe { new.as_ref() }.filter(|_| result == 0 && resource == libc::RLIMIT_AS);
    if let Some(new) = new.filter(|new| new.rlim_cur != libc::RLIM_INFINITY) {
        let errno = errno::save();
        tls::current().while_busy(|| make_room_for(new.rlim_cur));
        errno.restore();
    }
    result
}

/// Shrinks the tracer's reserved address space like [`limited`], after a prlimit(2), which returned `result`, on `process`. Does nothing if
/// that is another process.
fn limited_in(process: pid_t, resource: c_uint, new: *const rlimit, result: c_int) -> c_int {
    let own = process == 0 || state::is_begun() && process == crate::job::process_ids().0.cast_signed();
    if own { limited(resource, new, result) } else { result }
}

hooks! { LIMITS, missing = { errno::set(libc::ENOSYS); -1 };
    [mlockall](flags: c_int) -> c_int
        = |real| locking(flags, || real(flags));
    unlike "two structures of one layout" [setrlimit, setrlimit64](resource: c_uint, new: *const rlimit) -> c_int
        = |real| limited(resource, new, real(resource, new));
    unlike "two structures of one layout" [prlimit, prlimit64](process: pid_t, resource: c_uint, new: *const rlimit, old: *mut rlimit) -> c_int
        = |real| limited_in(process, resource, new, real(process, resource, new, old));
}
