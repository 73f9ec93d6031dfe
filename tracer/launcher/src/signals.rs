//! Signal handling: the signal state that dxt-run inherited, the signals that it receives and forwards, and its own death by a signal.
//! Contains the only unsafe code of this crate.
#![expect(unsafe_code, reason = "the C library's functions on signals have no safe form in rustix")]

use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::time::Duration;

const FORWARDED: [i32; 8] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCONT,
    libc::SIGTSTP,
];

pub(crate) const ENDING: [i32; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) signal: i32,
    /// True if the kernel sent the signal, for example to the whole foreground process group of a terminal. The command has then received it too.
    pub(crate) by_kernel: bool,
    /// Process ID of the sender; meaningless if the kernel sent the signal.
    pub(crate) sender: i32,
}

/// Signal state that dxt-run inherited and passes to the command, and the set of signals that dxt-run waits for.
#[derive(Clone, Copy)]
pub struct Signals {
    mask: libc::sigset_t,
    child: libc::sigaction,
    pipe: libc::sigaction,
    taken: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals that dxt-run waits for, so that they stay pending until then. Ignored signals stay ignored.
    #[must_use]
    pub fn take() -> Self {
        let mut waiting: Vec<i32> =
            FORWARDED.into_iter().filter(|signal| action(*signal, None).sa_sigaction != libc::SIG_IGN).collect();
        waiting.push(libc::SIGCHLD);
        let taken = set_of(&waiting);
        // If SIGCHLD were ignored, the kernel would keep no exit status of children.
        let child = action(libc::SIGCHLD, Some(libc::SIG_DFL));
        let pipe = action(libc::SIGPIPE, Some(libc::SIG_IGN));
        Self { mask: change_mask(libc::SIG_BLOCK, &taken), child, pipe, taken }
    }

    /// Makes `command` start with the inherited signal state, except that the `ignored` signals are ignored.
    pub(crate) fn hand_on<'c>(&self, command: &'c mut Command, ignored: &'static [i32]) -> &'c mut Command {
        let state = *self;
        let restore = move || {
            restore(libc::SIGCHLD, &state.child);
            restore(libc::SIGPIPE, &state.pipe);
            for signal in ignored {
                action(*signal, Some(libc::SIG_IGN));
            }
            change_mask(libc::SIG_SETMASK, &state.mask);
            Ok(())
        };
        // SAFETY: the closure runs in the forked child and calls only sigaction(2) and sigprocmask(2), which are async-signal-safe.
        unsafe { command.pre_exec(restore) }
    }

    /// Waits for one of the blocked signals; returns `None` once `limit` has passed.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> Option<Arrival> {
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        loop {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            let limit = limit.as_ref().map_or(null(), std::ptr::from_ref);
            // SAFETY: all three pointers lead to values that live until the call returns.
            let signal = unsafe { libc::sigtimedwait(&raw const self.taken, info.as_mut_ptr(), limit) };
            if signal > 0 {
                // SAFETY: all-zero bytes are a valid siginfo_t, which the call has filled in.
                let info = unsafe { info.assume_init() };
                let by_kernel = info.si_code > 0;
                // SAFETY: signals from kill(2) and from children have a pid in this field; for other signals it is an arbitrary number.
                let sender = unsafe { info.si_pid() };
                return Some(Arrival { signal, by_kernel, sender });
            }
            // Stopping and continuing the process interrupts sigtimedwait(2).
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
    }

    /// Stops this process as the stop signal `signal` would have done; returns after SIGCONT.
    pub(crate) fn stop(&self, signal: i32) {
        raise(signal);
        change_mask(libc::SIG_UNBLOCK, &set_of(&[signal]));
        change_mask(libc::SIG_BLOCK, &set_of(&[signal]));
    }
}

/// Sends `signal` to `process`; does nothing if the process no longer exists.
pub(crate) fn send(process: i32, signal: i32) {
    // SAFETY: kill(2) takes only numbers.
    unsafe { libc::kill(process, signal) };
}

/// Ends this process by `signal`, without a core file, since the command may have left a core file of its own. Returns only if the kernel
/// does not end the process, as for the first process (PID 1) of a container.
pub fn end_by(signal: i32) {
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    action(signal, Some(libc::SIG_DFL));
    raise(signal);
    change_mask(libc::SIG_UNBLOCK, &set_of(&[signal]));
}

fn raise(signal: i32) {
    // SAFETY: raise(3) takes only a number.
    unsafe { libc::raise(signal) };
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset(3) initializes the set.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: sigemptyset(3) has initialized the set.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: the set is a local variable.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    set
}

/// Changes the mask of blocked signals (`how` as in sigprocmask(2)); returns the old mask.
fn change_mask(how: i32, set: &libc::sigset_t) -> libc::sigset_t {
    let mut old = *set;
    // SAFETY: both sets live until the call returns.
    unsafe { libc::sigprocmask(how, set, &raw mut old) };
    old
}

/// Sets the action of `signal` to `handler`, if given; returns the old action.
fn action(signal: i32, handler: Option<libc::sighandler_t>) -> libc::sigaction {
    // SAFETY: an all-zero sigaction is valid: no handler, no flags, an empty mask.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given, and the old action is written to a local variable.
    unsafe { libc::sigaction(signal, null(), &raw mut old) };
    if let Some(handler) = handler {
        let mut new = old;
        new.sa_sigaction = handler;
        new.sa_flags = 0;
        restore(signal, &new);
    }
    old
}

fn restore(signal: i32, old: &libc::sigaction) {
    // SAFETY: the action is SIG_DFL, SIG_IGN, or one returned by sigaction(2).
    unsafe { libc::sigaction(signal, old, null_mut()) };
}
