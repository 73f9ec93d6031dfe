//! Threads that have a descriptor table of their own, after unshare(CLONE_FILES), close_range(CLOSE_RANGE_UNSHARE), or clone(2) with
//! CLONE_VM but without CLONE_FILES. The tracer's table (`descriptors.rs`) describes all other threads. From the first of these calls on,
//! each look-up checks which descriptor table its thread has (kcmp(2), once per thread); before, there is no check.
#![expect(unsafe_code, reason = "kcmp(2), fstatat(2)")]

use super::resolve;
use crate::registry::{self, File};
use crate::{errno, process, sys, threads, tls};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// True once some thread may have a descriptor table of its own.
static DIFFER: AtomicBool = AtomicBool::new(false);
/// True once another process shares the descriptor table and may change it unseen, so that any number may refer to any file.
static LOST: AtomicBool = AtomicBool::new(false);
/// Thread ID of a thread that uses the process's descriptor table, for comparison; 0 if none is known.
static REFERENCE: AtomicI32 = AtomicI32::new(0);

/// Value of [`tls::Thread::table`] for a thread that uses the process's descriptor table.
const OF_PROCESS: u32 = 1;
const OWN: u32 = 2;
/// Value of KCMP_FILES: compare descriptor tables.
const FILES: libc::c_int = 2;

/// True if threads may have different descriptor tables.
#[inline(always)]
pub(crate) fn differ() -> bool {
    DIFFER.load(Ordering::Relaxed)
}

/// Records that some thread may have a descriptor table of its own from now on. The main thread keeps the process's table.
pub(crate) fn now_differ() {
    begin(process::adopted());
}

fn begin(reference: libc::c_int) {
    if !DIFFER.swap(true, Ordering::SeqCst) {
        REFERENCE.store(reference, Ordering::SeqCst);
    }
    super::descriptors::reach(false);
}

/// Records that another process shares the descriptor table from now on. The tracer does not see the changes that the other process makes.
pub(crate) fn are_lost() {
    LOST.store(true, Ordering::SeqCst);
    now_differ();
}

/// Records that this thread has got a descriptor table of its own. No effect if the process has no other thread. Preserves errno.
pub(crate) fn unshared() {
    let errno = errno::save();
    if !is_only_thread() {
        tls::current().table.set(OWN);
        let is_main = tid() == process::adopted();
        begin(if is_main { 0 } else { process::adopted() });
        // This thread was the reference for comparison with other threads.
        if is_main {
            REFERENCE.store(0, Ordering::SeqCst);
        }
    }
    errno.restore();
}

/// True if the process has one thread: `/proc/self/task` then has three links, one per thread plus two.
pub(crate) fn is_only_thread() -> bool {
    if LOST.load(Ordering::Relaxed) {
        return false;
    }
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let name = c"/proc/thread-self/..".as_ptr();
    // SAFETY: the structure is a local variable.
    let asked = unsafe { sys::syscall!(libc::SYS_newfstatat, libc::AT_FDCWD, name, &raw mut stat, 0) } == 0;
    // The C library does not know of threads that clone(2) made.
    if asked { stat.st_nlink == 3 } else { threads::is_single() }
}

fn tid() -> libc::c_int {
    // SAFETY: gettid has no preconditions.
    unsafe { sys::syscall!(libc::SYS_gettid) as libc::c_int }
}

/// True if the calling thread has a descriptor table of its own.
#[inline(always)]
pub(crate) fn is_own() -> bool {
    differ() && is_own_of_thread()
}

/// Checks which descriptor table the calling thread has; true for a table of its own. Preserves errno.
#[cold]
fn is_own_of_thread() -> bool {
    if LOST.load(Ordering::Relaxed) {
        return true;
    }
    let thread = tls::current();
    // Do not cache the result for code that runs on another thread's block.
    let known = if thread.is_lent() { 0 } else { thread.table.get() };
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
            if !thread.is_lent() {
                thread.table.set(if same { OF_PROCESS } else { OWN });
            }
            errno.restore();
            !same
        }
    }
}

/// Returns the file of a call on `number` by a thread with its own descriptor table; `None` if `number` is not a file. Preserves errno.
pub(super) fn file_elsewhere(number: libc::c_int) -> Option<&'static File> {
    let errno = errno::save();
    let is_file = sys::is_shut() || resolve::stat(number).is_some();
    errno.restore();
    if is_file { registry::uncertain_file() } else { None }
}

pub(super) fn in_child() {
    DIFFER.store(false, Ordering::Relaxed);
    LOST.store(false, Ordering::Relaxed);
    tls::current().table.set(0);
}
