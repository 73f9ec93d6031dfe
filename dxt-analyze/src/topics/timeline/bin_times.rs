//! First start, last end and bytes of the calls in a time bin.

/// First start, last end and bytes of the calls that start, or end, in one time bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Earliest start of a call in the bin, ns since the job's start; `u64::MAX` if no call starts in the bin.
    pub first_ns: u64,
    /// Latest end of a call in the bin, ns since the job's start; 0 if no call ends in the bin.
    pub last_ns: u64,
    /// Bytes of the reads and writes that start in the bin, regardless of their end.
    pub bytes: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { first_ns: u64::MAX, last_ns: 0, bytes: 0 }
    }
}

impl Moments {
    /// Adds the values of the same time bin from another thread of the analyzer.
    pub fn merge(&mut self, other: Self) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
