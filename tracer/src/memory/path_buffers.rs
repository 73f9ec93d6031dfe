//! Buffers for paths, which are too large for a stack of only a few KiB (of a thread or signal handler). A hook that needs a file's name
//! borrows a buffer from a fixed pool and returns it when done.
#![expect(unsafe_code, reason = "memory guarded by a word each")]

use crate::tls;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of a path buffer in bytes: the maximum length of a path (PATH_MAX).
pub(crate) const LOAN_BYTES: usize = 4096;
/// Number of path buffers: enough for threads that need a file name at the same moment, and for signal handlers that have interrupted them.
const LOANS: usize = 64;

/// Maximum number of tries to find a free path buffer.
const MOST_TRIES: u32 = 1_000;

struct Place {
    /// Number (`tls::number`) of the thread that has borrowed the buffer, or 0.
    holder: AtomicUsize,
    bytes: UnsafeCell<[u8; LOAN_BYTES]>,
}

// SAFETY: the bytes are touched only by the thread that has set `holder`.
unsafe impl Sync for Place {}

static PLACES: [Place; LOANS] = [const { Place::free() }; LOANS];

impl Place {
    const fn free() -> Self {
        Self { holder: AtomicUsize::new(0), bytes: UnsafeCell::new([0; LOAN_BYTES]) }
    }
}

/// Borrowed path buffer with arbitrary content; returned to the pool when dropped.
pub(crate) struct Loan(&'static Place);

impl Loan {
    /// Borrows a path buffer; returns `None` if all buffers stay in use for long.
    pub(crate) fn take() -> Option<Self> {
        Self::take_from(&PLACES)
    }

    #[inline(always)]
    fn take_from(places: &'static [Place; LOANS]) -> Option<Self> {
        let me = tls::number();
        let is_free = |place: &&Place| {
            place.holder.load(Ordering::Relaxed) == 0
                && place.holder.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        // Threads start at different buffers, so that they do not all contend for the first one.
        let (behind, before) = places.split_at(me / size_of::<tls::Thread>() % LOANS);
        for _ in 0..MOST_TRIES {
            if let Some(place) = before.iter().chain(behind).find(is_free) {
                return Some(Self(place));
            }
            crate::threads::give_way();
        }
        None
    }
}

impl Deref for Loan {
    type Target = [u8; LOAN_BYTES];

    fn deref(&self) -> &Self::Target {
        // SAFETY: the buffer is lent to this value alone.
        unsafe { &*self.0.bytes.get() }
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: the buffer is lent to this value alone.
        unsafe { &mut *self.0.bytes.get() }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::Release);
    }
}

/// Frees, in a forked child, the path buffers of threads that do not exist in the child.
pub(super) fn after_fork() {
    let me = tls::number();
    for place in PLACES.iter().filter(|place| place.holder.load(Ordering::Relaxed) != me) {
        place.holder.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_given_back() {
        // The test has a pool of its own, since other tests borrow from the process's pool meanwhile.
        static POOL: [Place; LOANS] = [const { Place::free() }; LOANS];
        for _ in 0..3 {
            let mut loans: Vec<Loan> = std::iter::from_fn(|| Loan::take_from(&POOL)).collect();
            assert_eq!(loans.len(), LOANS);
            loans.iter_mut().zip(1..).for_each(|(loan, value)| loan.fill(value));
            assert!(loans.iter().zip(1..).all(|(loan, value)| loan.iter().all(|&byte| byte == value)));
        }
    }
}
