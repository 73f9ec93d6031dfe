//! What another tool counted of all accesses of a file: a Darshan log says how they followed each other and how they lay, and has
//! segments of some of them only, or in another order. Where it says so, it is believed.

use crate::op::Layer;
use crate::profile::Profile;
use serde::{Deserialize, Serialize};

/// How reads or writes followed each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Accesses of which it is known; 0: of none.
    pub known: u64,
    /// Those that began exactly where the one before ended.
    pub consecutive: u64,
    /// Those that began there or behind.
    pub sequential: u64,
}

impl Order {
    /// Adds other accesses.
    pub fn merge(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.consecutive = self.consecutive.saturating_add(other.consecutive);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// What was counted of all reads and writes of a file through a layer, those on record among them: it stands in the place of what
/// segments tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Layer.
    pub layer: Layer,
    /// Order of the reads. If none is known, segments tell.
    pub reads: Order,
    /// Order of the writes, likewise.
    pub writes: Order,
    /// Bytes at whose multiples memory was counted as aligned; 0 unknown.
    pub memory_alignment: u64,
    /// How they lay, in the file and in memory.
    pub profile: Profile,
}

impl WholeDef {
    /// Order of the reads or the writes.
    #[must_use]
    pub const fn order(&self, writes: bool) -> &Order {
        if writes { &self.writes } else { &self.reads }
    }
}
