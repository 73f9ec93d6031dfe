//! Signals that would end the process by their default action: the trace is written first, then the process dies of the
//! same signal. No handler of the program is ever replaced: ours stands only where the default action stood, and a program
//! that asks is told that it still does.
#![expect(unsafe_code, reason = "sigaction(2)")]

use crate::memory::Blocked;
use crate::real::{Slot, slot_again};
use crate::sys;
use libc::{c_int, sighandler_t};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// What writes the trace, and is told why.
static ON_END: OnceLock<fn(&'static str)> = OnceLock::new();
/// What is done should the process not die of it.
static SURVIVED: OnceLock<fn()> = OnceLock::new();
/// The C library's own sigaction(2), past our hook.
static SIGACTION: Slot = slot_again!("sigaction");

/// Whether the trace is being written because the process ends by itself, and the signal that came meanwhile.
static WRITING: AtomicBool = AtomicBool::new(false);
static HELD: AtomicI32 = AtomicI32::new(0);
/// Whether a signal is what ends the process: then another one does so at once.
static DYING: AtomicBool = AtomicBool::new(false);

/// The signals by which schedulers and people end programs, and what the trace says of them.
const SIGNALS: [(c_int, &str); 4] =
    [(libc::SIGTERM, "SIGTERM"), (libc::SIGINT, "SIGINT"), (libc::SIGHUP, "SIGHUP"), (libc::SIGXCPU, "SIGXCPU")];

/// Our handler, as sigaction(2) sees it.
fn ours() -> sighandler_t {
    ending as *const () as sighandler_t
}

/// Whether this is our handler.
pub(crate) fn is_ours(handler: sighandler_t) -> bool {
    handler == ours()
}

/// Puts our handler where the default action stands; it calls `on_end` before the process dies, and `survived` if it does not.
pub(crate) fn stand_in(on_end: fn(&'static str), survived: fn()) {
    let _ = ON_END.set(on_end);
    let _ = SURVIVED.set(survived);
    for (signal, _) in SIGNALS {
        stand_in_for(signal);
    }
}

/// The same once more, where [`step_back`] has put the default action.
pub(crate) fn stand_in_again() {
    SIGNALS.iter().for_each(|(signal, _)| stand_in_for(*signal));
}

/// Puts the default action back where our handler stands.
pub(crate) fn step_back() {
    for (signal, _) in SIGNALS {
        // SAFETY: an all-zero sigaction is a valid one: default action, no flags, empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is ours.
        let known = unsafe { real_sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
        if known && is_ours(action.sa_sigaction) {
            // SAFETY: as above.
            action = unsafe { std::mem::zeroed() };
            // SAFETY: the structure is ours.
            unsafe { real_sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
    }
}

/// The same as [`stand_in`] for one signal, if it is one of ours. Keeps errno.
pub(crate) fn stand_in_for(signal: c_int) {
    if sys::is_shut() || ON_END.get().is_none() || !SIGNALS.iter().any(|(known, _)| *known == signal) {
        return;
    }
    let errno = crate::errno::save();
    // SAFETY: an all-zero sigaction is a valid one: default action, no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    let known = unsafe { real_sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
    if known && action.sa_sigaction == libc::SIG_DFL {
        action.sa_sigaction = ours();
        // The default action is back before the handler runs, so a second signal ends the process at once.
        // One that comes while the trace is being written does not break calls that other threads are in.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER | libc::SA_RESTART;
        // SAFETY: the structure is ours and the handler is a function of this library.
        unsafe { real_sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
    errno.restore();
}

/// sigaction(2).
unsafe fn real_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let address = SIGACTION.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the symbol has this C type.
    let function = unsafe {
        std::mem::transmute::<
            *mut libc::c_void,
            unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
        >(address)
    };
    // SAFETY: the caller's pointers.
    unsafe { function(signal, new, old) }
}

extern "C" fn ending(signal: c_int) {
    if WRITING.load(Ordering::SeqCst) && !DYING.load(Ordering::Acquire) {
        HELD.store(signal, Ordering::SeqCst);
        // Whoever wrote may have ended just now and not have seen it. Then one of the two takes it: in one order of all four
        // accesses, this load or that swap comes last.
        if WRITING.load(Ordering::SeqCst) || HELD.swap(0, Ordering::SeqCst) == 0 {
            return;
        }
    }
    DYING.store(true, Ordering::Release);
    let name = SIGNALS.iter().find(|(known, _)| *known == signal).map_or("a signal", |(_, name)| name);
    if let Some(on_end) = ON_END.get() {
        on_end(name);
    }
    die_of(signal);
    if let Some(survived) = SURVIVED.get() {
        survived();
    }
}

fn die_of(signal: c_int) {
    let process = crate::job::process_ids().0 as c_int;
    // SAFETY: sends the signal to this process, whose default action has been restored by SA_RESETHAND.
    unsafe { libc::kill(process, signal) };
}

/// Runs `work`, which writes the trace of a process that ends by itself. A signal that would end it meanwhile does so as soon as
/// the trace is whole, on whatever thread it came; a second one does so at once, so that a file system that hangs does not keep
/// the process.
pub(crate) fn held_while<T>(work: impl FnOnce() -> T) -> T {
    WRITING.store(true, Ordering::SeqCst);
    let result = work();
    WRITING.store(false, Ordering::SeqCst);
    // Behind the store: what comes from now on is not held.
    match HELD.swap(0, Ordering::SeqCst) {
        0 => {}
        signal => die_of(signal),
    }
    result
}

/// In a forked child, which writes nothing yet.
pub(crate) fn in_child() {
    WRITING.store(false, Ordering::Relaxed);
    DYING.store(false, Ordering::Relaxed);
    HELD.store(0, Ordering::Relaxed);
}

/// Runs `work` with SIGXFSZ held back on this thread: a trace that is larger than RLIMIT_FSIZE allows must not kill the
/// program that is traced (setrlimit(2)). One that comes of it is taken away, also where somebody holds it back already.
pub(crate) fn without_file_size_signal<T>(work: impl FnOnce() -> T) -> T {
    Blocked::file_size().without([libc::SIGXFSZ], work)
}
