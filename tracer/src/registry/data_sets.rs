//! Data sets by (file, path inside it), their streams, and what of them was selected. Made once, never moved, found without
//! a lock. A file may hold thousands, so a data set keeps its own streams, apart from those of the file.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::records::File;
use super::stream::{Within, add_apart};
use crate::memory::{Bytes, Record, Table};
use crate::ops::Op;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{Selection, path_hash};
use trace_format::segment::StreamId;

const BUCKETS: usize = 1 << 12;
/// `H5S_MAX_RANK`.
const MAX_RANK: usize = 32;

// SAFETY: found only when it is whole.
unsafe impl Record for DataSet {}

// SAFETY: found only when it is whole.
unsafe impl Record for Use {}

static DATA_SETS: Table<DataSet> = Table::new();
static USES: Table<Use> = Table::new();
static PATHS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<DataSet>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

/// A data set that was seen.
pub(crate) struct DataSet {
    /// The file that holds it.
    pub(crate) file: &'static File,
    /// Its path inside the file; empty if unknown.
    pub(crate) path: &'static [u8],
    /// Size of an element in bytes, 0 while unknown.
    element_bytes: AtomicU32,
    rank: AtomicU32,
    extent: [AtomicU64; MAX_RANK],
    /// Its streams, newest first.
    uses: AtomicPtr<Use>,
    /// Next data set of the same bucket.
    next: *const DataSet,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for DataSet {}

/// One stream of a data set.
pub(crate) struct Use {
    op: u16,
    flags: u8,
    stream: u32,
    selections: [AtomicU64; Selection::COUNT],
    elements: AtomicU64,
    /// Next use of the data set.
    next: *const Use,
}

// SAFETY: as above.
unsafe impl Sync for Use {}

/// What a call moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// What was selected.
    pub(crate) selection: Selection,
    /// How many elements.
    pub(crate) elements: u64,
    /// Their bytes in the file.
    pub(crate) bytes: u64,
}

/// Takes address space for `sets` data sets.
pub(super) fn prepare(sets: usize) {
    DATA_SETS.prepare(sets);
    USES.prepare(sets * 4);
    PATHS.prepare(sets * 64);
}

/// All data sets, in the order in which they were first seen.
pub(crate) fn data_sets() -> impl Iterator<Item = &'static DataSet> {
    DATA_SETS.iter()
}

