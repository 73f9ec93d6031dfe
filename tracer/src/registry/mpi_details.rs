//! What is known of files that were opened through MPI-IO beside their streams: hints, and the kinds and extents of datatypes that
//! they were viewed, read and written with. Made once per file, found without a lock, counted without one.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::records::File;
use crate::memory::{Bytes, Record, Table};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{Combiner, DatatypeRole, HintOrigin};

const BUCKETS: usize = 1 << 10;
/// Kinds of datatypes, and one for those of unknown kind.
const KINDS: usize = Combiner::COUNT + 1;
/// Roles of datatypes.
const ROLES: usize = 4;
/// Times that a file's hints are looked at: a program may open it again with others.
const MOST_LOOKS: u32 = 4;

// SAFETY: found only when it is whole.
unsafe impl Record for MpiDetails {}

// SAFETY: found only when it is whole.
unsafe impl Record for Hint {}

static DETAILS: Table<MpiDetails> = Table::new();
static HINTS: Table<Hint> = Table::new();
static TEXTS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<MpiDetails>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

/// What is known of one file.
pub(crate) struct MpiDetails {
    /// The file.
    pub(crate) file: &'static File,
    looks: AtomicU32,
    datatypes: [[AtomicU64; KINDS]; ROLES],
    extents: [[AtomicU64; SIZE_BINS]; ROLES],
    /// Next file of the same bucket.
    next: *const MpiDetails,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for MpiDetails {}

/// What is counted of a datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datatype {
    /// How it was made.
    pub(crate) combiner: Combiner,
    /// The bin of its extent; `None` if the library does not say.
    pub(crate) extent_bin: Option<usize>,
}

impl Datatype {
    /// As a number that fits an atomic.
    pub(crate) fn to_raw(self) -> u64 {
        let bin = self.extent_bin.map_or(u32::MAX, |bin| bin as u32);
        u64::from(bin) << 32 | u64::from(u32::from(self.combiner))
    }

    /// From such a number.
    pub(crate) fn from_raw(raw: u64) -> Self {
        let bin = (raw >> 32) as usize;
        Self { combiner: Combiner::from(raw as u32), extent_bin: (bin < SIZE_BINS).then_some(bin) }
    }
}

/// A hint.
pub(crate) struct Hint {
    /// The file.
    pub(crate) file: &'static File,
    /// Asked for, or in effect.
    pub(crate) origin: HintOrigin,
    /// Its key.
    pub(crate) key: &'static [u8],
    /// Its value.
    pub(crate) value: &'static [u8],
}

/// Takes address space for `files` files.
pub(super) fn prepare(files: usize) {
    DETAILS.prepare(files);
    HINTS.prepare(files * 2);
    TEXTS.prepare(files * 128);
}

/// The details of all files, in the order in which they were first opened.
pub(crate) fn mpi_details() -> impl Iterator<Item = &'static MpiDetails> {
    DETAILS.iter()
}

/// All hints.
pub(crate) fn hints() -> impl Iterator<Item = &'static Hint> {
    HINTS.iter()
}

/// Empties the counts: in a forked child, and after a flush.
pub(super) fn forget_counts() {
    let counts = |one: &'static MpiDetails| one.datatypes.iter().flatten().chain(one.extents.iter().flatten());
    DETAILS.iter().flat_map(counts).for_each(|count| count.store(0, Ordering::Relaxed));
}

/// The details of `file`, made if need be; `None` when the table is full.
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
        // Two threads may make the same; the one that loses the exchange leaves an unused record behind.
        let (_, one) = DETAILS.push(MpiDetails {
            file,
            looks: AtomicU32::new(0),
            datatypes: [const { [const { AtomicU64::new(0) }; KINDS] }; ROLES],
            extents: [const { [const { AtomicU64::new(0) }; SIZE_BINS] }; ROLES],
            next: head,
        })?;
        let new = std::ptr::from_ref(one).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(one);
        }
    }
}

impl MpiDetails {
    /// Whether its hints are to be looked at once more.
    pub(crate) fn wants_hints(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) < MOST_LOOKS
    }

    /// Keeps a hint, unless it is known or there is no room.
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

    /// Such a datatype was used.
    #[inline]
    pub(crate) fn count_datatype(&self, role: DatatypeRole, datatype: Datatype) {
        let (role, kind) = (u32::from(role) as usize, (u32::from(datatype.combiner) as usize).min(KINDS - 1));
        let kind = self.datatypes.get(role).and_then(|kinds| kinds.get(kind));
        let bin = self.extents.get(role).zip(datatype.extent_bin).and_then(|(bins, bin)| bins.get(bin));
        for count in [kind, bin].into_iter().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The datatypes that were used, and in how many calls.
    pub(crate) fn datatypes(&self) -> impl Iterator<Item = (DatatypeRole, Combiner, u64)> {
        self.datatypes.iter().enumerate().flat_map(|(role, kinds)| {
            let counts = kinds.iter().enumerate().map(|(kind, count)| (kind, count.load(Ordering::Relaxed)));
            counts
                .filter(|(_, count)| *count > 0)
                .map(move |(kind, count)| (DatatypeRole::from(role as u32), Combiner::from(kind as u32), count))
        })
    }

    /// Calls by role and by the extent of their datatype, of roles that had any.
    pub(crate) fn extents(&self) -> impl Iterator<Item = (DatatypeRole, [u64; SIZE_BINS])> {
        let counts = |bins: &[AtomicU64; SIZE_BINS]| std::array::from_fn(|bin| bins[bin].load(Ordering::Relaxed));
        let roles = self.extents.iter().map(counts).enumerate();
        roles.filter(|(_, bins)| *bins != [0; SIZE_BINS]).map(|(role, bins)| (DatatypeRole::from(role as u32), bins))
    }
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
        assert_eq!(details.datatypes().collect::<Vec<_>>(), expected);
        let extents = [
            (DatatypeRole::Filetype, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            (DatatypeRole::WriteBuffer, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ];
        assert_eq!(details.extents().collect::<Vec<_>>(), extents);
        for value in [b"1", b"1", b"2"] {
            details.add_hint(HintOrigin::Asked, b"cb_nodes", value);
        }
        assert_eq!(hints().filter(|hint| std::ptr::eq(hint.file, file)).count(), 2);
        assert_eq!((0..10).filter(|_| details.wants_hints()).count(), MOST_LOOKS as usize);
    }
}
