//! Memory alignment of the buffers that the program reads into and writes from: counts per stream (operation on a
//! file), and time of calls with aligned and with unaligned buffers.

use crate::op::Layer;
use serde::{Deserialize, Serialize};

/// Memory alignment of the buffers of one process's reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDef {
    /// Alignment checked, in bytes: a buffer is aligned if its address is a multiple of this number; 0 if the process did not record alignment.
    pub alignment: u64,
    /// Number of calls with aligned and with unaligned buffers, by stream (operation on a file), including calls that
    /// are stored only as counters.
    pub streams: Vec<MemoryUse>,
    /// Number and total time of calls with aligned and unaligned buffers, by layer, direction and size bin.
    pub costs: Vec<MemoryCost>,
}

/// Number of calls of one stream (operation on a file), by memory alignment of the calls' buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Id of the stream (operation on a file) whose calls are counted.
    pub stream: u32,
    /// Number of calls whose buffer address is known.
    pub known: u64,
    /// Number of calls whose buffer address is known and not a multiple of the alignment.
    pub unaligned: u64,
}

/// Number and total time of calls of one layer, direction and size bin, by memory alignment of the calls' buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCost {
    /// Layer (interface) of the calls: POSIX, MPI-IO, ...
    pub layer: Layer,
    /// Direction of the calls: 0 for reads, 1 for writes.
    pub writes: u8,
    /// Index of the bin of the calls' transfer size, see [`crate::counters::SIZE_BOUNDS`].
    pub size: u8,
    /// Number of calls whose buffer in the program's memory is aligned.
    pub aligned: u64,
    /// Total time of the calls whose buffer is aligned, in ns.
    pub aligned_ns: u64,
    /// Number of calls whose buffer in the program's memory is not aligned.
    pub unaligned: u64,
    /// Total time of the calls whose buffer is not aligned, in ns.
    pub unaligned_ns: u64,
}

impl MemoryDef {
    /// True if no memory alignment was recorded.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.alignment == 0
    }
}
