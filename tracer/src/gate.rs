//! Gate around all code that allocates or empties memory for segments. Threads pass it concurrently; the thread that collects the recorded
//! calls for a trace gets exclusive access. Appending a segment does not pass it. Waiting is bounded, and a thread that others wait for
//! never waits.
#![expect(unsafe_code, reason = "membarrier(2)")]

use crate::tls::{self, Thread};
use crate::{errno, process, state, threads};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// Number of threads currently inside the gate, which allocate or empty memory for segments.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// True if a thread has, or waits for, exclusive access.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Maximum number of checks for an empty gate before exclusive access fails, nearly all 1 ms apart: a disk may be busy.
const MOST_WAITS: u32 = 2_000;

/// Runs `work`, which allocates or empties memory for segments, inside the gate. A call that a signal handler makes on this thread
/// meanwhile cannot enter.
pub(crate) fn pass<T>(thread: &Thread, work: impl FnOnce() -> T) -> T {
    let mut waited = 0;
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // A vfork(2) child outlives the thread that closed the gate.
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

/// Runs `work` with exclusive access to the memory for segments. `None` if another thread has that access or does not leave the gate,
/// or if a signal handler has interrupted this thread inside it.
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

/// Resets the gate for segment memory in a forked child, which has one thread.
pub(crate) fn in_child() {
    INSIDE.store(0, Ordering::Relaxed);
    CLOSED.store(false, Ordering::Relaxed);
    tls::current().at_gate.set(0);
    tls::current().io.late.set(0);
}

/// Commands of membarrier(2): MEMBARRIER_CMD_GLOBAL, _PRIVATE_EXPEDITED, _REGISTER_PRIVATE_EXPEDITED (Linux 4.3 and 4.14).
const GLOBAL: libc::c_int = 1 << 0;
const EXPEDITED: libc::c_int = 1 << 3;
const REGISTER: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: orders memory accesses, and touches none.
    unsafe { crate::sys::syscall!(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers the process with membarrier(2) for [`barrier`]: cheap while there is one thread. Called from the library's constructor.
pub(crate) fn prepare() {
    membarrier(REGISTER);
}

/// Issues a memory barrier on all threads: each other thread has seen our earlier stores, or we see the stores that it made before it
/// checked. So an append, which stores its segment and then checks the state, needs no barrier of its own.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
    if threads::is_single() {
        return;
    }
    let errno = errno::save();
    let done = membarrier(EXPEDITED) || membarrier(REGISTER) && membarrier(EXPEDITED) || membarrier(GLOBAL);
    if !done {
        // No processor delays a store nearly this long (20 ms), and a context switch flushes it.
        threads::pause(20_000_000);
    }
    errno.restore();
}
