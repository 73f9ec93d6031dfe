//! Handles signals whose default action ends the process: writes the trace first, then lets the process die of the same signal. Never
//! replaces a handler of the program: the tracer's handler is installed only in place of the default action, and a program that asks still
//! sees the default action.
#![expect(unsafe_code, reason = "sigaction(2)")]

use crate::blocking::Blocked;
use crate::real::{Slot, slot_again};
use crate::sys;
use libc::{c_int, sighandler_t};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Callback that writes the trace before a signal ends the process. Its argument is the name of the signal.
static ON_END: OnceLock<fn(&'static str)> = OnceLock::new();
/// Callback that runs if the process survives a signal that should have ended it.
static SURVIVED: OnceLock<fn()> = OnceLock::new();
/// Address of the C library's own sigaction(2), which bypasses the tracer's hook.
static SIGACTION: Slot = slot_again!("sigaction");

/// True while the trace is written because the process ends by itself.
static WRITING: AtomicBool = AtomicBool::new(false);
/// Number of a fatal signal that arrived while the trace was written, or 0.
static HELD: AtomicI32 = AtomicI32::new(0);
/// True if a signal is already ending the process; a second signal then ends it at once.
static DYING: AtomicBool = AtomicBool::new(false);

/// Signals that schedulers and users send to end programs, with their names in the trace.
const SIGNALS: [(c_int, &str); 4] =
    [(libc::SIGTERM, "SIGTERM"), (libc::SIGINT, "SIGINT"), (libc::SIGHUP, "SIGHUP"), (libc::SIGXCPU, "SIGXCPU")];

/// Returns the address of the tracer's signal handler, as a value for sigaction(2).
fn ours() -> sighandler_t {
    ending as *const () as sighandler_t
}

/// True if `handler` is the tracer's signal handler.
pub(crate) fn is_ours(handler: sighandler_t) -> bool {
    handler == ours()
}

/// Installs the tracer's handler for each signal of [`SIGNALS`] that has the default action. The handler calls `on_end` before the process
/// dies, and `survived` if the process does not die.
pub(crate) fn stand_in(on_end: fn(&'static str), survived: fn()) {
    let _ = ON_END.set(on_end);
    let _ = SURVIVED.set(survived);
    for (signal, _) in SIGNALS {
        stand_in_for(signal);
    }
}

/// Reinstalls the tracer's handler where [`step_back`] restored the default action.
pub(crate) fn stand_in_again() {
    SIGNALS.iter().for_each(|(signal, _)| stand_in_for(*signal));
}

/// Restores the default action of each signal that has the tracer's handler.
pub(crate) fn step_back() {
    for (signal, _) in SIGNALS {
        // SAFETY: an all-zero sigaction is valid: default action, no flags, empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is a local variable.
        let known = unsafe { real_sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
        if known && is_ours(action.sa_sigaction) {
            // SAFETY: as above.
            action = unsafe { std::mem::zeroed() };
            // SAFETY: the structure is a local variable.
            unsafe { real_sigaction(signal, &raw const action, std::ptr::null_mut()) };
        }
    }
}

/// Installs the tracer's handler for `signal` if the signal is in [`SIGNALS`] and has the default action. Preserves errno.
pub(crate) fn stand_in_for(signal: c_int) {
    if sys::is_shut() || ON_END.get().is_none() || !SIGNALS.iter().any(|(known, _)| *known == signal) {
        return;
    }
    let errno = crate::errno::save();
    // SAFETY: an all-zero sigaction is valid: default action, no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { real_sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
    if known && action.sa_sigaction == libc::SIG_DFL {
        action.sa_sigaction = ours();
        // SA_RESETHAND: the default action is restored before the handler runs, so a second signal ends the process at once. SA_RESTART: a
        // signal during the flush must not interrupt calls of other threads.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_NODEFER | libc::SA_RESTART;
        // SAFETY: the structure is a local variable, and the handler is a function of this library.
        unsafe { real_sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
    errno.restore();
}

/// Calls the C library's own sigaction(2), bypassing the tracer's hook.
unsafe fn real_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let address = SIGACTION.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: `address` is a function of this C type.
    let function = unsafe {
        std::mem::transmute::<
            *mut libc::c_void,
            unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
        >(address)
    };
    // SAFETY: the pointers meet the caller's promise.
    unsafe { function(signal, new, old) }
}

extern "C" fn ending(signal: c_int) {
    if WRITING.load(Ordering::SeqCst) && !DYING.load(Ordering::Acquire) {
        HELD.store(signal, Ordering::SeqCst);
        // The writer may just have finished without seeing the signal. Exactly one of the two threads takes the signal: in the single order
        // of all four accesses, this load or the writer's swap comes last.
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
    // SAFETY: sends the signal to this process, in which SA_RESETHAND has restored the default action.
    unsafe { libc::kill(process, signal) };
}

/// Runs `work`, which writes the trace of a process that ends by itself. A fatal signal that arrives meanwhile, on any thread, takes effect
/// once the trace is complete. A second one takes effect at once, so that a hung file system cannot keep the process alive.
pub(crate) fn held_while<T>(work: impl FnOnce() -> T) -> T {
    WRITING.store(true, Ordering::SeqCst);
    let result = work();
    WRITING.store(false, Ordering::SeqCst);
    // The swap follows the store, after which signals are no longer held.
    match HELD.swap(0, Ordering::SeqCst) {
        0 => {}
        signal => die_of(signal),
    }
    result
}

/// Resets the state of signal handling in a forked child, where no trace is being written.
pub(crate) fn in_child() {
    WRITING.store(false, Ordering::Relaxed);
    DYING.store(false, Ordering::Relaxed);
    HELD.store(0, Ordering::Relaxed);
}

/// Runs `work` with SIGXFSZ blocked on this thread: a trace larger than RLIMIT_FSIZE must not kill the program (setrlimit(2)). A SIGXFSZ
/// raised by `work` is discarded, even if the program itself had blocked the signal.
pub(crate) fn without_file_size_signal<T>(work: impl FnOnce() -> T) -> T {
    Blocked::file_size().without([libc::SIGXFSZ], work)
}
