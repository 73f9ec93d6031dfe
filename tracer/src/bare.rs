//! Threads and processes in this memory without thread-local storage of their own: clone(2) with CLONE_VM but not CLONE_SETTLS, vfork(2).
//! They see the block ([`tls`]) of the thread that made them, and would append to its chunk. Before making one, that thread stores its id
//! and a bit in its block. While the bit is set, a call checks which thread it runs on, and only the owner's are recorded. Other threads do
//! not check.
//!
//! Not seen: threads made by a system call in the program's own machine code, until a chunk is full ([`found`]).
#![expect(unsafe_code, reason = "gettid(2)")]

use crate::notes::Note;
use crate::tls::{self, Thread};
use crate::{errno, handles, process, record, sys};

/// Prepares for a clone(2) with these flags by the calling thread.
pub(crate) fn cloning(flags: u64) {
    process::may_be_shared();
    let has = |flag: libc::c_int| flags & flag as u64 != 0;
    if has(libc::CLONE_VM) && !has(libc::CLONE_SETTLS) {
        lend(tls::current(), has(libc::CLONE_VFORK));
    }
    if !record::is_begun() {
        return;
    }
    if has(libc::CLONE_FILES) && !has(libc::CLONE_THREAD) {
        handles::tables_are_lost();
    } else if has(libc::CLONE_VM) && !has(libc::CLONE_FILES) && !has(libc::CLONE_VFORK) {
        handles::tables_differ();
    }
}

/// Prepares for a vfork(2) by the calling thread.
pub(crate) fn vforking() {
    cloning((libc::CLONE_VM | libc::CLONE_VFORK) as u64);
}

/// Marks the thread's block as shared; if `until_back`, only until this thread goes on. If a borrower lends it on, the owner stays.
fn lend(thread: &Thread, until_back: bool) {
    if !thread.is_lent() {
        let errno = errno::save();
        thread.owner.set(tid());
        errno.restore();
    }
    thread.lend(until_back);
}

fn tid() -> u32 {
    // SAFETY: gettid has no preconditions. 0 if it may not be called.
    u32::try_from(unsafe { sys::syscall!(libc::SYS_gettid) }).unwrap_or(0)
}

/// True if the caller may be another thread than the block's owner.
pub(crate) fn may_be(thread: &Thread) -> bool {
    thread.is_lent()
}

/// True if a call comes from the block's own thread; counts others, except those of a vfork(2) child. Preserves errno.
#[cold]
pub(crate) fn is_owner(thread: &Thread) -> bool {
    let errno = errno::save();
    let me = tid();
    errno.restore();
    // In a program that has confined itself the thread id is unknown.
    if me == thread.owner.get() && me != 0 {
        thread.is_back();
        return true;
    }
    if thread.is_lent_for_good() {
        Note::BareThread.count();
        handles::doubt_positions();
    }
    false
}

/// Checks, when a chunk is full, that it belongs to the calling thread; otherwise marks the block as shared and returns false.
pub(crate) fn found(thread: &Thread, owner: u32) -> bool {
    let me = tid();
    let is_owner = me == owner || me == 0 || owner == 0;
    if !is_owner {
        thread.owner.set(owner);
        thread.lend(false);
        Note::BareThread.count();
        handles::doubt_positions();
    }
    is_owner
}

/// Ends all loans in a forked child, which has one thread.
pub(crate) fn in_child() {
    tls::current().is_alone();
}
