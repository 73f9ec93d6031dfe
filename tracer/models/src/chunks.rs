//! Model of the life of a chunk (piece of the segment buffer). The chunk's thread fills it (`record.rs`). A full chunk (`arena.rs`,
//! `filled`) is claimed (`claim_full`; `chunk.rs`, `is_complete`), compressed into a block (`packed.rs`, `store`, `put`; `staging.rs`), and
//! reused for segments or for blocks (`erase`, `give`, `become_packed`). Meanwhile a reader outside of the process relies on the guarantees
//! of `trace-format/SPOOL.md`: at any time it must find each segment at least once, with thread and sequence number, by which it recognizes
//! a segment found twice.
//!
//! The reader (`trace-format/src/spool/read/snapshot.rs`) reads in this order:
//! 1. the slots, with the chunk's thread and sequence number before and after; it drops all slots if either has changed
//! 2. the staging area
//! 3. the blocks
//!
//! For a reader that runs concurrently with the owner, the erasing must not become visible before the block: a Release fence precedes the
//! erasing, and an Acquire fence follows the reader's slots. (The spool of a killed process needs no fence, since all its stores have
//! arrived.)
//!
//! In the model, a block consists of its length and the two segments of its chunk. Slots consist only of end times, since `append_and_cut`
//! and `copies` model the other fields.

use crate::explore;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use loom::thread;

const ACTIVE: u32 = 1;
const FULL: u32 = 2;
const PACKING: u32 = 3;
const PACKED: u32 = 4;
/// End times of the segments that fill the chunk.
const ENDS: [u64; 2] = [5, 6];
const NEXT_END: u64 = 7;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    ClaimsIncomplete,
    ErasesFirst,
    NoStaging,
    NoFence,
    ReadsBlocksFirst,
    TakenForAnothers,
}

/// Place, in the model, of the block that holds the chunk's compressed segments.
#[derive(Clone, Copy, PartialEq)]
enum Goes {
    /// In another chunk, which holds compressed blocks already.
    Elsewhere,
    /// In the chunk from which the segments came, which holds blocks from then on.
    Here,
}

#[derive(Default)]
struct Block {
    length: AtomicU32,
    ends: [AtomicU64; 2],
}

impl Block {
    fn put(&self, ends: [u64; 2]) {
        self.ends.iter().zip(ends).for_each(|(place, end)| place.store(end, Ordering::Relaxed));
        self.length.store(2, Ordering::Release);
    }

    fn read(&self) -> Vec<u64> {
        let there = self.length.load(Ordering::Acquire) != 0;
        let ends: Vec<u64> = self.ends.iter().filter(|_| there).map(|end| end.load(Ordering::Relaxed)).collect();
        assert!(ends.is_empty() || ends == ENDS, "half a block");
        ends
    }
}

/// Spool of the model: one chunk that changes owners, the chunk's own block once it holds blocks, a block in another chunk, and a staging area.
struct Spool {
    fault: Fault,
    full: AtomicU32,
    state: AtomicU32,
    thread: AtomicU32,
    sequence: AtomicU32,
    slots: [AtomicU64; 2],
    own_block: Block,
    other_block: Block,
    staging: Block,
}

impl Spool {
    /// Fills the chunk. The last call is interrupted after it has reserved its slot; a signal handler's call then finds the chunk full.
    fn fill(&self) {
        self.state.store(FULL, Ordering::Release);
        self.full.fetch_add(1, Ordering::Release);
        self.slots[1].store(ENDS[1], Ordering::Release);
    }

    fn claim(&self) -> bool {
        if self.full.fetch_update(Ordering::AcqRel, Ordering::Acquire, |full| full.checked_sub(1)).is_err() {
            return false;
        }
        let is_complete = self.state.load(Ordering::Acquire) == FULL
            && (self.fault == Fault::ClaimsIncomplete || self.slots.iter().all(|end| end.load(Ordering::Acquire) != 0));
        if is_complete && self.state.compare_exchange(FULL, PACKING, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return true;
        }
        self.full.fetch_add(1, Ordering::Release);
        false
    }

    fn erase(&self) {
        if self.fault != Fault::NoFence {
            fence(Ordering::Release);
        }
        self.slots.iter().for_each(|end| end.store(0, Ordering::Relaxed));
    }

