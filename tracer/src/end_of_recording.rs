//! End of recording: one protocol for exit(3), _exit(2), deadly signals, exec(3), MPI_Finalize and MPI_Abort.
//!
//! 1. A thread that ends the process alone parks all others: a call that begins or is about to return waits, so no call returns unexamined.
//!    MPI_Finalize parks nobody, since a thread of MPI may be needed; calls made meanwhile are left to the next trace.
//! 2. All recorded calls are marked as taken (`flush::take`), inside the gate (`gate`), and written.
//! 3. They are marked as written, or the mark is removed.
//! 4. If the process is gone next, other threads stay parked: without the tracer they would be gone by now. If exit(3) may still wait for
//!    them (destructors ran, streams are flushed), they resume, and their calls are late ones (`late_calls`). If exec(3) fails, recording resumes
//!    as before.
//!
//! A process killed anywhere in between leaves a spool whose marks and header show what is in the trace.

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

/// Fate of the process after its trace has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The process ends, with all its threads.
    Gone,
    /// Only the last steps of exit(3) in the C library follow, during which other threads may run.
    Destructors,
}

/// Recording state to restore if exec(3) fails.
pub(crate) struct Stay {
    state: State,
    set_aside: bool,
}

/// True while a trace is being written: only one at a time.
static WRITING: AtomicBool = AtomicBool::new(false);

/// Maximum number of 1 ms waits until another thread has written its trace. A thread that ends the process a second time waits, but not for
/// a hung file system.
const MOST_WAITS: u32 = 2_000;

/// True while everything has been written and a thread calls exec(3).
static BECOMING: AtomicBool = AtomicBool::new(false);

/// True if the trace is written and threads wait for the outcome of exec(3). A fatal signal may then end the process at once.
pub(crate) fn is_becoming() -> bool {
    BECOMING.load(Ordering::Acquire)
}

/// Thread that calls exec(3), its stack pointer at that time, and the recording state before.
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

/// Returns the state before exec(3) if this thread had started exec and a signal handler left it by a jump. A thread counts as still in
/// exec as long as its stack is deeper than at that time: a handler's frames are, by more than the signal frame.
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

/// Resumes recording if the thread that called exec(3) does something else by now. Called by threads that have waited for some time. The
/// exec thread itself resumes when it makes a call ([`left_behind`]).
pub(crate) fn look_after() {
    if is_becoming() && exec_watchdog::is_certain(clock::compare().1) {
        let blocked = blocking::Blocked::all();
        go_on(&as_before());
        drop(blocked);
    }
}

/// Resets the state in a forked child, where no trace is being written.
pub(crate) fn in_child() {
    flush::in_child();
    exec_watchdog::wait_no_more();
    BECOMES.thread.store(0, Ordering::Relaxed);
    BECOMING.store(false, Ordering::Relaxed);
    WRITING.store(false, Ordering::Relaxed);
}

/// Waits until no other thread is writing a trace, and reserves writing for the caller; false if that takes too long.
fn begin_writing() -> bool {
    for _ in 0..MOST_WAITS {
        if !WRITING.swap(true, Ordering::AcqRel) {
            return true;
        }
        threads::pause(1_000_000);
    }
    false
}

/// Returns the recording state in which calls are recorded now (On, or Late after a trace).
fn recording() -> State {
    if state::is_late() { State::Late } else { State::On }
}

/// Writes one trace together with all ranks; see [`flush::all_ranks`].
pub(crate) fn for_all_ranks(world: &'static World, config: &Config) {
    let alone = begin_writing();
    budget::ask_again();
    // A rank that cannot take its calls takes part nevertheless, and writes them when it ends.
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
        // Some thread inside the gate does not come out: most likely this very thread, interrupted by a signal.
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

/// True if there are calls to write to a trace. Calls made after the last trace stay in their spool while more may come, and in counters
/// mode, which does not count them. Without a spool they are written, since the number of lost calls must be reported.
fn writes(now: State, next: Next) -> bool {
    now != State::Late || next == Next::Gone && !(buffer::counting::is_on() && spool::is_there())
}

/// Writes the trace because the process ends. `by`: function or signal that ends it; `next`: what follows.
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
        // In case the file cannot be removed (the process may have changed its root directory), its header says that all is written.
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

/// Continues after the trace has been written. Does not wake waiting threads: usually the process has ended before they check again.
pub(crate) fn go_on_late() {
    late_calls::begin();
    record::set_state(State::Late);
}

/// Writes the calls recorded so far to a trace because nothing can be written later. The process goes on.
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

/// True if the process would get no trace if it ended now. Called because nothing can be written later. The process goes on.
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

/// Writes the trace before exec(3), while other threads wait. The next program, if traced, removes the spool; if `leaves_all` returns true,
/// it is removed here.
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
    // Otherwise the spool stays for now, and for good if the next program turns out not to be traced.
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

/// Prints that the program before exec(3) has no trace, unless there is a spool to recover it from. Only once: shells try exec(3) for each
/// directory of PATH.
fn say_left() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !spool::is_there() && !SAID.swap(true, Ordering::Relaxed) {
        say(&[b"there is no trace of the program that this process ran before exec"]);
    }
}

/// Resumes recording after a failed exec(3), on the thread that called it. `stay`: the state before.
pub(crate) fn take_back(stay: &Stay) {
    BECOMES.thread.store(0, Ordering::Relaxed);
    go_on(stay);
}

/// Resumes recording, at most once: a waiting thread may already have done so.
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
