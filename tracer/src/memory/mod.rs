//! Memory that is not the program's: reserved address space for tables and the arena, and the allocator of the rare code
//! that needs one (start, flush). Nothing here calls malloc, so it works where malloc may not be called, under other
//! preloaded allocators, and in a signal handler that has interrupted one.
#![expect(unsafe_code, reason = "mmap(2)")]

use std::sync::atomic::{AtomicUsize, Ordering};

mod area;
mod table;

pub(crate) use area::{Area, Lent, after_fork, back_by};
pub(crate) use table::{Bytes, Table};

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

static SCALE: AtomicUsize = AtomicUsize::new(1);

/// By how much tables are made smaller where the address space is limited (RLIMIT_AS): they take some 900 MiB of it,
/// nearly all never touched, and the program must keep its own.
pub(crate) fn scale() -> usize {
    SCALE.load(Ordering::Relaxed)
}

/// Finds out how small tables must be. For the constructor.
pub(crate) fn look_at_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours.
    let known = unsafe {
        crate::sys::syscall!(libc::SYS_prlimit64, 0, libc::RLIMIT_AS, std::ptr::null::<u8>(), &raw mut limit)
    } == 0;
    if known && limit.rlim_cur != libc::RLIM_INFINITY {
        let sixteenth = (limit.rlim_cur / 16).max(1);
        let scale = ((900 << 20) / sixteenth).next_power_of_two().clamp(1, 1 << 10);
        SCALE.store(scale as usize, Ordering::Relaxed);
    }
}

/// Reserves `bytes` of zeroed address space; pages are committed when they are touched. Null if the system refuses.
pub(crate) fn reserve(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping touches nothing that exists. The raw system call, since mmap(3) may be wrapped.
    let address = unsafe {
        crate::sys::syscall!(
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
    unsafe { crate::sys::syscall!(libc::SYS_madvise, start, bytes, libc::MADV_DONTNEED) };
}
