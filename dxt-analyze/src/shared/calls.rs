//! Totals over a set of calls: number, bytes and time.

use serde::{Deserialize, Serialize};

/// Number, bytes and time of a set of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSum {
    /// Number of calls in the set.
    pub calls: u64,
    /// Bytes transferred by the calls.
    pub bytes: u64,
    /// Time in the calls, ns, summed over processes and threads.
    pub time_ns: u64,
}

impl CallSum {
    /// Returns the totals of a single call of `time_ns` ns that moved `bytes`.
    #[must_use]
    pub const fn call(bytes: u64, time_ns: u64) -> Self {
        Self { calls: 1, bytes, time_ns }
    }

    /// Adds the totals of another set of calls.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}
