//! A stretch of address space that a table or the arena lies in: reserved memory of our own, or, while the process has a
//! spool, a part of that. A part of the spool must be backed by the file system before it is touched, since a full one
//! would otherwise end the program with SIGBUS.
#![expect(unsafe_code, reason = "a pointer to a count in the spool's header")]

use super::{clear, reserve};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Backs bytes of the spool, from an address on; false if the file system has no room.
pub(crate) type Back = fn(*mut u8, usize) -> bool;

static BACK: OnceLock<Back> = OnceLock::new();

/// A thread is having a piece backed: one at a time, since where a file system cannot allocate, zeros are written, and
/// must not go over what another thread has put there since.
static BACKING: AtomicBool = AtomicBool::new(false);
/// Times that a thread looks again, nearly all a millisecond apart, before it does without: the disk may be busy.
const MOST_WAITS: u32 = 2_000;

/// Bytes that are backed at once, at least: what is used grows by doubling.
const LEAST_STEP: usize = 64 << 10;

/// An area.
pub(crate) struct Area {
    start: AtomicPtr<u8>,
    capacity: AtomicUsize,
    /// Bytes from the start that may be touched.
    backed: AtomicUsize,
    used: AtomicUsize,
    /// Where the spool's readers see how much is used; null without a spool.
    shown: AtomicPtr<AtomicU64>,
    own_start: AtomicPtr<u8>,
    own_capacity: AtomicUsize,
}

/// A part of the spool.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    /// Its address.
    pub(crate) start: *mut u8,
    /// Its size in bytes.
    pub(crate) capacity: usize,
    /// Bytes of it that are backed already.
    pub(crate) backed: usize,
    /// Where readers of the spool see how many bytes are used.
    pub(crate) used: &'static AtomicU64,
}

/// Says how parts of the spool are backed. Once.
pub(crate) fn back_by(back: Back) {
    let _ = BACK.set(back);
}

/// In a forked child: a thread that was having a piece backed is not here.
pub(crate) fn after_fork() {
    BACKING.store(false, Ordering::Relaxed);
}

impl Area {
    /// An area without memory.
    pub(crate) const fn new() -> Self {
        Self {
            start: AtomicPtr::new(std::ptr::null_mut()),
            capacity: AtomicUsize::new(0),
            backed: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            shown: AtomicPtr::new(std::ptr::null_mut()),
            own_start: AtomicPtr::new(std::ptr::null_mut()),
            own_capacity: AtomicUsize::new(0),
        }
    }

    /// Reserves `capacity` bytes of our own; false if the system refuses. For the constructor.
    pub(crate) fn prepare(&self, capacity: usize) -> bool {
        let start = reserve(capacity);
        if start.is_null() {
            return false;
        }
        self.own_start.store(start, Ordering::Relaxed);
        self.own_capacity.store(capacity, Ordering::Relaxed);
        self.take_back();
        true
    }

    /// From now on it lies in the spool, empty. Nobody may be using it.
    pub(crate) fn lend(&self, part: Lent) {
        self.backed.store(part.backed.min(part.capacity), Ordering::Relaxed);
        self.shown.store(std::ptr::from_ref(part.used).cast_mut(), Ordering::Relaxed);
        self.start.store(part.start, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        self.capacity.store(part.capacity, Ordering::Release);
    }

    /// From now on it lies in our own memory, empty. Nobody may be using it.
    fn take_back(&self) {
        self.shown.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.start.store(self.own_start.load(Ordering::Relaxed), Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        let capacity = self.own_capacity.load(Ordering::Relaxed);
        self.backed.store(capacity, Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Release);
    }

    /// Empties it, in our own memory. Nobody may be using it.
    pub(crate) fn forget(&self) {
        let lent = !self.shown.load(Ordering::Relaxed).is_null();
        let used = self.used();
        if !lent && used > 0 {
            clear(self.start(), used);
        }
        self.take_back();
    }

    /// Its first byte; null without memory.
    #[inline(always)]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }

    /// Bytes handed out so far.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Hands out bytes at the end: `wanted` says how many of those that are left, or `None` for not enough. Returns where
    /// they begin.
    pub(crate) fn take(&self, mut wanted: impl FnMut(usize) -> Option<usize>) -> Option<usize> {
        let capacity = self.capacity.load(Ordering::Acquire);
        let mut at = self.used.load(Ordering::Acquire);
        loop {
            let end = at.checked_add(wanted(capacity.checked_sub(at)?)?).filter(|&end| end <= capacity)?;
            if end > self.backed.load(Ordering::Acquire) && !self.back(end) {
                return None;
            }
            match self.used.compare_exchange_weak(at, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: null, or what `lend` was given.
                    if let Some(shown) = unsafe { self.shown.load(Ordering::Relaxed).as_ref() } {
                        shown.fetch_max(end as u64, Ordering::Release);
                    }
                    return Some(at);
                }
                Err(now) => at = now,
            }
        }
    }

    /// Has its first `bytes` backed, or what there is room for: nothing can be backed later.
    pub(crate) fn back_ahead(&self, bytes: usize) {
        let end = bytes.min(self.capacity.load(Ordering::Acquire));
        if end > self.backed.load(Ordering::Acquire) {
            self.back(end);
        }
    }

    /// Has the bytes up to `end` backed, or more.
    #[cold]
    fn back(&self, end: usize) -> bool {
        let Some(back) = BACK.get() else { return false };
        let mut waited = 0;
        while BACKING.swap(true, Ordering::Acquire) {
            waited += 1;
            if waited > MOST_WAITS {
                return false;
            }
            if waited < 100 { crate::threads::give_way() } else { crate::threads::pause(1_000_000) }
        }
        let done = self.back_alone(end, *back);
        BACKING.store(false, Ordering::Release);
        done
    }

    fn back_alone(&self, end: usize, back: Back) -> bool {
        let from = self.backed.load(Ordering::Acquire);
        let capacity = self.capacity.load(Ordering::Relaxed);
        for to in [end.max(from * 2).next_multiple_of(LEAST_STEP).min(capacity), end] {
            if to <= from {
                return true;
            }
            // SAFETY: inside the area.
            let address = unsafe { self.start().add(from) };
            if back(address, to - from) {
                self.backed.store(to, Ordering::Release);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_gives_until_it_is_full() {
        let area = Area::new();
        assert_eq!(area.take(|_| Some(1)), None);
        assert!(area.prepare(4096));
        assert_eq!(area.take(|left| Some(left / 2)), Some(0));
        assert_eq!(area.take(|left| (left >= 2048).then_some(2048)), Some(2048));
        assert_eq!((area.take(|left| (left > 0).then_some(1)), area.used()), (None, 4096));
        area.forget();
        assert_eq!(area.take(|_| Some(4096)), Some(0));
    }
}
