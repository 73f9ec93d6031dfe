//! File views set by MPI_File_set_view, per file in call order: one record per change, up to a limit.
#![expect(unsafe_code, reason = "records in reserved memory")]

use super::records::File;
use super::strides::Strides;
use crate::memory::{Record, Table};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Maximum number of changes of the MPI file view stored per file.
const MOST: u32 = 64;
/// Value of [`Last::changes`] if no further changes of the file's view are stored.
const STOPPED: u32 = u32::MAX;

// SAFETY: a record is found only once it is complete.
unsafe impl Record for View {}

static VIEWS: Table<View> = Table::new();

/// Properties of an MPI file view, without its displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Viewed {
    /// Size of the file view's etype, in bytes.
    pub(crate) etype_bytes: u64,
    /// Number of data bytes in one filetype of the file view.
    pub(crate) size: u64,
    /// Extent of the filetype (distance from one filetype to the next in the file), in bytes.
    pub(crate) extent: i64,
    /// Byte layout of the filetype as regular strides; `None` if irregular.
    pub(crate) strides: Option<Strides>,
}

/// MPI file view, and the number of consecutive calls of MPI_File_set_view that set this view.
pub(crate) struct View {
    pub(crate) file: &'static File,
    pub(crate) viewed: Viewed,
    calls: AtomicU64,
}

impl View {
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Latest MPI file view that was set on one file, and the number of changes so far.
pub(super) struct Last {
    view: AtomicPtr<View>,
    changes: AtomicU32,
}

/// Reserves address space for the MPI file views of `files` files.
pub(super) fn prepare(files: usize) {
    VIEWS.prepare(files);
}

/// Returns all recorded MPI file views; those of one file are in the order in which they were set.
pub(crate) fn views() -> impl Iterator<Item = &'static View> {
    VIEWS.iter().filter(|view| view.calls() > 0)
}

/// Resets the call counts of all MPI file views.
pub(super) fn forget_counts() {
    VIEWS.iter().for_each(|view| view.calls.store(0, Ordering::Relaxed));
}

impl Last {
    pub(super) const fn none() -> Self {
        Self { view: AtomicPtr::new(std::ptr::null_mut()), changes: AtomicU32::new(0) }
    }

    /// Resets the file's record to the state before any MPI file view was set.
    pub(super) fn forget(&self) {
        self.view.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.changes.store(0, Ordering::Relaxed);
    }

    /// Stores an MPI file view set on `file`. Views that threads set concurrently on one file are stored in the order in which the threads
    /// arrive here.
    pub(super) fn set(&self, file: &'static File, viewed: Viewed) {
        let changes = self.changes.load(Ordering::Relaxed);
        if changes == STOPPED {
            return;
        }
        // SAFETY: null, or a record of the table, which is never removed.
        let last = unsafe { self.view.load(Ordering::Acquire).as_ref() };
        if let Some(last) = last.filter(|last| last.viewed == viewed) {
            last.calls.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // After a change that is not stored, no more views are stored: readers match views to calls by counting.
        let new = if changes < MOST { VIEWS.push(View { file, viewed, calls: AtomicU64::new(1) }) } else { None };
        match new {
            Some((_, new)) => {
                self.view.store(std::ptr::from_ref(new).cast_mut(), Ordering::Release);
                self.changes.store(changes + 1, Ordering::Relaxed);
            }
            None => self.changes.store(STOPPED, Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, find_or_add, mpi_details_of};

    #[test]
    fn a_change_is_a_record_and_there_are_not_too_many() {
        crate::registry::prepare_for_tests();
        let file = find_or_add(b"/data/views", Identity::default()).unwrap();
        let details = mpi_details_of(file).unwrap();
        let viewed = |size| Viewed { etype_bytes: 1, size, extent: 100, strides: None };
        let reported = || -> Vec<(u64, u64)> {
            views().filter(|view| std::ptr::eq(view.file, file)).map(|view| (view.viewed.size, view.calls())).collect()
        };
        for size in [5, 5, 5, 7, 5] {
            details.set_view(viewed(size));
        }
        assert_eq!(reported(), [(5, 3), (7, 1), (5, 1)]);
        for size in 0..200 {
            details.set_view(viewed(size % 2));
        }
        assert_eq!(reported().len(), MOST as usize);
        details.set_view(viewed(reported().last().unwrap().0));
        assert_eq!(
            reported().iter().map(|(_, calls)| calls).sum::<u64>(),
            5 + 61,
            "nothing is reported behind the last"
        );
    }
}
