//! Threads whose descriptor numbers mean other files than the process's: after unshare(CLONE_FILES), close_range(CLOSE_RANGE_UNSHARE), or
//! clone(2) without CLONE_FILES in one memory. The table of `descriptors.rs` is that of all other threads. From the first such call on each
//! look-up asks whose table its thread has (kcmp(2), once per thread); before, nobody asks.
#![expect(unsafe_code, reason = "kcmp(2), fstatat(2)")]

use super::resolve;
use crate::registry::{self, File};
use crate::{bare, errno, process, sys, threads, tls};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Some thread has a table of its own.
static DIFFER: AtomicBool = AtomicBool::new(false);
/// Another process changes the table, unseen: numbers may mean anything.
static LOST: AtomicBool = AtomicBool::new(false);
/// Id of a thread that has the process's table; 0: none is known.
static REFERENCE: AtomicI32 = AtomicI32::new(0);

/// What is known of a thread's table ([`tls::Thread::table`]).
const OF_PROCESS: u32 = 1;
const OWN: u32 = 2;
/// KCMP_FILES.
const FILES: libc::c_int = 2;

/// Whether threads may have different tables.
#[inline(always)]
pub(crate) fn differ() -> bool {
    DIFFER.load(Ordering::Relaxed)
}

/// Some thread may have a table of its own from now on; the main thread has the process's.
pub(crate) fn now_differ() {
    begin(process::adopted());
}

fn begin(reference: libc::c_int) {
    if !DIFFER.swap(true, Ordering::SeqCst) {
        REFERENCE.store(reference, Ordering::SeqCst);
    }
    super::descriptors::reach(false);
}

/// Another process shares the table from now on, and not this memory or not the tracer's ids: what it does to it is not seen.
pub(crate) fn are_lost() {
    LOST.store(true, Ordering::SeqCst);
    now_differ();
}

/// This thread has asked for a table of its own, and got it. Where it is the only one, nothing has changed. Keeps errno.
pub(crate) fn unshared() {
    let errno = errno::save();
    if !is_only_thread() {
        tls::current().table.set(OWN);
        let is_main = tid() == process::adopted();
        begin(if is_main { 0 } else { process::adopted() });
        // It was the one that others are compared with.
        if is_main {
            REFERENCE.store(0, Ordering::SeqCst);
        }
    }
    errno.restore();
}

/// Whether the process has one thread. `/proc/self/task` has a link for each, beside two.
pub(crate) fn is_only_thread() -> bool {
    if LOST.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let name = c"/proc/thread-self/..".as_ptr();
    // SAFETY: the structure is ours.
    let asked = unsafe { sys::syscall!(libc::SYS_newfstatat, libc::AT_FDCWD, name, &raw mut stat, 0) } == 0;
    threads::is_single() || asked && stat.st_nlink == 3
}

fn tid() -> libc::c_int {
    // SAFETY: gettid has no preconditions.
    unsafe { sys::syscall!(libc::SYS_gettid) as libc::c_int }
}

/// Whether the calling thread's numbers are not those of the process's table.
#[inline(always)]
pub(crate) fn is_own() -> bool {
    differ() && is_own_of_thread()
}

/// Keeps errno.
#[cold]
fn is_own_of_thread() -> bool {
    if LOST.load(Ordering::Relaxed) {
        return true;
    }
    let thread = tls::current();
    // Who uses another thread's block is asked of each time.
    let known = if bare::may_be(thread) { 0 } else { thread.table.get() };
    match known {
        OF_PROCESS => false,
        OWN => true,
        _ => {
            let errno = errno::save();
            let (me, reference) = (tid(), REFERENCE.load(Ordering::Relaxed));
            let same = reference != 0
                && (me == reference || {
                    // SAFETY: compares two threads of this process, and changes nothing.
                    unsafe { sys::syscall!(libc::SYS_kcmp, reference, me, FILES, 0, 0) == 0 }
                });
            if !bare::may_be(thread) {
                thread.table.set(if same { OF_PROCESS } else { OWN });
            }
            errno.restore();
            !same
        }
    }
}

/// What a call on `number` of a thread with a table of its own is booked on; `None` if it is no file. Keeps errno.
pub(super) fn file_elsewhere(number: libc::c_int) -> Option<&'static File> {
    let errno = errno::save();
    let is_file = sys::is_shut() || resolve::stat(number).is_some();
    errno.restore();
    if is_file { registry::uncertain_file() } else { None }
}

/// In a forked child, which has one thread.
pub(super) fn in_child() {
    DIFFER.store(false, Ordering::Relaxed);
    LOST.store(false, Ordering::Relaxed);
    tls::current().table.set(0);
}
