//! Model of an append concurrent with the cut, the step at process end that takes all segments for the trace. Code: `record.rs` (`append`,
//! `once_more`), `late_calls.rs` (`is_left_behind`, `switch`), `state.rs` (`park`), `buffer/marks.rs` (`take`, `settle`),
//! `end_of_recording.rs` (`write_alone`, `end` with `Next::Destructors`) and `gate::barrier`. Each segment whose call returned must be
//! found exactly once:
//! - in the trace
//! - in the arena without a mark, if the trace could not be written
//! - in the late arena, if the trace could be written
//! - in the trace or by the recovery of the spool, if the process was killed at any step of the cut
//!
//! The append has only a compiler barrier between storing the segment's end time and loading the state. membarrier(2) makes each other
//! running thread execute a full barrier between begin and end of membarrier(2); a thread that is not running executed one when it was
//! descheduled. If that barrier falls before the append's store, the append's load comes after it too and sees `Parked`; if it falls after
//! the store, the cut sees the segment. Two SeqCst fences, one on each side, allow exactly these two outcomes, so the model uses them. The
//! wrong model without the append's fence shows the behavior without membarrier(2).
//!
//! The gate has a model of its own; slots of the late arena (for calls after the trace) simply exist, without an allocation. A parked
//! thread sleeps until the state changes or the process ends; the mutex used for that orders nothing that the load of the state does not
//! order too.

use crate::explore;
use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

const ON: u8 = 1;
const PARKED: u8 = 4;
const LATE: u8 = 5;
const TAKEN: u64 = 1 << 62;
const WRITTEN: u64 = 1 << 63;
const MARKS: u64 = TAKEN | WRITTEN;
const APPENDERS: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NoBarrier,
    NotOnceMore,
    AlwaysOnceMore,
    MarksStay,
}

/// Result of the cut (taking all segments for the trace): trace written, trace not written, or process killed.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Written,
    Failed,
    /// The process was killed before this step of the cut (taking all segments for the trace).
    Killed(usize),
}

#[derive(Default)]
struct Slot {
    word: AtomicU64,
    end: AtomicU64,
}

impl Slot {
    fn store(&self, id: u64) {
        self.word.store(id, Ordering::Relaxed);
        self.end.store(id, Ordering::Release);
    }

    /// Returns the segment in this slot if `counts` accepts its end time.
    fn segment(&self, counts: impl Fn(u64) -> bool) -> Option<u64> {
        let end = self.end.load(Ordering::Acquire);
        let id = end & !MARKS;
        (id != 0 && counts(end)).then(|| {
            assert_eq!(self.word.load(Ordering::Relaxed), id, "half a segment");
            id
        })
    }
}

struct Process {
    fault: Fault,
    state: AtomicU8,
    /// True once the cut (taking all segments for the trace) is over or the process has ended; parked threads wait for that.
    over: Mutex<bool>,
    wakes: Condvar,
    arena: [Slot; APPENDERS],
    late: [Slot; APPENDERS],
}

impl Process {
    fn append(&self, me: usize) {
        let slot = &self.arena[me];
        slot.store(me as u64 + 1);
        if self.fault != Fault::NoBarrier {
            fence(Ordering::SeqCst);
        }
        if self.state.load(Ordering::Relaxed) != ON && self.is_left_behind(slot) {
            // The thread's own append stores the segment in the late arena.
            self.late[me].store(me as u64 + 1);
        }
    }

