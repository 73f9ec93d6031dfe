//! Sums over the calls of a cell: calls of one process and stream (one operation on one file), in one time window, of one size and storage
//! target.

use super::parts::LOG_BITS;
use super::usual::FAR;
use crate::model::StreamIx;

/// Stands for no storage target, or an unknown one.
pub const NO_TARGET: u32 = u32::MAX;
const AT_SOME_TIME: u64 = u64::MAX;
/// Least number of calls besides the longest one for their mean to count as usual.
const FEWEST_OTHERS: u64 = 3;

/// Identifies a cell (sums over similar calls) within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Number of the time window in which the calls begin.
    pub slot: u16,
    /// Stream of the calls (one operation on one file), as an index into the process's streams.
    pub stream: StreamIx,
    /// Size octave: bit length of the bytes per call.
    pub size: u8,
    /// Storage target of the first byte, or [`NO_TARGET`].
    pub target: u32,
}

/// Sums over the calls of a cell. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of calls in the cell.
    pub calls: u64,
    /// Bytes moved by the calls.
    pub bytes: u64,
    /// Time in the calls.
    pub time_ns: u64,
    /// Sum of the natural logarithms of the durations, times 2^16.
    logs: i64,
    /// Number of outliers: calls that took far longer than usual.
    pub far_calls: u64,
    /// Time in the outliers of the cell.
    pub far_ns: u64,
    /// Duration of the longest call in the cell.
    pub longest_ns: u64,
    /// Begin of the longest call since the job's start, or [`AT_SOME_TIME`] if unknown.
    pub longest_at: u64,
    /// Duration of the shortest call in the cell; 0 if unknown.
    pub shortest_ns: u64,
    /// Begin of the first call since the job's start, or [`AT_SOME_TIME`] if unknown.
    pub first_at: u64,
    /// Lowest and highest (exclusive) byte of the file that the calls access; if unknown, the first is not below the second.
    pub range: (u64, u64),
}

impl Sums {
    /// Adds the sums `other` over further calls of the cell.
    pub fn add(&mut self, other: &Self) {
        self.first_at = if self.calls == 0 { other.first_at } else { self.first_at.min(other.first_at) };
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
        self.far_calls = self.far_calls.saturating_add(other.far_calls);
        self.far_ns = self.far_ns.saturating_add(other.far_ns);
        self.shortest_ns = match (self.shortest_ns, other.shortest_ns) {
            (0, shortest) | (shortest, 0) => shortest,
            (mine, theirs) => mine.min(theirs),
        };
        let known = |range: (u64, u64)| range.0 < range.1;
        self.range = match (known(self.range), known(other.range)) {
            (true, true) => (self.range.0.min(other.range.0), self.range.1.max(other.range.1)),
            (false, _) => other.range,
            _ => self.range,
        };
        if (other.longest_ns, self.longest_at) > (self.longest_ns, other.longest_at) {
            (self.longest_ns, self.longest_at) = (other.longest_ns, other.longest_at);
        }
    }

    /// Returns the sums of a single call.
    pub(super) fn of_call(call: &Call) -> Self {
        let &Call { at, duration, logs, is_far, bytes, range } = call;
        Self {
            calls: 1,
            bytes,
            time_ns: duration,
            logs,
            far_calls: u64::from(is_far),
            far_ns: if is_far { duration } else { 0 },
            longest_ns: duration,
            longest_at: at,
            shortest_ns: duration.max(1),
            first_at: at,
            range,
        }
    }

    /// Adds a call; cheaper than [`Sums::add`], since all values of a call are known.
    #[inline]
    pub(super) fn add_call(&mut self, call: &Call) {
        let &Call { at, duration, logs, is_far, bytes, range } = call;
        self.calls += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(duration);
        // A logarithm takes 22 bits: no trace has enough calls for their sum to overflow.
        self.logs += logs;
        if is_far {
            self.far_calls += 1;
            self.far_ns = self.far_ns.saturating_add(duration);
        }
        self.shortest_ns = self.shortest_ns.min(duration.max(1));
        self.first_at = self.first_at.min(at);
        if duration > self.longest_ns || duration == self.longest_ns && at < self.longest_at {
            (self.longest_ns, self.longest_at) = (duration, at);
        }
        if range.0 < range.1 {
            let is_known = self.range.0 < self.range.1;
            self.range.0 = if is_known { self.range.0.min(range.0) } else { range.0 };
            self.range.1 = if is_known { self.range.1.max(range.1) } else { range.1 };
        }
    }

