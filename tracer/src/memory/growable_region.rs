//! Growable region of address space for a table or the arena: reserved private memory, or a part of the spool while the process has one.
//! Memory is committed piece by piece as the region grows. In the spool, file space must also be allocated ("backed") before memory is
//! touched: otherwise a full file system would kill the program with SIGBUS.
#![expect(unsafe_code, reason = "a pointer to a count in the spool's header")]

use super::{PAGE_BYTES, clear, commit, reserve, unmap};
use crate::exclusive::Exclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Function that allocates file space for a range of the spool (start address, size in bytes) and makes the range usable. Returns false if
/// the file system is full.
pub(crate) type Back = fn(*mut u8, usize) -> bool;

static BACK: OnceLock<Back> = OnceLock::new();

/// Lock for backing memory of any area (allocating the file space behind it). Only one thread at a time: on file systems without fallocate
/// zeros are written, which must not overwrite another thread's data. Also, no area may grow while it is being shrunk. Waits up to 2 s,
/// since the disk may be busy.
static BACKING: Exclusive = Exclusive::new(2_000);

/// Minimum number of bytes to back (make usable as memory) at once; growth is by doubling. If the system refuses that much, private memory
/// grows by whole pages.
const LEAST_STEP: usize = 64 << 10;

/// All areas (growable regions of the tracer's memory) that have memory, for [`each`]. Null entries are free.
static ALL: [AtomicPtr<Area>; 48] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 48];

/// Growable region of address space, in private memory or in the spool (file that survives a kill).
pub(crate) struct Area {
    start: AtomicPtr<u8>,
    capacity: AtomicUsize,
    /// Size of the memory usable so far, at the start of the area (backed by pages or file space), in bytes.
    backed: AtomicUsize,
    used: AtomicUsize,
    /// Number of bytes of the area in use, kept in the spool's header for readers of the spool; null without a spool.
    shown: AtomicPtr<AtomicU64>,
    own_start: AtomicPtr<u8>,
    own_capacity: AtomicUsize,
    /// Size of the usable part of the area's private memory, in bytes; kept for the time when the area leaves the spool again.
    own_backed: AtomicUsize,
}

/// Part of the spool (file that survives a kill) to serve as the memory of an area.
#[derive(Clone, Copy)]
pub(crate) struct Lent {
    /// Start address of this part of the spool (file that survives a kill) in memory.
    pub(crate) start: *mut u8,
    /// Size of this part of the spool (file that survives a kill), in bytes.
    pub(crate) capacity: usize,
    /// Number of bytes for which file space is already allocated (backed).
    pub(crate) backed: usize,
    /// Number of bytes of this part in use, kept in the spool's header for readers of the spool.
    pub(crate) used: &'static AtomicU64,
}

/// Sets the function that allocates file space for parts of the spool (file that survives a kill). Called once.
pub(crate) fn back_by(back: Back) {
    let _ = BACK.set(back);
}

/// Releases the backing lock in a forked child if another thread held it: that thread does not exist in the child.
pub(super) fn after_fork() {
    BACKING.after_fork();
}

