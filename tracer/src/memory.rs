//! Memory that is not the program's: reserved address space for tables and the arena, and the allocator of the rare code
//! that needs one (start, flush). Nothing here calls malloc, so it works where malloc may not be called, under other
//! preloaded allocators, and in a signal handler that has interrupted one.
#![expect(unsafe_code, reason = "mmap(2)")]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Keeps the allocator usable in a child that is forked while another thread is allocating.
pub(crate) fn protect_across_fork() {
    // SAFETY: called once, by the constructor, while nobody forks.
    #[cfg(not(test))]
    unsafe {
        dlmalloc::enable_alloc_after_fork();
    }
}

/// Reserves `bytes` of zeroed address space; pages are committed when they are touched. Null if the system refuses.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping touches nothing that exists. The raw system call, since mmap(3) may be wrapped.
    let address = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            std::ptr::null_mut::<u8>(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0_i64,
        )
    };
    if address == -1 { std::ptr::null_mut() } else { address as *mut u8 }
}

/// Gives the pages of a reservation back to the system; they read as zeros again.
pub(crate) fn clear(start: *mut u8, bytes: usize) {
    // SAFETY: the range is one of ours, private and anonymous.
    unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) };
}

/// A table of records that are made once, never move and never go away, in reserved memory. Making one is an atomic add.
pub(crate) struct Table<T: 'static> {
    start: AtomicPtr<T>,
    capacity: AtomicUsize,
    used: AtomicUsize,
    of: PhantomData<T>,
}

impl<T: 'static> Table<T> {
    /// A table without memory.
    pub(crate) const fn new() -> Self {
        Self {
            start: AtomicPtr::new(std::ptr::null_mut()),
            capacity: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            of: PhantomData,
        }
    }

    /// Gives the table room for `capacity` records, or less if the system refuses. For the constructor.
    pub(crate) fn prepare(&self, mut capacity: usize) {
        while capacity >= 64 {
            let start = reserve(capacity * size_of::<T>());
            if !start.is_null() {
                self.start.store(start.cast(), Ordering::Relaxed);
                self.capacity.store(capacity, Ordering::Release);
                return;
            }
            capacity /= 2;
        }
    }

    /// Forgets all records. Nobody may hold one.
    pub(crate) fn clear(&self) {
        let used = self.used.swap(0, Ordering::AcqRel);
        if used > 0 {
            clear(self.start.load(Ordering::Relaxed).cast(), used * size_of::<T>());
        }
    }

    /// Records made so far.
    pub(crate) fn len(&self) -> usize {
        self.used.load(Ordering::Acquire).min(self.capacity.load(Ordering::Relaxed))
    }

    /// Record `index`, if it has been made. A record just being made may still be all zero.
    pub(crate) fn get(&self, index: usize) -> Option<&'static T> {
        if index >= self.len() {
            return None;
        }
        let start = self.start.load(Ordering::Relaxed);
        // SAFETY: inside the reservation, which is never unmapped.
        let record = unsafe { start.add(index) };
        // SAFETY: records of a `Table` are valid when all zero, aligned to less than a page, and only shared.
        Some(unsafe { &*record })
    }

    /// Takes the next `count` places, all or none.
    fn take(&self, count: usize) -> Option<usize> {
        let capacity = self.capacity.load(Ordering::Acquire);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(count).filter(|&after| after <= capacity)
            })
            .ok()
    }

    /// Places `record` and returns it with its index; `None` when the table is full.
    pub(crate) fn push(&self, record: T) -> Option<(usize, &'static T)> {
        let index = self.take(1)?;
        // SAFETY: inside the reservation.
        let place = unsafe { self.start.load(Ordering::Relaxed).add(index) };
        // SAFETY: the index was given to this call alone, so nobody else writes here; the memory is mapped.
        unsafe { place.write(record) };
        // SAFETY: just written, never moved.
        Some((index, unsafe { &*place }))
    }

    /// All records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// Bytes that are kept for good: paths, layouts, arguments.
pub(crate) struct Bytes(Table<u8>);

impl Bytes {
    /// A store without memory.
    pub(crate) const fn new() -> Self {
        Self(Table::new())
    }

    /// As [`Table::prepare`].
    pub(crate) fn prepare(&self, capacity: usize) {
        self.0.prepare(capacity);
    }

    /// Keeps a copy of `bytes`; `None` when the store is full.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        let at = self.0.take(bytes.len())?;
        if bytes.is_empty() {
            return Some(&[]);
        }
        // SAFETY: inside the reservation.
        let place = unsafe { self.0.start.load(Ordering::Relaxed).add(at) };
        // SAFETY: `place` has room for the bytes, given to this call alone, and does not overlap them.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: just written, never changed again.
        Some(unsafe { std::slice::from_raw_parts(place, bytes.len()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fills_up_and_says_so() {
        let table = Table::<u64>::new();
        assert!(table.push(1).is_none());
        table.prepare(64);
        for i in 0..64 {
            assert_eq!(table.push(i).unwrap(), (i as usize, &i));
        }
        assert!(table.push(64).is_none());
        assert_eq!((table.len(), table.get(63), table.get(64)), (64, Some(&63), None));
    }

    #[test]
    fn bytes_are_kept_whole_or_not_at_all() {
        let bytes = Bytes::new();
        assert!(bytes.keep(b"a").is_none());
        bytes.prepare(64);
        assert_eq!(bytes.keep(b"abc"), Some(b"abc".as_slice()));
        assert_eq!(bytes.keep(&[1; 62]), None);
        assert_eq!(bytes.keep(&[1; 61]).map(<[u8]>::len), Some(61));
    }
}
