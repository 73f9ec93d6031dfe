//! Counters of the streams (operations on files) in a spool (a process's recordings), and the portions of the counters that are already in
//! a trace.

use super::folded;
use super::parts::{i64_at, u64_at};
use crate::columns::TickScale;
use crate::counters::{Counters, Previous, SIZE_BINS};
use crate::meta::Missing;

/// Calls to be included in the returned counters: all calls that were folded into counters, or only those in no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// All calls that were ever added to the counters.
    All,
    /// Calls added to the counters that are not in any finished trace.
    InNoTrace {
        /// True if a trace is being written: then the minima and maxima also cover the calls that belong to that trace. (The sums always
        /// cover these calls.)
        under_way: bool,
    },
    /// Calls added to the counters that are neither in a finished trace nor in the trace that was being written.
    InNoTraceNorTaken,
}

/// Returns the end offset of the last call added to the counters `bytes` of one stream (operation on a file).
pub(super) fn previous(bytes: &[u8]) -> Previous {
    Previous::from_raw(i64_at(bytes, folded::PREVIOUS))
}

/// Decodes the counters of one stream (operation on a file); returns `None` if no calls of the stream are selected by `counts`.
pub(super) fn of(bytes: &[u8], scale: &TickScale, counts: Counts) -> Option<Missing> {
    let stream = u32::try_from(u64_at(bytes, folded::STREAM).checked_sub(1)?).ok()?;
    // Values are marked as taken before they are marked as written: if both are in a trace, the larger value is the one in the trace.
    let gone = |i: usize| {
        let taken = if counts == Counts::InNoTraceNorTaken { u64_at(bytes, folded::TAKEN + i * 8) } else { 0 };
        let written = if counts == Counts::All { 0 } else { u64_at(bytes, folded::WRITTEN + i * 8) };
        written.max(taken)
    };
    let [segments, total, duration, consecutive, sequential] =
        std::array::from_fn(|i| u64_at(bytes, folded::SUMS + i * 8).saturating_sub(gone(i)));
    let sizes =
        std::array::from_fn::<_, SIZE_BINS, _>(|i| u64_at(bytes, folded::SIZES + i * 8).saturating_sub(gone(5 + i)));
    // Minima and maxima of calls marked as taken are included if these calls are selected.
    let taken = |i: usize| u64_at(bytes, folded::TAKEN_EXTREMES + i * 8);
    let empty = Counters::default();
    let [max_duration, first_start, last_end, min_offset, max_end_offset] = if counts
        == (Counts::InNoTrace { under_way: true })
    {
        [taken(0), taken(1), taken(2), taken(3), taken(4)]
    } else {
        [empty.max_duration, empty.first_start, empty.last_end, empty.min_offset as u64, empty.max_end_offset as u64]
    };
    let passed = |ticks: u64| scale.nanoseconds(scale.base.saturating_add(ticks));
    let first_start = u64_at(bytes, folded::FIRST_START).min(first_start);
    let last_end = u64_at(bytes, folded::LAST_END).max(last_end);
    let counters = Counters {
        segments,
        bytes: total,
        duration: passed(duration),
        max_duration: passed(u64_at(bytes, folded::MAX_DURATION).max(max_duration)),
        first_start: scale.nanoseconds(first_start.min(last_end)),
        last_end: scale.nanoseconds(last_end),
        min_offset: i64_at(bytes, folded::MIN_OFFSET).min(min_offset as i64),
        max_end_offset: i64_at(bytes, folded::MAX_END_OFFSET).max(max_end_offset as i64),
        consecutive,
        sequential,
        sizes,
    };
    (segments > 0).then_some(Missing { stream, counters })
}
