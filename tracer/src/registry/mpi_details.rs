//! MPI-IO details of files: hints, views, and the kinds and extents of datatypes. Records are created once per file, and used without a lock.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::records::File;
use super::views::{Last, Viewed};
use crate::memory::{Bytes, Record, Table};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{Combiner, DatatypeRole, HintOrigin};

const BUCKETS: usize = 1 << 10;
/// Number of kinds of MPI datatypes (by constructor), including one for unknown kinds.
const KINDS: usize = Combiner::COUNT + 1;
/// Number of roles in which MPI datatypes are counted: etype, filetype, read buffer, write buffer.
const ROLES: usize = 4;
/// Number of datatype counters per file: datatype kinds for each role, then size bins of the extent for each role.
pub(crate) const DATATYPE_COUNTS: usize = ROLES * (KINDS + SIZE_BINS);
/// Maximum number of times that a file's MPI-IO hints are queried. A program may reopen a file with different hints.
const MOST_LOOKS: u32 = 4;

// SAFETY: a record is found only once it is complete.
unsafe impl Record for MpiDetails {}

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Hint {}

static DETAILS: Table<MpiDetails> = Table::new();
static HINTS: Table<Hint> = Table::new();
static TEXTS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<MpiDetails>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

pub(crate) struct MpiDetails {
    pub(crate) file: &'static File,
    looks: AtomicU32,
    datatypes: [[AtomicU64; KINDS]; ROLES],
    extents: [[AtomicU64; SIZE_BINS]; ROLES],
    view: Last,
    next: *const MpiDetails,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for MpiDetails {}

/// Properties of an MPI datatype by which its uses are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datatype {
    /// Kind of MPI constructor that made the datatype (contiguous, vector and so on).
    pub(crate) combiner: Combiner,
    /// Size bin (range of sizes) of the datatype's extent; `None` if the MPI library does not report it.
    pub(crate) extent_bin: Option<usize>,
}

impl Datatype {
    /// Encodes combiner and extent of the datatype as one number, to be stored in an atomic.
    pub(crate) fn to_raw(self) -> u64 {
        let bin = self.extent_bin.map_or(u32::MAX, |bin| bin as u32);
        u64::from(bin) << 32 | u64::from(u32::from(self.combiner))
    }

    pub(crate) fn from_raw(raw: u64) -> Self {
        let bin = (raw >> 32) as usize;
        Self { combiner: Combiner::from(raw as u32), extent_bin: (bin < SIZE_BINS).then_some(bin) }
    }
}

pub(crate) struct Hint {
    pub(crate) file: &'static File,
    /// Origin of the MPI-IO hint: requested by the program, or in effect in MPI.
    pub(crate) origin: HintOrigin,
    pub(crate) key: &'static [u8],
    pub(crate) value: &'static [u8],
}

/// Reserves address space for the MPI-IO details (hints, datatypes) of `files` files.
pub(super) fn prepare(files: usize) {
    DETAILS.prepare(files);
    HINTS.prepare(files * 2);
    TEXTS.prepare(files * 128);
}

/// Iterates over the MPI-IO details (hints, datatypes) of all files, in the order of first opening.
pub(crate) fn mpi_details() -> impl Iterator<Item = &'static MpiDetails> {
    DETAILS.iter()
}

pub(crate) fn hints() -> impl Iterator<Item = &'static Hint> {
    HINTS.iter()
}

/// Resets the counts of MPI datatypes and file views, in a forked child and after a trace was written.
pub(super) fn forget_counts() {
    DETAILS.iter().flat_map(MpiDetails::counts).for_each(|count| count.store(0, Ordering::Relaxed));
    DETAILS.iter().for_each(|details| details.view.forget());
}

/// Returns the MPI-IO details (hints, datatypes) of `file`, created if absent; `None` if the table is full.
pub(crate) fn mpi_details_of(file: &'static File) -> Option<&'static MpiDetails> {
    let bucket = &HEADS[file.hash as usize % BUCKETS];
    loop {
        let head = bucket.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: the list holds null or pointers to records that were written before they were linked.
        while let Some(one) = unsafe { at.as_ref() } {
            if std::ptr::eq(one.file, file) {
                return Some(one);
            }
            at = one.next;
        }
        // Two threads may create the same record; the thread that loses the exchange leaves an unused record behind.
        let (_, one) = DETAILS.push(MpiDetails {
            file,
            looks: AtomicU32::new(0),
            datatypes: [const { [const { AtomicU64::new(0) }; KINDS] }; ROLES],
            extents: [const { [const { AtomicU64::new(0) }; SIZE_BINS] }; ROLES],
            view: Last::none(),
            next: head,
        })?;
        let new = std::ptr::from_ref(one).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(one);
        }
    }
}

