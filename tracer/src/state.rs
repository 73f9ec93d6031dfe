//! Whether calls are recorded, and by which process: every hook asks first.
#![expect(unsafe_code, reason = "madvise(2), futex(2)")]

use crate::bare;
use crate::notes::Note;
use crate::tls::{self, Thread};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Whether calls are recorded.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Not started yet; or this is a forked child, in which the kernel has zeroed the page that the state lies in.
    Unset = 0,
    /// Calls are recorded.
    On = 1,
    /// Off, or over: calls pass through.
    Off = 2,
    /// This process is left out: calls pass through, but it takes part in what all ranks do together.
    Muted = 3,
    /// A thread writes the trace because the process is about to end: calls wait until that is done. Most wait for good.
    Parked = 4,
    /// The trace has been written, and the process goes on: calls are recorded into memory of their own ([`crate::late`]).
    Late = 5,
}

/// Size of the page that the state has to itself; a page is no larger than this on any Linux of the processor.
const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct StatePage {
    state: AtomicU8,
    unused: [AtomicU8; PAGE_BYTES - 1],
}

/// Alone in its page, which a forked child gets zeroed however it was forked: what the parent records lies in memory that
/// both see if there is a spool, and a child must never write there.
static PAGE: StatePage =
    StatePage { state: AtomicU8::new(State::Unset as u8), unused: [const { AtomicU8::new(0) }; PAGE_BYTES - 1] };

/// Whether recording has begun in this process or the one it was forked from.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// What a forked child does first.
static IN_CHILD: OnceLock<fn()> = OnceLock::new();
/// Whether what the others wait for was left in the middle, by the thread that asks.
static HAS_LEFT: OnceLock<fn() -> bool> = OnceLock::new();
/// What those who wait do now and then, should they wait for nothing.
static LOOK_AFTER: OnceLock<fn()> = OnceLock::new();
/// Has the kernel zero the state in every forked child (madvise(2), MADV_WIPEONFORK, Linux 4.14); false if it cannot.
/// `in_child` is what such a child does before its first call is recorded; `has_left` says whether this thread has left by a jump what the
/// others wait for, which then is over; `look_after` is done now and then by those who wait. For the constructor.
pub(crate) fn prepare(in_child: fn(), has_left: fn() -> bool, look_after: fn()) -> bool {
    let _ = IN_CHILD.set(in_child);
    let _ = HAS_LEFT.set(has_left);
    let _ = LOOK_AFTER.set(look_after);
    let page = (&raw const PAGE).cast_mut();
    // SAFETY: the page is ours alone, private and, since it is all zero in the file, anonymous.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, page, PAGE_BYTES, libc::MADV_WIPEONFORK) == 0 }
}

/// Switches recording on or off.
pub(crate) fn set_state(state: State) {
    BEGUN.store(matches!(state, State::On | State::Parked | State::Late), Ordering::Relaxed);
    PAGE.state.store(state as u8, Ordering::SeqCst);
}

/// As [`set_state`], and those who wait go on at once, not when they look again.
pub(crate) fn release(state: State) {
    set_state(state);
    // SAFETY: wakes threads of this process that wait in `wait`.
    unsafe { crate::sys::syscall!(libc::SYS_futex, &raw const PAGE, FUTEX_WAKE_PRIVATE, i32::MAX) };
}

/// Whether this process records, even if not at this moment.
pub(crate) fn is_on() -> bool {
    let state = PAGE.state.load(Ordering::Relaxed);
    state == State::On as u8 || state == State::Parked as u8 || state == State::Late as u8
}

/// Whether nothing more is to be looked at when a segment has been stored.
#[inline(always)]
pub(crate) fn is_plain() -> bool {
    PAGE.state.load(Ordering::Relaxed) == State::On as u8
}

/// Whether calls wait.
pub(crate) fn is_parked() -> bool {
    PAGE.state.load(Ordering::SeqCst) == State::Parked as u8
}

