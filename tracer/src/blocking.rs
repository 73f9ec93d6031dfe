//! Blocks the signals of a thread briefly: while the thread holds a lock that a handler would wait for, or uses a stack unfit for the
//! program's handlers.
#![expect(unsafe_code, reason = "rt_sigprocmask(2), rt_sigtimedwait(2), sigaltstack(2)")]

use crate::{errno, sys};

/// Signals raised by the thread's own instructions: the kernel ends the process if one of them is raised while blocked.
const RAISED: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
/// Signal that glibc uses for pthread_cancel(3) (nptl: SIGCANCEL).
const CANCEL: libc::c_int = 32;
/// Signal that glibc uses for setuid(2) and similar, which must change all threads (nptl: SIGSETXID).
const SET_ID: libc::c_int = 33;

/// Signal set in the kernel's representation: bit n - 1 is signal n.
type Set = u64;

const fn one(signal: libc::c_int) -> Set {
    1 << (signal - 1)
}

/// Blocks signals of this thread until dropped. Meanwhile the program cannot confine this thread by seccomp: a filter might forbid the system
/// call that restores the signal mask. Blocks nothing if the tracer may make no system calls (gate of `sys` shut).
pub(crate) struct Blocked {
    before: Option<Set>,
    _leave: Option<sys::Claim>,
}

impl Blocked {
    /// Blocks every signal that may come from outside the thread. For work on a stack that is unfit for the program's signal handlers.
    pub(crate) fn all() -> Self {
        Self::set(ALL)
    }

    /// Blocks all signals except SIGABRT and the C library's signal for setuid(2). For short work that must not be left half done.
    pub(crate) fn briefly() -> Self {
        Self::set(ALL & !one(libc::SIGABRT) & !one(SET_ID))
    }

    /// Blocks only the signal of pthread_cancel(3), whose handler unwinds the stack.
    pub(crate) fn cancellation() -> Self {
        Self::set(one(CANCEL))
    }

    /// Blocks only SIGXFSZ, which a write beyond RLIMIT_FSIZE raises.
    pub(crate) fn file_size() -> Self {
        Self::set(one(libc::SIGXFSZ))
    }

    /// Runs `call` and discards those of `signals` that `call` raises on this thread. The signals must be blocked.
    pub(crate) fn without<const N: usize, T>(&self, signals: [libc::c_int; N], call: impl FnOnce() -> T) -> T {
        let before = pending();
        let result = call();
        let Some(before) = before.filter(|_| self.before.is_some()) else { return result };
        let new = pending().unwrap_or(0) & !before;
        let come = signals.iter().fold(0, |set, &signal| set | one(signal)) & new;
        if come != 0 {
            let (no_answer, at_once) =
                (std::ptr::null_mut::<libc::siginfo_t>(), libc::timespec { tv_sec: 0, tv_nsec: 0 });
            // SAFETY: the set and the time are local variables.
            unsafe {
                sys::syscall!(
                    libc::SYS_rt_sigtimedwait,
                    &raw const come,
                    no_answer,
                    &raw const at_once,
                    size_of::<Set>()
                )
            };
        }
        result
    }

    /// Blocks the signals in `set`. Preserves errno; so does the drop.
    fn set(set: Set) -> Self {
        let leave = sys::claim();
        let before = leave.as_ref().and_then(|_| change(libc::SIG_BLOCK, set));
        Self { before, _leave: leave }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            change(libc::SIG_SETMASK, before);
        }
    }
}

/// Returns the set of blocked signals that are pending on this thread; `None` if unknown.
fn pending() -> Option<Set> {
    let mut set: Set = 0;
    // SAFETY: the set is a local variable, of the size given.
    let known = unsafe { sys::syscall!(libc::SYS_rt_sigpending, &raw mut set, size_of::<Set>()) } == 0;
    known.then_some(set)
}

/// Set of all signals except those raised by the thread's own instructions.
const ALL: Set = {
    let (mut set, mut at) = (Set::MAX, 0);
    while at < RAISED.len() {
        set &= !one(RAISED[at]);
        at += 1;
    }
    set
};

/// Calls rt_sigprocmask(2); the thread must hold permission to make system calls (`sys::claim`). Returns the old mask, or `None` on failure.
/// Preserves errno.
fn change(how: libc::c_int, set: Set) -> Option<Set> {
    let errno = errno::save();
    let mut before: Set = 0;
    // SAFETY: both sets are local variables of this size. Raw call: the C library's function excludes its own signals, and its sets are 128 bytes.
    let done =
        unsafe { sys::pass_on!(libc::SYS_rt_sigprocmask, how, &raw const set, &raw mut before, size_of::<Set>()) == 0 };
    errno.restore();
    done.then_some(before)
}

/// True if this thread runs on its alternate signal stack.
pub(crate) fn is_on_signal_stack() -> bool {
    let mut stack = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    let none = std::ptr::null::<libc::stack_t>();
    // SAFETY: the structure is a local variable; the call changes no signal stack.
    let known = unsafe { crate::sys::syscall!(libc::SYS_sigaltstack, none, &raw mut stack) } == 0;
    known && stack.ss_flags & libc::SS_ONSTACK != 0
}
