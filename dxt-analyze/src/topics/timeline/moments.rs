//! When the calls of a bin begin and end.

/// What is known of the calls that begin, or end, in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Earliest start of those that begin in it, ns since the job's start; `u64::MAX` if none does.
    pub first_ns: u64,
    /// Latest end of those that end in it; 0 if none does.
    pub last_ns: u64,
    /// Bytes of the reads and writes that begin in it, wherever they end.
    pub bytes: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { first_ns: u64::MAX, last_ns: 0, bytes: 0 }
    }
}

impl Moments {
    /// Adds `other`.
    pub fn merge(&mut self, other: Self) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
