//! Where in memory the bytes of reads and writes came from or went to, as far as segments do not say: counts per stream, and what
//! calls with aligned and with unaligned memory took.

use crate::op::Layer;
use serde::{Deserialize, Serialize};

/// What a process tells of its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDef {
    /// Bytes at whose multiples memory counts as aligned; 0: the process tells nothing.
    pub alignment: u64,
    /// By stream; of calls with segments and of those that were folded into counters.
    pub streams: Vec<MemoryUse>,
    /// By layer, direction and size.
    pub costs: Vec<MemoryCost>,
}

/// Calls of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Its id.
    pub stream: u32,
    /// Calls of which it is known where in memory they began.
    pub known: u64,
    /// Those of them that began off a multiple of the alignment.
    pub unaligned: u64,
}

/// Calls of one kind and size, and their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCost {
    /// Layer.
    pub layer: Layer,
    /// 0 reads, 1 writes.
    pub writes: u8,
    /// Bin of [`crate::counters::SIZE_BOUNDS`].
    pub size: u8,
    /// Calls that began at a multiple of the alignment.
    pub aligned: u64,
    /// Sum of their durations, in ns.
    pub aligned_ns: u64,
    /// Calls that began off one.
    pub unaligned: u64,
    /// Sum of their durations, in ns.
    pub unaligned_ns: u64,
}

impl MemoryDef {
    /// Whether nothing is told.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.alignment == 0
    }
}
