//! HDF5 data sets by (file, path inside the file), their streams, and the selections of calls on them. A data set is created once, never
//! moved, and found without a lock. A file may hold thousands of data sets, so each data set keeps its own streams, apart from the file's:
//! one per operation and kind of selection, so that a segment shows the selection of its call.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::file::number as number_of_file;
use super::records::File;
use super::stream::{Within, add_apart, has_room_for_sites};
use crate::anonymize;
use crate::budget::{FILE_BYTES, STREAM_BYTES};
use crate::memory::{Bytes, Record, Table};
use crate::ops::Op;
use crate::sites::Site;
use crate::spool::journal;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{Selection, path_hash};
use trace_format::segment::StreamId;
use trace_format::spool::journal::{DataSetStream, Shape};

const BUCKETS: usize = 1 << 11;
/// Maximum number of dimensions of an HDF5 data set (`H5S_MAX_RANK`).
const MAX_RANK: usize = 32;

// SAFETY: a record is found only once it is complete.
unsafe impl Record for DataSet {}

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Use {}

static DATA_SETS: Table<DataSet> = Table::new();
static USES: Table<Use> = Table::new();
static PATHS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<DataSet>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

pub(crate) struct DataSet {
    pub(crate) file: &'static File,
    /// Path of this data set inside the HDF5 file; empty if unknown.
    pub(crate) path: &'static [u8],
    /// Path of the data set as written to traces; hashed if anonymization is on.
    reported: &'static [u8],
    /// Size of one element of the data set in bytes; 0 if unknown.
    element_bytes: AtomicU32,
    rank: AtomicU32,
    extent: [AtomicU64; MAX_RANK],
    /// Number of dimensions of the data set's chunks; 0 if it has none.
    chunk_rank: AtomicU32,
    /// Shape of one chunk, in elements per dimension.
    chunk: [AtomicU64; MAX_RANK],
    /// Size of HDF5's cache for the data set's chunks, in bytes.
    chunk_cache_bytes: AtomicU64,
    /// Shape of the data set at its last open, as written to the spool's journal: [number of dimensions + 1 (0 if unknown), number of
    /// elements, end time in clock ticks of the call that first found this shape (0 if no open was seen)].
    opened: [AtomicU64; 3],
    uses: AtomicPtr<Use>,
    next: *const DataSet,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for DataSet {}

/// Stream of an HDF5 data set (calls with the same operation, flags, kind of selection and call site), with counts of selected elements.
pub(crate) struct Use {
    data_set: u32,
    op: u16,
    flags: u8,
    selection: Option<Selection>,
    site: Site,
    stream: u32,
    selections: [AtomicU64; Selection::COUNT],
    elements: AtomicU64,
    next: *const Use,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for Use {}

/// Data moved by a call on an HDF5 data set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) selection: Selection,
    pub(crate) elements: u64,
    /// Total size of the selected elements in the file, in bytes.
    pub(crate) bytes: u64,
}

pub(super) fn prepare(sets: usize) {
    DATA_SETS.prepare(sets);
    USES.prepare(sets * 4);
    PATHS.prepare(sets * if anonymize::is_on() { 192 } else { 64 });
}

/// Returns `path` in the form that may leave the process: hashed if anonymization is on.
fn reported(path: &'static [u8]) -> Option<&'static [u8]> {
    if !anonymize::is_on() {
        return Some(path);
    }
    PATHS.keep_made(anonymize::path_bytes(path), |place| anonymize::path_into(path, place))
}

/// Writes the definitions of all data sets known so far to the journal of the spool (the file that survives a kill), which has just been
/// created.
pub(super) fn note_all() {
    for set in data_sets() {
        set.note();
        let [known, elements, since] = [0, 1, 2].map(|field| set.opened[field].load(Ordering::Relaxed));
        if let Some(dimensions) = known.checked_sub(1) {
            set.note_shape(dimensions, elements, since);
        }
    }
    USES.iter().for_each(Use::note);
}

pub(crate) fn data_sets() -> impl Iterator<Item = &'static DataSet> {
    DATA_SETS.iter()
}

/// Returns the approximate size that the chunks of all data sets take in a trace, in bytes.
pub(crate) fn chunks_bytes() -> u64 {
    let rank = |set: &DataSet| u64::from(set.chunk_rank.load(Ordering::Relaxed));
    // Varints: the number of the data set, its rank and the size of its cache take some 10 bytes, the size in each dimension some 2.
    data_sets().map(rank).filter(|rank| *rank > 0).map(|rank| 10 + 2 * rank).sum()
}

/// Returns the approximate size that all data sets take in a trace, in bytes.
pub(super) fn bytes() -> u64 {
    DATA_SETS.len() as u64 * FILE_BYTES + PATHS.len() as u64 + USES.len() as u64 * STREAM_BYTES
}

/// Resets the counts of selections and selected elements of all HDF5 data sets, in a forked child and after a trace was written.
pub(crate) fn forget_counts() {
    for one in USES.iter() {
        one.selections.iter().chain([&one.elements]).for_each(|count| count.store(0, Ordering::Relaxed));
    }
}

/// Returns the data set at `path` in `file`, created if absent; `None` if the table is full or the budget is spent.
pub(crate) fn find_or_add(file: &'static File, path: &[u8]) -> Option<&'static DataSet> {
    let bucket = &HEADS[(file.hash ^ path_hash(path)) as usize % BUCKETS];
    let mut made: Option<(&'static [u8], &'static [u8])> = None;
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
        let (kept, reported) = match made {
            Some(paths) => paths,
            None if super::is_over_budget() => return None,
            None => {
                let kept = PATHS.keep(path)?;
                (kept, reported(kept)?)
            }
        };
        made = Some((kept, reported));
        // Two threads may create the same data set; the thread that loses the exchange leaves an unused record behind.
        let (_, set) = DATA_SETS.push(DataSet {
            file,
            path: kept,
            reported,
            element_bytes: AtomicU32::new(0),
            rank: AtomicU32::new(0),
            extent: [const { AtomicU64::new(0) }; MAX_RANK],
            chunk_rank: AtomicU32::new(0),
            chunk: [const { AtomicU64::new(0) }; MAX_RANK],
            chunk_cache_bytes: AtomicU64::new(0),
            opened: [const { AtomicU64::new(0) }; 3],
            uses: AtomicPtr::new(std::ptr::null_mut()),
            next: head,
        })?;
        // Write to the journal before any thread can find the record, as for files.
        set.note();
        let new = std::ptr::from_ref(set).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(set);
        }
    }
}

