//! Access counts of a file from another tool. A Darshan log has the order and alignment of all accesses, but segments of only some of them,
//! or in another order. If the log has such counts, they take precedence over counts derived from segments.

use crate::op::Layer;
use crate::profile::Profile;
use serde::{Deserialize, Serialize};

/// Sequential access counts of a file's reads or of its writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of accesses whose order is known; 0 if none.
    pub known: u64,
    /// Number of accesses that began exactly where the previous one ended.
    pub consecutive: u64,
    /// Number of accesses that began at or after the end of the previous one.
    pub sequential: u64,
}

impl Order {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.consecutive = self.consecutive.saturating_add(other.consecutive);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// Counts from another tool over all reads and writes of a file through one layer, including those stored as segments. They replace the
/// counts derived from segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Layer of the accesses.
    pub layer: Layer,
    /// Sequential access counts of the reads. If no access's order is known, they are derived from the segments instead.
    pub reads: Order,
    /// Sequential access counts of the writes. If no access's order is known, they are derived from the segments instead.
    pub writes: Order,
    /// Alignment by which buffers were counted as aligned in memory, in bytes; 0 if unknown.
    pub memory_alignment: u64,
    /// Access profile, including alignment in the file and in memory.
    pub profile: Profile,
}

impl WholeDef {
    /// Returns the sequential access counts of the writes (`writes` is true) or of the reads.
    #[must_use]
    pub const fn order(&self, writes: bool) -> &Order {
        if writes { &self.writes } else { &self.reads }
    }
}
