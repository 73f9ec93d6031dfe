//! Nonblocking MPI-IO operations in progress, by request handle, in a fixed lock-free hash table. A handle is searched for in one row only,
//! so a miss is as fast as a hit. If its row is full, an operation is recorded at submission, not at completion.
#![expect(unsafe_code, reason = "references into static memory")]

use super::MpiFile;
use crate::ops::Op;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

const ROWS: usize = 128;
const ROW: usize = 32;

// States of a table entry.
const FREE: u8 = 0;
/// Entry is being filled in.
const TAKEN: u8 = 1;
/// Entry holds an operation in progress.
const LIVE: u8 = 2;
/// Entry is held by a call that may complete the operation (MPI_Wait, MPI_Test, ...).
const HELD: u8 = 3;

/// Nonblocking MPI-IO operation in progress.
pub(crate) struct MpiRequest {
    state: AtomicU8,
    handle: AtomicUsize,
    file: AtomicPtr<MpiFile>,
    op: AtomicPtr<Op>,
    start: AtomicU64,
    in_view: AtomicI64,
    in_file: AtomicI64,
    asked: AtomicU64,
    /// Index in the program's array of requests; valid only while the entry is held.
    index: AtomicU32,
    next: AtomicPtr<MpiRequest>,
}

/// Parameters of a nonblocking operation, known at submission.
#[derive(Clone, Copy)]
pub(crate) struct Submitted {
    pub(crate) file: &'static MpiFile,
    pub(crate) op: &'static Op,
    pub(crate) start: u64,
    pub(crate) in_view: i64,
    pub(crate) in_file: i64,
    /// Bytes that the operation was asked to transfer.
    pub(crate) asked: u64,
}

static TABLE: [[MpiRequest; ROW]; ROWS] = [const {
    [const {
        MpiRequest {
            state: AtomicU8::new(FREE),
            handle: AtomicUsize::new(0),
            file: AtomicPtr::new(std::ptr::null_mut()),
            op: AtomicPtr::new(std::ptr::null_mut()),
            start: AtomicU64::new(0),
            in_view: AtomicI64::new(0),
            in_file: AtomicI64::new(0),
            asked: AtomicU64::new(0),
            index: AtomicU32::new(0),
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }; ROW]
}; ROWS];

/// Number of table entries in use.
static USED: AtomicUsize = AtomicUsize::new(0);

/// True if no nonblocking operation is in progress. In programs without nonblocking MPI-IO, this is the only check in calls that complete
/// requests.
#[inline(always)]
pub(crate) fn none() -> bool {
    USED.load(Ordering::Relaxed) == 0
}

fn row(handle: usize) -> &'static [MpiRequest; ROW] {
    // Handles are addresses or small integers: spread both.
    &TABLE[handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - ROWS.trailing_zeros())]
}

/// Adds an operation under its request handle; returns false if its row is full.
pub(crate) fn add(handle: usize, what: Submitted) -> bool {
    let free =
        |place: &&MpiRequest| place.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let Some(place) = row(handle).iter().find(free) else { return false };
    place.handle.store(handle, Ordering::Relaxed);
    place.file.store(std::ptr::from_ref(what.file).cast_mut(), Ordering::Relaxed);
    place.op.store(std::ptr::from_ref(what.op).cast_mut(), Ordering::Relaxed);
    place.start.store(what.start, Ordering::Relaxed);
    place.in_view.store(what.in_view, Ordering::Relaxed);
    place.in_file.store(what.in_file, Ordering::Relaxed);
    place.asked.store(what.asked, Ordering::Relaxed);
    USED.fetch_add(1, Ordering::Relaxed);
    place.state.store(LIVE, Ordering::Release);
    true
}

impl MpiRequest {
    /// Returns the operation's parameters, as given at its submission.
    pub(crate) fn submitted(&self) -> Submitted {
        let (file, op) = (self.file.load(Ordering::Relaxed), self.op.load(Ordering::Relaxed));
        Submitted {
            // SAFETY: set by `add`, to a place of a static table.
            file: unsafe { &*file },
            // SAFETY: set by `add`, to a static.
            op: unsafe { &*op },
            start: self.start.load(Ordering::Relaxed),
            in_view: self.in_view.load(Ordering::Relaxed),
            in_file: self.in_file.load(Ordering::Relaxed),
            asked: self.asked.load(Ordering::Relaxed),
        }
    }

    /// Returns the operation's MPI request handle.
    pub(crate) fn handle(&self) -> usize {
        self.handle.load(Ordering::Relaxed)
    }
}

/// Requests that one call may complete. Other threads do not find them meanwhile: the library may reuse a handle before this call has
/// returned, and the new operation must not be mistaken for the old one.
pub(crate) struct Held {
    first: *const MpiRequest,
}

impl Held {
    /// Takes hold of those `handles` that belong to nonblocking MPI-IO, and stores their indices.
    pub(crate) fn take(handles: impl Iterator<Item = usize>) -> Self {
        let mut held = Self { first: std::ptr::null() };
        let mut last: Option<&MpiRequest> = None;
        for (index, handle) in handles.enumerate() {
            let Some(request) = take(handle) else { continue };
            request.index.store(index as u32, Ordering::Relaxed);
            request.next.store(std::ptr::null_mut(), Ordering::Relaxed);
            match last {
                Some(last) => last.next.store(std::ptr::from_ref(request).cast_mut(), Ordering::Relaxed),
                None => held.first = request,
            }
            last = Some(request);
        }
        held
    }

    /// True if no request is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Releases all requests. Calls `over` with each index and request; it returns true if the operation is complete.
    pub(crate) fn release(self, mut over: impl FnMut(usize, &'static MpiRequest) -> bool) {
        let mut at = self.first;
        // SAFETY: null or a place of the static table.
        while let Some(request) = unsafe { at.as_ref() } {
            at = request.next.load(Ordering::Relaxed);
            if over(request.index.load(Ordering::Relaxed) as usize, request) {
                request.state.store(FREE, Ordering::Release);
                USED.fetch_sub(1, Ordering::Relaxed);
            } else {
                request.state.store(LIVE, Ordering::Release);
            }
        }
    }
}

fn take(handle: usize) -> Option<&'static MpiRequest> {
    row(handle).iter().find(|place| {
        place.state.load(Ordering::Acquire) == LIVE
            && place.handle.load(Ordering::Relaxed) == handle
            && place.state.compare_exchange(LIVE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    })
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
        // A full row accepts no more.
        assert!((0..ROW).all(|_| add(5, of(0))) && !add(5, of(0)));
    }
}
