//! Memory layouts of the kernel's io_uring structures (<linux/io_uring.h>) and of liburing 2's `struct io_uring` (<liburing.h>). liburing's
//! headers compile the layouts into programs, so both are binary interfaces. The tracer never writes to any of the structures.
#![expect(unsafe_code, reason = "memory that the program shares with the kernel")]

use std::sync::atomic::{AtomicU32, Ordering};

/// Setup flags of a ring (IORING_SETUP_...).
pub(super) mod setup {
    /// Flag SQPOLL: the kernel polls for new entries.
    pub(crate) const POLLED: u32 = 1 << 1;
    /// Flag SQE128: each submission queue entry has 128 bytes.
    pub(crate) const LONG_ENTRIES: u32 = 1 << 10;
    /// Flag CQE32: each completion has 32 bytes.
    pub(crate) const LONG_COMPLETIONS: u32 = 1 << 11;
    /// Flag NO_MMAP: the program provides the memory of the queues.
    pub(crate) const OWN_MEMORY: u32 = 1 << 14;
    /// Flag REGISTERED_FD_ONLY: the ring has no file descriptor.
    pub(crate) const NO_DESCRIPTOR: u32 = 1 << 15;
    /// Flag NO_SQARRAY: submission queue entries are taken in memory order, without an index array.
    pub(crate) const NO_ARRAY: u32 = 1 << 16;
    /// Mask of the known setup flags; any other flag may change the memory layout.
    pub(crate) const KNOWN: u32 = (1 << 18) - 1;
}

/// First 64 bytes of a submission queue entry (`struct io_uring_sqe`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) opcode: u8,
    pub(super) flags: u8,
    pub(super) priority: u16,
    pub(super) descriptor: i32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) length: u32,
    pub(super) operation_flags: u32,
    pub(super) mark: u64,
    pub(super) buffer: u16,
    pub(super) personality: u16,
    /// Index into the registered files plus one; 0 if the file is not registered.
    pub(super) file_index: u32,
    pub(super) more: [u64; 2],
}
const _: () = assert!(size_of::<Entry>() == 64);

/// Completion queue entry (`struct io_uring_cqe`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Completion {
    pub(super) mark: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// Parameters and layout of a ring, filled in by io_uring_setup(2) (`struct io_uring_params`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub(super) entries: u32,
    pub(super) completions: u32,
    pub(super) flags: u32,
    thread: [u32; 2],
    pub(super) features: u32,
    rest: [u32; 4],
    pub(super) submission: Offsets,
    pub(super) completion: Offsets,
}
const _: () = assert!(size_of::<Parameters>() == 120);

/// Offsets of a queue's fields from the start of the queue's mapping, in bytes. Describes both `struct io_sqring_offsets` (`fifth` to
/// `seventh`: flags, dropped entries, index array) and `struct io_cqring_offsets` (overflow, completions, flags).
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) mask: u32,
    pub(super) entries: u32,
    pub(super) fifth: u32,
    pub(super) sixth: u32,
    pub(super) seventh: u32,
    reserved: [u32; 3],
}

/// liburing's submission queue (`struct io_uring_sq`).
#[repr(C)]
#[derive(Clone, Copy)]
struct LibrarySubmission {
    head: *const AtomicU32,
    tail: *const AtomicU32,
    mask: *const u32,
    entries: *const u32,
    flags: *const u32,
    dropped: *const u32,
    array: *const u32,
    memory: *const Entry,
    entry_head: u32,
    entry_tail: u32,
    bytes: usize,
    ring: usize,
    rest: [u32; 4],
}

/// liburing's completion queue (`struct io_uring_cq`).
#[repr(C)]
#[derive(Clone, Copy)]
struct LibraryCompletion {
    head: *const AtomicU32,
    tail: *const AtomicU32,
    mask: *const u32,
    entries: *const u32,
    flags: *const u32,
    overflow: *const u32,
    memory: *const Completion,
    bytes: usize,
    ring: usize,
    rest: [u32; 4],
}

/// liburing's `struct io_uring`, which describes one ring.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LibraryRing {
    submission: LibrarySubmission,
    completion: LibraryCompletion,
    flags: u32,
    descriptor: i32,
    features: u32,
    enter_descriptor: i32,
}
const _: () = {
    assert!(size_of::<LibrarySubmission>() == 104);
    assert!(std::mem::offset_of!(LibraryRing, flags) == 192);
};

/// Addresses and sizes of a ring's submission and completion queue.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Queues {
    submission_head: *const AtomicU32,
    submission_tail: *const AtomicU32,
    /// Index array of the submission queue; null if entries are taken in memory order.
    array: *const AtomicU32,
    entries: *const u8,
    completion_tail: *const AtomicU32,
    completions: *const u8,
    submission_mask: u32,
    completion_mask: u32,
    pub(super) flags: u32,
}

