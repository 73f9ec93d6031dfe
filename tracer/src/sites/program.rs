//! Memory of the traced program, which is read without a risk: where it may not be mapped, by process_vm_readv(2).
#![expect(unsafe_code, reason = "process_vm_readv(2)")]

use crate::sys::syscall;
use crate::{errno, process, real, sys, tls};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of bytes of the stack that are read at once: a page, since a read ends where nothing is mapped.
pub(super) const WINDOW: usize = 4096;

/// True once the kernel has refused to read this process's own memory by process_vm_readv(2).
static IS_REFUSED: AtomicBool = AtomicBool::new(false);
/// End of the main thread's stack, looked up at the start: dlsym(3) takes locks.
static STACK_END: AtomicUsize = AtomicUsize::new(0);

/// Looks up the end of the main thread's stack. Called from the library's constructor.
pub(super) fn prepare() {
    STACK_END.store(real::stack_end().addr(), Ordering::Relaxed);
}

/// True once the kernel has refused reads.
pub(super) fn is_refused() -> bool {
    IS_REFUSED.load(Ordering::Relaxed)
}

/// Returns the main thread's stack from the stack pointer `at` on, which is mapped; empty if `at` is on another stack: of another thread, of a
/// signal handler (sigaltstack(2)), of a coroutine.
pub(super) fn main_stack(at: usize) -> std::ops::Range<usize> {
    let end = STACK_END.load(Ordering::Relaxed);
    if (at..at.saturating_add(OF_MAIN)).contains(&end) { at..end } else { 0..0 }
}

/// Maximum distance to the end of a stack at which it is looked for, in pages.
const MOST_PAGES: usize = 256;

/// Bytes below the end of the main thread's stack that belong to the stack: Linux keeps 128 MiB free of other mappings (arch/x86/mm/mmap.c,
/// MIN_GAP).
const OF_MAIN: usize = 64 << 20;

/// True if `at` and `to`, a higher address, lie on the calling thread's own stack, which stays mapped while the thread runs. Coroutines may
/// have stacks that come and go.
pub(super) fn is_own_stack(at: usize, to: usize) -> bool {
    let main = main_stack(at);
    if !main.is_empty() {
        return to < main.end;
    }
    // The C library keeps the block at the end of the stack of a thread that it has made, behind a stack without holes.
    let end = tls::number();
    let pages = (end / WINDOW).wrapping_sub(at / WINDOW);
    if to >= end || pages > MOST_PAGES {
        return false;
    }
    let part = |page: usize| libc::iovec {
        iov_base: std::ptr::with_exposed_provenance_mut(at.max((at / WINDOW + page) * WINDOW)),
        iov_len: 1,
    };
    let parts: [libc::iovec; MOST_PAGES] = std::array::from_fn(part);
    let mut bytes = [0_u8; MOST_PAGES];
    let into = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: pages };
    // SAFETY: writes a byte for each page of the stack; reads of unmapped addresses fail.
    let read =
        unsafe { syscall!(libc::SYS_process_vm_readv, process::id(), &raw const into, 1, parts.as_ptr(), pages, 0) };
    usize::try_from(read) == Ok(pages)
}

/// Part of the program's stack that was read last.
pub(super) struct Window {
    start: usize,
    length: usize,
    bytes: [u8; WINDOW],
}

impl Window {
    pub(super) const fn new() -> Self {
        Self { start: 0, length: 0, bytes: [0; WINDOW] }
    }

    /// Returns the word at `address`; `None` if nothing is mapped there.
    pub(super) fn word(&mut self, address: usize) -> Option<u64> {
        let read = address.checked_sub(self.start).filter(|at| at.saturating_add(8) <= self.length);
        let at = match read {
            Some(at) => at,
            None => self.read(address).map(|()| 0)?,
        };
        self.bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
    }

    fn read(&mut self, address: usize) -> Option<()> {
        // Two parts, each in a page of its own: the kernel reads whole parts only, until one fails.
        let here = WINDOW - address % WINDOW;
        let address = std::ptr::with_exposed_provenance_mut::<libc::c_void>(address);
        let from = [
            libc::iovec { iov_base: address, iov_len: here },
            libc::iovec { iov_base: address.wrapping_byte_add(here), iov_len: WINDOW - here },
        ];
        let into = libc::iovec { iov_base: self.bytes.as_mut_ptr().cast(), iov_len: WINDOW };
        let parts = if here < WINDOW { 2 } else { 1 };
        // SAFETY: writes at most `WINDOW` bytes into the window; reads of unmapped addresses fail.
        let read =
            unsafe { syscall!(libc::SYS_process_vm_readv, process::id(), &raw const into, 1, from.as_ptr(), parts, 0) };
        note_refusal(read as isize);
        (self.start, self.length) = (address.addr(), usize::try_from(read).unwrap_or(0));
        (self.length >= 8).then_some(())
    }
}

/// Copies memory of this process; returns false if some of it is not mapped, or if the kernel refuses. Preserves errno.
pub(super) fn copy(from: usize, into: &mut [u8]) -> bool {
    if sys::is_shut() || IS_REFUSED.load(Ordering::Relaxed) {
        return false;
    }
    let errno = errno::save();
    let base = std::ptr::with_exposed_provenance_mut(from);
    let (from, iov_len) = (libc::iovec { iov_base: base, iov_len: into.len() }, into.len());
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len };
    // SAFETY: writes at most as many bytes as `into` has; reads of unmapped addresses fail.
    let read = unsafe { syscall!(libc::SYS_process_vm_readv, process::id(), &raw const to, 1, &raw const from, 1, 0) };
    note_refusal(read as isize);
    errno.restore();
    usize::try_from(read) == Ok(iov_len)
}

/// Notes if a read of this process's own memory has failed for another reason than that nothing is mapped.
fn note_refusal(read: isize) {
    if read < 0 && errno::save().value() != libc::EFAULT {
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
}
