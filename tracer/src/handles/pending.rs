//! Asynchronous operations in progress (aio(7), io_submit(2), io_uring), by the address of the control block or the program's user data.
#![expect(unsafe_code, reason = "references to records that never go away")]

use super::{Manner, Placed, Sent, Since};
use crate::memory::{Entry, FixedTable, Zeroed};
use crate::notes::Note;
use crate::ops::Op;
use crate::registry::File;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU64, Ordering};

/// Key by which the program identifies an asynchronous I/O operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// ID of the asynchronous I/O context (io_submit) or io_uring ring to which the operation was submitted; 0 for aio(7).
    pub(crate) owner: usize,
    /// Address of the control block, or user data, which need not be unique.
    pub(crate) mark: u64,
}

impl Key {
    /// Combines mark and owner into one word, the key in the table. The table ignores the highest bit of the word. The owner has no
    /// influence on that bit: it would be bit 55 of an address, which is 0 in every address that the kernel chooses
    /// (`Documentation/arch/x86/x86_64/5level-paging.rst`). So two owners with equal marks have different keys.
    fn word(self) -> usize {
        self.mark as usize ^ self.owner.rotate_left(8)
    }
}

/// Asynchronous I/O operation in progress, with the parameters known at its submission.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    /// File on which the operation acts, if already known.
    pub(crate) to: Sent,
    pub(crate) op: &'static Op,
    /// File offset of the operation in bytes; -1 if the operation has none.
    pub(crate) offset: i64,
    /// Flags with which the target file was opened.
    pub(crate) manner: Manner,
    /// Bytes that the operation requests; ignored if the completion reports the bytes transferred.
    pub(crate) length: u64,
    /// Time at which the operation was submitted, in clock ticks.
    pub(crate) start: u64,
    /// Time at which the operation's completion was first seen, in clock ticks; 0 if not seen yet.
    pub(crate) end: u64,
    /// Sequence number of the operation among the submissions to its context or ring.
    pub(crate) turn: u64,
}

impl Pending {
    /// Returns the operation's file offset, with the flags to record.
    pub(crate) const fn placed(&self) -> Placed {
        Placed::at(self.offset).by(self.manner)
    }
}

/// Table entry of an asynchronous operation in progress.
type Place = Entry<Stored>;

/// Asynchronous operation, as stored in the table.
pub(crate) struct Stored {
    mark: AtomicU64,
    file: AtomicPtr<File>,
    op: AtomicPtr<Op>,
    offset: AtomicI64,
    manner: AtomicU8,
    start: AtomicU64,
    /// For aio(7): time at which the completion was first seen, in clock ticks. For io_submit(2) and io_uring: bytes requested.
    end_or_length: AtomicU64,
    turn: AtomicU64,
    /// Descriptor number whose file must be checked when the kernel or the C library has resolved it, see [`Since`].
    descriptor: AtomicI32,
    /// State of the descriptor check: [`CERTAIN`], [`UNCERTAIN`], or (`seen` of [`Since`] + 1) << [`NUMBER_BITS`] | number from [`NUMBERS`].
    settled: AtomicU64,
}

// SAFETY: all-zero bits are valid numbers and null pointers.
unsafe impl Zeroed for Stored {}

/// State of [`Stored::settled`]: the descriptor was checked, and the operation's file is known.
const CERTAIN: u64 = 0;
/// State of [`Stored::settled`]: the descriptor was checked, and the operation's file is unknown.
const UNCERTAIN: u64 = 1;
/// Number of the next descriptor check; distinguishes that check from the check of an earlier operation in the same table entry.
static NUMBERS: AtomicU64 = AtomicU64::new(0);
const NUMBER_BITS: u32 = 16;

static OPERATIONS: FixedTable<Stored, 4096, 64> = FixedTable::new();

impl Place {
    /// Claims the table entry of an asynchronous operation for this thread; false if the entry no longer belongs to the operation with this
    /// key and sequence number (`turn`).
    fn hold_turn(&self, key: Key, turn: u64) -> bool {
        if !self.hold(key.word()) {
            return false;
        }
        let same = self.mark.load(Ordering::Relaxed) == key.mark && self.turn.load(Ordering::Relaxed) == turn;
        if !same {
            self.publish(key.word());
        }
        same
    }

    /// Returns the file on which the operation acts. Call this once the kernel or the C library has resolved the operation's descriptor.
    fn sent(&self) -> Sent {
        // SAFETY: null, or a record that is never freed; stored before the entry became visible.
        let file = unsafe { self.file.load(Ordering::Relaxed).as_ref() };
        let settled = self.settled.load(Ordering::Relaxed);
        let seen = (settled >> NUMBER_BITS).wrapping_sub(1);
        let since = Since { number: self.descriptor.load(Ordering::Relaxed), seen };
        match (settled, file) {
            (CERTAIN, Some(file)) => Sent::To(file),
            (CERTAIN, None) => Sent::Untold,
            (UNCERTAIN, _) | (_, None) => Sent::Uncertain,
            (_, Some(file)) => Sent::If(file, since).settled(),
        }
    }

