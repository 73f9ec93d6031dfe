//! Model of `gate.rs` (`pass`, `alone`). Invariants: no thread is inside the gate while another has exclusive access; the exclusive thread
//! sees all earlier work, and later threads see its work. A thread that wants exclusive access yields while it waits and gives up after a
//! few attempts, as in the code.
//!
//! A passing thread increments the number of threads inside and then loads `closed`. A thread that wants exclusive access sets `closed` and
//! then loads the number. The code relies on a total order of these four accesses, all SeqCst; the model has a fence between the two
//! accesses of each thread.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use loom::thread;

const MOST_WAITS: u32 = 2;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    LooksFirst,
    DoesNotWait,
    TwoAlone,
}

struct Gate {
    fault: Fault,
    inside: AtomicU32,
    closed: AtomicBool,
    /// Protected state: number of threads that have passed and not left yet.
    here: AtomicU32,
    /// Protected state: number of threads with exclusive access.
    alone: AtomicU32,
    /// Protected state: number of operations done. The exclusive thread increments it without an atomic add.
    done: AtomicU32,
}

impl Gate {
    /// Passes the gate; returns false if it is closed. The real code would try again, but each further attempt is like the first.
    fn pass(&self) -> bool {
        if self.fault == Fault::LooksFirst {
            if self.closed.load(Ordering::SeqCst) {
                return false;
            }
            self.inside.fetch_add(1, Ordering::SeqCst);
        } else {
            self.inside.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if self.closed.load(Ordering::SeqCst) {
                self.inside.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
        }
        self.here.fetch_add(1, Ordering::Relaxed);
        assert_eq!(self.alone.load(Ordering::Relaxed), 0, "not alone");
        self.done.fetch_add(1, Ordering::Relaxed);
        self.here.fetch_sub(1, Ordering::Relaxed);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        true
    }

    fn alone(&self) -> bool {
        if self.closed.swap(true, Ordering::SeqCst) && self.fault != Fault::TwoAlone {
            return false;
        }
        fence(Ordering::SeqCst);
        let mut waited = 0;
        let most = if self.fault == Fault::DoesNotWait { 0 } else { MOST_WAITS };
        while self.inside.load(Ordering::SeqCst) != 0 && waited < most {
            waited += 1;
            thread::yield_now();
        }
        let is_alone = self.inside.load(Ordering::SeqCst) == 0 || self.fault == Fault::DoesNotWait;
        if is_alone {
            assert_eq!(self.alone.fetch_add(1, Ordering::Relaxed), 0, "two are alone");
            assert_eq!(self.here.load(Ordering::Relaxed), 0, "not alone");
            let done = self.done.load(Ordering::Relaxed);
            self.done.store(done + 1, Ordering::Relaxed);
            self.alone.fetch_sub(1, Ordering::Relaxed);
        }
        self.closed.store(false, Ordering::SeqCst);
        is_alone
    }
}

fn at_the_gate(fault: Fault, passing: usize, wanting: usize) {
    let [inside, here, alone, done] = std::array::from_fn(|_| AtomicU32::new(0));
    let gate = Arc::new(Gate { fault, inside, closed: AtomicBool::new(false), here, alone, done });
    let mut threads = Vec::new();
    for _ in 0..passing {
        let gate = Arc::clone(&gate);
        threads.push(thread::spawn(move || gate.pass()));
    }
    for _ in 0..wanting {
        let gate = Arc::clone(&gate);
        threads.push(thread::spawn(move || gate.alone()));
    }
    let done: u32 = threads.into_iter().map(|thread| u32::from(thread.join().expect("it ends"))).sum();
    assert_eq!(gate.done.load(Ordering::Relaxed), done, "work is lost");
    assert_eq!(gate.inside.load(Ordering::Relaxed), 0);
}

#[test]
fn nobody_is_inside_while_one_is_alone() {
    explore(2, || at_the_gate(Fault::None, 2, 1));
}

#[test]
fn one_of_two_has_it_alone() {
    explore(2, || at_the_gate(Fault::None, 1, 2));
}

#[test]
#[should_panic(expected = "work is lost")]
fn who_passes_counts_itself_before_it_looks() {
    explore(2, || at_the_gate(Fault::LooksFirst, 1, 1));
}

#[test]
#[should_panic(expected = "work is lost")]
fn who_wants_it_alone_waits_or_gives_up() {
    explore(2, || at_the_gate(Fault::DoesNotWait, 1, 1));
}

#[test]
#[should_panic(expected = "work is lost")]
fn it_is_closed_by_one() {
    explore(2, || at_the_gate(Fault::TwoAlone, 0, 2));
}
