//! Gate around all code that allocates or empties memory for segments. Threads pass the gate concurrently; a thread that collects the
//! recorded calls for a trace gets exclusive access. Appending a segment does not pass the gate. Waiting is bounded, and a thread that
//! others wait for never waits.
#![expect(unsafe_code, reason = "membarrier(2)")]

use crate::tls::{self, Thread};
use crate::{errno, process, state, threads};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// Number of threads inside the gate (see [`pass`]): they allocate or empty memory for segments.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// True if a thread has exclusive access to the memory for segments, or waits for it.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Maximum number of checks if all threads have left the gate before exclusive access fails. Nearly all are 1 ms apart, since a thread
/// inside may wait for a busy disk.
const MOST_WAITS: u32 = 2_000;

/// Runs `work`, which allocates or empties memory for segments, inside the gate. A call made meanwhile by a signal handler on this thread
/// cannot enter.
pub(crate) fn pass<T>(thread: &Thread, work: impl FnOnce() -> T) -> T {
    let mut waited = 0;
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // Does not wait in a vfork(2) child, which may outlive the thread that closed the gate.
        let closed = CLOSED.load(Ordering::SeqCst) || state::is_parked();
        if !closed || !process::is_own() {
            break;
        }
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        waited += 1;
        if state::is_parked() {
            state::wait();
        } else if waited < 100 {
            threads::give_way();
        } else {
            threads::pause(100_000);
        }
    }
    thread.at_gate.set(thread.at_gate.get() + 1);
    let result = work();
    thread.at_gate.set(thread.at_gate.get() - 1);
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Runs `work` with exclusive access to the memory for segments. Returns `None` if another thread has exclusive access or does not leave
/// the gate, or if a signal handler interrupted this thread inside the gate.
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> Option<T> {
    if tls::current().at_gate.get() != 0 || CLOSED.swap(true, Ordering::SeqCst) {
        return None;
    }
    let mut waited = 0;
    while INSIDE.load(Ordering::SeqCst) != 0 && waited < MOST_WAITS {
        waited += 1;
        if waited < 100 { threads::give_way() } else { threads::pause(1_000_000) }
    }
    let result = (INSIDE.load(Ordering::SeqCst) == 0).then(work);
    CLOSED.store(false, Ordering::SeqCst);
    result
}

pub(crate) fn in_child() {
    INSIDE.store(0, Ordering::Relaxed);
    CLOSED.store(false, Ordering::Relaxed);
    tls::current().at_gate.set(0);
    tls::current().io.late.set(0);
}

/// Command MEMBARRIER_CMD_GLOBAL of membarrier(2) (Linux 4.3).
const GLOBAL: libc::c_int = 1 << 0;
/// Command MEMBARRIER_CMD_PRIVATE_EXPEDITED of membarrier(2) (Linux 4.14).
const EXPEDITED: libc::c_int = 1 << 3;
/// Command MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED of membarrier(2) (Linux 4.14).
const REGISTER: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call orders memory accesses, and touches no memory.
    unsafe { crate::sys::syscall!(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers the process with membarrier(2), for [`barrier`]. Called from the library's constructor: registering is cheap while there is one thread.
pub(crate) fn prepare() {
    membarrier(REGISTER);
}

/// Issues a memory barrier on all threads. This thread must have stored something before (such as a new state) that other threads load: any
/// other thread either loads the new value, or has made all its stores before the load visible to this thread. So an append, which stores
/// its segment and then loads the state, needs no barrier of its own.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
    if threads::is_single() {
        return;
    }
    let errno = errno::save();
    let done = membarrier(EXPEDITED) || membarrier(REGISTER) && membarrier(EXPEDITED) || membarrier(GLOBAL);
    if !done {
        // No processor delays a store nearly as long as 20 ms, and a context switch flushes the store buffer.
        threads::pause(20_000_000);
    }
    errno.restore();
}
