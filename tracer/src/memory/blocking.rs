//! Signals held back on this thread for a moment: while it holds something that a handler would wait for, or runs on a stack
//! where a handler of the program must not.
#![expect(unsafe_code, reason = "rt_sigprocmask(2), rt_sigtimedwait(2), sigaltstack(2)")]

use crate::{errno, sys};

/// Signals that the thread's own instructions raise: to hold those back would end the process.
const RAISED: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
/// The C library's signals for pthread_cancel(3) and for setuid(2) and its kin (nptl: SIGCANCEL, SIGSETXID).
const CANCEL: libc::c_int = 32;
const SET_ID: libc::c_int = 33;

/// A set of signals as the kernel sees it.
type Set = u64;

const fn one(signal: libc::c_int) -> Set {
    1 << (signal - 1)
}

/// Signals are held back until this is dropped. Until then nobody may confine this thread either: whether a filter lets it put
/// the mask back, who knows? Where the gate of `sys` is shut already, nothing is held.
pub(crate) struct Blocked {
    before: Option<Set>,
    _leave: Option<sys::Claim>,
}

impl Blocked {
    /// Holds back every signal that may come from outside: for work on a stack where no handler of the program may run.
    pub(crate) fn all() -> Self {
        Self::set(ALL)
    }

    /// The same, but for abort(3), and the C library's own signal that changes every thread's user: for short work that may not be
    /// left in the middle.
    pub(crate) fn briefly() -> Self {
        Self::set(ALL & !one(libc::SIGABRT) & !one(SET_ID))
    }

    /// Holds back cancellation only: its handler unwinds the stack.
    pub(crate) fn cancellation() -> Self {
        Self::set(one(CANCEL))
    }

    /// Holds back SIGXFSZ only.
    pub(crate) fn file_size() -> Self {
        Self::set(one(libc::SIGXFSZ))
    }

    /// Runs `call` and takes away those of these `signals`, held back by this, that come of it on this thread.
    pub(crate) fn without<const N: usize, T>(&self, signals: [libc::c_int; N], call: impl FnOnce() -> T) -> T {
        let before = pending();
        let result = call();
        let Some(before) = before.filter(|_| self.before.is_some()) else { return result };
        let new = pending().unwrap_or(0) & !before;
        let come = signals.iter().fold(0, |set, &signal| set | one(signal)) & new;
        if come != 0 {
            let (no_answer, at_once) =
                (std::ptr::null_mut::<libc::siginfo_t>(), libc::timespec { tv_sec: 0, tv_nsec: 0 });
            // SAFETY: the set and the time are ours.
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

    /// Keeps errno, as does the end.
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

/// Signals that wait until they are not held back any more.
fn pending() -> Option<Set> {
    let mut set: Set = 0;
    // SAFETY: the set is ours, of the size given.
    let known = unsafe { sys::syscall!(libc::SYS_rt_sigpending, &raw mut set, size_of::<Set>()) } == 0;
    known.then_some(set)
}

/// Every signal but those that the thread's own instructions raise.
const ALL: Set = {
    let (mut set, mut at) = (Set::MAX, 0);
    while at < RAISED.len() {
        set &= !one(RAISED[at]);
        at += 1;
    }
    set
};

/// rt_sigprocmask(2), by somebody who has leave for it: the mask before; `None` if it is refused. Keeps errno.
fn change(how: libc::c_int, set: Set) -> Option<Set> {
    let errno = errno::save();
    let mut before: Set = 0;
    // SAFETY: both sets are ours, of the size given. The raw system call: the C library's leaves its own signals out, and
    // sets are 128 bytes there.
    let done =
        unsafe { sys::pass_on!(libc::SYS_rt_sigprocmask, how, &raw const set, &raw mut before, size_of::<Set>()) == 0 };
    errno.restore();
    done.then_some(before)
}

/// Whether this thread runs on its alternate signal stack.
pub(crate) fn is_on_signal_stack() -> bool {
    let mut stack = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    let none = std::ptr::null::<libc::stack_t>();
    // SAFETY: the structure is ours; nothing is changed.
    let known = unsafe { crate::sys::syscall!(libc::SYS_sigaltstack, none, &raw mut stack) } == 0;
    known && stack.ss_flags & libc::SS_ONSTACK != 0
}