    /// Returns number, bytes and times of calls that are only in counters, as sums. `longest_ns`: longest duration, 0 if unknown.
    #[must_use]
    pub fn counted(calls: u64, bytes: u64, time_ns: u64, longest_ns: u64) -> Self {
        let mean = (time_ns / calls.max(1)).max(1);
        let logs = log(mean).saturating_mul(i64::try_from(calls).unwrap_or(i64::MAX));
        Self {
            calls,
            bytes,
            time_ns,
            logs,
            far_calls: 0,
            far_ns: 0,
            longest_ns,
            longest_at: AT_SOME_TIME,
            shortest_ns: 0,
            first_at: AT_SOME_TIME,
            range: (0, 0),
        }
    }

    /// Returns the mean duration of the calls without outliers, ns.
    #[must_use]
    pub fn mean_of_near_ns(&self) -> f64 {
        let near = self.calls.saturating_sub(self.far_calls).max(1);
        self.time_ns.saturating_sub(self.far_ns) as f64 / near as f64
    }

    /// For sums from counters ([`Sums::counted`]): true if the longest call took far longer than the mean of the others.
    #[must_use]
    pub fn has_stalled(&self) -> bool {
        let others = self.calls.saturating_sub(1);
        let rest_ns = self.time_ns.saturating_sub(self.longest_ns);
        others >= FEWEST_OTHERS && self.longest_ns as f64 * others as f64 >= rest_ns as f64 * FAR && self.longest_ns > 0
    }

    /// Counts the longest call as an outlier, so that one call does not make the others slow.
    #[must_use]
    pub fn with_stall(self) -> Self {
        let others = self.calls.saturating_sub(1).max(1);
        let mean = (self.time_ns.saturating_sub(self.longest_ns) / others).max(1);
        let logs = log(mean).saturating_mul(i64::try_from(others).unwrap_or(i64::MAX));
        Self { logs: logs.saturating_add(log(self.longest_ns)), far_calls: 1, far_ns: self.longest_ns, ..self }
    }

    /// Returns the begin of the first call, ns since the job's start; `None` if unknown.
    #[must_use]
    pub fn first_began(&self) -> Option<u64> {
        (self.first_at != AT_SOME_TIME).then_some(self.first_at)
    }

    /// Returns the begin of the longest call, ns since the job's start, if known.
    #[must_use]
    pub fn longest_began(&self) -> Option<u64> {
        (self.longest_at != AT_SOME_TIME).then_some(self.longest_at)
    }

    /// Returns the mean logarithm of the durations, without the longest call if there are several: one long call does not make the others
    /// slow.
    #[must_use]
    pub fn typical_log(&self) -> f64 {
        let (logs, calls) = if self.calls > 1 {
            (self.logs.saturating_sub(log(self.longest_ns)), self.calls - 1)
        } else {
            (self.logs, 1)
        };
        logs as f64 / f64::from(1 << LOG_BITS) / calls as f64
    }
}

/// A call to add to a cell.
pub(super) struct Call {
    /// Begin of the call, ns since the job's start.
    pub(super) at: u64,
    pub(super) duration: u64,
    /// Logarithm of `duration`, as returned by [`log`].
    pub(super) logs: i64,
    pub(super) is_far: bool,
    pub(super) bytes: u64,
    /// First byte that the call accesses and end of its bytes in the file, as for [`Sums::range`].
    pub(super) range: (u64, u64),
}

/// Returns the natural logarithm of a duration, times 2^16, with an error below 0.6 %.
#[inline]
pub(crate) fn log(duration: u64) -> i64 {
    const LN_2: i64 = 45426;
    let duration = duration.max(1);
    let octave = duration.ilog2();
    let part = i64::try_from((duration << (63 - octave) << 1) >> 48).unwrap_or(0);
    // Approximation: log2(1 + x) = x + 0.344 x (1 - x).
    let curve = (part * ((1 << LOG_BITS) - part)) >> LOG_BITS;
    let octaves = (i64::from(octave) << LOG_BITS) + part + ((curve * 22544) >> LOG_BITS);
    (octaves * LN_2) >> LOG_BITS
}

/// Returns the cell's key after merging 2^`merged` adjacent time windows. `whole`: value of `merged` at which the whole run is one time
/// window; above it, storage targets and then sizes are merged, too.
#[inline]
#[must_use]
pub fn coarse(key: Key, merged: u32, whole: u32) -> Key {
    if merged == 0 {
        return key;
    }
    let slot = if merged >= whole { 0 } else { key.slot >> merged << merged };
    let target = if merged > whole { NO_TARGET } else { key.target };
    let size = if merged > whole + 1 { key.size.min(1) } else { key.size };
    Key { slot, target, size, ..key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_near() {
        for duration in (1..2000).chain([123_456, 7_654_321, 1 << 40, u64::MAX]) {
            let exact = (duration as f64).ln();
            let found = log(duration) as f64 / f64::from(1 << LOG_BITS);
            assert!((found - exact).abs() < 0.006, "{duration}: {found}, not {exact}");
        }
    }
}
