//! Staging area: stores a packed block temporarily in the spool, while the chunk of the block's segments is converted to hold the block. If
//! the process is killed meanwhile, a reader finds either the segments or the block. Does nothing without a spool.
#![expect(unsafe_code, reason = "writes into the mapped spool")]

use crate::memory::{Area, Lent};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace_format::spool::staging::{BYTES, FIRST, LENGTH, PLACES};

static AREA: Area = Area::new();
static USED: AtomicBool = AtomicBool::new(false);

/// Uses `part` of the spool as the staging area (temporary store of packed blocks) from now on.
pub(super) fn lend(part: Lent) {
    // SAFETY: set-up runs in one thread, before any call is recorded. A spool stays mapped.
    unsafe { AREA.lend(part) };
    USED.store(true, Ordering::Release);
}

/// Discards the staging area (temporary store of packed blocks) in a forked child.
pub(super) fn forget() {
    USED.store(false, Ordering::Relaxed);
    // SAFETY: a forked child has only this thread, which holds no reference into the area.
    unsafe { AREA.forget() };
}

/// Returns the length field of entry number `place` of the staging area (temporary store of packed blocks); `None` if there is no such
/// entry.
fn length(place: usize) -> Option<&'static AtomicU32> {
    if !USED.load(Ordering::Acquire) || place >= PLACES {
        return None;
    }
    // Entries are allocated in order of their numbers, since most are never needed.
    while AREA.used() < (place + 1) * BYTES {
        AREA.take(|_| Some(BYTES))?;
    }
    // SAFETY: the entry lies inside the area.
    let at = unsafe { AREA.start().add(place * BYTES + LENGTH) };
    // SAFETY: the field is aligned and mapped, and any bits are valid.
    Some(unsafe { &*at.cast::<AtomicU32>() })
}

/// Copies a packed block (encoded segments) and its header to entry number `place`, which the caller owns, of the staging area (temporary
/// store in the spool).
pub(super) fn put(place: usize, block: &[u8]) {
    let Some(length) = length(place).filter(|_| block.len() <= BYTES - FIRST) else { return };
    // SAFETY: the entry lies inside the area.
    let at = unsafe { AREA.start().add(place * BYTES + FIRST) };
    // SAFETY: the block fits into the entry, which the caller owns.
    unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), at, block.len()) };
    length.store(block.len() as u32, Ordering::Release);
}

/// Empties entry number `place` of the staging area, after the packed block in it was stored in a chunk.
pub(super) fn clear(place: usize) {
    if let Some(length) = length(place) {
        length.store(0, Ordering::Release);
    }
}
