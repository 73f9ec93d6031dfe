//! Readings of this machine's clocks, to compute the rate of the clock with which a spool's process timed its calls: the older the spool,
//! the more precise the rate.

use rustix::time::{ClockId, clock_gettime};
use trace_format::spool::{Clock, Head};

/// Number of attempts to read both clocks almost simultaneously.
const TRIES: usize = 9;

/// Returns simultaneous readings of the processor's counter, with which the spool's process timed its calls, and of CLOCK_MONOTONIC; `None`
/// if the process used CLOCK_MONOTONIC itself, or if this process cannot read the counter.
pub fn now(head: &Head) -> Option<Clock> {
    if !head.uses_counter() {
        return None;
    }
    let counter = quanta::Clock::new();
    let read = || {
        let before = counter.raw();
        let monotonic_ns = monotonic_ns();
        let after = counter.raw();
        (after.wrapping_sub(before), Clock { ticks: before + after.wrapping_sub(before) / 2, monotonic_ns })
    };
    let (_, now) = (0..TRIES).map(|_| read()).min_by_key(|(took, _)| *took)?;
    // If the library does not trust the counter, it returns ns instead of ticks, and the reading is useless.
    (now.ticks.abs_diff(now.monotonic_ns) > 1_000_000).then_some(now)
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
