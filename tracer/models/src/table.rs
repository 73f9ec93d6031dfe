//! Model of `memory/growable_region.rs` (`take`, `back`, `back_alone`) and `memory/table.rs` (`push_with`, `get`, `numbered`), and of
//! objects in an area that become visible by a word stored last (a journal record, a chunk's header). Threads push records while another
//! thread iterates, and a reader outside of the process follows the spool's used size. Invariants: no reader finds a partial record, no two
//! records overlap, no record is accessed before its memory is backed by storage, and backing, which may write zeros, never overwrites a
//! record.
//!
//! In the model, a record is two words and its ready word, and storage is backed one record at a time.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

const CAPACITY: usize = 2;

/// Fault that is deliberately put into the model, which must then fail.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ReadyFirst,
    ReadyRelaxed,
    BumpWithoutExchange,
    BackTogether,
}

#[derive(Default)]
struct Made {
    backed: AtomicBool,
    words: [AtomicUsize; 2],
    ready: AtomicUsize,
}

struct Table {
    fault: Fault,
    backing: AtomicUsize,
    backed: AtomicUsize,
    used: AtomicUsize,
    /// Used size of the area in records, as published to readers of the spool.
    shown: AtomicUsize,
    places: [Made; CAPACITY],
}

impl Table {
    fn new(fault: Fault) -> Arc<Self> {
        let [backing, backed, used, shown] = std::array::from_fn(|_| AtomicUsize::new(0));
        Arc::new(Self { fault, backing, backed, used, shown, places: Default::default() })
    }

    fn take(&self, me: usize) -> Option<usize> {
        let mut at = self.used.load(Ordering::Acquire);
        loop {
            let end = Some(at + 1).filter(|&end| end <= CAPACITY)?;
            if end > self.backed.load(Ordering::Acquire) {
                self.back(me, end);
            }
            if self.fault == Fault::BumpWithoutExchange {
                self.used.store(end, Ordering::Release);
                return Some(at);
            }
            match self.used.compare_exchange_weak(at, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.shown.fetch_max(end, Ordering::Release);
                    return Some(at);
                }
                Err(now) => at = now,
            }
        }
    }

    /// Backs the records up to `end` with storage, one thread at a time. As on a file system without fallocate(2), new storage is filled
    /// with zeros.
    fn back(&self, me: usize, end: usize) {
        let together = self.fault == Fault::BackTogether;
        while !together && self.backing.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            thread::yield_now();
        }
        let from = self.backed.load(Ordering::Acquire);
        if end > from {
            for place in &self.places[from..end] {
                place.words.iter().chain([&place.ready]).for_each(|word| word.store(0, Ordering::Relaxed));
                place.backed.store(true, Ordering::Relaxed);
            }
            self.backed.store(end, Ordering::Release);
        }
        self.backing.store(0, Ordering::Release);
    }

    fn push(&self, me: usize) -> Option<usize> {
        let at = self.take(me)?;
        let place = &self.places[at];
        assert!(place.backed.load(Ordering::Relaxed), "written to before it was backed");
        if self.fault == Fault::ReadyFirst {
            place.ready.store(1, Ordering::Release);
        }
        place.words.iter().for_each(|word| word.store(me, Ordering::Relaxed));
        let ordering = if self.fault == Fault::ReadyRelaxed { Ordering::Relaxed } else { Ordering::Release };
        place.ready.store(1, ordering);
        Some(at)
    }

    /// Returns the number of the thread that wrote each of the records below index `used`.
    fn found(&self, used: usize) -> Vec<usize> {
        let whole = |place: &&Made| {
            assert!(place.backed.load(Ordering::Relaxed), "shown before it was backed");
            place.ready.load(Ordering::Acquire) != 0
        };
        let made_by = |place: &Made| {
            let [one, other] = [0, 1].map(|word| place.words[word].load(Ordering::Relaxed));
            assert!(one != 0 && one == other, "half a record was found");
            one
        };
        self.places[..used].iter().filter(whole).map(made_by).collect()
    }
}

/// Runs two threads that push records, concurrently with the reader `reads`.
fn pushing(fault: Fault, reads: fn(&Table)) {
    let table = Table::new(fault);
    let pushers: Vec<_> = [1, 2]
        .map(|me| {
            let table = Arc::clone(&table);
            thread::spawn(move || table.push(me))
        })
        .into();
    let reader = Arc::clone(&table);
    let reader = thread::spawn(move || reads(&reader));
    let mut places: Vec<_> = pushers.into_iter().filter_map(|pusher| pusher.join().ok().flatten()).collect();
    reader.join().expect("it ends");
    places.sort_unstable();
    assert_eq!(places, [0, 1], "two records have one place");
    let mut all = table.found(table.shown.load(Ordering::Acquire));
    all.sort_unstable();
    assert_eq!(all, [1, 2], "a record is gone");
    assert_eq!(table.push(3), None);
}

fn iterates(table: &Table) {
    table.found(table.used.load(Ordering::Acquire));
}

fn reads_the_spool(table: &Table) {
    let before = table.found(table.shown.load(Ordering::Acquire));
    let after = table.found(table.shown.load(Ordering::Acquire));
    assert!(before.iter().all(|record| after.contains(record)), "a record went away");
}

#[test]
fn a_thread_that_iterates_finds_whole_records() {
    explore(2, || pushing(Fault::None, iterates));
}

#[test]
fn a_reader_of_the_spool_finds_whole_records() {
    explore(2, || pushing(Fault::None, reads_the_spool));
}

#[test]
#[should_panic(expected = "half a record")]
fn the_ready_word_comes_last() {
    explore(2, || pushing(Fault::ReadyFirst, iterates));
}

#[test]
#[should_panic(expected = "half a record")]
fn the_ready_word_is_stored_with_release() {
    explore(2, || pushing(Fault::ReadyRelaxed, reads_the_spool));
}

#[test]
#[should_panic(expected = "one place")]
fn places_are_taken_by_an_exchange() {
    explore(2, || pushing(Fault::BumpWithoutExchange, |_| ()));
}

#[test]
#[should_panic(expected = "half a record")]
fn one_thread_at_a_time_has_a_piece_backed() {
    explore(2, || pushing(Fault::BackTogether, |_| ()));
}
