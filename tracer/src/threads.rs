//! Thread utilities: a single-thread check as in the C library (`__libc_single_threaded`, glibc 2.32 and later), sleep, yield.
#![expect(unsafe_code, reason = "a variable of the C library")]

use crate::real::global;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

static SINGLE: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());

/// Looks up the C library's variable `__libc_single_threaded`. Called from the library's constructor.
pub(crate) fn prepare() {
    SINGLE.store(global!("__libc_single_threaded").cast(), Ordering::Relaxed);
}

/// True only if the process certainly has just one thread.
#[inline(always)]
pub(crate) fn is_single() -> bool {
    // SAFETY: the pointer is null, or a `char` of the C library that lives as long as the process.
    unsafe { SINGLE.load(Ordering::Relaxed).as_ref() }.is_some_and(|single| single.load(Ordering::Relaxed) != 0)
}

/// Sleeps for `ns` nanoseconds (less than 10^9), or until a signal arrives.
pub(crate) fn pause(ns: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns };
    // SAFETY: the time is a local variable; the remaining time after a signal is ignored.
    unsafe { crate::sys::syscall!(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
}

/// Yields the processor to another thread.
pub(crate) fn give_way() {
    // SAFETY: no preconditions.
    unsafe { crate::sys::syscall!(libc::SYS_sched_yield) };
}
