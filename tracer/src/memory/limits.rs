//! Limits of address space and of locked memory: the tracer's reservations must not take memory that the program could use without the
//! tracer. Tables take some 1.2 GiB of address space, nearly all of it never touched.
#![expect(unsafe_code, reason = "getrlimit(2), munlock(2)")]

use super::{growable_region, heap};
use std::sync::atomic::{AtomicUsize, Ordering};

static SCALE: AtomicUsize = AtomicUsize::new(1);

/// Returns the divisor by which the tracer's tables are smaller than usual; 1 unless address space is limited.
pub(crate) fn scale() -> usize {
    SCALE.load(Ordering::Relaxed)
}

/// Minimum limit of address space (RLIMIT_AS) with which calls are recorded, in bytes: below it the program itself needs most of the
/// memory.
const LEAST_SPACE: u64 = 24 << 20;
/// Minimum limit of data size (RLIMIT_DATA) with which calls are recorded, in bytes.
const LEAST_DATA: u64 = 8 << 20;

/// Divisor of the sizes of the tracer's tables from which address space counts as scarce: reached below some 56 MiB of address space.
const SCARCE: usize = 512;

/// True if the limit of address space is below some 56 MiB.
pub(crate) fn is_scarce() -> bool {
    scale() >= SCARCE
}

/// Determines the divisor of the sizes of the tracer's tables from the resource limits; returns false if they leave no room at all. Called
/// from the library's constructor.
pub(crate) fn look_at_limits() -> bool {
    let space = soft_limit(libc::RLIMIT_AS);
    if let Some(limit) = space {
        SCALE.store(scale_for(limit), Ordering::Relaxed);
    }
    space.is_none_or(|limit| limit >= LEAST_SPACE)
        && soft_limit(libc::RLIMIT_DATA).is_none_or(|limit| limit >= LEAST_DATA)
}

/// Returns the soft limit of the resource `kind` (RLIMIT_AS and so on); `None` if unlimited.
pub(crate) fn soft_limit(kind: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is a local variable, as the system call defines it. Raw system call, since the program may wrap the function.
    let known = unsafe { crate::sys::syscall!(libc::SYS_prlimit64, 0, kind, 0_usize, &raw mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns the divisor of the sizes of the tracer's tables with which all tables take about 1/16 of `limit` bytes.
fn scale_for(limit: u64) -> usize {
    let sixteenth = (limit / 16).max(1);
    ((900 << 20) / sixteenth).next_power_of_two().clamp(1, 1 << 10) as usize
}

/// Releases unused reservations, because address space, or locked memory (which includes reserved space), is now limited to `limit` bytes.
/// Tables are then no larger than if they had been created under that limit. Returns the new divisor of their sizes if it has grown.
pub(crate) fn make_room_for(limit: u64) -> Option<usize> {
    let (before, now) = (scale(), scale_for(limit));
    if now <= before {
        return None;
    }
    SCALE.store(now, Ordering::Relaxed);
    growable_region::each(|area| area.shrink(now / before));
    heap::shrink(now / before);
    Some(now)
}

/// Unlocks the tracer's memory except its stacks, after the program has locked all of its memory. Otherwise reservations would count as
/// locked, and be populated when committed.
pub(crate) fn keep_out_of_locks() {
    growable_region::each(|area| area.ranges().into_iter().for_each(|(start, bytes)| unlock(start, bytes)));
    heap::ranges().for_each(|(start, bytes)| unlock(start, bytes));
}

/// Unlocks a range of the tracer's memory that was mapped after the program had locked its memory.
pub(crate) fn unlock(start: *mut u8, bytes: usize) {
    if !start.is_null() && bytes > 0 {
        // SAFETY: the range belongs to the tracer; unlocking has no visible effect on it.
        unsafe { crate::sys::syscall!(libc::SYS_munlock, start, bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_take_a_sixteenth() {
        assert_eq!((scale_for(u64::MAX), scale_for(16 << 30), scale_for(1 << 30), scale_for(0)), (1, 1, 16, 1024));
    }
}
