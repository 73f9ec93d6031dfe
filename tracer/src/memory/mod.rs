//! Memory separate from the program's: reserved address space for tables and the arena, and an allocator for rarely executed code that
//! needs one (start, flush, packing). No function here calls malloc, so all work where malloc must not be called: under other preloaded
//! allocators, and in a signal handler that interrupted malloc.
//!
//! Bounds: reserved memory is inaccessible (PROT_NONE) and committed as it grows, so it does not count against limits on writable memory
//! (RLIMIT_DATA, vm.overcommit_memory=2), and mlockall(2) has nothing to populate. Reservations shrink if address space is limited, at the
//! start or later ([`make_room_for`]).
#![expect(unsafe_code, reason = "mmap(2), mprotect(2), munmap(2), madvise(2)")]

use std::sync::atomic::{AtomicUsize, Ordering};

mod fixed_table;
mod growable_region;
mod heap;
mod limits;
mod path_buffers;
mod table;

pub(crate) use fixed_table::{Entry, FixedTable, Zeroed};
pub(crate) use growable_region::{Area, Lent, back_by};
pub(crate) use limits::{is_scarce, keep_out_of_locks, look_at_limits, make_room_for, scale, soft_limit, unlock};
pub(crate) use path_buffers::{LOAN_BYTES, Loan};
pub(crate) use table::{Bytes, Record, Table};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: heap::Allocator = heap::Allocator;

/// Reserves the allocator's memory. Called first in the library's constructor: earlier allocations each get a mapping of their own.
pub(crate) fn prepare() {
    heap::prepare();
}

/// Releases, in a forked child, the locks and buffers of threads that do not exist in the child.
pub(crate) fn after_fork() {
    growable_region::after_fork();
    heap::after_fork();
    path_buffers::after_fork();
}

/// Alignment of page boundaries, in bytes: the largest page size of the supported processors.
pub(crate) const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

/// Reserves `bytes` bytes of inaccessible address space; returns null if the system refuses.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    map_as(bytes, libc::PROT_NONE)
}

/// Maps `bytes` bytes of zeroed, usable memory; returns null if the system refuses.
pub(crate) fn map(bytes: usize) -> *mut u8 {
    map_as(bytes, libc::PROT_READ | libc::PROT_WRITE)
}

fn map_as(bytes: usize, protection: libc::c_int) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let none = std::ptr::null_mut::<u8>();
    // SAFETY: a new anonymous mapping touches nothing that exists. Raw system call, since mmap(3) may be wrapped.
    let address = unsafe { crate::sys::syscall!(libc::SYS_mmap, none, bytes, protection, flags, -1, 0_i64) };
    if address == -1 { std::ptr::null_mut() } else { address as *mut u8 }
}

/// Makes reserved address space usable as memory; returns false if the system refuses. `start` must be page-aligned.
pub(crate) fn commit(start: *mut u8, bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is a reservation of the tracer; it becomes usable, and its content stays.
    unsafe { crate::sys::syscall!(libc::SYS_mprotect, start, bytes, protection) == 0 }
}

/// Releases `bytes` bytes of address space, from `start` on, that were reserved or mapped.
pub(crate) fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: the range belongs to the tracer, and its owner guarantees that nothing refers to it any more.
    unsafe { crate::sys::syscall!(libc::SYS_munmap, start, bytes) };
}

/// Returns the pages of a reservation to the system; they then read as zeros.
///
/// # Safety
/// The range must be part of a private, anonymous reservation of the tracer, and no reference into it may exist.
pub(crate) unsafe fn clear(start: *mut u8, bytes: usize) {
    // SAFETY: the range meets the caller's promise.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, start, bytes, libc::MADV_DONTNEED) };
}

/// Failure injection for tests. n > 0: the n-th allocation from now fails. n < 0: all allocations from the |n|-th on fail. 0: no failures.
#[unsafe(no_mangle)]
pub(crate) static DXT_TRACER_FAILING_ALLOCATION: AtomicUsize = AtomicUsize::new(0);

/// True if the failure injection makes this allocation fail.
fn is_to_fail() -> bool {
    let next = DXT_TRACER_FAILING_ALLOCATION.load(Ordering::Relaxed).cast_signed();
    match next {
        0 => return false,
        -1 => return true,
        _ => DXT_TRACER_FAILING_ALLOCATION.store((next - next.signum()).cast_unsigned(), Ordering::Relaxed),
    }
    next == 1
}
