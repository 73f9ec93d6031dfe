//! Probes if memory that the program names is readable, through system calls that return an error instead of raising a signal. One system
//! call probes many pages. Memory is not probed once the program has confined itself by seccomp (`seccomp.rs`).
#![expect(unsafe_code, reason = "process_vm_readv(2)")]

use crate::{errno, process, sys};
use libc::iovec;
use std::mem::MaybeUninit;

/// Result of probing if memory is readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Readable,
    Unreadable,
    /// Unknown if the memory is readable: the kernel may not be asked (seccomp).
    NotAsked,
}

/// Maximum number of pages per probe of memory.
const MOST: usize = 32;
/// Smallest page size of the supported processors, in bytes.
const PAGE_BYTES: usize = 4096;

/// Pages of memory to be probed together.
pub(super) struct Pages {
    pages: [MaybeUninit<iovec>; MOST],
    count: usize,
    /// Address of the page of memory that was last found to be readable; `usize::MAX` if none.
    known: usize,
}

impl Pages {
    pub(super) const fn new() -> Self {
        Self { pages: [const { MaybeUninit::uninit() }; MOST], count: 0, known: usize::MAX }
    }

    fn added(&self, count: usize) -> impl DoubleEndedIterator<Item = usize> {
        // SAFETY: the caller has added `count` pages.
        self.pages[..count].iter().map(|page| unsafe { page.assume_init() }.iov_base.addr())
    }

    /// Adds the pages of a memory range, not longer than one page, to those to be probed. Returns false, and adds nothing, if no more pages
    /// can be probed together.
    pub(super) fn add(&mut self, address: usize, bytes: usize) -> bool {
        let pages = [address, address.saturating_add(bytes - 1)].map(|byte| byte & !(PAGE_BYTES - 1));
        if self.count + 2 > MOST {
            return false;
        }
        for page in pages {
            if page != self.added(self.count).next_back().unwrap_or(self.known) {
                let base = std::ptr::without_provenance_mut(page);
                self.pages[self.count].write(iovec { iov_base: base, iov_len: 1 });
                self.count += 1;
            }
        }
        true
    }

    /// Probes all added pages and removes them from the set. Changes errno.
    pub(super) fn ask(&mut self) -> Answer {
        let count = std::mem::take(&mut self.count);
        let Some(last) = self.added(count).next_back() else { return Answer::Readable };
        let answer = if count == 1 { one(last) } else { self.many(count) };
        self.known = if answer == Answer::Readable { last } else { usize::MAX };
        answer
    }

    /// Probes one byte of each page with process_vm_readv(2), which a process may use on itself even where it may not read other processes.
    fn many(&self, count: usize) -> Answer {
        let mut bytes = [MaybeUninit::<u8>::uninit(); MOST];
        let here = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: count };
        let (own, there) = (process::adopted(), self.pages.as_ptr());
        // SAFETY: `bytes` has room for one byte per page.
        let read = unsafe { sys::syscall!(libc::SYS_process_vm_readv, own, &raw const here, 1, there, count, 0) };
        if usize::try_from(read) == Ok(count) {
            return Answer::Readable;
        }
        if read >= 0 || errno::save().value() == libc::EFAULT {
            return Answer::Unreadable;
        }
        // process_vm_readv(2) is missing or forbidden (by a container's filter).
        self.added(count).map(one).find(|answer| *answer != Answer::Readable).unwrap_or(Answer::Readable)
    }
}

/// Probes one page by a faster system call: the kernel reads a signal set from the page and then rejects the operation.
fn one(page: usize) -> Answer {
    // The page's start might be a null pointer, which means no signal set.
    let (set, nothing) = (page + 8, std::ptr::null_mut::<u8>());
    // SAFETY: 99 is not a valid operation, so the call changes nothing.
    let result = unsafe { sys::syscall!(libc::SYS_rt_sigprocmask, 99, set, nothing, 8) };
    match if result == 0 { libc::EINVAL } else { errno::save().value() } {
        libc::EINVAL => Answer::Readable,
        libc::EFAULT => Answer::Unreadable,
        _ => Answer::NotAsked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[(usize, usize)]) -> Answer {
        let mut pages = Pages::new();
        assert!(ranges.iter().all(|(address, bytes)| pages.add(*address, *bytes)));
        pages.ask()
    }

    #[test]
    fn pages_that_are_there_and_others() {
        process::adopt();
        const COUNT: usize = 40;
        let nowhere = std::ptr::null_mut();
        let (access, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping replaces no existing one.
        let start = unsafe { libc::mmap(nowhere, COUNT * PAGE_BYTES, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let at = |page: usize| start.addr() + page * PAGE_BYTES;
        // SAFETY: the mapping is the test's own.
        assert_eq!(unsafe { libc::mprotect(start.wrapping_byte_add(10 * PAGE_BYTES), PAGE_BYTES, libc::PROT_NONE) }, 0);
        assert_eq!(of(&[]), Answer::Readable);
        assert_eq!(of(&[(at(0), 64)]), Answer::Readable);
        assert_eq!(of(&[(at(10), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(8, 64)]), Answer::Unreadable);
        // Ranges that cross the end of a page.
        assert_eq!(of(&[(at(5) - 8, 64)]), Answer::Readable);
        assert_eq!(of(&[(at(10) - 8, 64)]), Answer::Unreadable);
        assert_eq!(of(&[(at(0), 64), (at(11), 64), (at(2), 64)]), Answer::Readable);
        assert_eq!(of(&[(at(0), 64), (at(10), 64), (at(2), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(1 << 16, 8), (at(2), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(at(2), 64), (usize::MAX - 3, 64)]), Answer::Unreadable);
        let mut pages = Pages::new();
        assert_eq!((0..COUNT).take_while(|page| pages.add(at(11) + page * PAGE_BYTES, 8)).count(), MOST - 1);
        assert_eq!(pages.count, MOST - 1);
        // SAFETY: the mapping is the test's own.
        assert_eq!(unsafe { libc::munmap(start, COUNT * PAGE_BYTES) }, 0);
    }
}
