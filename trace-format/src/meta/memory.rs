//! Memory alignment of the program's buffers for reads and writes: counts per stream, and time of calls with aligned and with unaligned
//! buffers.

use crate::op::Layer;
use serde::{Deserialize, Serialize};

/// Memory alignment of the buffers of a process's reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDef {
    /// Alignment checked, in bytes: a buffer is aligned if its address is a multiple of this number. 0 if the process recorded no
    /// alignment.
    pub alignment: u64,
    /// Number of aligned and unaligned calls by stream, including calls folded into counters.
    pub streams: Vec<MemoryUse>,
    /// Number and total time of calls, by layer, direction and size bin.
    pub costs: Vec<MemoryCost>,
}

/// Memory alignment of the buffers of one stream's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Id of the stream.
    pub stream: u32,
    /// Number of calls with a known buffer address.
    pub known: u64,
    /// Number of calls with a known buffer address that is not a multiple of the alignment.
    pub unaligned: u64,
}

/// Number and total time of the calls of one layer, direction and size bin, by memory alignment of their buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCost {
    /// Layer of the calls.
    pub layer: Layer,
    /// Direction: 0 reads, 1 writes.
    pub writes: u8,
    /// Size bin, as in [`crate::counters::SIZE_BOUNDS`].
    pub size: u8,
    /// Number of calls with an aligned buffer.
    pub aligned: u64,
    /// Total time of calls with an aligned buffer, in ns.
    pub aligned_ns: u64,
    /// Number of calls with an unaligned buffer.
    pub unaligned: u64,
    /// Total time of calls with an unaligned buffer, in ns.
    pub unaligned_ns: u64,
}

impl MemoryDef {
    /// True if no memory alignment was recorded.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.alignment == 0
    }
}
