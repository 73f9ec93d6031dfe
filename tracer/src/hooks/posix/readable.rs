//! Whether memory that the program names can be read: asked of the kernel, which answers instead of raising a signal. It is asked for many
//! pages at once, and not at all once the program has confined itself (`confined.rs`).
#![expect(unsafe_code, reason = "process_vm_readv(2)")]

use crate::{errno, process, sys};
use libc::iovec;
use std::mem::MaybeUninit;

/// What is known of some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It can be read.
    Readable,
    /// It cannot.
    Unreadable,
    /// Nobody may be asked.
    NotAsked,
}

/// Most pages that are asked for at once.
const MOST: usize = 32;
/// The smallest that there are.
const PAGE_BYTES: usize = 4096;

/// Pages to ask for.
pub(super) struct Pages {
    pages: [MaybeUninit<iovec>; MOST],
    count: usize,
    /// The last page that was found to be readable.
    known: usize,
}

impl Pages {
    /// None.
    pub(super) const fn new() -> Self {
        Self { pages: [const { MaybeUninit::uninit() }; MOST], count: 0, known: usize::MAX }
    }

    fn added(&self, count: usize) -> impl DoubleEndedIterator<Item = usize> {
        // SAFETY: the caller has added so many.
        self.pages[..count].iter().map(|page| unsafe { page.assume_init() }.iov_base.addr())
    }

    /// Adds those of a range of at most one page's length; false, and nothing is added, if there is no room for them.
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

    /// Asks for all that were added, and forgets them. Changes errno.
    pub(super) fn ask(&mut self) -> Answer {
        let count = std::mem::take(&mut self.count);
        let Some(last) = self.added(count).next_back() else { return Answer::Readable };
        let answer = if count == 1 { one(last) } else { self.many(count) };
        self.known = if answer == Answer::Readable { last } else { usize::MAX };
        answer
    }

    /// process_vm_readv(2) of a byte of each: it reads from this process whatever it may not of others.
    fn many(&self, count: usize) -> Answer {
        let mut bytes = [MaybeUninit::<u8>::uninit(); MOST];
        let here = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: count };
        let (own, there) = (process::adopted(), self.pages.as_ptr());
        // SAFETY: there is room for a byte of each.
        let read = unsafe { sys::syscall!(libc::SYS_process_vm_readv, own, &raw const here, 1, there, count, 0) };
        if usize::try_from(read) == Ok(count) {
            return Answer::Readable;
        }
        if read >= 0 || errno::save().value() == libc::EFAULT {
            return Answer::Unreadable;
        }
        // Not there, or forbidden (a filter of a container's).
        self.added(count).map(one).find(|answer| *answer != Answer::Readable).unwrap_or(Answer::Readable)
    }
}

/// The same of one page, faster: the kernel reads a signal set and then finds that there is nothing to do with it.
fn one(page: usize) -> Answer {
    // Not the first, which stands for no set if it is null.
    let (set, nothing) = (page + 8, std::ptr::null_mut::<u8>());
    // SAFETY: an operation of 99 changes nothing.
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
        // SAFETY: a new mapping touches nothing that exists.
        let start = unsafe { libc::mmap(nowhere, COUNT * PAGE_BYTES, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let at = |page: usize| start.addr() + page * PAGE_BYTES;
        // SAFETY: the test's own.
        assert_eq!(unsafe { libc::mprotect(start.wrapping_byte_add(10 * PAGE_BYTES), PAGE_BYTES, libc::PROT_NONE) }, 0);
        assert_eq!(of(&[]), Answer::Readable);
        assert_eq!(of(&[(at(0), 64)]), Answer::Readable);
        assert_eq!(of(&[(at(10), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(8, 64)]), Answer::Unreadable);
        // Across the end of a page.
        assert_eq!(of(&[(at(5) - 8, 64)]), Answer::Readable);
        assert_eq!(of(&[(at(10) - 8, 64)]), Answer::Unreadable);
        assert_eq!(of(&[(at(0), 64), (at(11), 64), (at(2), 64)]), Answer::Readable);
        assert_eq!(of(&[(at(0), 64), (at(10), 64), (at(2), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(1 << 16, 8), (at(2), 64)]), Answer::Unreadable);
        assert_eq!(of(&[(at(2), 64), (usize::MAX - 3, 64)]), Answer::Unreadable);
        let mut pages = Pages::new();
        assert_eq!((0..COUNT).take_while(|page| pages.add(at(11) + page * PAGE_BYTES, 8)).count(), MOST - 1);
        assert_eq!(pages.count, MOST - 1);
        // SAFETY: the test's own.
        assert_eq!(unsafe { libc::munmap(start, COUNT * PAGE_BYTES) }, 0);
    }
}
