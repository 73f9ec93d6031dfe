//! Nonblocking MPI-IO operations in progress, by request handle. If the table is full, an operation is recorded at submission, not at completion.
#![expect(unsafe_code, reason = "cells of held table entries")]

use super::MpiFile;
use crate::memory::{Entry, FixedTable, Zeroed};
use crate::ops::Op;
use std::cell::Cell;
use std::mem::MaybeUninit;

/// Nonblocking MPI-IO operation in progress. Only a call that may complete it (MPI_Wait, MPI_Test, ...) holds references to the operation.
pub(crate) type MpiRequest = Entry<Operation>;

/// Data of a nonblocking MPI-IO operation in progress.
pub(crate) struct Operation {
    handle: Cell<usize>,
    submitted: Cell<MaybeUninit<Submitted>>,
    /// Index of the request in the array that the program passed to the completing call.
    index: Cell<u32>,
    /// Next request in the list of requests that one call (such as MPI_Waitall) may complete; null at the end of the list.
    next: Cell<*const MpiRequest>,
}

// SAFETY: all-zero bits are valid numbers, a null pointer, and bytes of unknown meaning.
unsafe impl Zeroed for Operation {}
// SAFETY: only the thread that adds or holds an entry accesses its value.
unsafe impl Sync for Operation {}

/// Parameters of a nonblocking MPI-IO operation, known at submission.
#[derive(Clone, Copy)]
pub(crate) struct Submitted {
    pub(crate) file: &'static MpiFile,
    pub(crate) op: &'static Op,
    pub(crate) start: u64,
    pub(crate) in_view: i64,
    pub(crate) in_file: i64,
    /// Number of bytes that the program asked to transfer.
    pub(crate) asked: u64,
}

static REQUESTS: FixedTable<Operation, 4096, WINDOW> = FixedTable::new();
/// Number of table entries that are searched for a request handle, or for a free entry.
const WINDOW: usize = 32;

/// True if no nonblocking operation is in progress. In programs without nonblocking MPI-IO, this is the only check in calls that complete requests.
#[inline(always)]
pub(crate) fn none() -> bool {
    REQUESTS.len() == 0
}

/// Adds a nonblocking MPI-IO operation under its request handle; returns false if the table has no room.
pub(crate) fn add(handle: usize, what: Submitted) -> bool {
    let added = REQUESTS.add(handle, |request| {
        request.handle.set(handle);
        request.submitted.set(MaybeUninit::new(what));
    });
    added.is_some()
}

impl MpiRequest {
    pub(crate) fn submitted(&self) -> Submitted {
        // SAFETY: set by `add`, before any thread could hold the request.
        unsafe { self.submitted.get().assume_init() }
    }

    pub(crate) fn handle(&self) -> usize {
        self.handle.get()
    }
}

/// Requests that one call may complete, hidden from other threads meanwhile: the MPI library may reuse a handle before this call has
/// returned, and a look-up must not mistake the new operation for the old one.
pub(crate) struct Held {
    first: *const MpiRequest,
}

impl Held {
    /// Takes hold of those requests in `handles` that are nonblocking MPI-IO, and stores in each request its index in `handles`.
    pub(crate) fn take(handles: impl Iterator<Item = usize>) -> Self {
        let mut held = Self { first: std::ptr::null() };
        let mut last: Option<&MpiRequest> = None;
        for (index, handle) in handles.enumerate() {
            let Some(request) = REQUESTS.all(handle).find(|request| request.hold(handle)) else { continue };
            request.index.set(index as u32);
            request.next.set(std::ptr::null());
            match last {
                Some(last) => last.next.set(request),
                None => held.first = request,
            }
            last = Some(request);
        }
        held
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Releases all requests held by one call. `over` is called with the index and the request, and returns true if the operation is
    /// complete.
    pub(crate) fn release(self, mut over: impl FnMut(usize, &MpiRequest) -> bool) {
        let mut at = self.first;
        // SAFETY: null, or an entry of the static table, held since `take`.
        while let Some(request) = unsafe { at.as_ref() } {
            at = request.next.get();
            if over(request.index.get() as usize, request) {
                REQUESTS.remove(request);
            } else {
                request.publish(request.handle());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::{add_mpi_file, find_mpi_file};
    use crate::ops::MPIIO_IREAD;
    use crate::registry::{Identity, find_or_add};

    #[test]
    fn requests_come_and_go() {
        crate::registry::prepare_for_tests();
        assert!(add_mpi_file(0x7000, find_or_add(b"/data/requests", Identity::default()).unwrap()));
        let file = find_mpi_file(0x7000).unwrap();
        let of = |start| Submitted { file, op: &MPIIO_IREAD, start, in_view: 0, in_file: 0, asked: 1 };
        assert!(none());
        for handle in 0..500 {
            assert!(add(0x9800_0000 + handle, of(handle as u64)));
        }
        let handles = [1, 0x9800_0003, 2, 0x9800_0007];
        let mut found = Vec::new();
        Held::take(handles.into_iter()).release(|index, request| {
            found.push((index, request.submitted().start));
            index == 1
        });
        assert_eq!(found, [(1, 3), (3, 7)]);
        assert!(Held::take([0x9800_0003].into_iter()).is_empty());
        // While a request is held, its handle may be reused for another operation.
        let held = Held::take([0x9800_0007].into_iter());
        assert!(add(0x9800_0007, of(1000)));
        Held::take([0x9800_0007].into_iter()).release(|_, request| {
            assert_eq!(request.submitted().start, 1000);
            true
        });
        held.release(|_, _| true);
        Held::take((0..500).map(|handle| 0x9800_0000 + handle)).release(|_, _| true);
        assert!(none());
        assert!((0..WINDOW).all(|_| add(5, of(0))) && !add(5, of(0)));
    }
}
