//! Wraps calls by which a program confines itself with a system call filter (seccomp). From then on, the tracer makes no system calls of
//! its own. This module detects such calls; `seccomp.rs` handles the consequences.
#![expect(unsafe_code, reason = "C functions")]

use crate::clock;
use crate::hooks::resolve_late;
use crate::real::hooks;
use crate::seccomp::{confining, without_counter};
use libc::{c_int, c_long, c_ulong};

/// True if prctl(2) with these arguments installs a seccomp filter or enters strict mode, rather than probing the kernel with invalid arguments.
fn installs_by_prctl(option: c_int, mode: usize, filter: usize) -> bool {
    option == libc::PR_SET_SECCOMP
        && match mode as u32 {
            libc::SECCOMP_MODE_STRICT => true,
            libc::SECCOMP_MODE_FILTER => filter != 0,
            _ => false,
        }
}

/// True if seccomp(2) with these arguments installs a filter or enters strict mode.
fn installs_by_seccomp(operation: usize, flags: usize, filter: usize) -> bool {
    match operation as u32 {
        libc::SECCOMP_SET_MODE_STRICT => flags == 0 && filter == 0,
        libc::SECCOMP_SET_MODE_FILTER => filter != 0,
        _ => false,
    }
}

/// Runs `call`, which is prctl(2) made through syscall(2), and prepares the tracer for a filter that the call installs.
pub(in crate::hooks) fn by_prctl(option: usize, mode: usize, filter: usize, call: impl FnOnce() -> c_long) -> c_long {
    prctl_with(option as c_int, mode, filter, call)
}

fn prctl_with<T: PartialEq + From<i8>>(option: c_int, mode: usize, filter: usize, call: impl FnOnce() -> T) -> T {
    let succeeded = |result: &T| *result == T::from(0);
    if installs_by_prctl(option, mode, filter) {
        return confining(mode == libc::SECCOMP_MODE_STRICT as usize, resolve_late, call, succeeded);
    }
    match (option, mode as c_int) {
        (libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) => without_counter(call, succeeded),
        (libc::PR_SET_TSC, libc::PR_TSC_ENABLE) => {
            let result = call();
            if succeeded(&result) {
                clock::go_on();
            }
            result
        }
        _ => call(),
    }
}

/// Runs `call`, which is seccomp(2), and prepares the tracer for a filter that the call installs. With SECCOMP_FILTER_FLAG_TSYNC, a
/// positive result is a thread that failed to synchronize, and no filter is installed; with SECCOMP_FILTER_FLAG_NEW_LISTENER, success
/// returns a descriptor.
pub(in crate::hooks) fn by_seccomp(
    operation: usize,
    flags: usize,
    filter: usize,
    call: impl FnOnce() -> c_long,
) -> c_long {
    if !installs_by_seccomp(operation, flags, filter) {
        return call();
    }
    let all = flags as c_ulong & libc::SECCOMP_FILTER_FLAG_TSYNC != 0;
    let listens = flags as c_ulong & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
    let strict = operation as u32 == libc::SECCOMP_SET_MODE_STRICT;
    confining(strict, resolve_late, call, |&result| if all && !listens { result == 0 } else { result >= 0 })
}

hooks! { CONFINES, missing = -1;
    /// Wraps prctl(2), variadic in C. Arguments that the caller did not pass are whatever the registers hold, as for the C library.
    unlike "variadic; what it takes is in registers all the same" [prctl](option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int
        = |real| prctl_with(option, a, b, || real(option, a, b, c, d));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_asks_installs_nothing() {
        let filter = libc::SECCOMP_MODE_FILTER as usize;
        assert!(installs_by_prctl(libc::PR_SET_SECCOMP, filter, 4096));
        assert!(installs_by_prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT as usize, 0));
        assert!(!installs_by_prctl(libc::PR_SET_SECCOMP, filter, 0));
        assert!(!installs_by_prctl(libc::PR_GET_SECCOMP, filter, 4096));
        assert!(!installs_by_prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0));
        let (strict, filter) = (libc::SECCOMP_SET_MODE_STRICT as usize, libc::SECCOMP_SET_MODE_FILTER as usize);
        assert!(installs_by_seccomp(strict, 0, 0) && installs_by_seccomp(filter, 1, 4096));
        // Probes of the kernel as made by libseccomp.
        assert!(!installs_by_seccomp(strict, 1, 0) && !installs_by_seccomp(filter, 1, 0));
        assert!(!installs_by_seccomp(libc::SECCOMP_GET_ACTION_AVAIL as usize, 0, 4096));
    }
}
