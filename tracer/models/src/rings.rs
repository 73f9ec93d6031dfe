//! Model of `handles/rings.rs` (`with_mapping_if`, `end`, `add`). Threads read the tracer's mapping of an io_uring ring, while other
//! threads (close, munmap) end the ring and set up the next ring under the same name (descriptor number or address). Invariants: a mapping
//! is never unmapped while it is read, and it is unmapped at most once.
//!
//! A reader announces itself and then loads the ring's name. A thread that ends the ring clears the name and then loads the number of
//! readers. The code relies on a total order of these four accesses, all SeqCst; the model has a fence between the two accesses of each
//! thread. In the model, a mapping is a number, and unmapping increments a counter.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
use loom::thread;

const FREE: usize = 0;
const BUSY: usize = 1;
const NAME: usize = 7;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    AsksFirst,
    LooksBeforeItSays,
    EndsWithoutClaim,
}

struct Ring {
    fault: Fault,
    name: AtomicUsize,
    users: AtomicU32,
    /// Number that stands for the tracer's mapping of the ring; 0 if none.
    mapped: AtomicUsize,
    /// Number of times that each mapping was unmapped.
    unmapped: [AtomicU32; 3],
}

impl Ring {
    fn look(&self) {
        let mapping = || {
            let is_it = self.name.load(Ordering::SeqCst) == NAME;
            if is_it { self.mapped.load(Ordering::Acquire) } else { 0 }
        };
        let before = if self.fault == Fault::LooksBeforeItSays { mapping() } else { 0 };
        self.users.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mapping = if self.fault == Fault::LooksBeforeItSays { before } else { mapping() };
        if mapping != 0 {
            // Checked twice, since the mapping must stay while it is read. `fetch_add` loads the newest value, as an access to unmapped memory would.
            for _ in 0..2 {
                assert_eq!(self.unmapped[mapping].fetch_add(0, Ordering::Relaxed), 0, "looks at what is unmapped");
            }
        }
        self.users.fetch_sub(1, Ordering::SeqCst);
    }

    fn end(&self) {
        let before = self.users.load(Ordering::SeqCst);
        let name = self.name.load(Ordering::Acquire);
        if name == FREE || name == BUSY {
            return;
        }
        let mapping = if self.fault == Fault::EndsWithoutClaim {
            let mapping = self.mapped.load(Ordering::Acquire);
            self.name.store(BUSY, Ordering::SeqCst);
            mapping
        } else {
            if self.name.compare_exchange(name, BUSY, Ordering::SeqCst, Ordering::Relaxed).is_err() {
                return;
            }
            self.mapped.swap(0, Ordering::AcqRel)
        };
        fence(Ordering::SeqCst);
        let users = if self.fault == Fault::AsksFirst { before } else { self.users.load(Ordering::SeqCst) };
        if mapping != 0 && users == 0 {
            assert_eq!(self.unmapped[mapping].fetch_add(1, Ordering::Relaxed), 0, "unmapped twice");
        }
        self.name.store(FREE, Ordering::Release);
    }

    fn add(&self, mapping: usize) {
        if self.name.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            self.mapped.store(mapping, Ordering::Relaxed);
            self.name.store(NAME, Ordering::Release);
        }
    }
}

/// Runs the given thread functions concurrently on one ring.
fn a_ring<const N: usize>(fault: Fault, threads: [fn(&Ring); N]) {
    let ring = Arc::new(Ring {
        fault,
        name: AtomicUsize::new(NAME),
        users: AtomicU32::new(0),
        mapped: AtomicUsize::new(1),
        unmapped: std::array::from_fn(|_| AtomicU32::new(0)),
    });
    let threads = threads.map(|does| {
        let ring = Arc::clone(&ring);
        thread::spawn(move || does(&ring))
    });
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    assert_eq!(ring.users.load(Ordering::Relaxed), 0);
}

fn end_and_add(ring: &Ring) {
    ring.end();
    ring.add(2);
}

#[test]
fn nobody_looks_behind_an_end() {
    explore(3, || a_ring(Fault::None, [end_and_add, Ring::look]));
    explore(2, || a_ring(Fault::None, [end_and_add, Ring::look, Ring::look]));
}

#[test]
fn two_who_end_it_unmap_it_once() {
    explore(2, || a_ring(Fault::None, [end_and_add, Ring::end, Ring::look]));
}

#[test]
#[should_panic(expected = "looks at what is unmapped")]
fn who_ends_it_takes_the_name_before_it_asks() {
    explore(2, || a_ring(Fault::AsksFirst, [Ring::end, Ring::look]));
}

#[test]
#[should_panic(expected = "looks at what is unmapped")]
fn who_looks_says_so_before_it_asks() {
    explore(2, || a_ring(Fault::LooksBeforeItSays, [Ring::end, Ring::look]));
}

#[test]
#[should_panic(expected = "unmapped twice")]
fn one_ends_it() {
    explore(2, || a_ring(Fault::EndsWithoutClaim, [Ring::end, Ring::end]));
}