/// Whether the trace has been written, and the process goes on.
pub(crate) fn is_late() -> bool {
    PAGE.state.load(Ordering::SeqCst) == State::Late as u8
}

/// A waiting thread looks again after so long: where the process goes on, nobody is told, since most often it is gone by then.
const LOOKS_EVERY_NS: i64 = 4_000_000;

const FUTEX_WAIT_PRIVATE: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const FUTEX_WAKE_PRIVATE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Waits while calls wait, but not for long, and sees to it that this ends. Keeps errno.
pub(crate) fn wait() {
    let errno = crate::errno::save();
    let time = libc::timespec { tv_sec: 0, tv_nsec: LOOKS_EVERY_NS };
    // SAFETY: the page begins with the state and is as long as a futex's word; its other bytes are never written. A handler of
    // the program may run meanwhile, as anywhere.
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

/// Waits until calls go on; false if this thread must not wait: it is at work in the tracer itself, where the one that writes may
/// wait for it, or it is the one that writes; or this is a child of vfork(2), which outlives the process.
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

fn has_left() -> bool {
    HAS_LEFT.get().is_some_and(|has_left| has_left())
}

/// Whether recording has begun in this process: it is on, or it was.
pub(crate) fn is_begun() -> bool {
    IN_CHILD.get().is_some()
}

/// Whether this is a forked child that has not taken over yet.
pub(crate) fn is_unadopted_child() -> bool {
    BEGUN.load(Ordering::Relaxed) && PAGE.state.load(Ordering::Relaxed) == State::Unset as u8
}

/// Whether this process is left out.
pub(crate) fn is_muted() -> bool {
    PAGE.state.load(Ordering::Relaxed) == State::Muted as u8
}

/// This thread's state if it is the program's turn, whether its calls are recorded or not.
pub(crate) fn thread_or_muted() -> Option<&'static Thread> {
    thread().or_else(|| Some(tls::current()).filter(|thread| is_muted() && !thread.is_busy()))
}

/// This thread's state if calls of it are to be recorded now.
#[inline(always)]
pub(crate) fn thread() -> Option<&'static Thread> {
    let state = PAGE.state.load(Ordering::Relaxed);
    if state != State::On as u8 && (state == State::Off as u8 || state == State::Muted as u8 || !is_admitted()) {
        return None;
    }
    let thread = tls::current();
    if thread.busy.get() == 0 { Some(thread) } else { while_busy(thread) }
}

/// The same, for functions that the tracer's own allocator calls too: while the tracer is busy, nothing is counted.
pub(crate) fn thread_of_program() -> Option<&'static Thread> {
    if !tls::current().is_busy() && is_begun() { thread() } else { None }
}

/// Called while the state is none of the simple ones: whether the call is to be recorded, maybe after a while.
#[cold]
#[inline(never)]
fn is_admitted() -> bool {
    match PAGE.state.load(Ordering::Acquire) {
        state if state == State::Unset as u8 => taken_over(),
        state if state == State::Parked as u8 => {
            let admitted = park();
            // On a thread that ends the process, a call can only be a signal handler's.
            if !admitted && crate::process::is_own() {
                Note::DuringTracer.count();
            }
            admitted
        }
        state => state == State::Late as u8,
    }
}

/// Called while the state is not set: before the start, or in a child forked past fork(3)'s handlers, which takes over now.
#[cold]
#[inline(never)]
fn taken_over() -> bool {
    if is_unadopted_child()
        && let Some(in_child) = IN_CHILD.get()
    {
        in_child();
    } else if !is_begun() {
        crate::entry::start_early();
    }
    is_on()
}

#[cold]
fn while_busy(thread: &'static Thread) -> Option<&'static Thread> {
    if thread.is_lent() {
        if !bare::is_owner(thread) {
            return None;
        }
        if !thread.is_busy() {
            return Some(thread);
        }
    }
    // Others have not waited for it.
    if has_left() && !thread.is_busy() {
        return Some(thread);
    }
    if thread.is_interrupted() {
        Note::DuringTracer.count();
    }
    None
}
