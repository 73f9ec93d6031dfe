//! Which of the many calls of one collective operation on one communicator become segments. All members make them in the same order
//! (MPI 4.0, 6.1), so each finds by itself which the others keep: the first ones, then every second, every fourth, ... The rest is
//! counted. So the meetings of a run of days have room, and an operation that is rare is kept beside one that is not.

use crate::ops::{COLLECTIVES, Op, collective_place};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that all become segments.
const ALL_OF: u32 = 1 << 14;

/// Calls made, by operation.
pub(super) struct Calls([AtomicU32; COLLECTIVES]);

impl Calls {
    /// None.
    pub(super) const fn new() -> Self {
        Self([const { AtomicU32::new(0) }; COLLECTIVES])
    }

    /// Of another communicator from now on.
    #[cold]
    pub(super) fn begin(&self) {
        self.0.iter().for_each(|calls| calls.store(0, Ordering::Relaxed));
    }

    /// Counts one more; returns whether it becomes a segment. Nobody else makes one on the same communicator at the same time
    /// (MPI 4.0, 6.14).
    #[inline(always)]
    pub(super) fn keeps_next(&self, op: &Op) -> bool {
        let Some(calls) = self.0.get(collective_place(op)) else { return true };
        let before = calls.load(Ordering::Relaxed);
        calls.store(before.wrapping_add(1), Ordering::Relaxed);
        before < ALL_OF || is_kept(before)
    }
}

/// Whether the call that `before` others came before becomes a segment, from [`ALL_OF`] on: half of those kept before, for each time that
/// the number doubles.
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