    fn is_left_behind(&self, slot: &Slot) -> bool {
        if self.state.load(Ordering::SeqCst) == PARKED {
            let mut over = self.over.lock().expect("nobody panics");
            while !*over {
                over = self.wakes.wait(over).expect("nobody panics");
            }
        }
        if self.state.load(Ordering::SeqCst) != LATE || self.fault == Fault::NotOnceMore {
            return false;
        }
        if self.fault == Fault::AlwaysOnceMore {
            return true;
        }
        let seen = slot.end.load(Ordering::Acquire);
        seen != 0
            && seen & MARKS == 0
            && slot.end.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn change(&self, change: impl Fn(u64) -> Option<u64>) {
        for slot in &self.arena {
            let _ = slot.end.fetch_update(Ordering::AcqRel, Ordering::Acquire, &change);
        }
    }

    /// Runs the cut (taking all segments for the trace). Returns the trace, if it exists under its final name, and the header's `CUT`
    /// field.
    fn cut(&self, fate: Fate) -> (Option<Vec<u64>>, u32) {
        let is_killed = |step: usize| fate == Fate::Killed(step);
        let (mut trace, mut cut) = (None, 0);
        self.state.store(PARKED, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if !is_killed(0) {
            cut = 1;
            self.change(|end| (end != 0 && end & MARKS == 0).then_some(end | TAKEN));
            if is_killed(1) {
                return (trace, cut);
            }
            let is_taken = |end| end & MARKS == TAKEN;
            let taken = self.arena.iter().filter_map(|slot| slot.segment(is_taken)).collect();
            if fate == Fate::Failed {
                if self.fault != Fault::MarksStay {
                    self.change(|end| (end & MARKS == TAKEN).then_some(end & !TAKEN));
                }
                self.state.store(ON, Ordering::SeqCst);
                return (trace, 0);
            }
            trace = Some(taken);
            if is_killed(2) {
                return (trace, cut);
            }
            cut = 2;
            self.change(|end| (end & MARKS == TAKEN).then_some(end & !TAKEN | WRITTEN));
            if !is_killed(3) {
                cut = 0;
                self.state.store(LATE, Ordering::SeqCst);
            }
        }
        (trace, cut)
    }
}

fn ending(fault: Fault, fate: Fate) {
    let process = Arc::new(Process {
        fault,
        state: AtomicU8::new(ON),
        over: Mutex::new(false),
        wakes: Condvar::new(),
        arena: Default::default(),
        late: Default::default(),
    });
    let appenders = [0, 1].map(|me| {
        let process = Arc::clone(&process);
        thread::spawn(move || process.append(me))
    });
    let (trace, cut) = process.cut(fate);
    *process.over.lock().expect("nobody panics") = true;
    process.wakes.notify_all();
    appenders.into_iter().for_each(|appender| appender.join().expect("it ends"));
    let in_trace = trace.is_some();
    let gone = if in_trace || cut == 2 { MARKS } else { WRITTEN };
    let mut found = trace.unwrap_or_default();
    // The spool of a written trace is removed: only a process killed before the removal leaves one.
    if fate != Fate::Written {
        found.extend(process.arena.iter().filter_map(|slot| slot.segment(|end| end & gone == 0)));
    }
    if fate == Fate::Failed {
        // The next trace takes the segments without a mark.
        assert!(process.arena.iter().all(|slot| slot.end.load(Ordering::Relaxed) & MARKS == 0), "a mark has stayed");
    }
    found.extend(process.late.iter().filter_map(|slot| slot.segment(|_| true)));
    found.sort_unstable();
    assert_eq!(found.first(), Some(&1), "a segment is lost");
    assert_eq!(found.last(), Some(&2), "a segment is lost");
    assert_eq!(found.len(), APPENDERS, "a segment is there twice");
}

#[test]
fn a_trace_that_was_written_and_the_late_arena_have_all_once() {
    explore(2, || ending(Fault::None, Fate::Written));
}

#[test]
fn a_trace_that_could_not_be_written_leaves_all_where_it_was() {
    explore(2, || ending(Fault::None, Fate::Failed));
}

#[test]
fn who_is_killed_at_any_step_leaves_all_once() {
    for step in 0..4 {
        explore(2, move || ending(Fault::None, Fate::Killed(step)));
    }
}

#[test]
#[should_panic(expected = "a segment is lost")]
fn the_cut_makes_a_barrier() {
    explore(2, || ending(Fault::NoBarrier, Fate::Written));
}

#[test]
#[should_panic(expected = "a segment is lost")]
fn what_the_cut_has_not_seen_is_stored_once_more() {
    explore(2, || ending(Fault::NotOnceMore, Fate::Written));
}

#[test]
#[should_panic(expected = "twice")]
fn what_the_cut_has_marked_is_not_stored_once_more() {
    explore(2, || ending(Fault::AlwaysOnceMore, Fate::Written));
}

#[test]
#[should_panic(expected = "a mark has stayed")]
fn marks_are_taken_back() {
    explore(2, || ending(Fault::MarksStay, Fate::Failed));
}
