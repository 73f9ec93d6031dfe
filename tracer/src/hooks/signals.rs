//! Wraps functions that set or query signal actions, only to keep the tracer's own handler (`signals`) invisible to the program.
#![expect(unsafe_code, reason = "C functions")]

use crate::real::{hooks, none};
use crate::{record, signals};
use libc::{c_int, sighandler_t};

fn acting(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction, result: c_int) -> c_int {
    // SAFETY: the program's own structure, which the successful call has filled in.
    if let Some(old) = unsafe { old.as_mut() }.filter(|old| result == 0 && signals::is_ours(old.sa_sigaction)) {
        // SAFETY: an all-zero sigaction is what a process starts with.
        *old = unsafe { std::mem::zeroed() };
    }
    // SAFETY: the program's own structure.
    if result == 0 && unsafe { new.as_ref() }.is_some_and(|new| new.sa_sigaction == libc::SIG_DFL) && record::is_on() {
        signals::stand_in_for(signal);
    }
    result
}

fn setting(signal: c_int, handler: sighandler_t, old: sighandler_t) -> sighandler_t {
    if handler == libc::SIG_DFL && old != libc::SIG_ERR && record::is_on() {
        signals::stand_in_for(signal);
    }
    if signals::is_ours(old) { libc::SIG_DFL } else { old }
}

hooks! { SIGNALS, missing = none();
    [sigaction](signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int
        = |real| acting(signal, new, old, real(signal, new, old));
    /// Wraps signal(2) and its other names.
    [signal, bsd_signal, ssignal, sysv_signal, __sysv_signal, sigset](signal_: c_int, handler: sighandler_t) -> sighandler_t
        = |real| setting(signal_, handler, real(signal_, handler));
}
