//! Decides if a call is recorded, by the state of process and thread. A call before the library's constructor starts the library.

use super::entry;
use crate::notes::Note;
use crate::state::{self, State, is_begun, is_muted, is_on, is_unadopted_child};
use crate::tls::{self, Thread};
use crate::{process, without_tls};
use std::sync::atomic::Ordering;

/// Returns this thread's block (thread-local state of the tracer) if the thread runs code of the program, in a process that is recorded or
/// muted (not recorded, but part of an MPI job whose other ranks are).
pub(super) fn thread_or_muted() -> Option<&'static Thread> {
    thread().or_else(|| Some(tls::current()).filter(|thread| is_muted() && !thread.is_busy()))
}

/// Returns this thread's block (thread-local state of the tracer) if calls of this thread are to be recorded now.
#[inline(always)]
pub(super) fn thread() -> Option<&'static Thread> {
    let state = state::raw(Ordering::Relaxed);
    if state != State::On as u8 && (state == State::Off as u8 || state == State::Muted as u8 || !is_admitted()) {
        return None;
    }
    let thread = tls::current();
    if thread.busy.get() == 0 { Some(thread) } else { while_busy(thread) }
}

/// Returns this thread's block (thread-local state of the tracer) like [`thread`], for functions that the tracer's allocator calls too:
/// calls by the tracer are not even counted.
pub(super) fn thread_of_program() -> Option<&'static Thread> {
    if !tls::current().is_busy() && is_begun() { thread() } else { None }
}

/// True if a call is to be recorded while the process is in one of the states Unset, Parked (the trace is being written) and Late (after
/// the trace). In state Parked the call waits first.
#[cold]
#[inline(never)]
fn is_admitted() -> bool {
    match state::raw(Ordering::Acquire) {
        state if state == State::Unset as u8 => taken_over(),
        state if state == State::Parked as u8 => {
            let admitted = state::park();
            // On the thread that ends the process, a call can only come from a signal handler.
            if !admitted && process::is_own() {
                Note::DuringTracer.count();
            }
            admitted
        }
        state => state == State::Late as u8,
    }
}

/// Starts the library early, or begins recording in a child that was forked without running fork(3)'s handlers. Called in state Unset
/// (recording has not started). Returns true if recording is on now.
#[cold]
#[inline(never)]
fn taken_over() -> bool {
    if !is_begun() {
        entry::start_early();
    } else if is_unadopted_child() {
        state::run_in_child();
    }
    is_on()
}

#[cold]
fn while_busy(thread: &'static Thread) -> Option<&'static Thread> {
    if thread.is_lent() {
        if !without_tls::is_owner(thread) {
            return None;
        }
        if !thread.is_busy() {
            return Some(thread);
        }
    }
    // This thread has left, by a jump, the work that other threads waited for.
    if state::has_left() && !thread.is_busy() {
        return Some(thread);
    }
    if thread.is_interrupted() {
        Note::DuringTracer.count();
    }
    None
}
