//! End of recording: one protocol for exit(3), _exit(2), deadly signals, exec(3), MPI_Finalize and MPI_Abort.
//!
//! 1. A thread that ends the process parks all other threads: calls that begin or are about to return wait, so no call returns unexamined.
//!    MPI_Finalize parks no threads, since MPI may need them; calls made meanwhile go to the next trace.
//! 2. All recorded calls are marked as taken (`flush::take`) with exclusive access to segment memory (`gate`), and written.
//! 3. The marks become final after a successful write, and are removed after a failed one.
//! 4. If the process ends next, other threads stay parked: without the tracer they would have ended by now. If exit(3) may still wait for
//!    them (destructors ran, streams are flushed), they resume, and their calls are late calls (`late_calls`). If exec(3) fails, recording
//!    resumes as before.
//!
//! A process killed at any of these steps leaves a spool whose marks and header show which calls are in the trace.

use crate::budget;
use crate::config::Config;
use crate::flush::Outcome;
use crate::mpi::World;
use crate::record::State;
use crate::say::say;
use crate::{
    blocking, buffer, clock, exec_watchdog, flush, gate, handles, late_calls, record, signals, spool, state, threads,
    tls,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Fate of the process once its trace has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The process ends, with all its threads.
    Gone,
    /// Only the last steps of exit(3) in the C library follow; other threads may run meanwhile.
    Destructors,
}

/// Recording state before exec(3), to be restored if exec(3) fails.
pub(crate) struct Stay {
    state: State,
    set_aside: bool,
}

/// True while a thread writes a trace; only one may at a time.
static WRITING: AtomicBool = AtomicBool::new(false);

/// Maximum number of 1 ms waits for another thread to finish writing its trace. Bounded, so that a hung file system does not block a second
/// thread that ends the process.
const MOST_WAITS: u32 = 2_000;

/// True while a thread calls exec(3) after the trace has been written.
static BECOMING: AtomicBool = AtomicBool::new(false);

/// True if the trace has been written and threads wait for the outcome of exec(3). A fatal signal may then end the process at once.
pub(crate) fn is_becoming() -> bool {
    BECOMING.load(Ordering::Acquire)
}

/// Thread that calls exec(3), its stack pointer at the call, and the recording state before the call.
static BECOMES: Becomes = Becomes {
    thread: AtomicUsize::new(0),
    frame: AtomicUsize::new(0),
    state_is_late: AtomicBool::new(false),
    set_aside: AtomicBool::new(false),
};

struct Becomes {
    thread: AtomicUsize,
    frame: AtomicUsize,
    state_is_late: AtomicBool,
    set_aside: AtomicBool,
}

/// Returns the state before exec(3) if this thread had called exec(3) and a signal handler left the call by a jump. While a handler runs
/// that interrupted exec(3), the thread's stack is deeper than at the call; a thread whose stack is not deeper has left exec(3).
pub(crate) fn left_behind() -> Option<Stay> {
    let mine = BECOMES.thread.load(Ordering::Acquire) == tls::number();
    if !mine || tls::is_below(BECOMES.frame.load(Ordering::Relaxed)) {
        return None;
    }
    Some(as_before())
}

fn as_before() -> Stay {
    let state = if BECOMES.state_is_late.load(Ordering::Relaxed) { State::Late } else { State::On };
    Stay { state, set_aside: BECOMES.set_aside.load(Ordering::Relaxed) }
}

/// Resumes recording if the thread that called exec(3) has certainly left that call. Called by threads that have waited for some time; the
/// exec thread itself resumes recording at its next call ([`left_behind`]).
pub(crate) fn look_after() {
    if is_becoming() && exec_watchdog::is_certain(clock::compare().1) {
        let blocked = blocking::Blocked::all();
        go_on(&as_before());
        drop(blocked);
    }
}

/// Resets the state of the end of recording in a forked child, where no trace is being written.
pub(crate) fn in_child() {
    flush::in_child();
    exec_watchdog::wait_no_more();
    BECOMES.thread.store(0, Ordering::Relaxed);
    BECOMING.store(false, Ordering::Relaxed);
    WRITING.store(false, Ordering::Relaxed);
}

/// Waits until no other thread writes a trace, and reserves writing for the caller. Returns false after [`MOST_WAITS`] attempts.
fn begin_writing() -> bool {
    for _ in 0..MOST_WAITS {
        if !WRITING.swap(true, Ordering::AcqRel) {
            return true;
        }
        threads::pause(1_000_000);
    }
    false
}

/// Returns the recording state in which calls are recorded now: On, or Late (after the trace) once a trace has been written.
fn recording() -> State {
    if state::is_late() { State::Late } else { State::On }
}

/// Writes one trace together with all other ranks; see [`flush::all_ranks`].
pub(crate) fn for_all_ranks(world: &'static World, config: &Config) {
    let alone = begin_writing();
    budget::ask_again();
    // A rank that cannot take its calls still takes part in the collective steps, and writes its calls when the process ends.
    let took = alone && gate::alone(flush::take).is_some();
    let written = flush::all_ranks(world, config);
    if took {
        flush::settle(written);
    }
    if alone {
        WRITING.store(false, Ordering::Release);
    }
}

