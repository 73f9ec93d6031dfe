//! Where a packed block lies while the chunk that it came from becomes its place: whoever is killed meanwhile has either the
//! segments or the block in the spool. Without a spool there is nothing to do.
#![expect(unsafe_code, reason = "writes into the mapped spool")]

use crate::memory::{Area, Lent};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace_format::spool::landing::{BYTES, FIRST, LENGTH, PLACES};

static AREA: Area = Area::new();
static USED: AtomicBool = AtomicBool::new(false);

/// From now on the places lie in the spool.
pub(super) fn lend(part: Lent) {
    // SAFETY: the tracer is being set up, by one thread: nothing is recorded yet. A spool stays mapped.
    unsafe { AREA.lend(part) };
    USED.store(true, Ordering::Release);
}

/// There are none: for a forked child.
pub(super) fn forget() {
    USED.store(false, Ordering::Relaxed);
    // SAFETY: in a forked child, which has this thread alone and holds nothing of it any more.
    unsafe { AREA.forget() };
}

/// The length of the block in a place; `None` if there is no such place.
fn length(place: usize) -> Option<&'static AtomicU32> {
    if !USED.load(Ordering::Acquire) || place >= PLACES {
        return None;
    }
    // Places are taken one after another, since most are never needed.
    while AREA.used() < (place + 1) * BYTES {
        AREA.take(|_| Some(BYTES))?;
    }
    // SAFETY: inside the area.
    let at = unsafe { AREA.start().add(place * BYTES + LENGTH) };
    // SAFETY: aligned, mapped, any bits are valid.
    Some(unsafe { &*at.cast::<AtomicU32>() })
}

/// Puts a block with its header into place number `place`, which is the caller's.
pub(super) fn put(place: usize, block: &[u8]) {
    let Some(length) = length(place).filter(|_| block.len() <= BYTES - FIRST) else { return };
    // SAFETY: inside the area.
    let at = unsafe { AREA.start().add(place * BYTES + FIRST) };
    // SAFETY: the place has room for the block and is the caller's.
    unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), at, block.len()) };
    length.store(block.len() as u32, Ordering::Release);
}

/// Empties it: the block is where it belongs.
pub(super) fn clear(place: usize) {
    if let Some(length) = length(place) {
        length.store(0, Ordering::Release);
    }
}
