//! Sampling of frequent collective calls: decides which calls of one operation on one communicator become segments. All members make these
//! calls in the same order (MPI 4.0, 6.1), so each member knows without communication which calls the other members record: all of the
//! first calls, then every second, every fourth, and so on. Other calls are only counted. So the collective calls of a run of days fit into
//! memory, and rare operations stay visible beside frequent ones.

use crate::ops::{COLLECTIVES, Op, collective_place};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of calls, from the first on, that all become segments (are recorded individually), per operation and communicator.
const ALL_OF: u32 = 1 << 14;

/// Number of collective calls made on one communicator, by collective operation.
pub(super) struct Calls([AtomicU32; COLLECTIVES]);

impl Calls {
    pub(super) const fn new() -> Self {
        Self([const { AtomicU32::new(0) }; COLLECTIVES])
    }

    /// Resets the counters of calls, for reuse by another communicator.
    #[cold]
    pub(super) fn begin(&self) {
        self.0.iter().for_each(|calls| calls.store(0, Ordering::Relaxed));
    }

    /// Counts a call of `op`; true if it must be recorded individually (as a segment). Collective calls on a communicator never overlap
    /// (MPI 4.0, 6.14).
    #[inline(always)]
    pub(super) fn keeps_next(&self, op: &Op) -> bool {
        let Some(calls) = self.0.get(collective_place(op)) else { return true };
        let before = calls.load(Ordering::Relaxed);
        calls.store(before.wrapping_add(1), Ordering::Relaxed);
        before < ALL_OF || is_kept(before)
    }
}

/// True if the call after `before` ≥ [`ALL_OF`] earlier calls is recorded individually (as a segment). The sampling interval doubles
/// whenever the number of calls does.
#[cold]
const fn is_kept(before: u32) -> bool {
    let doubled = before.ilog2() - ALL_OF.ilog2();
    before.is_multiple_of(2 << doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_that_calls_double_as_many_more_are_kept() {
        let kept = |from: u32, until: u32| (from..until).filter(|before| is_kept(*before)).count() as u32;
        for doubled in 0..8 {
            assert_eq!(kept(ALL_OF << doubled, ALL_OF << (doubled + 1)), ALL_OF / 2);
        }
        assert!(is_kept(!((1 << 18) - 1)) && !is_kept(u32::MAX));
    }

    #[test]
    fn operations_are_counted_apart() {
        let calls = Calls::new();
        let kept = (0..4 * ALL_OF).filter(|_| calls.keeps_next(&crate::ops::MPI_ALLREDUCE)).count() as u32;
        assert_eq!(kept, 2 * ALL_OF);
        assert!((0..100).all(|_| calls.keeps_next(&crate::ops::MPI_BARRIER)));
    }
}
