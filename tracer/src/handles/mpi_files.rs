//! Table of open MPI files, by handle. MPI libraries use few different addresses, so a small open-addressing table suffices; files that do
//! not fit are only counted.
#![expect(unsafe_code, reason = "references into static memory")]

use crate::ops::Op;
use crate::registry::{Datatype, File, MpiDetails, Viewed, mpi_details_of};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use trace_format::meta::DatatypeRole;

/// MPI file that the program has opened (MPI_File_open).
pub(crate) struct MpiFile {
    handle: AtomicUsize,
    file: AtomicPtr<File>,
    details: AtomicPtr<MpiDetails>,
    /// True while the file view is the default one of MPI_File_open: all bytes from the start of the file.
    pub(crate) default_view: AtomicBool,
    /// Size of the view's etype in bytes; 0 if unknown.
    pub(crate) etype_bytes: AtomicI64,
    /// File size seen at some earlier time, in bytes; transfers that end at or below it need no size query.
    pub(crate) size_seen: AtomicI64,
    /// Split collective call in progress; at most one per file (MPI 4.0, 14.4.5).
    pub(crate) split: Split,
}

/// State of a split collective call (between `_begin` and `_end`).
pub(crate) struct Split {
    /// Start time of the call in clock ticks; 0 if none is in progress.
    pub(crate) start: AtomicU64,
    /// Offset in the file view, in etypes.
    pub(crate) in_view: AtomicI64,
    /// Offset in the file, in bytes.
    pub(crate) in_file: AtomicI64,
    /// Memory datatype, encoded by [`Datatype::to_raw`].
    pub(crate) datatype: AtomicU64,
}

const CAPACITY: usize = 4096;
/// Handle value of a table entry that was used and is free again.
const REMOVED: usize = usize::MAX;

static FILES: [MpiFile; CAPACITY] = [const {
    MpiFile {
        handle: AtomicUsize::new(0),
        file: AtomicPtr::new(std::ptr::null_mut()),
        details: AtomicPtr::new(std::ptr::null_mut()),
        default_view: AtomicBool::new(true),
        etype_bytes: AtomicI64::new(0),
        size_seen: AtomicI64::new(0),
        split: Split {
            start: AtomicU64::new(0),
            in_view: AtomicI64::new(0),
            in_file: AtomicI64::new(0),
            datatype: AtomicU64::new(0),
        },
    }
}; CAPACITY];

impl MpiFile {
    /// Returns the MPI file handle.
    pub(crate) fn handle(&self) -> usize {
        self.handle.load(Ordering::Acquire)
    }

    /// Returns the recorded file of this handle.
    pub(crate) fn file(&self) -> &'static File {
        // SAFETY: set before the handle, to a record that is never freed.
        unsafe { &*self.file.load(Ordering::Acquire) }
    }
}

impl MpiFile {
    fn count_viewed(&self, role: DatatypeRole, datatype: Datatype) {
        // SAFETY: null, or set with the handle to a record that is never freed.
        if let Some(details) = unsafe { self.details.load(Ordering::Acquire).as_ref() } {
            details.count_datatype(role, datatype);
        }
    }

    /// Records a new file view with these datatypes.
    pub(crate) fn set_view(&self, etype: Datatype, filetype: Datatype, viewed: Viewed) {
        self.count_viewed(DatatypeRole::Etype, etype);
        self.count_viewed(DatatypeRole::Filetype, filetype);
        // SAFETY: null, or set with the handle to a record that is never freed.
        if let Some(details) = unsafe { self.details.load(Ordering::Acquire).as_ref() } {
            details.set_view(viewed);
        }
    }

    /// Counts the memory datatype of a call that transferred data.
    #[inline]
    pub(crate) fn count_datatype(&self, op: &Op, datatype: Datatype) {
        self.count_viewed(if op.writes() { DatatypeRole::WriteBuffer } else { DatatypeRole::ReadBuffer }, datatype);
    }
}

fn places(handle: usize) -> impl Iterator<Item = &'static MpiFile> {
    let first = (handle >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    (0..CAPACITY).map(move |i| &FILES[(first + i) % CAPACITY])
}

/// Returns the open MPI file with this handle, if recorded.
pub(crate) fn find(handle: usize) -> Option<&'static MpiFile> {
    for place in places(handle) {
        match place.handle.load(Ordering::Acquire) {
            0 => return None,
            found if found == handle => return Some(place),
            _ => {}
        }
    }
    None
}

/// Adds `handle` as opened on `file`; returns false if the table is full.
pub(crate) fn add(handle: usize, file: &'static File) -> bool {
    for place in places(handle) {
        let found = place.handle.load(Ordering::Acquire);
        if found != 0 && found != REMOVED && found != handle {
            continue;
        }
        // No other thread looks up this handle before MPI_File_open returns, so the order of stores matters only for the race for the
        // entry.
        if place.handle.compare_exchange(found, handle, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            place.file.store(std::ptr::from_ref(file).cast_mut(), Ordering::Release);
            let details =
                mpi_details_of(file).map_or(std::ptr::null_mut(), |details| std::ptr::from_ref(details).cast_mut());
            place.details.store(details, Ordering::Release);
            place.size_seen.store(0, Ordering::Relaxed);
            place.split.start.store(0, Ordering::Relaxed);
            place.default_view.store(true, Ordering::Release);
            return true;
        }
    }
    false
}

/// Removes `handle` from the table.
pub(crate) fn remove(handle: usize) {
    if let Some(place) = find(handle) {
        place.handle.store(REMOVED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, find_or_add};

    #[test]
    fn handles_come_and_go() {
        crate::registry::prepare_for_tests();
        let file = find_or_add(b"/data/mpi", Identity::default()).unwrap();
        for handle in (0x1000..0x1000 + 16 * 100).step_by(16) {
            assert!(add(handle, file));
        }
        assert!(std::ptr::eq(find(0x1010).unwrap().file(), file));
        remove(0x1010);
        assert!(find(0x1010).is_none() && find(0x1020).is_some());
        assert!(add(0x1010, file) && find(0x1010).is_some());
    }
}
