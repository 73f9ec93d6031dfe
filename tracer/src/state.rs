//! Recording state of the process, which every hook checks first.
#![expect(unsafe_code, reason = "madvise(2), futex(2)")]

use crate::tls;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Recording has not started, or this is a forked child, in which the kernel has zeroed the page that holds the state.
    Unset = 0,
    On = 1,
    /// Recording is off or has ended: calls pass through unrecorded.
    Off = 2,
    /// The process is not recorded: calls pass through, but the process takes part in the collective steps of the other ranks.
    Muted = 3,
    /// A thread writes the trace because the process is about to end: calls wait until the trace is written, most of them for good.
    Parked = 4,
    /// The trace has been written and the process continues: calls are recorded into a separate arena ([`crate::late_calls`]).
    Late = 5,
}

/// Size of the page that holds only the state, in bytes: the largest page size of any Linux on this processor.
const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct StatePage {
    state: AtomicU8,
    unused: [AtomicU8; PAGE_BYTES - 1],
}

/// Recording state, alone in a page that the kernel zeroes in every forked child, regardless of how the child was forked. If there is a
/// spool, the parent's recorded calls lie in shared memory, where a child must never write.
static PAGE: StatePage =
    StatePage { state: AtomicU8::new(State::Unset as u8), unused: [const { AtomicU8::new(0) }; PAGE_BYTES - 1] };

/// True if the latest state that this process has set, or else its parent before fork, is one in which calls are recorded (On, Parked or
/// Late).
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Callback that starts recording in a forked child, before the child's first call is recorded.
static IN_CHILD: OnceLock<fn()> = OnceLock::new();
/// Callback that returns true if the calling thread left, by a jump, work of the tracer that other threads wait for.
static HAS_LEFT: OnceLock<fn() -> bool> = OnceLock::new();
/// Callback that waiting threads run now and then, in case nothing else will ever wake them.
static LOOK_AFTER: OnceLock<fn()> = OnceLock::new();
/// Makes the kernel zero the state in every forked child (madvise(2), MADV_WIPEONFORK, Linux 4.14); returns false if it cannot. Sets three
/// callbacks. `in_child` runs in a forked child before its first call is recorded. `has_left` returns true, and ends the wait of other
/// threads, if this thread left by a jump the work that they wait for. `look_after` runs now and then in waiting threads.
pub(crate) fn prepare(in_child: fn(), has_left: fn() -> bool, look_after: fn()) -> bool {
    let _ = IN_CHILD.set(in_child);
    let _ = HAS_LEFT.set(has_left);
    let _ = LOOK_AFTER.set(look_after);
    let page = (&raw const PAGE).cast_mut();
    // SAFETY: the page belongs to this static alone, is private and, since it is all zero in the file, anonymous.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, page, PAGE_BYTES, libc::MADV_WIPEONFORK) == 0 }
}

pub(crate) fn set_state(state: State) {
    BEGUN.store(matches!(state, State::On | State::Parked | State::Late), Ordering::Relaxed);
    PAGE.state.store(state as u8, Ordering::SeqCst);
}

/// Sets the recording state like [`set_state`], and at once wakes the threads that wait for a change.
pub(crate) fn release(state: State) {
    set_state(state);
    // SAFETY: wakes only threads of this process that wait in `wait`.
    unsafe { crate::sys::syscall!(libc::SYS_futex, &raw const PAGE, FUTEX_WAKE_PRIVATE, i32::MAX) };
}

/// True if this process is recorded, even if calls wait at the moment or a trace has been written (On, Parked or Late).
pub(crate) fn is_on() -> bool {
    let state = PAGE.state.load(Ordering::Relaxed);
    state == State::On as u8 || state == State::Parked as u8 || state == State::Late as u8
}

/// Returns the number of the recording state, loaded with memory order `order`.
#[inline(always)]
pub(crate) fn raw(order: Ordering) -> u8 {
    PAGE.state.load(order)
}

/// True if the recording state is On, so that a stored segment needs no further checks.
#[inline(always)]
pub(crate) fn is_plain() -> bool {
    PAGE.state.load(Ordering::Relaxed) == State::On as u8
}

/// True if the recording state is Parked: calls wait until the trace is written.
pub(crate) fn is_parked() -> bool {
    PAGE.state.load(Ordering::SeqCst) == State::Parked as u8
}

/// True if the recording state is Late: the trace has been written, and the process goes on.
pub(crate) fn is_late() -> bool {
    PAGE.state.load(Ordering::SeqCst) == State::Late as u8
}

/// Interval at which a waiting thread checks the state again, in ns. A thread that has written the last trace does not wake the waiting
/// threads, since usually the process has ended by then; only [`release`] wakes them.
const LOOKS_EVERY_NS: i64 = 4_000_000;

const FUTEX_WAIT_PRIVATE: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const FUTEX_WAKE_PRIVATE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Waits until the state is no longer Parked, but at most 4 ms, then runs `look_after`. Preserves errno.
pub(crate) fn wait() {
    let errno = crate::errno::save();
    let time = libc::timespec { tv_sec: 0, tv_nsec: LOOKS_EVERY_NS };
    // SAFETY: the page begins with the state and is longer than a futex word; its other bytes are never written. Signal handlers may run
    // meanwhile, as anywhere.
    unsafe {
        crate::sys::syscall!(
            libc::SYS_futex,
            &raw const PAGE,
            FUTEX_WAIT_PRIVATE,
            u32::from(State::Parked as u8),
            &raw const time
        )
    };
    if let Some(look_after) = LOOK_AFTER.get() {
        look_after();
    }
    errno.restore();
}

/// Waits until calls may proceed. Returns false if this thread must not wait: it writes the trace, does other work of the tracer for which
/// the writer may wait, or is in a vfork(2) child, which may outlive the process.
pub(crate) fn park() -> bool {
    while is_parked() {
        if !crate::process::is_own() {
            return false;
        }
        if tls::current().is_busy() {
            if !has_left() {
                return false;
            }
        } else {
            wait();
        }
    }
    true
}

/// True if the calling thread left, by a jump, work of the tracer that other threads wait for.
pub(crate) fn has_left() -> bool {
    HAS_LEFT.get().is_some_and(|has_left| has_left())
}

/// True once recording has been set up ([`prepare`]) in this process, or in its parent before fork.
pub(crate) fn is_begun() -> bool {
    IN_CHILD.get().is_some()
}

/// True if this is a forked child that has not yet begun its own recording.
pub(crate) fn is_unadopted_child() -> bool {
    BEGUN.load(Ordering::Relaxed) && PAGE.state.load(Ordering::Relaxed) == State::Unset as u8
}

/// Runs the callback that begins recording in a forked child, if recording has been set up.
pub(crate) fn run_in_child() {
    if let Some(in_child) = IN_CHILD.get() {
        in_child();
    }
}

/// True if the recording state is Muted: the process is not recorded but takes part in the collective steps of the other ranks.
pub(crate) fn is_muted() -> bool {
    PAGE.state.load(Ordering::Relaxed) == State::Muted as u8
}
