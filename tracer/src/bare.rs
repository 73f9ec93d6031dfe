//! Threads and processes that run in this memory without thread-local storage of their own: clone(2) with CLONE_VM and without
//! CLONE_SETTLS, vfork(2). They find the block ([`tls`]) of the thread that made them, and would append to its chunk. Before it makes one, that thread
//! puts its id and a bit into its block: with the bit set a call asks which thread it is on, and only the owner's are recorded. No other thread asks.
//!
//! Not seen: one made by a system call of the program's own machine code, until a chunk is full ([`found`]).
#![expect(unsafe_code, reason = "gettid(2)")]

use crate::notes::Note;
use crate::tls::{self, Thread};
use crate::{errno, handles, process, record, sys};

/// The calling thread is about to make clone(2) with these flags.
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

/// The calling thread is about to make vfork(2).
pub(crate) fn vforking() {
    cloning((libc::CLONE_VM | libc::CLONE_VFORK) as u64);
}

/// The thread's block is about to be another one's too; if `until_back`, only until this thread goes on. Who has it from another one lends it for that one.
fn lend(thread: &Thread, until_back: bool) {
    if !thread.is_lent() {
        let errno = errno::save();
        thread.owner.set(tid());
        errno.restore();
    }
    thread.lend(until_back);
}

fn tid() -> u32 {
    // SAFETY: gettid has no preconditions. 0 where it may not be asked.
    u32::try_from(unsafe { sys::syscall!(libc::SYS_gettid) }).unwrap_or(0)
}

/// Whether the caller may be another thread than the block's.
pub(crate) fn may_be(thread: &Thread) -> bool {
    thread.is_lent()
}

/// Whether a call is one of the block's own thread; others are counted, but those of a child of vfork(2). Keeps errno.
#[cold]
pub(crate) fn is_owner(thread: &Thread) -> bool {
    let errno = errno::save();
    let me = tid();
    errno.restore();
    // A program that has confined itself cannot be asked.
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

/// A chunk is full that belongs to the thread `owner`: false, and its block is watched from now on, if the calling thread is another one.
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

/// In a forked child, which has one thread.
pub(crate) fn in_child() {
    tls::current().is_alone();
}