/// Empties the counts: in a forked child, and after a flush.
pub(crate) fn forget_counts() {
    for one in USES.iter() {
        one.selections.iter().chain([&one.elements]).for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// The data set at `path` in `file`, made if need be; `None` when the table is full.
pub(crate) fn find_or_add(file: &'static File, path: &[u8]) -> Option<&'static DataSet> {
    let bucket = &HEADS[(file.hash ^ path_hash(path)) as usize % BUCKETS];
    let mut made: Option<&'static [u8]> = None;
    loop {
        let head = bucket.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: the list holds null or pointers to records that were written before they were linked.
        while let Some(set) = unsafe { at.as_ref() } {
            if std::ptr::eq(set.file, file) && set.path == path {
                return Some(set);
            }
            at = set.next;
        }
        let kept = match made {
            Some(path) => path,
            None => PATHS.keep(path)?,
        };
        made = Some(kept);
        // Two threads may make the same one; the one that loses the exchange leaves an unused record behind.
        let (_, set) = DATA_SETS.push(DataSet {
            file,
            path: kept,
            element_bytes: AtomicU32::new(0),
            rank: AtomicU32::new(0),
            extent: [const { AtomicU64::new(0) }; MAX_RANK],
            uses: AtomicPtr::new(std::ptr::null_mut()),
            next: head,
        })?;
        let new = std::ptr::from_ref(set).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(set);
        }
    }
}

impl DataSet {
    /// Size of an element in bytes, 0 while unknown.
    pub(crate) fn element_bytes(&self) -> u32 {
        self.element_bytes.load(Ordering::Relaxed)
    }

    /// It has elements of this size.
    pub(crate) fn set_element_bytes(&self, bytes: u32) {
        self.element_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The sizes of its dimensions when last looked at.
    pub(crate) fn extent(&self) -> impl Iterator<Item = u64> {
        let rank = self.rank.load(Ordering::Relaxed) as usize;
        self.extent.iter().take(rank).map(|size| size.load(Ordering::Relaxed))
    }

    /// Its dimensions have these sizes now.
    pub(crate) fn set_extent(&self, sizes: &[u64]) {
        for (place, &size) in self.extent.iter().zip(sizes) {
            place.store(size, Ordering::Relaxed);
        }
        self.rank.store(sizes.len().min(MAX_RANK) as u32, Ordering::Relaxed);
    }

    /// Its streams and what they did.
    pub(crate) fn uses(&self) -> impl Iterator<Item = &'static Use> {
        let mut at = self.uses.load(Ordering::Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: null or a record that was written before it was linked.
            let one = unsafe { at.as_ref() }?;
            at = one.next;
            Some(one)
        })
    }

    /// Id of the stream of `op` on it, with `transfer` counted; `None` when the table is full.
    pub(crate) fn stream_of(&self, op: &Op, within: Within, transfer: Option<Transfer>) -> Option<StreamId> {
        let one = self.use_of(op, within.flags())?;
        if let Some(transfer) = transfer {
            one.selections[transfer.selection as usize].fetch_add(1, Ordering::Relaxed);
            one.elements.fetch_add(transfer.elements, Ordering::Relaxed);
        }
        Some(StreamId(one.stream))
    }

    fn use_of(&self, op: &Op, flags: u8) -> Option<&'static Use> {
        loop {
            let head = self.uses.load(Ordering::Acquire);
            if let Some(one) = self.uses().find(|one| (one.op, one.flags) == (op.code(), flags)) {
                return Some(one);
            }
            let stream = add_apart(self.file, op, flags)?.0;
            let (_, one) = USES.push(Use {
                op: op.code(),
                flags,
                stream,
                selections: [const { AtomicU64::new(0) }; Selection::COUNT],
                elements: AtomicU64::new(0),
                next: head,
            })?;
            let new = std::ptr::from_ref(one).cast_mut();
            // A thread that loses the exchange leaves an unused record behind and finds the winner's on the next turn.
            let _ = self.uses.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

impl Use {
    /// Id of the stream.
    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// Calls by kind of selection.
    pub(crate) fn selections(&self) -> [u64; Selection::COUNT] {
        std::array::from_fn(|kind| self.selections[kind].load(Ordering::Relaxed))
    }

    /// Elements selected.
    pub(crate) fn elements(&self) -> u64 {
        self.elements.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{HDF5_READ, HDF5_WRITE};
    use crate::registry::{Identity, find_or_add as file_at, stream_by_id};

    #[test]
    fn a_data_set_has_streams_of_its_own_on_its_file() {
        crate::registry::prepare_for_tests();
        let file = file_at(b"/data/sets.h5", Identity::default()).unwrap();
        let set = find_or_add(file, b"/x").unwrap();
        assert!(std::ptr::eq(find_or_add(file, b"/x").unwrap(), set));
        let other = find_or_add(file, b"/y").unwrap();
        assert!(!std::ptr::eq(other, set));
        let outside = Within::new(false, false);
        let transfer = Transfer { selection: Selection::Points, elements: 3, bytes: 24 };
        let write = set.stream_of(&HDF5_WRITE, outside, Some(transfer)).unwrap();
        assert_eq!(set.stream_of(&HDF5_WRITE, outside, Some(transfer)), Some(write));
        assert_ne!(set.stream_of(&HDF5_READ, outside, None), Some(write));
        assert_ne!(other.stream_of(&HDF5_WRITE, outside, None), Some(write));
        assert!(std::ptr::eq(stream_by_id(write).unwrap().file, file));
        let one = set.uses().find(|one| one.stream() == write.0).unwrap();
        assert_eq!((one.selections()[Selection::Points as usize], one.elements()), (2, 6));
        set.set_extent(&[4, 5]);
        assert_eq!(set.extent().collect::<Vec<_>>(), [4, 5]);
    }
}
