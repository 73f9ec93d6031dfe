//! Memory that is not the program's: reserved address space for tables and the arena, and the allocator of the rare code
//! that needs one (start, flush, packing). Nothing here calls malloc, so it works where malloc may not be called, under other
//! preloaded allocators, and in a signal handler that has interrupted one.
//!
//! Bounds: what is reserved may not be touched (PROT_NONE) and is made usable as it grows. So it is not charged where the
//! system counts what may be written (RLIMIT_DATA, vm.overcommit_memory=2), and mlockall(2) has nothing to fill. Address space
//! itself is made smaller where it is limited, at the start or later ([`shrink`]).
#![expect(unsafe_code, reason = "mmap(2), mprotect(2), munmap(2), madvise(2)")]

use std::sync::atomic::{AtomicUsize, Ordering};

mod area;
mod blocking;
mod heap;
mod limits;
mod loan;
mod table;

pub(crate) use area::{Area, Lent, back_by};
pub(crate) use blocking::{Blocked, is_on_signal_stack};
pub(crate) use limits::{is_scarce, keep_out_of_locks, look_at_limits, make_room_for, scale, soft_limit, unlock};
pub(crate) use loan::{LOAN_BYTES, Loan};
pub(crate) use table::{Bytes, Record, Table};

#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: heap::Allocator = heap::Allocator;

/// Reserves the memory of the allocator. For the constructor, before it does anything else: what is allocated before that
/// has a mapping of its own.
pub(crate) fn prepare() {
    heap::prepare();
}

/// In a forked child: what other threads held, who are not here.
pub(crate) fn after_fork() {
    area::after_fork();
    heap::after_fork();
    loan::after_fork();
}

/// Bytes of a page, for what must begin or end at one: no processor that this runs on has larger ones.
pub(crate) const PAGE_BYTES: usize = if cfg!(target_arch = "x86_64") { 4 << 10 } else { 64 << 10 };

/// Address space that may not be touched yet; null if the system refuses.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    map_as(bytes, libc::PROT_NONE)
}

/// Zeroed memory that may be used at once; null if the system refuses.
pub(crate) fn map(bytes: usize) -> *mut u8 {
    map_as(bytes, libc::PROT_READ | libc::PROT_WRITE)
}

fn map_as(bytes: usize, protection: libc::c_int) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let none = std::ptr::null_mut::<u8>();
    // SAFETY: a new anonymous mapping touches nothing that exists. The raw system call, since mmap(3) may be wrapped.
    let address = unsafe { crate::sys::syscall!(libc::SYS_mmap, none, bytes, protection, flags, -1, 0_i64) };
    if address == -1 { std::ptr::null_mut() } else { address as *mut u8 }
}

/// Makes reserved memory usable; false if the system refuses. `start` is at a page.
pub(crate) fn commit(start: *mut u8, bytes: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is a reservation of ours; it becomes usable, and what is in it stays.
    unsafe { crate::sys::syscall!(libc::SYS_mprotect, start, bytes, protection) == 0 }
}

/// Gives back address space.
pub(crate) fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: the range is ours, and its owner says that nothing refers to it any more.
    unsafe { crate::sys::syscall!(libc::SYS_munmap, start, bytes) };
}

/// Gives the pages of a reservation back to the system; they read as zeros again.
///
/// # Safety
/// The range is a part of a reservation of ours, private and anonymous, and nobody has a reference into it.
pub(crate) unsafe fn clear(start: *mut u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, start, bytes, libc::MADV_DONTNEED) };
}

/// Number of the next allocation that fails, for tests: they count down from a number to 1, where one allocation fails, or up
/// from a negative one to -1, from where on all fail. 0: none.
#[unsafe(no_mangle)]
pub(crate) static DXT_TRACER_FAILING_ALLOCATION: AtomicUsize = AtomicUsize::new(0);

/// Whether a test wants this allocation to fail.
fn is_to_fail() -> bool {
    let next = DXT_TRACER_FAILING_ALLOCATION.load(Ordering::Relaxed).cast_signed();
    match next {
        0 => return false,
        -1 => return true,
        _ => DXT_TRACER_FAILING_ALLOCATION.store((next - next.signum()).cast_unsigned(), Ordering::Relaxed),
    }
    next == 1
}
