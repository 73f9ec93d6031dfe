//! The end of recording, one protocol for every way: exit(3), _exit(2), deadly signals, exec(3), MPI_Finalize, MPI_Abort.
//!
//! 1. Who ends the process alone parks the others: a call that begins or is about to return waits. So nothing returns that is not
//!    looked at. In MPI_Finalize nobody is parked, since a thread of MPI's own may be needed; there what comes meanwhile is simply
//!    left for the next trace.
//! 2. Everything on record is marked as taken (`flush::take`), behind the gate (`gate`), and written.
//! 3. It is marked as written, or the mark is taken back.
//! 4. Who is gone next leaves the others where they are: without the tracer they would be gone by now. Where exit(3) may yet wait for them
//!    (destructors have run, streams are flushed), they go on, and their calls are late ones (`late`). Where an exec(3) fails, all is as before.
//!
//! Whoever is killed anywhere here leaves a spool whose marks and header tell what is in the trace.

use crate::budget;
use crate::config::Config;
use crate::flush::Outcome;
use crate::mpi::World;
use crate::record::State;
use crate::say::say;
use crate::{buffer, clock, flush, gate, handles, late, memory, record, signals, spool, state, stranded, threads, tls};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What becomes of the process when its trace has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is gone, with all its threads.
    Gone,
    /// What the C library does last in exit(3), and other threads meanwhile.
    Destructors,
}

/// How things were before an exec(3).
pub(crate) struct Stay {
    state: State,
    set_aside: bool,
}

/// A trace is being written: one at a time.
static WRITING: AtomicBool = AtomicBool::new(false);

/// Times that a thread looks, a millisecond apart, whether another one has written its trace: a process that ends twice at once waits,
/// but not for a file system that hangs.
const MOST_WAITS: u32 = 2_000;

/// Everything has been written, and the next thing to happen is exec(3).
static BECOMING: AtomicBool = AtomicBool::new(false);

/// Whether everything has been written and others wait until the process has become another program, or has not: a signal that ends
/// it now has nothing to wait for.
pub(crate) fn is_becoming() -> bool {
    BECOMING.load(Ordering::Acquire)
}

/// Who is about to become another program, where its stack was then, and how things were before.
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

/// If this thread was about to become another program and a signal handler has left that by a jump: how things were before. A thread is
/// taken to be where it was as long as its stack is deeper than then; a handler's frames are, by more than what the signal's own takes.
pub(crate) fn left_behind() -> Option<Stay> {
    let mine = BECOMES.thread.load(Ordering::Acquire) == tls::number();
    if !mine || crate::inside::is_below(BECOMES.frame.load(Ordering::Relaxed)) {
        return None;
    }
    Some(as_before())
}

fn as_before() -> Stay {
    let state = if BECOMES.state_is_late.load(Ordering::Relaxed) { State::Late } else { State::On };
    Stay { state, set_aside: BECOMES.set_aside.load(Ordering::Relaxed) }
}

/// Others wait, and have for some time: they go on if the thread that was about to become another program does something else by now. It
/// is to come back itself, once it makes a call ([`left_behind`]).
pub(crate) fn look_after() {
    if is_becoming() && stranded::is_certain(clock::compare().1) {
        let blocked = memory::Blocked::all();
        go_on(&as_before());
        drop(blocked);
    }
}

/// In a forked child, which writes nothing yet.
pub(crate) fn in_child() {
    flush::in_child();
    stranded::wait_no_more();
    BECOMES.thread.store(0, Ordering::Relaxed);
    BECOMING.store(false, Ordering::Relaxed);
    WRITING.store(false, Ordering::Relaxed);
}

/// Waits until no trace is being written, and lets none be but this one; false if that takes long.
fn begin_writing() -> bool {
    for _ in 0..MOST_WAITS {
        if !WRITING.swap(true, Ordering::AcqRel) {
            return true;
        }
        threads::pause(1_000_000);
    }
    false
}

/// The state in which calls are recorded now.
fn recording() -> State {
    if state::is_late() { State::Late } else { State::On }
}

/// See [`flush::all_ranks`].
pub(crate) fn for_all_ranks(world: &'static World, config: &Config) {
    let alone = begin_writing();
    budget::ask_again();
    // Whoever cannot take anything takes part all the same, and writes what it has when it ends.
    let took = alone && gate::alone(flush::take).is_some();
    let written = flush::all_ranks(world, config);
    if took {
        flush::settle(written);
    }
    if alone {
        WRITING.store(false, Ordering::Release);
    }
}

/// Parks all others, and writes what there is. If it is not in a trace then, it still is where it was.
fn write_alone(config: &Config, by: &'static str) -> Outcome {
    budget::ask_again();
    handles::read_layouts_again();
    record::set_state(State::Parked);
    gate::barrier();
    if gate::alone(flush::take).is_none() {
        // Somebody is where memory changes hands and does not come out: most likely this very thread, interrupted by a signal.
        if let Some(path) = spool::path() {
            say(&[b"the trace was not written (a signal came at a bad moment); dxt-analyze recover can, from ", path]);
            return Outcome::Failed;
        }
        flush::take();
    }
    let outcome = signals::without_file_size_signal(|| flush::one_process(config, by));
    flush::settle(outcome == Outcome::Written);
    outcome
}

/// Whether there is a trace to write. Late calls stay in their spool as long as more may come, and in counters mode, where they are no
/// part of what is counted. Where they had no spool, their number is to be told.
fn writes(now: State, next: Next) -> bool {
    now != State::Late || next == Next::Gone && !(buffer::counting::is_on() && spool::is_there())
}

/// The process ends.
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
        // In case the file cannot be removed, it says itself that all is written: the process may have changed its root directory.
        spool::remove();
    }
    // Whatever is left.
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

/// The trace is there, and the process goes on. Who waits is not told: most often the process is gone before they look.
pub(crate) fn go_on_late() {
    late::begin();
    record::set_state(State::Late);
}

/// Nothing can be written later: writes what there is by now. The process goes on.
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

/// Nothing can be written later: whether a process that did no more than it did by now is to have no trace. The process goes on.
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

/// The process may be another program soon, which takes the spool away if it is traced; where it leaves all, that is done before. Others
/// wait until it is known.
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
    // Else the spool stays for now, and for good if the next program is not traced after all.
    spool::note_budget(budget::known_of_spool());
    let stay = Stay { state, set_aside: !leaves_all && spool::set_aside() };
    BECOMES.state_is_late.store(state == State::Late, Ordering::Relaxed);
    BECOMES.set_aside.store(stay.set_aside, Ordering::Relaxed);
    BECOMES.frame.store(crate::inside::here(), Ordering::Relaxed);
    BECOMES.thread.store(tls::number(), Ordering::Release);
    stranded::wait_for_this_thread();
    BECOMING.store(true, Ordering::Release);
    Some(stay)
}

/// What has no trace is in the spool. Once: shells try exec(3) for each directory of PATH.
fn say_left() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !spool::is_there() && !SAID.swap(true, Ordering::Relaxed) {
        say(&[b"the program that this process was before exec has no trace"]);
    }
}

/// It is the same program as before. For the thread that was about to make it another one.
pub(crate) fn take_back(stay: &Stay) {
    BECOMES.thread.store(0, Ordering::Relaxed);
    go_on(stay);
}

/// Once only: somebody who waited may have been first.
fn go_on(stay: &Stay) {
    if !BECOMING.swap(false, Ordering::AcqRel) {
        return;
    }
    stranded::wait_no_more();
    if stay.set_aside {
        spool::take_back();
    }
    state::release(stay.state);
    WRITING.store(false, Ordering::Release);
}