impl MpiDetails {
    /// True if the file's hints should be queried again. Each call counts as a query, up to [`MOST_LOOKS`].
    pub(crate) fn wants_hints(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) < MOST_LOOKS
    }

    /// Stores an MPI-IO hint (`key`, `value`) of the file, unless the hint is already known or the table is full.
    pub(crate) fn add_hint(&self, origin: HintOrigin, key: &[u8], value: &[u8]) {
        let known = |hint: &Hint| {
            std::ptr::eq(hint.file, self.file) && (hint.origin, hint.key, hint.value) == (origin, key, value)
        };
        if HINTS.iter().any(known) {
            return;
        }
        if let (Some(key), Some(value)) = (TEXTS.keep(key), TEXTS.keep(value)) {
            HINTS.push(Hint { file: self.file, origin, key, value });
        }
    }

    /// Counts a use of the MPI datatype `datatype` in `role` (etype, filetype, or buffer of a read or write).
    #[inline]
    pub(crate) fn count_datatype(&self, role: DatatypeRole, datatype: Datatype) {
        let (role, kind) = (u32::from(role) as usize, (u32::from(datatype.combiner) as usize).min(KINDS - 1));
        let kind = self.datatypes.get(role).and_then(|kinds| kinds.get(kind));
        let bin = self.extents.get(role).zip(datatype.extent_bin).and_then(|(bins, bin)| bins.get(bin));
        for count in [kind, bin].into_iter().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn set_view(&self, viewed: Viewed) {
        self.view.set(self.file, viewed);
    }

    fn counts(&self) -> impl Iterator<Item = &AtomicU64> {
        self.datatypes.iter().flatten().chain(self.extents.iter().flatten())
    }

    pub(crate) fn has_datatypes(&self) -> bool {
        self.counts().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Returns the file's counters of MPI datatypes; [`datatypes`] and [`extents`] decode them.
    pub(crate) fn datatype_counts(&self) -> [u64; DATATYPE_COUNTS] {
        let mut counts = self.counts();
        std::array::from_fn(|_| counts.next().map_or(0, |count| count.load(Ordering::Relaxed)))
    }
}

/// Decodes `counts`: returns the MPI datatypes in use as (role, constructor, number of calls).
pub(crate) fn datatypes(counts: &[u64; DATATYPE_COUNTS]) -> impl Iterator<Item = (DatatypeRole, Combiner, u64)> {
    let roles = counts.chunks_exact(KINDS).take(ROLES).enumerate();
    roles.flat_map(|(role, kinds)| {
        let used = kinds.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(move |(kind, count)| (DatatypeRole::from(role as u32), Combiner::from(kind as u32), *count))
    })
}

/// Decodes `counts`: returns, for each role that was used, the number of calls per size bin (range of sizes) of the datatypes' extents.
pub(crate) fn extents(counts: &[u64; DATATYPE_COUNTS]) -> impl Iterator<Item = (DatatypeRole, [u64; SIZE_BINS])> {
    let roles = counts.get(ROLES * KINDS..).unwrap_or_default().chunks_exact(SIZE_BINS).enumerate();
    let bins = roles.map(|(role, bins)| (role, std::array::from_fn(|bin| bins.get(bin).copied().unwrap_or(0))));
    bins.filter(|(_, bins)| *bins != [0; SIZE_BINS]).map(|(role, bins)| (DatatypeRole::from(role as u32), bins))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, find_or_add};

    #[test]
    fn datatypes_are_counted_and_hints_are_kept_once() {
        crate::registry::prepare_for_tests();
        let file = find_or_add(b"/data/mpi-details", Identity::default()).unwrap();
        let details = mpi_details_of(file).unwrap();
        assert!(std::ptr::eq(mpi_details_of(file).unwrap(), details));
        let of = |combiner, extent_bin| Datatype { combiner, extent_bin };
        details.count_datatype(DatatypeRole::Filetype, of(Combiner::Subarray, Some(9)));
        for one in [of(Combiner::Other, Some(0)), of(Combiner::Other, None)] {
            assert_eq!(Datatype::from_raw(one.to_raw()), one);
            details.count_datatype(DatatypeRole::WriteBuffer, one);
        }
        let expected =
            [(DatatypeRole::Filetype, Combiner::Subarray, 1), (DatatypeRole::WriteBuffer, Combiner::Other, 2)];
        assert!(details.has_datatypes());
        assert_eq!(datatypes(&details.datatype_counts()).collect::<Vec<_>>(), expected);
        let extents = [
            (DatatypeRole::Filetype, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            (DatatypeRole::WriteBuffer, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ];
        assert_eq!(super::extents(&details.datatype_counts()).collect::<Vec<_>>(), extents);
        for value in [b"1", b"1", b"2"] {
            details.add_hint(HintOrigin::Asked, b"cb_nodes", value);
        }
        assert_eq!(hints().filter(|hint| std::ptr::eq(hint.file, file)).count(), 2);
        assert_eq!((0..10).filter(|_| details.wants_hints()).count(), MOST_LOOKS as usize);
    }
}
