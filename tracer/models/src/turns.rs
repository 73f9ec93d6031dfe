//! Model of `handles/description/turns.rs` (`moving`, `moving_among_threads`, `moved`, `settle`) and `handles/description.rs`
//! (`share_with_others`). Threads that move one file position are serialized around the kernel's call (each takes a turn), so that each
//! gets the offset at which its transfer really began. If a turn is taken over because its owner does not return for long, every thread
//! whose offset may be wrong must know that the offset is an estimate: the thread that took the turn over, the thread that lost it, and any
//! thread that gets a turn while the lost call is still in progress.
//!
//! The kernel serializes such calls; in the model, an atomic add does. A bounded wait is a number of checks.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use loom::thread;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NoTurns,
    LoserNotTold,
    NotSaid,
    SaidTooEarly,
    SaidTooLate,
}

#[derive(Default)]
struct Description {
    kernel: AtomicU64,
    position: AtomicU64,
    mover: AtomicU32,
    /// True if the tracer no longer tracks the file position.
    shared: AtomicBool,
    /// True if some threads move the file position without taking turns (waiting for each other).
    others: AtomicBool,
}

impl Description {
    fn share_with_others(&self) {
        self.shared.store(true, Ordering::Relaxed);
        self.others.store(true, Ordering::Release);
    }

    /// Moves the position by `bytes`. Returns the offset computed by the tracer, true if it is an estimate, and the true offset. `None` if
    /// another thread has the turn, unless `takes_over`. `me`: number of the calling thread.
    fn call(&self, me: u32, bytes: u64, takes_over: bool, fault: Fault) -> Option<(u64, bool, u64)> {
        let (mut turn, mut alone) = (me, true);
        if fault == Fault::NoTurns {
            turn = 0;
        } else if self.others.load(Ordering::Acquire) {
            (turn, alone) = (0, false);
        } else if self.mover.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            if !takes_over {
                return None;
            }
            if fault == Fault::SaidTooEarly {
                self.share_with_others();
            }
            self.mover.swap(me, Ordering::AcqRel);
            if !matches!(fault, Fault::NotSaid | Fault::SaidTooLate) {
                self.share_with_others();
            }
            alone = false;
        }
        let truth = self.kernel.fetch_add(bytes, Ordering::Relaxed);
        let (reported, mut is_estimate) = if self.shared.load(Ordering::Relaxed) {
            (self.kernel.load(Ordering::Relaxed) - bytes, !alone || self.others.load(Ordering::Relaxed))
        } else {
            (self.position.fetch_add(bytes, Ordering::Relaxed), !alone)
        };
        if turn != 0 {
            let had = self.mover.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed).is_ok();
            is_estimate |= !had && fault != Fault::LoserNotTold;
        }
        if !alone && turn != 0 && fault == Fault::SaidTooLate {
            self.share_with_others();
        }
        Some((reported, is_estimate, truth))
    }
}

/// Runs three threads that move the position. `takes_over`: a thread that finds another's turn (right to move the position) not ended takes
/// the turn over; if false, the thread makes no call.
fn moving(fault: Fault, takes_over: bool) {
    let description = Arc::new(Description::default());
    let movers = [(1, 10), (2, 100), (3, 1000)].map(|(me, bytes)| {
        let description = Arc::clone(&description);
        thread::spawn(move || description.call(me, bytes, takes_over, fault))
    });
    for mover in movers {
        if let Some((reported, is_estimate, truth)) = mover.join().expect("it ends") {
            assert!(is_estimate || reported == truth, "a wrong offset is no estimate");
            assert!(takes_over || !is_estimate, "an estimate where all waited");
        }
    }
    assert_eq!(description.mover.load(Ordering::Relaxed), 0, "a turn never ends");
}

#[test]
fn whose_turn_it_is_is_reported_the_true_offset() {
    explore(3, || moving(Fault::None, false));
}

#[test]
fn what_is_not_certain_is_an_estimate() {
    explore(3, || moving(Fault::None, true));
}

#[test]
#[should_panic(expected = "no estimate")]
fn threads_take_turns() {
    explore(2, || moving(Fault::NoTurns, false));
}

#[test]
#[should_panic(expected = "no estimate")]
fn who_loses_its_turn_is_reported() {
    explore(3, || moving(Fault::LoserNotTold, true));
}

#[test]
#[should_panic(expected = "no estimate")]
fn who_comes_later_is_reported() {
    explore(3, || moving(Fault::NotSaid, true));
}

#[test]
#[should_panic(expected = "no estimate")]
fn it_is_said_within_the_turn() {
    explore(3, || moving(Fault::SaidTooLate, true));
}

#[test]
#[should_panic(expected = "no estimate")]
fn it_is_said_when_the_turn_is_taken() {
    explore(3, || moving(Fault::SaidTooEarly, true));
}