/// Parks all other threads and writes a trace of this process alone. Calls that did not get into a trace stay in memory.
fn write_alone(config: &Config, by: &'static str) -> Outcome {
    budget::ask_again();
    handles::read_layouts_again();
    record::set_state(State::Parked);
    gate::barrier();
    if gate::alone(flush::take).is_none() {
        // Some thread stays inside the gate: most likely this thread itself, interrupted by a signal.
        if let Some(path) = spool::path() {
            say(&[b"the trace was not written (a signal interrupted the tracer); dxt-analyze recover can write the trace from ", path]);
            return Outcome::Failed;
        }
        flush::take();
    }
    let outcome = signals::without_file_size_signal(|| flush::one_process(config, by));
    flush::settle(outcome == Outcome::Written);
    outcome
}

/// True if a trace must be written in state `now`, before `next`. Calls made after a trace (state Late) are written only if the process
/// ends with all its threads; until then these calls stay in their spool. In counters mode they always stay there, since they are not added
/// to the counters; only without a spool is a trace written, to report the number of lost calls.
fn writes(now: State, next: Next) -> bool {
    now != State::Late || next == Next::Gone && !(buffer::counting::is_on() && spool::is_there())
}

/// Writes the trace because the process ends. `by`: function or signal that ends the process. `next`: fate of the process afterwards.
pub(crate) fn end(config: &Config, by: &'static str, next: Next) {
    if !begin_writing() {
        return;
    }
    let before = recording();
    if !writes(before, next) {
        WRITING.store(false, Ordering::Release);
        return;
    }
    let outcome = write_alone(config, by);
    if outcome != Outcome::Failed {
        // The file may not be removable (the process may have changed its root directory), so the header first marks all calls as written.
        spool::remove();
    }
    // Returns any remaining reservation.
    budget::give_back();
    match next {
        Next::Gone => {}
        Next::Destructors => match outcome {
            Outcome::Written => go_on_late(),
            Outcome::Failed => state::release(before),
            Outcome::LeftOut => state::release(State::Muted),
        },
    }
    WRITING.store(false, Ordering::Release);
}

/// Enters the state Late after the trace has been written. Does not wake waiting threads: usually the process has ended before they check again.
pub(crate) fn go_on_late() {
    late_calls::begin();
    record::set_state(State::Late);
}

/// Writes the calls recorded so far to a trace because nothing can be written later. The process continues.
pub(crate) fn write_so_far(config: &Config, by: &'static str) {
    if !begin_writing() {
        return;
    }
    let state = recording();
    if writes(state, Next::Gone) {
        if write_alone(config, by) != Outcome::Failed {
            spool::spill::remove();
        }
        budget::give_back();
        state::release(state);
    }
    WRITING.store(false, Ordering::Release);
}

/// True if the process would get no trace if it ended now. Called when nothing can be written later; the process continues.
pub(crate) fn is_left_out_so_far(config: &Config) -> bool {
    if !config.site.judges_processes() || !begin_writing() {
        return false;
    }
    let state = recording();
    record::set_state(State::Parked);
    gate::barrier();
    let left_out = gate::alone(flush::take).is_some() && flush::is_left_out(config);
    flush::settle(false);
    state::release(state);
    WRITING.store(false, Ordering::Release);
    left_out
}

/// Writes the trace before exec(3), while other threads wait. Removes the spool (the file that survives a kill) if `leaves_all` returns
/// true; otherwise the next program, if traced, removes the spool. Returns the state to restore if exec(3) fails.
pub(crate) fn set_aside(config: &Config, leaves_all: impl FnOnce() -> bool) -> Option<Stay> {
    if !begin_writing() {
        return None;
    }
    let state = recording();
    if !writes(state, Next::Gone) {
        WRITING.store(false, Ordering::Release);
        return None;
    }
    let outcome = write_alone(config, "exec");
    if outcome == Outcome::Failed {
        budget::give_back();
        say_left();
        state::release(state);
        WRITING.store(false, Ordering::Release);
        return None;
    }
    spool::spill::remove();
    let leaves_all = leaves_all();
    if leaves_all {
        spool::remove();
    }
    budget::give_back();
    // Unless removed above, the spool stays for now, and for good if the next program turns out not to be traced.
    spool::note_budget(budget::known_of_spool());
    let stay = Stay { state, set_aside: !leaves_all && spool::set_aside() };
    BECOMES.state_is_late.store(state == State::Late, Ordering::Relaxed);
    BECOMES.set_aside.store(stay.set_aside, Ordering::Relaxed);
    BECOMES.frame.store(tls::here(), Ordering::Relaxed);
    BECOMES.thread.store(tls::number(), Ordering::Release);
    exec_watchdog::wait_for_this_thread();
    BECOMING.store(true, Ordering::Release);
    Some(stay)
}

/// Prints that the program before exec(3) has no trace, unless its calls are in a spool (the file that survives a kill). Prints only once:
/// shells try exec(3) for each directory of PATH.
fn say_left() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !spool::is_there() && !SAID.swap(true, Ordering::Relaxed) {
        say(&[b"there is no trace of the program that this process ran before exec"]);
    }
}

/// Resumes recording after a failed exec(3), on the thread that called exec(3). `stay`: the state before the call.
pub(crate) fn take_back(stay: &Stay) {
    BECOMES.thread.store(0, Ordering::Relaxed);
    go_on(stay);
}

/// Resumes recording after a failed exec(3), at most once: a waiting thread may already have resumed it.
fn go_on(stay: &Stay) {
    if !BECOMING.swap(false, Ordering::AcqRel) {
        return;
    }
    exec_watchdog::wait_no_more();
    if stay.set_aside {
        spool::take_back();
    }
    state::release(stay.state);
    WRITING.store(false, Ordering::Release);
}