/// Calls `each` for every area (growable region of the tracer's memory) that has memory.
pub(super) fn each(each: impl FnMut(&'static Area)) {
    // SAFETY: the pointer is null, or an area that is never freed.
    ALL.iter().filter_map(|area| unsafe { area.load(Ordering::Acquire).as_ref() }).for_each(each);
}

impl Area {
    /// Returns an area (growable region of address space) that has no memory yet.
    pub(crate) const fn new() -> Self {
        Self {
            start: AtomicPtr::new(std::ptr::null_mut()),
            capacity: AtomicUsize::new(0),
            backed: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            shown: AtomicPtr::new(std::ptr::null_mut()),
            own_start: AtomicPtr::new(std::ptr::null_mut()),
            own_capacity: AtomicUsize::new(0),
            own_backed: AtomicUsize::new(0),
        }
    }

    /// Reserves `capacity` bytes of private address space; returns false if the system refuses. Called from the library's constructor.
    pub(crate) fn prepare(&'static self, capacity: usize) -> bool {
        let start = reserve(capacity.next_multiple_of(PAGE_BYTES));
        if start.is_null() {
            return false;
        }
        self.own_start.store(start, Ordering::Relaxed);
        self.own_backed.store(0, Ordering::Relaxed);
        self.own_capacity.store(capacity, Ordering::Relaxed);
        self.take_back();
        self.enlist();
        true
    }

    /// Adds the area to [`ALL`], the list of areas that have memory.
    fn enlist(&'static self) {
        let this = std::ptr::from_ref(self).cast_mut();
        for place in &ALL {
            let known = place.compare_exchange(std::ptr::null_mut(), this, Ordering::AcqRel, Ordering::Acquire);
            if known.is_ok() || known == Err(this) {
                return;
            }
        }
    }

    /// Moves the area into `part` of the spool. The area is empty afterwards.
    ///
    /// # Safety
    /// No caller may use memory obtained from the area, now or later. `part` must stay mapped as long as the area may be used.
    pub(crate) unsafe fn lend(&'static self, part: Lent) {
        self.backed.store(part.backed.min(part.capacity), Ordering::Relaxed);
        self.shown.store(std::ptr::from_ref(part.used).cast_mut(), Ordering::Relaxed);
        self.start.store(part.start, Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        self.capacity.store(part.capacity, Ordering::Release);
        self.enlist();
    }

    /// Moves the area back into private memory. The area is empty afterwards; no thread may be using it.
    fn take_back(&self) {
        self.shown.store(std::ptr::null_mut(), Ordering::Relaxed);
        self.start.store(self.own_start.load(Ordering::Relaxed), Ordering::Relaxed);
        self.used.store(0, Ordering::Relaxed);
        let capacity = self.own_capacity.load(Ordering::Relaxed);
        self.backed.store(self.own_backed.load(Ordering::Relaxed), Ordering::Relaxed);
        self.capacity.store(capacity, Ordering::Release);
    }

    /// Empties the area and moves it into private memory.
    ///
    /// # Safety
    /// No caller may use memory obtained from the area, now or later.
    pub(crate) unsafe fn forget(&self) {
        let lent = !self.shown.load(Ordering::Relaxed).is_null();
        let used = self.used();
        if !lent && used > 0 {
            // SAFETY: the memory is the area's private memory, which is unused, as the caller guarantees.
            unsafe { clear(self.start(), used) };
        }
        self.take_back();
    }

    /// Returns the address of the area's first byte; null if the area has no memory.
    #[inline(always)]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of bytes to which the area can grow.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Acquire)
    }

    /// Returns the number of bytes allocated from the area so far.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Allocates bytes at the end of the used part and returns their offset. `wanted` maps the number of bytes left to the number of bytes
    /// to allocate, or to `None` if too few are left.
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
                    // SAFETY: the pointer is null, or the count given to `lend`.
                    if let Some(shown) = unsafe { self.shown.load(Ordering::Relaxed).as_ref() } {
                        shown.fetch_max(end as u64, Ordering::Release);
                    }
                    return Some(at);
                }
                Err(now) => at = now,
            }
        }
    }

    /// Backs (makes usable) the first `bytes` of the area, or as many as possible, because system calls are impossible later (seccomp).
    pub(crate) fn back_ahead(&self, bytes: usize) {
        let end = bytes.min(self.capacity.load(Ordering::Acquire));
        let from = self.backed.load(Ordering::Acquire);
        if end > from && !self.back(end) {
            // If the byte budget is used up, only a small piece may still be granted.
            self.back(end.min((from + 1).next_multiple_of(LEAST_STEP)));
        }
    }

    /// Backs (makes usable) the area's memory up to at least offset `end`; returns false on failure.
    #[cold]
    #[inline(never)]
    fn back(&self, end: usize) -> bool {
        BACKING.run(|| self.back_alone(end)).unwrap_or(false)
    }

    fn is_lent(&self) -> bool {
        !self.shown.load(Ordering::Relaxed).is_null()
    }

    fn back_alone(&self, end: usize) -> bool {
        let from = self.backed.load(Ordering::Acquire);
        let capacity = self.capacity.load(Ordering::Relaxed);
        if end > capacity {
            return false;
        }
        // Another thread has backed it meanwhile: to double the area for each thread that waited would waste memory.
        if end <= from {
            return true;
        }
        let lent = self.is_lent();
        let step = if lent { LEAST_STEP } else { PAGE_BYTES };
        for to in
            [end.max(from * 2).next_multiple_of(LEAST_STEP).min(capacity), end.next_multiple_of(step).min(capacity)]
        {
            if to <= from {
                return true;
            }
            // SAFETY: `from` lies inside the area.
            let address = unsafe { self.start().add(from) };
            let done = if lent {
                BACK.get().is_some_and(|back| back(address, to - from))
            } else {
                commit(address, (to - from).next_multiple_of(PAGE_BYTES))
            };
            if done {
                self.backed.store(to, Ordering::Release);
                if !lent {
                    self.own_backed.store(to, Ordering::Release);
                }
                return true;
            }
        }
        false
    }

    /// Releases unused address space, down to 1/`divisor` of the capacity. The only visible effect is that the area is full earlier.
    pub(super) fn shrink(&self, divisor: usize) {
        BACKING.run(|| {
            let capacity = self.capacity.load(Ordering::Relaxed);
            let own = self.own_capacity.load(Ordering::Relaxed);
            if self.is_lent() {
                let less = smaller(capacity, self.backed.load(Ordering::Relaxed), divisor);
                self.capacity.store(less, Ordering::Release);
                cut(self.start(), less, capacity);
                // Only a forked child uses the private memory again.
                let less = smaller(own, self.own_backed.load(Ordering::Relaxed), divisor);
                self.own_capacity.store(less, Ordering::Release);
                cut(self.own_start.load(Ordering::Relaxed), less, own);
            } else {
                let less = smaller(own, self.own_backed.load(Ordering::Relaxed), divisor);
                self.own_capacity.store(less, Ordering::Release);
                self.capacity.store(less, Ordering::Release);
                cut(self.start(), less, own);
            }
        });
    }

    /// Returns address and size of the private memory, and of the part of the spool (size 0 without a spool).
    pub(super) fn ranges(&self) -> [(*mut u8, usize); 2] {
        let own = (self.own_start.load(Ordering::Relaxed), self.own_capacity.load(Ordering::Acquire));
        let lent = if self.is_lent() { self.capacity.load(Ordering::Acquire) } else { 0 };
        [own, (self.start(), lent)]
    }
}

