//! Asynchronous operations under way, by the address of their control block, in a fixed table without locks.
#![expect(unsafe_code, reason = "references to records that never go away")]

use crate::notes::Note;
use crate::ops::Op;
use crate::registry::File;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// A place for one.
struct Place {
    /// Address of the control block; 0: free, 1: being changed.
    block: AtomicUsize,
    file: AtomicPtr<File>,
    op: AtomicPtr<Op>,
    offset: AtomicI64,
    start: AtomicU64,
    /// When it was first seen to be done, or 0.
    end: AtomicU64,
}

/// An operation under way.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    /// Its file.
    pub(crate) file: &'static File,
    /// What it does.
    pub(crate) op: &'static Op,
    /// Where.
    pub(crate) offset: i64,
    /// When it was submitted.
    pub(crate) start: u64,
    /// When it was first seen to be done, or 0.
    pub(crate) end: u64,
}

const CAPACITY: usize = 1024;
const FREE: usize = 0;
const BUSY: usize = 1;

static PLACES: [Place; CAPACITY] = [const {
    Place {
        block: AtomicUsize::new(FREE),
        file: AtomicPtr::new(std::ptr::null_mut()),
        op: AtomicPtr::new(std::ptr::null_mut()),
        offset: AtomicI64::new(0),
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
    }
}; CAPACITY];
/// Places from here on have never been used.
static BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Notes that an operation with control block `block` is under way.
pub(crate) fn add(block: usize, pending: &Pending) {
    if take(block).is_some() {
        Note::Asynchronous.count();
    }
    for (index, place) in PLACES.iter().enumerate() {
        if place.block.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            place.file.store(std::ptr::from_ref(pending.file).cast_mut(), Ordering::Relaxed);
            place.op.store(std::ptr::from_ref(pending.op).cast_mut(), Ordering::Relaxed);
            place.offset.store(pending.offset, Ordering::Relaxed);
            place.start.store(pending.start, Ordering::Relaxed);
            place.end.store(pending.end, Ordering::Relaxed);
            place.block.store(block, Ordering::Release);
            BEHIND.fetch_max(index + 1, Ordering::Release);
            return;
        }
    }
    Note::Asynchronous.count();
}

fn used() -> &'static [Place] {
    &PLACES[..BEHIND.load(Ordering::Acquire).min(CAPACITY)]
}

fn place_of(block: usize) -> Option<&'static Place> {
    used().iter().find(|place| block > BUSY && place.block.load(Ordering::Acquire) == block)
}

/// The operation was seen to be done at `end`; the first time counts.
pub(crate) fn seen_done(block: usize, end: u64) {
    if let Some(place) = place_of(block) {
        let _ = place.end.compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Takes the operation out of the table.
pub(crate) fn take(block: usize) -> Option<Pending> {
    let place = place_of(block)?;
    place.block.compare_exchange(block, BUSY, Ordering::AcqRel, Ordering::Relaxed).ok()?;
    // SAFETY: stored before the block's address, from a record that never goes away.
    let file = unsafe { place.file.load(Ordering::Relaxed).as_ref() };
    // SAFETY: likewise, a static.
    let op = unsafe { place.op.load(Ordering::Relaxed).as_ref() };
    let (offset, start) = (place.offset.load(Ordering::Relaxed), place.start.load(Ordering::Relaxed));
    let end = place.end.load(Ordering::Relaxed);
    place.block.store(FREE, Ordering::Release);
    Some(Pending { file: file?, op: op?, offset, start, end })
}

/// How many operations wait in the table.
pub(crate) fn waiting() -> u64 {
    used().iter().filter(|place| place.block.load(Ordering::Relaxed) > BUSY).count() as u64
}

/// In a forked child: its parent's operations are not its own.
pub(crate) fn forget_all() {
    used().iter().for_each(|place| place.block.store(FREE, Ordering::Relaxed));
}
