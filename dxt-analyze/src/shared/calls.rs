//! Number, bytes and duration of calls.

use serde::{Deserialize, Serialize};

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSum {
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time in the calls, ns.
    pub time_ns: u64,
}

impl CallSum {
    /// Returns the sums of one call.
    #[must_use]
    pub const fn call(bytes: u64, time_ns: u64) -> Self {
        Self { calls: 1, bytes, time_ns }
    }

    /// Adds `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}
