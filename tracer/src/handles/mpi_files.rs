//! Open MPI files, by handle. MPI libraries use few different handle addresses, so a small table suffices; files that do not fit are only counted.
#![expect(unsafe_code, reason = "references into static memory")]

use crate::memory::{Entry, FixedTable, Zeroed};
use crate::ops::Op;
use crate::registry::{Datatype, File, MpiDetails, Viewed, mpi_details_of};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};
use trace_format::meta::DatatypeRole;

/// MPI file handle that the program has opened with MPI_File_open.
pub(crate) type MpiFile = Entry<State>;

pub(crate) struct State {
    file: AtomicPtr<File>,
    details: AtomicPtr<MpiDetails>,
    /// True while the file has the default view of MPI_File_open: all bytes from the start of the file.
    pub(crate) default_view: AtomicBool,
    /// Size of the etype of the file view in bytes; 0 if unknown.
    pub(crate) etype_bytes: AtomicI64,
    /// File size at some earlier time, in bytes. For a transfer that ends at or below this size, the size need not be queried again.
    pub(crate) size_seen: AtomicI64,
    /// Split collective call (`_begin`, `_end`) in progress; at most one per file (MPI 4.0, 14.4.5).
    pub(crate) split: Split,
}

// SAFETY: all-zero bits are valid numbers, false, and null pointers.
unsafe impl Zeroed for State {}

/// State of a split collective MPI-IO call (between `_begin` and `_end`).
pub(crate) struct Split {
    /// Start time of the `_begin` call in clock ticks; 0 if no split collective call is in progress.
    pub(crate) start: AtomicU64,
    /// Start offset of the transfer in the file view, in etypes.
    pub(crate) in_view: AtomicI64,
    /// Start offset of the transfer in the file, in bytes.
    pub(crate) in_file: AtomicI64,
    /// Datatype of the transfer's memory buffer, encoded by [`Datatype::to_raw`].
    pub(crate) datatype: AtomicU64,
}

static FILES: FixedTable<State, 4096, 512> = FixedTable::new();

impl MpiFile {
    /// Returns the MPI file handle of this open file; 0 if the file is closed.
    pub(crate) fn handle(&self) -> usize {
        self.key().unwrap_or(0)
    }

    pub(crate) fn file(&self) -> &'static File {
        // SAFETY: set before the handle, to a record that is never freed.
        unsafe { &*self.file.load(Ordering::Acquire) }
    }

    fn details(&self) -> Option<&'static MpiDetails> {
        // SAFETY: null, or set with the handle to a record that is never freed.
        unsafe { self.details.load(Ordering::Acquire).as_ref() }
    }

    fn count_viewed(&self, role: DatatypeRole, datatype: Datatype) {
        self.details().into_iter().for_each(|details| details.count_datatype(role, datatype));
    }

    /// Records that the program has set a file view with these datatypes.
    pub(crate) fn set_view(&self, etype: Datatype, filetype: Datatype, viewed: Viewed) {
        self.count_viewed(DatatypeRole::Etype, etype);
        self.count_viewed(DatatypeRole::Filetype, filetype);
        self.details().into_iter().for_each(|details| details.set_view(viewed));
    }

    /// Counts the memory datatype of a call that transferred data.
    #[inline]
    pub(crate) fn count_datatype(&self, op: &Op, datatype: Datatype) {
        self.count_viewed(if op.writes() { DatatypeRole::WriteBuffer } else { DatatypeRole::ReadBuffer }, datatype);
    }
}

/// Returns the open MPI file with this handle, if it is recorded.
pub(crate) fn find(handle: usize) -> Option<&'static MpiFile> {
    FILES.find(handle)
}

/// Adds `handle` as opened on `file`; returns false if the table is full.
pub(crate) fn add(handle: usize, file: &'static File) -> bool {
    // An old entry remains if the tracer did not see the close.
    remove(handle);
    let details = mpi_details_of(file).map_or(std::ptr::null_mut(), |details| std::ptr::from_ref(details).cast_mut());
    let added = FILES.add(handle, |opened| {
        opened.file.store(std::ptr::from_ref(file).cast_mut(), Ordering::Relaxed);
        opened.details.store(details, Ordering::Relaxed);
        opened.size_seen.store(0, Ordering::Relaxed);
        opened.split.start.store(0, Ordering::Relaxed);
        opened.default_view.store(true, Ordering::Relaxed);
    });
    added.is_some()
}

pub(crate) fn remove(handle: usize) {
    if let Some(opened) = find(handle).filter(|opened| opened.hold(handle)) {
        FILES.remove(opened);
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
        for handle in (0x11000..0x11000 + 16 * 100).step_by(16) {
            assert!(add(handle, file));
        }
        assert!(std::ptr::eq(find(0x11010).unwrap().file(), file));
        remove(0x11010);
        assert!(find(0x11010).is_none() && find(0x11020).is_some());
        assert!(add(0x11010, file) && find(0x11010).is_some());
    }

    #[test]
    fn a_handle_is_of_the_file_opened_last() {
        crate::registry::prepare_for_tests();
        let [first, second] =
            [&b"/data/mpi"[..], b"/data/mpi2"].map(|path| find_or_add(path, Identity::default()).unwrap());
        assert!(add(0x1010, first));
        let opened = find(0x1010).unwrap();
        opened.default_view.store(false, Ordering::Relaxed);
        assert!(std::ptr::eq(opened.file(), first) && opened.handle() == 0x1010);
        assert!(add(0x1010, second));
        let opened = find(0x1010).unwrap();
        assert!(std::ptr::eq(opened.file(), second) && opened.default_view.load(Ordering::Relaxed));
        remove(0x1010);
        assert!(find(0x1010).is_none() && opened.handle() == 0);
    }
}
