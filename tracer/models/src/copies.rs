//! Model of a segment slot that is emptied and reused while a reader outside of the process copies it. Code: `buffer/chunk.rs` (`erase`),
//! `buffer/policy.rs` (`fold_scratch`), `buffer/scratch.rs` (`empty`), then `record.rs` (`append`); the reader follows
//! `trace-format/SPOOL.md` (`trace-format/src/spool/read/snapshot.rs`, `slots`). A copy reads a slot's words in any order, so it may mix
//! the end time of one segment with words of another. Therefore the reader copies twice, with an Acquire fence between the copies, and
//! accepts a slot that is equal in both copies and has an end time.
//!
//! Reason: the next segment is stored after a Release fence that follows the emptying. If the first copy has any word of the next segment,
//! the second copy no longer has the end time of the previous segment.
//!
//! In the model, a slot consists of its end time and one word that stands for the other fields.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Faulty variant: the reader copies the slot only once.
    OneCopy,
    /// Faulty variant: the reader copies the slot twice but compares only the end times.
    EndsOnly,
    /// Faulty variant: the reader has no fence between its copies.
    NoReadersFence,
    /// Faulty variant: the owner has no fence between emptying the slot and storing the next segment.
    NoOwnersFence,
}

struct Slot {
    word: AtomicU64,
    end: AtomicU64,
}

impl Slot {
    fn append(&self, id: u64) {
        self.word.store(id, Ordering::Relaxed);
        self.end.store(id, Ordering::Release);
    }

    fn empty(&self, fault: Fault) {
        self.end.store(0, Ordering::Relaxed);
        if fault != Fault::NoOwnersFence {
            fence(Ordering::Release);
        }
    }

    /// Copies the slot; returns [word, end]. If `end_first` is true, reads the end time before the word.
    fn copy(&self, end_first: bool) -> [u64; 2] {
        let first = if end_first { &self.end } else { &self.word }.load(Ordering::Relaxed);
        let second = if end_first { &self.word } else { &self.end }.load(Ordering::Relaxed);
        if end_first { [second, first] } else { [first, second] }
    }

    fn read(&self, fault: Fault, end_first: bool) -> Option<[u64; 2]> {
        let before = self.copy(end_first);
        if fault == Fault::OneCopy {
            return Some(before).filter(|[_, end]| *end != 0);
        }
        if fault != Fault::NoReadersFence {
            fence(Ordering::Acquire);
        }
        let after = self.copy(end_first);
        let is_same = if fault == Fault::EndsOnly { before[1] == after[1] } else { before == after };
        Some(after).filter(|[_, end]| is_same && *end != 0)
    }
}

/// Stores a segment into a slot, which is empty or (if `is_filled`) was used before, while a reader copies the slot (reading the end time
/// first if `end_first`).
fn used_again(fault: Fault, is_filled: bool, end_first: bool) {
    let first = u64::from(is_filled);
    let slot = Arc::new(Slot { word: AtomicU64::new(first), end: AtomicU64::new(first) });
    let reader = Arc::clone(&slot);
    let owner = thread::spawn(move || {
        if is_filled {
            slot.empty(fault);
        }
        slot.append(2);
    });
    let reader = thread::spawn(move || reader.read(fault, end_first));
    owner.join().expect("it ends");
    if let Some([word, end]) = reader.join().expect("it ends") {
        assert_eq!(word, end, "parts of two segments");
    }
}

fn all(fault: Fault) {
    for (is_filled, end_first) in [(true, true), (true, false), (false, true), (false, false)] {
        explore(3, move || used_again(fault, is_filled, end_first));
    }
}

#[test]
fn what_is_the_same_twice_is_a_whole_segment() {
    all(Fault::None);
}

#[test]
#[should_panic(expected = "parts of two segments")]
fn a_slot_is_copied_twice() {
    all(Fault::OneCopy);
}

#[test]
#[should_panic(expected = "parts of two segments")]
fn all_of_a_slot_is_compared() {
    all(Fault::EndsOnly);
}

#[test]
#[should_panic(expected = "parts of two segments")]
fn the_second_copy_comes_behind_the_first() {
    all(Fault::NoReadersFence);
}

#[test]
#[should_panic(expected = "parts of two segments")]
fn the_next_segment_comes_behind_the_emptying() {
    all(Fault::NoOwnersFence);
}
