//! Counts of all accesses of a file by another tool. A Darshan log has the order and alignment of all accesses, but segments of only some
//! of them, or in another order; where it has such counts, they take precedence.

use crate::op::Layer;
use crate::profile::Profile;
use serde::{Deserialize, Serialize};

/// Order of reads or of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Accesses whose order is known; 0 if none.
    pub known: u64,
    /// Accesses that began exactly where the previous one ended.
    pub consecutive: u64,
    /// Accesses that began at or after the end of the previous one.
    pub sequential: u64,
}

impl Order {
    /// Adds the counts of other accesses.
    pub fn merge(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.consecutive = self.consecutive.saturating_add(other.consecutive);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// Counts of all reads and writes of a file through a layer, including those on record. They replace the counts derived from segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Layer of the accesses.
    pub layer: Layer,
    /// Order of the reads; if none is known, it follows from the segments.
    pub reads: Order,
    /// Order of the writes; if none is known, it follows from the segments.
    pub writes: Order,
    /// Alignment by which memory was counted as aligned, in bytes; 0 if unknown.
    pub memory_alignment: u64,
    /// Profile of the accesses, including alignment in the file and in memory.
    pub profile: Profile,
}

impl WholeDef {
    /// Returns the order of the writes or of the reads.
    #[must_use]
    pub const fn order(&self, writes: bool) -> &Order {
        if writes { &self.writes } else { &self.reads }
    }
}
