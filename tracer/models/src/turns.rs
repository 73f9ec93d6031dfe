//! Stands for `handles/description.rs` (`moving_among_threads`, `moved`, `settle`): threads that move one position take turns around the
//! kernel's call, so that each is told the offset at which the kernel had it begin. A turn that another thread takes over, since
//! its owner does not come back for long, makes what the thread that took it over is told an estimate.
//!
//! The kernel lets such calls through one at a time: here an atomic add. A wait that ends is a number of looks.
//!
//! What the code does not promise, and the last test shows: the thread whose turn was taken over does not know, and may be told an
//! offset that is not marked as an estimate and wrong.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::thread;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NoTurns,
    TakesOver,
}

#[derive(Default)]
struct Description {
    kernel: AtomicU64,
    position: AtomicU64,
    mover: AtomicU32,
}

impl Description {
    /// Moves the position by `bytes`; what the tracer says of the offset, whether that is an estimate, and what is true. `None` if it
    /// still waits.
    fn call(&self, me: u32, bytes: u64, fault: Fault) -> Option<(u64, bool, u64)> {
        let mut alone = true;
        if fault != Fault::NoTurns
            && self.mover.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            if fault != Fault::TakesOver {
                return None;
            }
            self.mover.store(me, Ordering::Relaxed);
            alone = false;
        }
        let truth = self.kernel.fetch_add(bytes, Ordering::Relaxed);
        let told = self.position.fetch_add(bytes, Ordering::Relaxed);
        let _ = self.mover.compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
        Some((told, !alone, truth))
    }
}

fn moving(fault: Fault) {
    let description = Arc::new(Description::default());
    let movers = [(1, 10), (2, 100), (3, 1000)].map(|(me, bytes)| {
        let description = Arc::clone(&description);
        thread::spawn(move || description.call(me, bytes, fault))
    });
    for mover in movers {
        if let Some((told, is_estimate, truth)) = mover.join().expect("it ends") {
            assert!(is_estimate || told == truth, "a wrong offset is no estimate");
        }
    }
    assert_eq!(description.mover.load(Ordering::Relaxed), 0, "a turn never ends");
}

#[test]
fn whose_turn_it_is_is_told_the_true_offset() {
    explore(3, || moving(Fault::None));
}

#[test]
#[should_panic(expected = "no estimate")]
fn threads_take_turns() {
    explore(2, || moving(Fault::NoTurns));
}

#[test]
#[should_panic(expected = "no estimate")]
fn who_loses_its_turn_does_not_know() {
    explore(2, || moving(Fault::TakesOver));
}
