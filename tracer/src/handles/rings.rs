//! Known io_uring rings: progress of their queues, registered files, and the tracer's own mapping of rings used through system calls.
#![expect(unsafe_code, reason = "references to records that never go away")]

use super::Used;
use crate::memory::{self, Entry, FixedTable, Table, Zeroed};
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

pub(crate) type Ring = Entry<State>;

/// State of an io_uring ring, as the tracer has followed it.
pub(crate) struct State {
    /// Unique ID of the ring, since names are reused; serves as owner of the ring's asynchronous operations.
    owner: AtomicUsize,
    /// Number of submission queue entries seen so far; the lower 32 bits are the index in the queue.
    submitted: AtomicU64,
    /// Index of the completion queue up to which the tracer has seen completions.
    completed: AtomicU32,
    /// True if completions were overwritten before the tracer saw them.
    lossy: AtomicBool,
    /// Number of threads that are now reading the tracer's mapping of the ring.
    users: AtomicU32,
    /// Tracer's own mapping of the ring's memory, or null.
    mapped: AtomicPtr<Mapped>,
    /// Registered files by index: encoded [`Used`], [`UNKNOWN`], or [`NOT_RECORDED`]. Null before the first registration.
    files: AtomicPtr<AtomicUsize>,
}

// SAFETY: all-zero bits are valid numbers, false, and null pointers.
unsafe impl Zeroed for State {}

/// Data of the module `hooks::uring` about the tracer's mapping of a ring, as words that only that module interprets.
pub(crate) type Mapped = [usize; 24];

// SAFETY: a record can be found only once it is complete.
unsafe impl memory::Record for Mapped {}

/// Name by which the program identifies an io_uring ring.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// Address of the submission queue's head, for a ring that the program uses through liburing.
    Address(usize),
    /// Descriptor number of the ring, for a ring that the program uses through system calls.
    Descriptor(libc::c_int),
}

impl Name {
    fn value(self) -> usize {
        match self {
            Self::Address(address) => address,
            Self::Descriptor(number) => number as usize,
        }
    }
}

/// File registered with an io_uring ring (IORING_REGISTER_FILES).
#[derive(Clone, Copy)]
pub(crate) enum Registered {
    /// The registered file is recorded; with its open flags.
    Recorded(Used),
    /// The registered file is not recorded, or no file is registered at this index.
    NotRecorded,
    /// The registered file is unknown, because the tracer did not see the registration.
    Unknown,
}

/// Upper bound of descriptor numbers. No mapping has an address below this bound.
const HIGHEST_DESCRIPTOR: usize = 1 << 24;
const CAPACITY: usize = 128;
/// Maximum number of registered files tracked per ring.
const MOST_FILES: usize = 1 << 15;
const UNKNOWN: usize = 0;
/// Value in [`State::files`] for a file that is not recorded; no file record has such a small address.
const NOT_RECORDED: usize = 1;

static RINGS: FixedTable<State, CAPACITY, CAPACITY> = FixedTable::new();
static OWNERS: AtomicUsize = AtomicUsize::new(1);

static MAPPINGS: Table<Mapped> = Table::new();
/// Callback that returns the number of entries of a ring that the kernel accepted but the tracer never examined.
static UNSEEN: OnceLock<fn(&Ring, &Mapped) -> u64> = OnceLock::new();

pub(super) fn prepare() {
    MAPPINGS.prepare(1 << 12);
}

/// Stores `mapped`, the data about a mapped ring, in a record that is never freed; returns its address, or `None` if no memory is left.
pub(crate) fn keep(mapped: Mapped) -> Option<*mut Mapped> {
    MAPPINGS.push(mapped).map(|(_, kept)| std::ptr::from_ref(kept).cast_mut())
}

/// Sets the callback that counts the entries of a ring that the kernel accepted but the tracer never examined.
pub(crate) fn count_unseen_by(unseen: fn(&Ring, &Mapped) -> u64) {
    let _ = UNSEEN.set(unseen);
}

/// Returns the number of entries that the kernel accepted but the tracer never examined, over all open rings used through system calls.
pub(crate) fn unseen() -> u64 {
    let Some(unseen) = UNSEEN.get() else { return 0 };
    descriptors(0, u32::MAX).filter_map(|ring| ring.with_any_mapping(|mapped| unseen(ring, mapped))).sum()
}

pub(crate) fn any() -> bool {
    RINGS.len() > 0
}