/// Returns the capacity to keep when shrinking: `capacity` / `divisor`, but at least `backed` bytes.
fn smaller(capacity: usize, backed: usize, divisor: usize) -> usize {
    (capacity / divisor).next_multiple_of(PAGE_BYTES).max(backed).min(capacity)
}

/// Releases the address space of a mapping between the offsets `from` and `to`.
fn cut(start: *mut u8, from: usize, to: usize) {
    let (from, to) = (from.next_multiple_of(PAGE_BYTES), to.next_multiple_of(PAGE_BYTES));
    if !start.is_null() && from < to {
        // SAFETY: the range lies inside the mapping.
        unmap(unsafe { start.add(from) }, to - from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_gives_until_it_is_full() {
        static AREA: Area = Area::new();
        let area = &AREA;
        assert_eq!(area.take(|_| Some(1)), None);
        assert!(area.prepare(4096));
        assert_eq!(area.take(|left| Some(left / 2)), Some(0));
        assert_eq!(area.take(|left| (left >= 2048).then_some(2048)), Some(2048));
        assert_eq!((area.take(|left| (left > 0).then_some(1)), area.used()), (None, 4096));
        // SAFETY: only this test uses the area.
        unsafe { area.forget() };
        assert_eq!(area.take(|_| Some(4096)), Some(0));
    }
    #[test]
    fn what_is_used_stays_when_an_area_shrinks() {
        static AREA: Area = Area::new();
        let area = &AREA;
        assert!(area.prepare(64 << 20));
        assert_eq!(area.take(|_| Some(100_000)), Some(0));
        // SAFETY: the byte was allocated above.
        let last = unsafe { area.start().add(99_999) };
        // SAFETY: the byte was allocated above.
        unsafe { last.write(7) };
        area.shrink(64);
        assert_eq!(area.take(Some), Some(100_000));
        assert_eq!(area.used(), 1 << 20);
        // SAFETY: the byte was allocated above.
        assert_eq!(unsafe { last.read() }, 7);
        area.shrink(64);
        assert_eq!((area.used(), area.take(|_| Some(1))), (1 << 20, None));
        // SAFETY: only this test uses the area.
        unsafe { area.forget() };
        assert_eq!(area.take(|_| Some(1 << 20)), Some(0));
    }
}
