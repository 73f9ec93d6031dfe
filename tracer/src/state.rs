//! Whether calls are recorded, and by which process: every hook asks first.
#![expect(unsafe_code, reason = "madvise(2)")]

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
/// Has the kernel zero the state in every forked child (madvise(2), MADV_WIPEONFORK, Linux 4.14); false if it cannot.
/// `in_child` is what such a child does before its first call is recorded. For the constructor.
pub(crate) fn prepare(in_child: fn()) -> bool {
    let _ = IN_CHILD.set(in_child);
    let page = (&raw const PAGE).cast_mut();
    // SAFETY: the page is ours alone, private and, since it is all zero in the file, anonymous.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, page, PAGE_BYTES, libc::MADV_WIPEONFORK) == 0 }
}

/// Switches recording on or off.
pub(crate) fn set_state(state: State) {
    BEGUN.store(state == State::On, Ordering::Relaxed);
    PAGE.state.store(state as u8, Ordering::Release);
}

/// Whether recording is on.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    PAGE.state.load(Ordering::Relaxed) == State::On as u8
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
    thread().or_else(|| Some(tls::current()).filter(|thread| is_muted() && thread.busy.get() == 0))
}

/// This thread's state if calls of it are to be recorded now.
#[inline(always)]
pub(crate) fn thread() -> Option<&'static Thread> {
    let state = PAGE.state.load(Ordering::Relaxed);
    if state != State::On as u8 && (state >= State::Off as u8 || !taken_over()) {
        return None;
    }
    let thread = tls::current();
    if thread.busy.get() == 0 { Some(thread) } else { while_busy(thread) }
}

/// The same, for functions that the tracer's own allocator calls too: while the tracer is busy, nothing is counted.
pub(crate) fn thread_of_program() -> Option<&'static Thread> {
    if tls::current().busy.get() == 0 && is_begun() { thread() } else { None }
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
fn while_busy(thread: &Thread) -> Option<&'static Thread> {
    if thread.is_interrupted() {
        Note::DuringTracer.count();
    }
    None
}
