//! Room for a path: too large for the stack of a thread or a signal handler that may have only a few KiB. Borrowed from a
//! fixed pool by a hook that has to name a file, and given back when it is done.
#![expect(unsafe_code, reason = "memory guarded by a word each")]

use crate::tls;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a loan: as many as a path may have (PATH_MAX).
pub(crate) const LOAN_BYTES: usize = 4096;
/// Loans at a time. Threads that name files at the same moment, and handlers that have interrupted them.
const LOANS: usize = 64;

/// Times that a thread looks for one that is free.
const MOST_TRIES: u32 = 1_000;

struct Place {
    /// The thread that has it, or 0.
    holder: AtomicUsize,
    bytes: UnsafeCell<[u8; LOAN_BYTES]>,
}

// SAFETY: the bytes are touched only by whoever has set `holder`.
unsafe impl Sync for Place {}

static PLACES: [Place; LOANS] =
    [const { Place { holder: AtomicUsize::new(0), bytes: UnsafeCell::new([0; LOAN_BYTES]) } }; LOANS];

/// Bytes of what was there before, until it is dropped.
pub(crate) struct Loan(&'static Place);

impl Loan {
    /// `None` if all are lent for long.
    pub(crate) fn take() -> Option<Self> {
        let me = tls::number();
        let is_free = |place: &&Place| {
            place.holder.load(Ordering::Relaxed) == 0
                && place.holder.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        // Each thread begins elsewhere, so that they do not all want the first one's word.
        let (behind, before) = PLACES.split_at(me / size_of::<tls::Thread>() % LOANS);
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
        // SAFETY: lent to this value alone.
        unsafe { &*self.0.bytes.get() }
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: lent to this value alone.
        unsafe { &mut *self.0.bytes.get() }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::Release);
    }
}

/// In a forked child: what other threads had borrowed.
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
        for _ in 0..3 {
            let mut loans: Vec<Loan> = std::iter::from_fn(Loan::take).collect();
            assert!(loans.len() > LOANS / 2 && loans.len() <= LOANS);
            loans.iter_mut().zip(1..).for_each(|(loan, value)| loan.fill(value));
            assert!(loans.iter().zip(1..).all(|(loan, value)| loan.iter().all(|&byte| byte == value)));
        }
    }
}