pub(crate) fn find(name: Name) -> Option<&'static Ring> {
    RINGS.find(name.value())
}

/// Adds a ring whose submission and completion queues have reached the indices `submitted` and `completed`.
pub(crate) fn add(name: Name, submitted: u32, completed: u32, mapped: *mut Mapped) -> Option<&'static Ring> {
    RINGS.add(name.value(), |ring| {
        // IDs of rings are odd; contexts of io_submit(2) are page addresses, which are never odd.
        ring.owner.store(OWNERS.fetch_add(2, Ordering::Relaxed), Ordering::Relaxed);
        ring.submitted.store(submitted.into(), Ordering::Relaxed);
        ring.completed.store(completed, Ordering::Relaxed);
        ring.lossy.store(false, Ordering::Relaxed);
        ring.mapped.store(mapped, Ordering::Relaxed);
    })
}

/// Iterates over the rings used through system calls whose descriptors are in `first`..=`last`.
pub(crate) fn descriptors(first: u32, last: u32) -> impl Iterator<Item = &'static Ring> {
    let numbers = first as usize..HIGHEST_DESCRIPTOR.min(last as usize + 1);
    RINGS.live().filter(move |(number, _)| numbers.contains(number)).map(|(_, ring)| ring)
}

/// Forgets all io_uring rings in a forked child, which does not inherit ring mappings.
pub(crate) fn forget_all() {
    RINGS.clear(|ring| {
        // Threads that used the ring do not exist in the child.
        ring.users.store(0, Ordering::Relaxed);
        ring.forget_files();
    });
}

impl Ring {
    /// Returns the unique ID of this io_uring ring, by which its asynchronous operations are found.
    pub(crate) fn owner(&self) -> usize {
        self.owner.load(Ordering::Relaxed)
    }

