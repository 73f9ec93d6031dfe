//! Alignment in memory of the buffers of reads and writes: counts per stream, and time of calls with aligned and with unaligned buffers.

use crate::op::Layer;
use serde::{Deserialize, Serialize};

/// Memory alignment of a process's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDef {
    /// Alignment, in bytes: buffers are aligned if they begin at a multiple; 0 if the process recorded none of this.
    pub alignment: u64,
    /// Calls by stream, including those that were folded into counters.
    pub streams: Vec<MemoryUse>,
    /// Calls and their time, by layer, direction and size.
    pub costs: Vec<MemoryCost>,
}

/// Memory alignment of a stream's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Id of the stream.
    pub stream: u32,
    /// Calls with a known buffer address.
    pub known: u64,
    /// Calls with a known buffer address that is not at a multiple of the alignment.
    pub unaligned: u64,
}

/// Calls of one layer, direction and size, and their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCost {
    /// Layer of the calls.
    pub layer: Layer,
    /// Direction: 0 reads, 1 writes.
    pub writes: u8,
    /// Size bin, as in [`crate::counters::SIZE_BOUNDS`].
    pub size: u8,
    /// Calls with an aligned buffer.
    pub aligned: u64,
    /// Sum of the durations of aligned calls, in ns.
    pub aligned_ns: u64,
    /// Calls with an unaligned buffer.
    pub unaligned: u64,
    /// Sum of the durations of unaligned calls, in ns.
    pub unaligned_ns: u64,
}

impl MemoryDef {
    /// True if nothing was recorded.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.alignment == 0
    }
}
