//! Profiles (access statistics) per file and I/O layer, in counters mode. Each profile has a lock, since it does not fit into atomics. A
//! thread takes the lock once per run of accesses that it folds. Accesses that do not get the lock in time are counted as not profiled.
#![expect(unsafe_code, reason = "a cell guarded by a flag; references into reserved memory")]

use super::others;
use super::records::{File, Stream};
use crate::memory::{Record, Table};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use trace_format::op::Layer;
use trace_format::profile::{Last, Profile};

/// Maximum number of times that a thread yields before it gives up waiting for a profile's lock.
const MOST_YIELDS: u32 = 1_000;

/// Access statistics of a file through one I/O layer, with a lock.
pub(crate) struct Profiled {
    layer: Layer,
    taken: AtomicBool,
    cell: UnsafeCell<(Profile, Last)>,
    /// Next access profile of the same file, for another I/O layer, or null.
    next: *const Self,
}

// SAFETY: the cell is accessed only by the thread that has set `taken`; `next` points to a record that is never changed or moved.
unsafe impl Sync for Profiled {}

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Profiled {}

static PROFILES: Table<Profiled> = Table::new();

/// Reserves address space for `count` access profiles.
pub(super) fn prepare(count: usize) {
    PROFILES.prepare(count);
}

fn of(file: &'static File, layer: Layer) -> Option<&'static Profiled> {
    loop {
        let head = file.profiles.load(Ordering::Acquire);
        let mut at = head.cast_const();
        // SAFETY: null or pointers to records that were written before they were linked.
        while let Some(profiled) = unsafe { at.as_ref() } {
            if profiled.layer == layer {
                return Some(profiled);
            }
            at = profiled.next;
        }
        let (_, new) = PROFILES.push_with(|_| {
            let cell = UnsafeCell::new((Profile::default(), Last::default()));
            Profiled { layer, taken: AtomicBool::new(false), cell, next: head }
        })?;
        let new = std::ptr::from_ref(new).cast_mut();
        // A thread that loses the exchange leaves an unused record behind and finds the winner's in the next iteration.
        let _ = file.profiles.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire);
    }
}

impl Profiled {
    fn with<T>(&self, work: impl FnOnce(&mut (Profile, Last)) -> T) -> Option<T> {
        let mut waited = 0;
        while self.taken.swap(true, Ordering::Acquire) {
            if waited >= MOST_YIELDS {
                return None;
            }
            waited += 1;
            crate::threads::give_way();
        }
        // SAFETY: this call holds the lock.
        let result = work(unsafe { &mut *self.cell.get() });
        self.taken.store(false, Ordering::Release);
        Some(result)
    }
}

impl File {
    /// Runs `work` on the profile (access statistics) of the file's accesses through `layer`; `None` if the table is full or the lock was
    /// not available.
    pub(crate) fn with_profile<T>(
        &'static self,
        layer: Layer,
        work: impl FnOnce(&mut Profile, &mut Last) -> T,
    ) -> Option<T> {
        of(self, layer)?.with(|(profile, last)| work(profile, last))
    }

    /// Merges an access profile that [`Self::take_profiles`] removed back into the file's profile.
    pub(crate) fn give_back(&'static self, layer: Layer, taken: &Profile) {
        self.with_profile(layer, |profile, _| profile.merge(taken));
    }

    /// Returns the boundary in bytes at which aligned accesses to the file begin: the stripe size, or else `st_blksize`; 0 if both are unknown.
    pub(crate) fn alignment(&self) -> u64 {
        let [at_open, _] = self.layouts();
        let stripe = at_open.and_then(|layout| trace_format::layout::stripe_size(layout.source, layout.bytes));
        stripe.unwrap_or_else(|| u64::from(self.identity.get().block_size))
    }

    /// Removes and returns the file's profiles (access statistics), one per I/O layer.
    pub(crate) fn take_profiles(&'static self) -> Vec<(Layer, Profile)> {
        let mut at = self.profiles.load(Ordering::Acquire).cast_const();
        let mut taken = Vec::new();
        // SAFETY: null or records of the table.
        while let Some(profiled) = unsafe { at.as_ref() } {
            let profile = profiled.with(|(profile, _)| std::mem::take(profile));
            taken.extend(profile.filter(|profile| profile.accesses > 0).map(|profile| (profiled.layer, profile)));
            at = profiled.next;
        }
        taken
    }
}

impl Stream {
    /// True if the stream's offsets can be compared with each other to detect sequential access, since all its calls are on one file.
    pub(crate) fn has_order(&self) -> bool {
        !others::is_condensed(self.file)
    }
}

/// Discards all access profiles in a forked child, which has only one thread: locks held by other threads would never be released.
pub(super) fn forget(files: impl Iterator<Item = &'static File>) {
    files.for_each(|file| file.profiles.store(std::ptr::null_mut(), Ordering::Release));
    // SAFETY: in a forked child, which has only this thread and holds no reference into the table.
    unsafe { PROFILES.clear() };
}

/// Returns a null pointer, for a file that has no access profiles yet.
pub(super) const fn none() -> AtomicPtr<Profiled> {
    AtomicPtr::new(std::ptr::null_mut())
}
