//! Model of `memory/fixed_table.rs` (`add`, `all` with `hold`, `remove`, `publish`). Threads add entries of one key, or of two keys that
//! share a window (adjacent entries that may hold a key), find entries, and take entries. Invariants: no entry is lost, none is taken
//! twice, and no value is found in part.
//!
//! In the model, the table is one window, and a value is two words.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

const NEVER: usize = 0;
const BUSY: usize = 2;
const FREE: usize = 4;
const KEY: usize = 9;
const OTHER: usize = 11;

/// Fault that is deliberately put into the model, which must then fail.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ClaimsWithoutExchange,
    PublishesFirst,
    PublishesRelaxed,
    HoldsWithoutExchange,
    ForgetsUse,
}

#[derive(Default)]
struct Entry {
    word: AtomicUsize,
    value: [AtomicUsize; 2],
}

impl Entry {
    fn number(&self) -> usize {
        let [one, other] = [0, 1].map(|word| self.value[word].load(Ordering::Relaxed));
        assert!(one != 0 && one == other, "half a value was found");
        one
    }
}

struct Table {
    fault: Fault,
    entries: [Entry; 2],
}

impl Table {
    fn add(&self, key: usize, number: usize) {
        let claim = |entry: &&Entry| {
            let word = entry.word.load(Ordering::Relaxed);
            let is_free = matches!(word, NEVER | FREE);
            if self.fault == Fault::ClaimsWithoutExchange && is_free {
                entry.word.store(BUSY, Ordering::Relaxed);
                return true;
            }
            is_free && entry.word.compare_exchange(word, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let entry = self.entries.iter().find(claim).expect("the table is full");
        if self.fault == Fault::PublishesFirst {
            entry.word.store(key, Ordering::Release);
        }
        entry.value.iter().for_each(|word| word.store(number, Ordering::Relaxed));
        let relaxed = self.fault == Fault::PublishesRelaxed;
        entry.word.store(key, if relaxed { Ordering::Relaxed } else { Ordering::Release });
    }

    fn all(&self, key: usize) -> impl Iterator<Item = &Entry> {
        let words = self.entries.iter().map(|entry| (entry.word.load(Ordering::Acquire), entry));
        words.take_while(|(found, _)| *found != NEVER).filter(move |(found, _)| *found == key).map(|(_, entry)| entry)
    }

    fn take(&self, key: usize) -> Option<usize> {
        let hold = |entry: &&Entry| {
            if self.fault == Fault::HoldsWithoutExchange {
                entry.word.store(BUSY, Ordering::Release);
                return true;
            }
            entry.word.compare_exchange(key, BUSY, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        let entry = self.all(key).find(hold)?;
        let number = entry.number();
        let word = if self.fault == Fault::ForgetsUse { NEVER } else { FREE };
        entry.word.store(word, Ordering::Release);
        Some(number)
    }
}

/// Runs the given thread functions concurrently on an empty table; returns the table.
fn a_table<const N: usize>(fault: Fault, threads: [fn(&Table); N]) -> Arc<Table> {
    let table = Arc::new(Table { fault, entries: Default::default() });
    let threads = threads.map(|does| {
        let table = Arc::clone(&table);
        thread::spawn(move || does(&table))
    });
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    table
}

/// Adds an entry and takes it, twice, so that the entry's place is reused.
fn of_one_key(table: &Table) {
    for number in [1, 2] {
        table.add(KEY, number);
        assert_eq!(table.take(KEY), Some(number), "an entry is gone");
    }
}

fn of_another_key(table: &Table) {
    table.add(OTHER, 3);
    assert_eq!(table.take(OTHER), Some(3), "an entry is gone");
}

/// Runs two threads that use different keys in one window (adjacent entries that may hold either key).
fn two_keys(fault: Fault) {
    let table = a_table(fault, [of_one_key, of_another_key]);
    assert!(table.all(KEY).chain(table.all(OTHER)).next().is_none());
}

/// Runs two threads that each add an entry under one key, then each take one.
fn one_key(fault: Fault) {
    let table = Arc::new(Table { fault, entries: Default::default() });
    let threads = [1, 2].map(|number| {
        let table = Arc::clone(&table);
        thread::spawn(move || {
            table.add(KEY, number);
            table.take(KEY)
        })
    });
    let mut taken: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
    taken.sort_unstable();
    assert_eq!(taken, [Some(1), Some(2)], "an entry is gone, or was taken twice");
    assert_eq!(table.take(KEY), None);
}

/// Runs two threads that add entries, concurrently with a thread that only searches for one.
fn looking(fault: Fault) {
    let adds: [fn(&Table); 3] = [
        |table| table.add(KEY, 1),
        |table| table.add(KEY, 2),
        |table| table.all(KEY).for_each(|entry| assert!(entry.number() <= 2)),
    ];
    let table = a_table(fault, adds);
    let mut found: Vec<_> = table.all(KEY).map(Entry::number).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 2], "an entry is gone");
}

#[test]
fn no_entry_is_lost_or_taken_twice() {
    explore(3, || two_keys(Fault::None));
    explore(3, || one_key(Fault::None));
}

#[test]
fn who_looks_finds_whole_values() {
    explore(2, || looking(Fault::None));
}

#[test]
#[should_panic(expected = "gone")]
fn entries_are_claimed_by_an_exchange() {
    explore(2, || looking(Fault::ClaimsWithoutExchange));
}

#[test]
#[should_panic(expected = "half a value")]
fn the_key_comes_last() {
    explore(2, || looking(Fault::PublishesFirst));
}

#[test]
#[should_panic(expected = "half a value")]
fn the_key_is_stored_with_release() {
    explore(2, || looking(Fault::PublishesRelaxed));
}

#[test]
#[should_panic(expected = "taken twice")]
fn entries_are_held_by_an_exchange() {
    explore(2, || one_key(Fault::HoldsWithoutExchange));
}

#[test]
#[should_panic(expected = "gone")]
fn a_used_entry_ends_no_search() {
    explore(2, || two_keys(Fault::ForgetsUse));
}
