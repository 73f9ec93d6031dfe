//! Signals held back on this thread for a moment: while it holds something that a handler would wait for, or runs on a stack
//! where a handler of the program must not.
#![expect(unsafe_code, reason = "rt_sigprocmask(2), sigaltstack(2)")]

/// Signals that the thread's own instructions raise: to hold those back would end the process.
const RAISED: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
/// The C library's signal for pthread_cancel(3) (nptl: SIGCANCEL).
const CANCEL: libc::c_int = 32;

/// A set of signals as the kernel sees it.
type Set = u64;

const fn one(signal: libc::c_int) -> Set {
    1 << (signal - 1)
}

/// Signals are held back until this is dropped.
pub(crate) struct Blocked {
    /// The thread's mask, if it was changed.
    before: Option<Set>,
}

impl Blocked {
    /// Holds back every signal that may come from outside.
    pub(crate) fn all() -> Self {
        Self::set(RAISED.iter().fold(Set::MAX, |set, &signal| set & !one(signal)))
    }

    /// Holds back cancellation only: its handler unwinds the stack.
    pub(crate) fn cancellation() -> Self {
        Self::set(one(CANCEL))
    }

    fn set(set: Set) -> Self {
        let mut before: Set = 0;
        let changed = change(libc::SIG_BLOCK, &set, &raw mut before);
        Self { before: changed.then_some(before) }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            change(libc::SIG_SETMASK, before, std::ptr::null_mut());
        }
    }
}

fn change(how: libc::c_int, set: &Set, before: *mut Set) -> bool {
    // SAFETY: both sets are ours, of the size given. The raw system call: the C library's leaves its own signals out, and
    // sets are 128 bytes there.
    unsafe {
        crate::sys::syscall!(libc::SYS_rt_sigprocmask, how, std::ptr::from_ref(set), before, size_of::<Set>()) == 0
    }
}

/// Whether this thread runs on its alternate signal stack.
pub(crate) fn is_on_signal_stack() -> bool {
    let mut stack = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    let none = std::ptr::null::<libc::stack_t>();
    // SAFETY: the structure is ours; nothing is changed.
    let known = unsafe { crate::sys::syscall!(libc::SYS_sigaltstack, none, &raw mut stack) } == 0;
    known && stack.ss_flags & libc::SS_ONSTACK != 0
}
