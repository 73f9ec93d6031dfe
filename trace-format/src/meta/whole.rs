//! Access counts of a file from another tool. A Darshan log counts the order and alignment of all accesses, but has segments of only some
//! accesses, or in another order. Counts from the log, if any, take precedence over counts derived from segments.

use crate::op::Layer;
use crate::profile::Profile;
use serde::{Deserialize, Serialize};

/// Counts of sequential and consecutive accesses over the reads, or over the writes, of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of accesses whose order is known; 0 if no order is known.
    pub known: u64,
    /// Number of accesses that began exactly where the previous access ended.
    pub consecutive: u64,
    /// Number of accesses that began at or after the end of the previous access.
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

/// Counts from another tool over all reads and writes of a file through one layer, including accesses stored as segments. They take
/// precedence over counts derived from segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Layer (interface) of the accesses: POSIX, MPI-IO, ...
    pub layer: Layer,
    /// Sequential access counts of the reads; if `known` is 0, the analyzer counts segments instead.
    pub reads: Order,
    /// Sequential access counts of the writes; if `known` is 0, the analyzer counts segments instead.
    pub writes: Order,
    /// Alignment with which the memory addresses of buffers were compared, in bytes; 0 if unknown.
    pub memory_alignment: u64,
    /// Statistics of the accesses: sizes, strides, slowest calls, and alignment in the file and in memory.
    pub profile: Profile,
}

impl WholeDef {
    /// Returns the sequential access counts of the writes if `writes` is true, else of the reads.
    #[must_use]
    pub const fn order(&self, writes: bool) -> &Order {
        if writes { &self.writes } else { &self.reads }
    }
}
