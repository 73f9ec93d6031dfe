//! Handles threads and processes that share this memory but have no thread-local storage of their own: clone(2) with CLONE_VM but not
//! CLONE_SETTLS, and vfork(2). They use the block ([`tls`]) of the thread that created them, and would append to its chunk. Before creating
//! one, that thread stores its id and a bit in its block. While the bit is set, each call checks which thread it runs on, and only the
//! owner's calls are recorded.
//!
//! Threads made by a system call in the program's own machine code are noticed only when a chunk is full ([`found`]).
#![expect(unsafe_code, reason = "gettid(2)")]

use crate::notes::Note;
use crate::tls::{self, Thread};
use crate::{errno, handles, process, state, sys};

/// Prepares for a clone(2) with `flags` by the calling thread: marks its thread-local block as shared if the new thread would use it too.
pub(crate) fn cloning(flags: u64) {
    process::may_be_shared();
    let has = |flag: libc::c_int| flags & flag as u64 != 0;
    if has(libc::CLONE_VM) && !has(libc::CLONE_SETTLS) {
        lend(tls::current(), has(libc::CLONE_VFORK));
    }
    if !state::is_begun() {
        return;
    }
    if has(libc::CLONE_FILES) && !has(libc::CLONE_THREAD) {
        handles::tables_are_lost();
    } else if has(libc::CLONE_VM) && !has(libc::CLONE_FILES) && !has(libc::CLONE_VFORK) {
        handles::tables_differ();
    }
}

/// Prepares for a vfork(2) by the calling thread: its thread-local block is shared with the child until the thread resumes.
pub(crate) fn vforking() {
    cloning((libc::CLONE_VM | libc::CLONE_VFORK) as u64);
}

/// Marks the thread-local block `thread` as shared with a thread that has none of its own. `until_back`: only until the block's owner makes its next
/// call. The recorded owner stays the same if a borrowing thread shares the block further.
fn lend(thread: &Thread, until_back: bool) {
    if !thread.is_lent() {
        let errno = errno::save();
        thread.owner.set(tid());
        errno.restore();
    }
    thread.lend(until_back);
}

fn tid() -> u32 {
    // SAFETY: gettid has no preconditions. Fails (0) if the tracer may make no system calls.
    u32::try_from(unsafe { sys::syscall!(libc::SYS_gettid) }).unwrap_or(0)
}

/// True if the calling thread owns the thread-local block `thread`. Otherwise counts the call as lost, unless made by a vfork(2) child.
/// Preserves errno.
#[cold]
pub(crate) fn is_owner(thread: &Thread) -> bool {
    let errno = errno::save();
    let me = tid();
    errno.restore();
    // The thread id is unknown (0) in a program that has confined itself.
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

/// Checks, when a chunk of segments is full, that the calling thread is `owner`, the thread that filled the chunk; assumes so if either id
/// is 0 (unknown). Otherwise marks the thread-local block as shared and returns false.
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

/// Ends all sharing of the thread-local block between threads in a forked child, which has one thread.
pub(crate) fn in_child() {
    tls::current().is_alone();
}