    /// Stores for good which file the operation with descriptor check `number` uses, since later changes of the resolved descriptor do not
    /// matter.
    fn settle(&self, number: u64) {
        if number > UNCERTAIN {
            let answer = if matches!(self.sent(), Sent::Uncertain) { UNCERTAIN } else { CERTAIN };
            // Another thread may have removed the operation meanwhile and reused its entry.
            let _ = self.settled.compare_exchange(number, answer, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Iterates over the operations in progress with this key (address of control block or user data).
fn all(key: Key) -> impl Iterator<Item = &'static Place> {
    OPERATIONS.all(key.word()).filter(move |place| place.mark.load(Ordering::Relaxed) == key.mark)
}

fn find(key: Key, turn: u64) -> Option<&'static Place> {
    all(key).find(|place| place.turn.load(Ordering::Relaxed) == turn)
}

/// Result of [`add`] (index of a table entry) if no entry is free.
pub(crate) const NOWHERE: u16 = u16::MAX;

/// Adds an operation in progress and returns the index of its table entry. If no entry is free, the operation is counted as not recorded.
pub(crate) fn add(key: Key, pending: &Pending) -> u16 {
    let (file, number, since) = match pending.to {
        Sent::To(file) => (Some(file), CERTAIN, Since::default()),
        Sent::Untold => (None, CERTAIN, Since::default()),
        Sent::If(file, since) => {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed) & ((1 << NUMBER_BITS) - 1);
            (Some(file), (since.seen.wrapping_add(1) << NUMBER_BITS) | number, since)
        }
        Sent::Uncertain => (None, UNCERTAIN, Since::default()),
    };
    let file = file.map_or(std::ptr::null_mut(), |file| std::ptr::from_ref(file).cast_mut());
    let added = OPERATIONS.add(key.word(), |place| {
        place.mark.store(key.mark, Ordering::Relaxed);
        place.file.store(file, Ordering::Relaxed);
        place.op.store(std::ptr::from_ref(pending.op).cast_mut(), Ordering::Relaxed);
        place.offset.store(pending.offset, Ordering::Relaxed);
        place.manner.store(pending.manner.small(), Ordering::Relaxed);
        place.start.store(pending.start, Ordering::Relaxed);
        let end_or_length = if key.owner == 0 { pending.end } else { pending.length };
        place.end_or_length.store(end_or_length, Ordering::Relaxed);
        place.turn.store(pending.turn, Ordering::Relaxed);
        place.descriptor.store(since.number, Ordering::Relaxed);
        place.settled.store(number, Ordering::Relaxed);
    });
    let Some(added) = added else {
        Note::Asynchronous.count();
        return NOWHERE;
    };
    OPERATIONS.index_of(added) as u16
}

/// Adds an operation that has a control block. Earlier operations with the same block and a sequence number below `first` are counted and
/// dropped, since the program never queried their completion.
pub(crate) fn add_block(key: Key, pending: &Pending, first: u64) -> u16 {
    while take_before(key, first).is_some() {
        Note::Asynchronous.count();
    }
    add(key, pending)
}

/// Records that an aio(7) operation was seen complete at time `end` (clock ticks); only the first call for an operation has an effect.
pub(crate) fn seen_done(key: Key, end: u64) {
    if OPERATIONS.len() == 0 {
        return;
    }
    if let Some(place) = all(key).next() {
        place.settle(place.settled.load(Ordering::Relaxed));
        let _ = place.end_or_length.compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Stores for good which file is used by the operation at table index `place` that was submitted to `owner` with sequence number `turn`:
/// the submitting call has returned, so the kernel has resolved the descriptor.
pub(crate) fn settle(place: u16, owner: usize, turn: u64) {
    let place = OPERATIONS.get(place.into());
    place.into_iter().for_each(|place| settle_in(place, owner, turn));
}

fn settle_in(place: &Place, owner: usize, turn: u64) {
    let number = place.settled.load(Ordering::Acquire);
    let key = Key { owner, mark: place.mark.load(Ordering::Relaxed) };
    if place.is(key.word()) && place.turn.load(Ordering::Relaxed) == turn {
        place.settle(number);
    }
}

/// Stores for good which file an operation uses, like [`settle`], if its table index is unknown.
pub(crate) fn settle_keyed(key: Key, turn: u64) {
    find(key, turn).into_iter().for_each(|place| settle_in(place, key.owner, turn));
}

/// Returns the file of the aio(7) operation with this key, if it was already seen complete.
pub(crate) fn sent_of_done(key: Key) -> Option<Sent> {
    all(key).find(|place| place.end_or_length.load(Ordering::Relaxed) != 0).map(|place| place.sent())
}

/// Removes from the table and returns the operation with this key that was submitted first.
pub(crate) fn take(key: Key) -> Option<Pending> {
    take_before(key, u64::MAX)
}

/// Removes and returns the first operation with this key, if its sequence number is below `behind`.
fn take_before(key: Key, behind: u64) -> Option<Pending> {
    while OPERATIONS.len() > 0 {
        let with_turn = |place: &'static Place| (place.turn.load(Ordering::Relaxed), place);
        let (turn, place) = all(key).map(with_turn).min_by_key(|(turn, _)| *turn)?;
        if turn >= behind {
            return None;
        }
        if place.hold_turn(key, turn) {
            return Some(taken(place, key));
        }
    }
    None
}

/// Removes and returns the only operation with this key. If completions were missed, several operations are left: they are counted and dropped.
pub(crate) fn take_only(key: Key) -> Option<Pending> {
    let only = take(key)?;
    let others = std::iter::from_fn(|| take(key)).count() as u64;
    if others > 0 {
        Note::Asynchronous.count_many(1 + others);
    }
    (others == 0).then_some(only)
}

/// Removes from the table and returns the operation with this key and sequence number (`turn`).
pub(crate) fn take_turn(key: Key, turn: u64) -> Option<Pending> {
    find(key, turn).filter(|place| place.hold_turn(key, turn)).map(|place| taken(place, key))
}

/// Removes and returns the operation in the table entry `place`, which this thread has claimed.
fn taken(place: &'static Place, key: Key) -> Pending {
    let op = place.op.load(Ordering::Relaxed);
    let end_or_length = place.end_or_length.load(Ordering::Relaxed);
    let has_owner = key.owner != 0;
    let pending = Pending {
        to: place.sent(),
        // SAFETY: the address of a static, stored before the entry became visible.
        op: unsafe { &*op },
        offset: place.offset.load(Ordering::Relaxed),
        manner: Manner::of_small(place.manner.load(Ordering::Relaxed)),
        length: if has_owner { end_or_length } else { 0 },
        start: place.start.load(Ordering::Relaxed),
        end: if has_owner { 0 } else { end_or_length },
        turn: place.turn.load(Ordering::Relaxed),
    };
    OPERATIONS.remove(place);
    pending
}

pub(crate) fn waiting() -> u64 {
    OPERATIONS.len() as u64
}

/// Counts and drops all operations submitted to `owner`, since their completions will never be queried.
pub(crate) fn abandon(owner: usize) {
    if OPERATIONS.len() == 0 {
        return;
    }
    for (_, place) in OPERATIONS.live() {
        let key = Key { owner, mark: place.mark.load(Ordering::Relaxed) };
        if place.is(key.word()) && place.hold_turn(key, place.turn.load(Ordering::Relaxed)) {
            OPERATIONS.remove(place);
            Note::Asynchronous.count();
        }
    }
}

/// Drops all asynchronous operations in progress in a forked child, since they belong to the parent process.
pub(crate) fn forget_all() {
    if OPERATIONS.len() > 0 {
        OPERATIONS.clear(|_| ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::POSIX_AIO_READ;

    fn of(turn: u64) -> Pending {
        let to = Sent::Untold;
        Pending { to, op: &POSIX_AIO_READ, offset: 0, manner: Manner::PLAIN, length: 0, start: 5, end: 0, turn }
    }

    #[test]
    fn operations_come_and_go() {
        let key = Key { owner: 7, mark: 0xFFFF };
        assert!(take(key).is_none());
        for turn in [3, 1, 2, 9] {
            add(key, &of(turn));
        }
        seen_done(key, 99);
        assert_eq!(take_turn(key, 2).map(|pending| pending.turn), Some(2));
        assert!(take_turn(key, 2).is_none() && take(Key { owner: 8, ..key }).is_none());
        assert_eq!([0; 2].map(|_| take(key).unwrap().turn), [1, 3]);
        assert_eq!(waiting(), 1);
        abandon(7);
        assert_eq!(waiting(), 0);
        for mark in 0..1000 {
            add(Key { owner: 1, mark: mark * 64 }, &of(mark));
        }
        assert!((0..1000).all(|mark| take(Key { owner: 1, mark: mark * 64 }).is_some_and(|found| found.turn == mark)));
        assert_eq!(waiting(), 0);
        // Pairs of owner and mark with the same table key.
        let keys = [Key { owner: 1, mark: 0x200 }, Key { owner: 3, mark: 0 }];
        assert_eq!(keys[0].word(), keys[1].word());
        keys.iter().zip(1..).for_each(|(key, turn)| assert_ne!(add(*key, &of(turn)), NOWHERE));
        assert_eq!(keys.map(|key| take(key).map(|found| found.turn)), [Some(1), Some(2)]);
        assert_eq!(waiting(), 0);
    }
}