    fn make_room(&self, goes: Goes) {
        if !self.claim() {
            return;
        }
        let ends = [0, 1].map(|slot| self.slots[slot].load(Ordering::Relaxed));
        assert_eq!(ends, ENDS, "packed before it was complete");
        if goes == Goes::Here {
            if self.fault != Fault::NoStaging {
                self.staging.put(ends);
            }
            self.erase();
            self.state.store(PACKED, Ordering::Release);
            self.own_block.put(ends);
            self.staging.length.store(0, Ordering::Release);
            return;
        }
        if self.fault == Fault::ErasesFirst {
            self.erase();
            self.other_block.put(ends);
        } else {
            self.other_block.put(ends);
            self.erase();
        }
        // The chunk is given to the thread that packed it, as that thread's first chunk.
        self.thread.store(1, Ordering::Relaxed);
        self.sequence.store(0, Ordering::Relaxed);
        self.state.store(ACTIVE, Ordering::Release);
        self.slots[0].store(NEXT_END, Ordering::Release);
    }

    fn header(&self) -> [u32; 3] {
        [&self.state, &self.thread, &self.sequence].map(|word| word.load(Ordering::Acquire))
    }

    /// Returns the segments of thread 0 that a reader of the spool (file of recorded data, read by other processes) finds.
    fn read(&self) -> Vec<u64> {
        let blocks = || [&self.staging, &self.own_block, &self.other_block].map(Block::read).concat();
        let mut found = if self.fault == Fault::ReadsBlocksFirst { blocks() } else { Vec::new() };
        let [state, thread, sequence] = self.header();
        let slots = [0, 1].map(|slot| self.slots[slot].load(Ordering::Acquire));
        fence(Ordering::Acquire);
        let [_, thread_after, sequence_after] = self.header();
        let is_same = [thread, sequence] == [thread_after, sequence_after] || self.fault == Fault::TakenForAnothers;
        if is_same && state != PACKED && thread == 0 {
            found.extend(slots.iter().filter(|&&end| end != 0));
        }
        if self.fault != Fault::ReadsBlocksFirst {
            found.extend(blocks());
        }
        found
    }
}

/// Runs the life of a chunk of thread 0. The chunk is compressed while a reader examines it or, if `is_filled` is false, while its thread fills it.
fn life(fault: Fault, goes: Goes, is_filled: bool) {
    let spool = Arc::new(Spool {
        fault,
        full: AtomicU32::new(0),
        state: AtomicU32::new(ACTIVE),
        thread: AtomicU32::new(0),
        sequence: AtomicU32::new(0),
        slots: [AtomicU64::new(ENDS[0]), AtomicU64::new(0)],
        own_block: Block::default(),
        other_block: Block::default(),
        staging: Block::default(),
    });
    let [other, packer] = std::array::from_fn(|_| Arc::clone(&spool));
    if is_filled {
        spool.fill();
    }
    let packer = thread::spawn(move || packer.make_room(goes));
    // All three threads at once have more interleavings than can be explored.
    let other = thread::spawn(move || {
        if is_filled {
            return other.read();
        }
        other.fill();
        Vec::new()
    });
    packer.join().expect("it ends");
    let found = other.join().expect("it ends");
    assert!(!found.contains(&NEXT_END), "another thread's segment was found");
    assert!(!is_filled || ENDS.iter().all(|end| found.contains(end)), "a segment was not found");
    let after = spool.read();
    assert!(ENDS.iter().all(|end| after.contains(end)), "a segment is lost");
}

#[test]
fn a_reader_finds_all_while_a_chunk_is_packed_and_used_again() {
    explore(2, || life(Fault::None, Goes::Elsewhere, true));
}

#[test]
fn a_reader_finds_all_while_a_chunk_becomes_one_of_blocks() {
    explore(2, || life(Fault::None, Goes::Here, true));
}

#[test]
fn a_chunk_is_packed_when_the_last_call_has_come() {
    explore(2, || life(Fault::None, Goes::Elsewhere, false));
}

#[test]
#[should_panic(expected = "packed before it was complete")]
fn a_chunk_is_claimed_when_it_is_complete() {
    explore(2, || life(Fault::ClaimsIncomplete, Goes::Elsewhere, false));
}

#[test]
#[should_panic(expected = "was not found")]
fn a_chunk_is_erased_when_its_block_is_there() {
    explore(2, || life(Fault::ErasesFirst, Goes::Elsewhere, true));
}

#[test]
#[should_panic(expected = "was not found")]
fn a_block_lands_before_its_chunk_becomes_its_place() {
    explore(2, || life(Fault::NoStaging, Goes::Here, true));
}

#[test]
#[should_panic(expected = "was not found")]
fn erasing_is_not_seen_before_the_block() {
    explore(2, || life(Fault::NoFence, Goes::Elsewhere, true));
}

#[test]
#[should_panic(expected = "was not found")]
fn blocks_are_read_after_slots() {
    explore(2, || life(Fault::ReadsBlocksFirst, Goes::Elsewhere, true));
}

#[test]
#[should_panic(expected = "another thread's")]
fn slots_of_a_chunk_that_changed_are_left() {
    explore(2, || life(Fault::TakenForAnothers, Goes::Elsewhere, true));
}
