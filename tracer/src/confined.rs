//! The program confines itself by seccomp(2): from the moment that a filter may be in force, a system call that the program would
//! not make can end it. So the tracer makes ready what it needs, shuts its gate (`sys.rs`), and makes none any more: recording
//! goes on in memory that is there already, and the spool is left for `dxt-analyze recover`.
//!
//! PR_SET_NO_NEW_PRIVS alone is let be: it forbids nothing that the tracer does, and container runtimes, service managers and
//! sandboxes set it long before, or without, a filter. A filter that was there at the start is somebody else's, made for
//! whatever programs run under it; there a call of the tracer's own that is refused is one that failed.

use crate::notes::Note;
use crate::say::say;
use crate::{
    begin, budget, buffer, clock, errno, hooks, lifecycle, process, record, registry, signals, spool, sys, tls,
};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has been told.
static SAID: AtomicBool = AtomicBool::new(false);

/// Runs `call`, which confines this thread or all of them if `succeeded` says so; `strict` mode forbids to read the processor's
/// counter, too (PR_SET_SECCOMP(2const), arch/x86/kernel/process.c).
pub(crate) fn confining<T>(strict: bool, call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    // A second filter finds the gate shut. A child of vfork(2) confines itself, not the process whose memory it runs in.
    if sys::is_shut() || !record::is_begun() || !process::is_own() {
        return call();
    }
    let errno = errno::save();
    let kept = tls::current().while_away(make_ready);
    sys::shut();
    errno.restore();
    let result = if strict { without_counter(call, &succeeded) } else { call() };
    if succeeded(&result) {
        // A rank takes part in what all ranks do together, now or later: they would wait for it.
        if !kept && record::is_on() {
            record::set_state(record::State::Muted);
        }
    } else {
        let errno = errno::save();
        sys::open();
        signals::stand_in_again();
        errno.restore();
    }
    result
}

/// Runs `call`, behind which nobody may read the processor's counter if `succeeded` says so.
pub(crate) fn without_counter<T>(call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    if !record::is_begun() {
        return call();
    }
    clock::stop();
    let result = call();
    if succeeded(&result) {
        Note::StoppedClock.count();
    } else {
        clock::go_on();
    }
    result
}

/// Makes ready for a time without system calls; true if what is recorded then outlives the process.
fn make_ready() -> bool {
    // A signal must end the process as if the tracer were not there: without one more call.
    signals::step_back();
    if !record::is_on() {
        return false;
    }
    if lifecycle::is_left_out_so_far() {
        spool::remove();
        budget::give_back();
        return false;
    }
    hooks::resolve_late();
    begin::begin();
    let Some(path) = spool::path() else {
        lifecycle::write_so_far("seccomp");
        tell(&[
            b"the program confines itself by seccomp(2): its calls from here on are not recorded, for want of a spool",
        ]);
        return false;
    };
    // What is backed now is all that there will be.
    buffer::back_ahead(&record::ARENA);
    if crate::mpi::world().is_some() {
        record::MEETINGS.back_ahead();
    }
    registry::back_ahead();
    spool::journal::back_ahead();
    // Nothing can be given back later.
    budget::give_back();
    tell(&[b"the program confines itself by seccomp(2): its trace is left to dxt-analyze recover, in ", path]);
    true
}

/// Once, whatever the program does how often.
fn tell(parts: &[&[u8]]) {
    if !SAID.swap(true, Ordering::Relaxed) {
        say(parts);
    }
}

/// In a forked child: whether it is confined, as its parent was. Then it can have no memory of its own and records nothing.
pub(crate) fn in_child() -> bool {
    SAID.store(false, Ordering::Relaxed);
    sys::in_child();
    sys::is_shut()
}

/// A confined process has forked.
pub(crate) fn in_parent() {
    if sys::is_shut() {
        Note::ConfinedChild.count();
    }
}