impl Queues {
    /// Returns the queues of a liburing ring, the address by which the tracer identifies the ring (its submission queue's head), and the
    /// index after the last entry that the program has prepared.
    ///
    /// # Safety
    /// `ring` must point to a ring that liburing has set up and that the program passes to one of liburing's functions.
    pub(super) unsafe fn of_library(ring: *const LibraryRing) -> Option<(Self, usize, u32)> {
        // SAFETY: the caller's promise; liburing is about to read the ring.
        let ring = unsafe { ring.as_ref() }?;
        let (submission, completion) = (&ring.submission, &ring.completion);
        if submission.head.is_null() || completion.tail.is_null() || ring.flags & !setup::KNOWN != 0 {
            return None;
        }
        let queues = Self {
            submission_head: submission.head,
            submission_tail: submission.tail,
            // liburing fills entries and array in the same order, from the start, so the array is not needed.
            array: std::ptr::null(),
            entries: submission.memory.cast(),
            completion_tail: completion.tail,
            completions: completion.memory.cast(),
            // SAFETY: points into the ring, as the head does.
            submission_mask: unsafe { submission.mask.read() },
            // SAFETY: points into the ring, as the tail does.
            completion_mask: unsafe { completion.mask.read() },
            flags: ring.flags,
        };
        Some((queues, submission.head.addr(), submission.entry_tail))
    }

    /// Returns the queues of a ring that has the parameters `about` and is mapped at these addresses.
    ///
    /// # Safety
    /// The addresses must be mappings of this ring, of the sizes that its parameters require.
    pub(super) unsafe fn mapped(
        about: &Parameters,
        ring: *const u8,
        completions: *const u8,
        entries: *const u8,
    ) -> Self {
        let in_ring = |offset: u32| ring.wrapping_add(offset as usize).cast::<AtomicU32>();
        let (submission, completion) = (&about.submission, &about.completion);
        let array = if about.flags & setup::NO_ARRAY != 0 { std::ptr::null() } else { in_ring(submission.seventh) };
        Self {
            submission_head: in_ring(submission.head),
            submission_tail: in_ring(submission.tail),
            array,
            entries,
            completion_tail: completions.wrapping_add(completion.tail as usize).cast(),
            completions: completions.wrapping_add(completion.sixth as usize),
            submission_mask: about.entries - 1,
            completion_mask: about.completions - 1,
            flags: about.flags,
        }
    }

    fn load(index: *const AtomicU32) -> u32 {
        // SAFETY: points into the ring's memory, which is mapped: see the constructors.
        unsafe { &*index }.load(Ordering::Acquire)
    }

    /// Returns the index of the next entry that the kernel will accept (submission queue head).
    pub(super) fn taken(&self) -> u32 {
        Self::load(self.submission_head)
    }

    /// Returns the index after the last entry that the program has submitted (submission queue tail).
    pub(super) fn handed_over(&self) -> u32 {
        Self::load(self.submission_tail)
    }

    /// Returns the index after the last completion that the kernel has stored (completion queue tail).
    pub(super) fn completed(&self) -> u32 {
        Self::load(self.completion_tail)
    }

    pub(super) fn most_entries(&self) -> u32 {
        self.submission_mask.wrapping_add(1)
    }

    pub(super) fn most_completions(&self) -> u32 {
        self.completion_mask.wrapping_add(1)
    }

    /// Returns a copy of the entry at this index of the submission queue; `None` if the index array points outside the queue.
    pub(super) fn entry(&self, index: u32) -> Option<Entry> {
        let mut place = index & self.submission_mask;
        if !self.array.is_null() {
            place = Self::load(self.array.wrapping_add(place as usize));
        }
        if place > self.submission_mask {
            return None;
        }
        let bytes = if self.flags & setup::LONG_ENTRIES != 0 { 128 } else { 64 };
        let place = self.entries.wrapping_add(place as usize * bytes).cast::<Entry>();
        // SAFETY: inside the queue, which is mapped.
        Some(unsafe { place.read_volatile() })
    }

    /// Returns a copy of the completion at this index of the completion queue.
    pub(super) fn completion(&self, index: u32) -> Completion {
        let bytes = if self.flags & setup::LONG_COMPLETIONS != 0 { 32 } else { 16 };
        let place = self.completions.wrapping_add((index & self.completion_mask) as usize * bytes).cast::<Completion>();
        // SAFETY: inside the queue, which is mapped.
        unsafe { place.read_volatile() }
    }
}