    /// Returns the number of submission queue entries seen; the lower 32 bits are the index in the queue.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_submitted(&self, submitted: u64) {
        self.submitted.store(submitted, Ordering::Relaxed);
    }

    /// Records that completions of this ring were overwritten before the tracer saw them.
    pub(crate) fn has_lost(&self) {
        self.lossy.store(true, Ordering::Relaxed);
    }

    /// True if completions of this ring were overwritten before the tracer saw them.
    pub(crate) fn is_lossy(&self) -> bool {
        self.lossy.load(Ordering::Relaxed)
    }

    /// Returns the index of the completion queue up to which the tracer has seen completions.
    pub(crate) fn completed(&self) -> u32 {
        self.completed.load(Ordering::Acquire)
    }

    /// Claims the completions from `index` up to `behind` for the caller; false if another thread or a signal handler was faster. Takes no
    /// lock, since a signal handler may leave the caller by a jump.
    pub(crate) fn take_completions(&self, index: u32, behind: u32) -> bool {
        self.completed.compare_exchange(index, behind, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Runs `work` on the tracer's mapping of the ring, which stays mapped meanwhile; `None` if the ring no longer exists.
    pub(crate) fn with_mapping<T>(&self, name: Name, work: impl FnOnce(&Mapped) -> T) -> Option<T> {
        self.with_mapping_if(|ring| ring.is(name.value()), work)
    }

    /// Runs `work` like [`Self::with_mapping`], on the ring that currently uses this table entry, regardless of its name.
    pub(crate) fn with_any_mapping<T>(&self, work: impl FnOnce(&Mapped) -> T) -> Option<T> {
        self.with_mapping_if(|ring| ring.key().is_some(), work)
    }

    /// Runs `work` on the mapping if `is_it` accepts the ring. The reader announces itself, then checks that the ring exists; the thread
    /// that ends the ring marks it as gone, then checks for readers. SeqCst orders all four accesses, so at least one side sees the other.
    fn with_mapping_if<T>(&self, is_it: impl FnOnce(&Self) -> bool, work: impl FnOnce(&Mapped) -> T) -> Option<T> {
        self.users.fetch_add(1, Ordering::SeqCst);
        let result = if is_it(self) {
            // SAFETY: null, or a record in reserved memory that is reused and never freed.
            unsafe { self.mapped.load(Ordering::Acquire).as_ref() }.map(work)
        } else {
            None
        };
        self.users.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Ends tracking of the ring, unless another thread has ended it. `unmap` releases the tracer's mapping unless another thread reads it.
    pub(crate) fn end(&self, unmap: impl FnOnce(&Mapped)) {
        if !self.key().is_some_and(|name| self.hold(name)) {
            return;
        }
        // SAFETY: as in `with_mapping_if`.
        let mapped = unsafe { self.mapped.swap(std::ptr::null_mut(), Ordering::AcqRel).as_ref() };
        if let Some(mapped) = mapped.filter(|_| self.users.load(Ordering::SeqCst) == 0) {
            unmap(mapped);
        }
        self.forget_files();
        RINGS.remove(self);
    }

    /// Returns the file that is registered with the ring at index `at`.
    pub(crate) fn file(&self, at: usize) -> Registered {
        match self.files().get(at).map_or(UNKNOWN, |place| place.load(Ordering::Acquire)) {
            NOT_RECORDED => Registered::NotRecorded,
            word => NonZero::new(word).map_or(Registered::Unknown, |word| Registered::Recorded(Used(word))),
        }
    }

    /// Records the file that the program registered at index `at`; `None` for a file that is not recorded.
    pub(crate) fn set_file(&self, at: usize, file: Option<Used>) {
        self.make_room(at);
        if let Some(place) = self.files().get(at) {
            place.store(file.map_or(NOT_RECORDED, |used| used.0.get()), Ordering::Release);
        }
    }

    /// Marks all files registered with the ring as unknown.
    pub(crate) fn forget_files(&self) {
        self.files().iter().for_each(|place| place.store(UNKNOWN, Ordering::Relaxed));
    }

    fn files(&self) -> &'static [AtomicUsize] {
        let start = self.files.load(Ordering::Acquire);
        if start.is_null() {
            return &[];
        }
        // SAFETY: mapped by `make_room` with this size and never unmapped; all-zero bits are valid numbers.
        unsafe { std::slice::from_raw_parts(start, MOST_FILES) }
    }

    fn make_room(&self, at: usize) {
        if at < MOST_FILES && self.files().is_empty() {
            self.files.store(memory::map(MOST_FILES * size_of::<AtomicUsize>()).cast(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn atomic(word: &usize) -> &AtomicUsize {
        // SAFETY: a word of a record, to which other threads may write meanwhile.
        unsafe { AtomicUsize::from_ptr(std::ptr::from_ref(word).cast_mut()) }
    }

    /// Checks that threads read only live mappings while other threads end the ring and set up the next one.
    #[test]
    fn nobody_looks_at_a_mapping_that_is_gone() {
        const THERE: usize = 7;
        const GONE: usize = 9;
        let _one = ONE_AT_A_TIME.lock().unwrap();
        let rings = Name::Descriptor(1 << 20);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        for ring in descriptors(1 << 20, 1 << 20) {
                            let is_there = |word: &usize| atomic(word).load(Ordering::Relaxed) == THERE;
                            assert_ne!(ring.with_any_mapping(|mapped| mapped.iter().all(is_there)), Some(false));
                        }
                    }
                });
            }
            for _ in 0..20_000 {
                let record = Box::into_raw(Box::new([THERE; 24]));
                let ring = add(rings, 0, 0, record).unwrap();
                ring.end(|mapped| mapped.iter().for_each(|word| atomic(word).store(GONE, Ordering::Relaxed)));
                assert!(ring.with_any_mapping(|_| ()).is_none());
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn rings_come_and_go() {
        let _one = ONE_AT_A_TIME.lock().unwrap();
        let name = Name::Address(0x7000_0000);
        assert!(find(name).is_none());
        let ring = add(name, 5, 7, std::ptr::null_mut()).unwrap();
        assert!(std::ptr::eq(find(name).unwrap(), ring) && any());
        assert!(ring.completed() == 7 && ring.take_completions(7, 9) && !ring.take_completions(7, 8));
        assert_eq!(ring.completed(), 9);
        assert!(matches!(ring.file(3), Registered::Unknown));
        ring.set_file(3, None);
        assert!(matches!(ring.file(3), Registered::NotRecorded) && matches!(ring.file(2), Registered::Unknown));
        let other = add(Name::Descriptor(4), 0, 0, std::ptr::null_mut()).unwrap();
        assert_ne!(other.owner(), ring.owner());
        assert_eq!((descriptors(0, 3).count(), descriptors(4, u32::MAX).count()), (0, 1));
        ring.end(|_| ());
        other.end(|_| ());
        // Both rings are gone for good by now.
        ring.end(|_| unreachable!("it is gone"));
        assert!(find(name).is_none() && descriptors(0, u32::MAX).next().is_none());
        assert!(matches!(ring.file(3), Registered::Unknown));
    }
}