impl DataSet {
    /// Returns the size of one element of the HDF5 data set in bytes; 0 if unknown.
    pub(crate) fn element_bytes(&self) -> u32 {
        self.element_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_element_bytes(&self, bytes: u32) {
        self.element_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn extent(&self) -> impl Iterator<Item = u64> {
        let rank = self.rank.load(Ordering::Relaxed) as usize;
        self.extent.iter().take(rank).map(|size| size.load(Ordering::Relaxed))
    }

    /// Returns the shape of a chunk in elements, empty without chunks, and the size of the chunk cache in bytes.
    pub(crate) fn chunks(&self) -> (Vec<u64>, u64) {
        let rank = self.chunk_rank.load(Ordering::Relaxed) as usize;
        let shape = self.chunk.iter().take(rank).map(|size| size.load(Ordering::Relaxed)).collect();
        (shape, self.chunk_cache_bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn set_chunks(&self, shape: &[u64], cache_bytes: u64) {
        for (place, &size) in self.chunk.iter().zip(shape) {
            place.store(size, Ordering::Relaxed);
        }
        self.chunk_cache_bytes.store(cache_bytes, Ordering::Relaxed);
        self.chunk_rank.store(shape.len().min(MAX_RANK) as u32, Ordering::Relaxed);
    }

    pub(crate) fn set_extent(&self, sizes: &[u64]) {
        for (place, &size) in self.extent.iter().zip(sizes) {
            place.store(size, Ordering::Relaxed);
        }
        self.rank.store(sizes.len().min(MAX_RANK) as u32, Ordering::Relaxed);
    }

    /// True if the data set's shape (dimensions) at its last open is known.
    pub(crate) fn has_shape(&self) -> bool {
        self.opened[0].load(Ordering::Relaxed) != 0
    }

    /// Stores the data set's shape (numbers of dimensions and elements) if it has changed. `end`: end time in clock ticks of the call that
    /// opened or created the data set; 0 if not seen.
    pub(crate) fn set_opened(&self, end: u64, dimensions: usize, elements: u64) {
        let dimensions = dimensions as u64;
        let is_new =
            [dimensions + 1, elements].iter().zip(&self.opened).any(|(&new, old)| old.load(Ordering::Relaxed) != new);
        if is_new {
            for (place, value) in self.opened.iter().zip([dimensions + 1, elements, end]) {
                place.store(value, Ordering::Relaxed);
            }
            self.note_shape(dimensions, elements, end);
        }
    }

    fn number(&self) -> u32 {
        DATA_SETS.index_of(self) as u32
    }

    fn note(&self) {
        if journal::is_kept() {
            journal::data_set(self.number(), number_of_file(self.file), self.reported);
        }
    }

    fn note_shape(&self, dimensions: u64, elements: u64, since: u64) {
        if journal::is_kept() {
            journal::shape(Shape { data_set: self.number(), dimensions: dimensions as u32, elements, since });
        }
    }

    pub(crate) fn uses(&self) -> impl Iterator<Item = &'static Use> {
        let mut at = self.uses.load(Ordering::Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: null or a record that was written before it was linked.
            let one = unsafe { at.as_ref() }?;
            at = one.next;
            Some(one)
        })
    }

    /// Returns the ID of the stream (calls with the same operation and flags) of `op` on the data set from `site`, and adds `transfer` to
    /// the stream's counts; `None` if the table is full.
    pub(crate) fn stream_of(
        &self,
        op: &Op,
        within: Within,
        transfer: Option<Transfer>,
        site: Site,
    ) -> Option<StreamId> {
        let one = self.use_of(op, within.flags(), transfer.map(|transfer| transfer.selection), site)?;
        if let Some(transfer) = transfer {
            one.selections[transfer.selection as usize].fetch_add(1, Ordering::Relaxed);
            one.elements.fetch_add(transfer.elements, Ordering::Relaxed);
        }
        Some(StreamId(one.stream))
    }

    fn use_of(&self, op: &Op, flags: u8, selection: Option<Selection>, site: Site) -> Option<&'static Use> {
        loop {
            let head = self.uses.load(Ordering::Acquire);
            let wanted = (op.code(), flags, selection, site);
            if let Some(one) = self.uses().find(|one| (one.op, one.flags, one.selection, one.site) == wanted) {
                return Some(one);
            }
            if site != 0 && (!has_room_for_sites() || USES.len() >= USES.capacity() / 2) {
                return self.use_of(op, flags, selection, 0);
            }
            if USES.len() >= USES.capacity() {
                return None;
            }
            let stream = add_apart(self.file, op, flags, site)?.0;
            let (_, one) = USES.push(Use {
                data_set: self.number(),
                op: op.code(),
                flags,
                selection,
                site,
                stream,
                selections: [const { AtomicU64::new(0) }; Selection::COUNT],
                elements: AtomicU64::new(0),
                next: head,
            })?;
            one.note();
            let new = std::ptr::from_ref(one).cast_mut();
            // A thread that loses the exchange leaves an unused record behind and finds the winner's in the next iteration.
            let _ = self.uses.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

impl Use {
    fn note(&self) {
        if journal::is_kept() {
            let &Self { data_set, stream, selection, .. } = self;
            journal::data_set_stream(DataSetStream { stream, data_set, selection });
        }
    }

    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// Returns the number of calls on the data set for each kind of selection.
    pub(crate) fn selections(&self) -> [u64; Selection::COUNT] {
        std::array::from_fn(|kind| self.selections[kind].load(Ordering::Relaxed))
    }

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
        let write = set.stream_of(&HDF5_WRITE, outside, Some(transfer), 0).unwrap();
        assert_eq!(set.stream_of(&HDF5_WRITE, outside, Some(transfer), 0), Some(write));
        assert_ne!(set.stream_of(&HDF5_READ, outside, None, 0), Some(write));
        let all = Transfer { selection: Selection::All, ..transfer };
        assert_ne!(set.stream_of(&HDF5_WRITE, outside, Some(all), 0), Some(write));
        assert_ne!(other.stream_of(&HDF5_WRITE, outside, None, 0), Some(write));
        assert!(std::ptr::eq(stream_by_id(write).unwrap().file, file));
        let one = set.uses().find(|one| one.stream() == write.0).unwrap();
        assert_eq!((one.selections()[Selection::Points as usize], one.elements()), (2, 6));
        assert!(!set.has_shape());
        set.set_opened(7, 0, 1);
        assert!(set.has_shape());
        set.set_extent(&[4, 5]);
        set.set_chunks(&[2, 5], 1 << 20);
        assert_eq!(set.chunks(), (vec![2, 5], 1 << 20));
        assert_eq!(set.extent().collect::<Vec<_>>(), [4, 5]);
    }
}
