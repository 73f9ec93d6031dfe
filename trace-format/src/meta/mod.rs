//! Metadata blocks: descriptions of the job and of each process. On disk, a block is a list of tagged sections: new data gets a new tag, and
//! readers skip unknown tags (`FORMAT.md`, "Metadata").

mod codec;
mod communicators;
mod data_sets;
mod job;
mod memory;
#[cfg(feature = "read")]
mod metered;
mod mpi_io;
mod process;
mod processor;
mod sites;
mod views;
mod whole;

pub use communicators::{CommunicatorDef, WORLD};
pub use data_sets::{ChunkDef, DataSetAccess, DataSetDef, Selection};
pub use job::{Job, JobInfo, Mount, Mpi, SharedName};
pub use memory::{MemoryCost, MemoryDef, MemoryUse};
pub use mpi_io::{Combiner, DatatypeExtents, DatatypeRole, DatatypeUse, HintDef, HintOrigin, extent_bin};
pub use process::{
    ClockSource, FileDef, FileKind, HeatDef, LayoutDef, LayoutMoment, LayoutSource, Missing, Note, Process,
    ProcessInfo, ProfileDef, Reduction, SpreadDef, StreamDef, ThreadDef, stream_flags,
};
pub use processor::{CpuSample, ProcessorDef, ThreadTimes};
pub use sites::{FrameDef, FunctionDef, ModuleDef, SitesDef, StreamSite, script_address, script_place};
pub use views::{DimensionDef, ViewDef};
pub use whole::{Order, WholeDef};

/// Returns the id of a file: the 64-bit FNV-1a hash of its path. A file has the same id in every process of a job.
#[must_use]
pub const fn path_hash(path: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < path.len() {
        hash = (hash ^ path[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}
