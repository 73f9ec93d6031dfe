//! First start, last end and bytes of the calls in a time bin.

/// First start, last end and bytes of the calls that start, or end, in one time bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Earliest start in the bin, ns since the job's start; `u64::MAX` if no call starts in it.
    pub first_ns: u64,
    /// Latest end in the bin, ns since the job's start; 0 if no call ends in it.
    pub last_ns: u64,
    /// Bytes of the reads and writes that start in the bin, wherever they end.
    pub bytes: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { first_ns: u64::MAX, last_ns: 0, bytes: 0 }
    }
}

impl Moments {
    /// Merges the values of `other`, for the same time bin.
    pub fn merge(&mut self, other: Self) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
