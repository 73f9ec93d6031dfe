//! The gate before all that hands out or empties memory for segments: threads pass it side by side, and whoever takes what is on
//! record for a trace has it alone. An append does not come here. Waiting is bounded, and nobody waits who is waited for.
#![expect(unsafe_code, reason = "membarrier(2)")]

use crate::tls::{self, Thread};
use crate::{errno, process, state, threads};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// Threads behind the gate.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Somebody wants it, or has it, alone.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Times that whoever wants it alone looks whether all others are out, nearly all a millisecond apart: a disk may be busy.
const MOST_WAITS: u32 = 2_000;

/// Runs `work` behind the gate, which calls of this thread made by a signal handler meanwhile do not pass.
pub(crate) fn pass<T>(thread: &Thread, work: impl FnOnce() -> T) -> T {
    let mut waited = 0;
    loop {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        // A child of vfork(2) outlives whoever has closed it.
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

/// Runs `work` while nobody is behind the gate; `None` if somebody does not come out, or if that is this thread, which a signal
/// handler has interrupted there.
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

/// In a forked child, which has one thread.
pub(crate) fn in_child() {
    INSIDE.store(0, Ordering::Relaxed);
    CLOSED.store(false, Ordering::Relaxed);
    tls::current().at_gate.set(0);
    tls::current().io.late.set(0);
}

/// membarrier(2): MEMBARRIER_CMD_GLOBAL, _PRIVATE_EXPEDITED, _REGISTER_PRIVATE_EXPEDITED (Linux 4.3 and 4.14).
const GLOBAL: libc::c_int = 1 << 0;
const EXPEDITED: libc::c_int = 1 << 3;
const REGISTER: libc::c_int = 1 << 4;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: orders memory accesses, and touches none.
    unsafe { crate::sys::syscall!(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Says to the kernel that [`barrier`] will be wanted: cheap while there is one thread. For the constructor.
pub(crate) fn prepare() {
    membarrier(REGISTER);
}

/// After this, each other thread has seen what this one stored before, or what it stored before it looked can be seen here. So an
/// append that stores its segment and then looks at the state needs no barrier of its own.
pub(crate) fn barrier() {
    fence(Ordering::SeqCst);
    if threads::is_single() {
        return;
    }
    let errno = errno::save();
    let done = membarrier(EXPEDITED) || membarrier(REGISTER) && membarrier(EXPEDITED) || membarrier(GLOBAL);
    if !done {
        // No processor keeps a store to itself for nearly as long, nor does a switch of threads.
        threads::pause(20_000_000);
    }
    errno.restore();
}
