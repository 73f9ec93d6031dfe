//! Process block: description of one process, its files and streams, and statistics of calls that have no segments.

use super::codec;
use super::communicators::CommunicatorDef;
use super::data_sets::{ChunkDef, DataSetDef};
use super::memory::MemoryDef;
use super::mpi_io::{DatatypeExtents, DatatypeUse, HintDef};
use super::processor::ProcessorDef;
use super::sites::SitesDef;
use super::views::ViewDef;
use super::whole::WholeDef;
use crate::coded::coded;
use crate::counters::Counters;
use crate::op::Layer;
use crate::profile::Profile;
use crate::spread::Spread;
use serde::{Deserialize, Serialize};

mod tag {
    pub(super) const INFO: u16 = 1;
    pub(super) const THREADS: u16 = 2;
    pub(super) const FILES: u16 = 3;
    pub(super) const STREAMS: u16 = 4;
    pub(super) const LAYOUTS: u16 = 5;
    pub(super) const MISSING: u16 = 6;
    pub(super) const NOTES: u16 = 7;
    pub(super) const PROFILES: u16 = 8;
    pub(super) const SPREADS: u16 = 9;
    pub(super) const HINTS: u16 = 10;
    pub(super) const DATATYPES: u16 = 11;
    pub(super) const DATA_SETS: u16 = 12;
    pub(super) const HEAT: u16 = 13;
    pub(super) const WHOLE: u16 = 14;
    pub(super) const COMMUNICATORS: u16 = 15;
    pub(super) const MEMORY: u16 = 16;
    pub(super) const DATATYPE_EXTENTS: u16 = 17;
    pub(super) const VIEWS: u16 = 18;
    pub(super) const PROCESSOR: u16 = 19;
    pub(super) const CHUNKS: u16 = 20;
    pub(super) const SITES: u16 = 21;
    pub(super) const FUNCTIONS: u16 = 22;
}

/// Clock with which the times of segments were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum ClockSource {
    /// System call `clock_gettime(CLOCK_MONOTONIC)`.
    #[default]
    Monotonic,
    /// Processor's invariant counter (x86-64 TSC, aarch64 CNTVCT).
    Counter,
    /// Clock that this version does not know.
    Other,
}

coded!(ClockSource { Monotonic = 0, Counter = 1, Other = 0xffff_ffff } else Other);

/// Identity, clock and recording times of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Rank in `MPI_COMM_WORLD`; in a process without MPI the launcher's process number, or -1.
    pub rank: i32,
    /// Name of the node on which the process ran.
    pub node: String,
    /// Process id of the recorded process.
    pub pid: u32,
    /// Process id of the parent process.
    pub ppid: u32,
    /// Path of the process's executable.
    pub exe: Vec<u8>,
    /// Wall-clock time of the process's epoch (time zero), in ns since 1970-01-01 UTC.
    pub epoch_unix_ns: i64,
    /// Clock with which all times of the process were read.
    pub clock: ClockSource,
    /// Clock rate in ticks per second, measured over the process's whole run.
    pub clock_hz: u64,
    /// Time at which the process left the barrier that aligns the ranks' clocks at startup, in ns since the process's epoch.
    pub sync_ns: Option<u64>,
    /// Time at which recording ended, in ns since the process's epoch.
    pub end_ns: u64,
    /// Name of the call that ended the recording: `MPI_Finalize`, `exit`, `_exit`, ...
    pub ended_by: String,
    /// Number of the process's segments stored in the trace.
    pub segments: u64,
    /// Number of recorded calls that are stored in counters ([`Missing`]) instead of segments.
    pub missing: u64,
    /// Number of segment frames (compressed blocks of segments) of the process.
    pub blocks: u32,
}

/// Thread whose calls were recorded as segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDef {
    /// Index of the thread, to which block heads refer.
    pub index: u32,
    /// Thread id in the kernel (gettid(2)).
    pub tid: u32,
}

/// Type of a file, as in `st_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum FileKind {
    /// Unknown: the file was named only through MPI-IO, or no longer existed when the tracer looked at it.
    #[default]
    Unknown,
    /// Regular file.
    Regular,
    /// Block device.
    Block,
    /// Character device.
    Character,
}

coded!(FileKind { Unknown = 0, Regular = 1, Block = 2, Character = 3 } else Unknown);

/// File used by a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDef {
    /// Hash of the path, computed by [`super::path_hash`].
    pub hash: u64,
    /// Absolute path; `None` if the path is one of the shared names in the job block.
    pub path: Option<Vec<u8>>,
    /// Type of the file.
    pub kind: FileKind,
    /// Device number (`st_dev`); 0 if unknown.
    pub device: u64,
    /// Inode number (`st_ino`); 0 if unknown.
    pub inode: u64,
    /// Preferred I/O size (`st_blksize`), in bytes; 0 if unknown.
    pub block_size: u32,
}

/// Bits of [`StreamDef::flags`], each of which applies to all calls of a stream (operation on a file).
pub mod stream_flags {
    /// Calls made inside an MPI-IO call of the same thread.
    pub const NESTED: u8 = 1;
    /// Failed calls; [`super::StreamDef::errno`] holds the error number.
    pub const FAILED: u8 = 2;
    /// Calls made inside an HDF5 call of the same thread.
    pub const IN_HDF5: u8 = 8;
    /// Calls whose offsets are estimates: another process or thread, such as one that shares the open file description (open(2)), may have
    /// moved the file position or the end of the file at the same time.
    pub const ESTIMATED: u8 = 16;
    /// Synchronous calls, which returned after storage had the bytes: O_SYNC or O_DSYNC (open(2)), RWF_SYNC or RWF_DSYNC (pwritev2(2)).
    pub const THROUGH: u8 = 32;
    /// Calls that bypassed the page cache: O_DIRECT (open(2)).
    pub const DIRECT: u8 = 64;
    /// Calls that wrote at the current end of the file: O_APPEND (open(2)), RWF_APPEND (pwritev2(2)).
    pub const APPENDED: u8 = 128;
}

/// Stream: all calls of one operation on one file with the same flags and error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamDef {
    /// Stream id, to which segments refer.
    pub id: u32,
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Operation code, defined in the job's operation table.
    pub op: u16,
    /// Flags of the stream: bits of [`stream_flags`].
    pub flags: u8,
    /// Error number with which all calls of the stream failed; 0 for successful calls.
    pub errno: u16,
}

/// Source of a stripe layout; determines the layout's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum LayoutSource {
    /// Extended attribute `lustre.lov` of Lustre: `struct lov_user_md`.
    Lustre,
    /// Extended attribute `ceph.file.layout` of CephFS: text.
    Ceph,
    /// Layout source that this version does not know.
    Other,
}

coded!(LayoutSource { Lustre = 0, Ceph = 1, Other = 0xffff_ffff } else Other);

/// Time at which a stripe layout was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum LayoutMoment {
    /// Layout read when the file was opened.
    Open,
    /// Layout read when the file was closed; a progressive layout may have grown since the open.
    Close,
    /// Time of reading (code from a newer writer) that this version does not know.
    Other,
}

coded!(LayoutMoment { Open = 0, Close = 1, Other = 0xffff_ffff } else Other);

/// Stripe layout of a file, as reported by its file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Time at which the layout was read: open or close.
    pub moment: LayoutMoment,
    /// File system that reported the layout; determines the encoding of `bytes`.
    pub source: LayoutSource,
    /// Layout as encoded by the file system; [`crate::layout`] decodes it.
    pub bytes: Vec<u8>,
}

/// Exact totals over the calls of one stream (operation on a file) that are not stored as segments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Id of the stream (operation on a file) whose calls were counted.
    pub stream: u32,
    /// Totals over the stream's calls that are not stored as segments, with times in ns since the process's epoch.
    pub counters: Counters,
}

/// Kind of event that was observed but not recorded, with the number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Description of the event in words, for reports.
    pub what: String,
    /// Number of occurrences of the event.
    pub count: u64,
}

/// Statistics of the accesses to a file through one layer, over accesses that are not stored as segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Layer (interface) of the accesses.
    pub layer: Layer,
    /// Statistics of the accesses: sizes, strides, alignment and slowest calls, with times in ns since the process's
    /// epoch.
    pub profile: Profile,
}

/// Statistics over the ranks that used a file through one layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpreadDef {
    /// Index of the file in the process's file table.
    pub file: u32,
    /// Layer through which the ranks used the file.
    pub layer: Layer,
    /// Statistics over the ranks: slowest and fastest rank, means and variances.
    pub spread: Spread,
}

/// Bytes that a process transferred per time bin through one layer, in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatDef {
    /// Layer (interface) of the transfers.
    pub layer: Layer,
    /// True for bytes written, false for bytes read.
    pub writes: bool,
    /// Width of a time bin, in ns; bin 0 begins at the process's epoch.
    pub width_ns: u64,
    /// Index of the time bin to which the first element of `bytes` belongs.
    pub first_bin: u64,
    /// Number of bytes transferred per time bin.
    pub bytes: Vec<u64>,
}

/// Additional data of a reduced process block (a block that stands for several ranks).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// Number of ranks that the block stands for; 0 if the block belongs to a single process.
    pub ranks: u32,
    /// Number of nodes on which the ranks of the block ran; 0 if unknown.
    pub nodes: u32,
    /// Statistics over the ranks of the block, by file and layer.
    pub spreads: Vec<SpreadDef>,
}

/// Process block: everything that a trace stores about a process, except segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Process {
    /// Identity, clock and recording times of the process.
    pub info: ProcessInfo,
    /// Threads of which calls were recorded as segments.
    pub threads: Vec<ThreadDef>,
    /// Files used by the process, in order of first use.
    pub files: Vec<FileDef>,
    /// Streams of the process, each of which stands for one operation on one file.
    pub streams: Vec<StreamDef>,
    /// Stripe layouts of the process's files, as read at opens and closes.
    pub layouts: Vec<LayoutDef>,
    /// Totals over calls that are not stored as segments, by stream (operation on a file).
    pub missing: Vec<Missing>,
    /// Events that were observed but not recorded, with their counts.
    pub notes: Vec<Note>,
    /// Hints of files opened through MPI-IO.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintDef>,
    /// MPI datatypes used by MPI-IO calls, with the number of calls per file, purpose and constructor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datatypes: Vec<DatatypeUse>,
    /// Histograms of the extents of the MPI datatypes used by MPI-IO calls, per file and purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datatype_extents: Vec<DatatypeExtents>,
    /// MPI-IO file views that the process set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<ViewDef>,
    /// HDF5 data sets inside the process's files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_sets: Vec<DataSetDef>,
    /// Chunk shapes and cache sizes of chunked data sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<ChunkDef>,
    /// Totals and patterns of accesses that are not stored as segments, per file and layer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileDef>,
    /// Data of a reduced block (a block that stands for several ranks); empty in other blocks.
    #[serde(skip_serializing_if = "Reduction::is_none")]
    pub reduction: Reduction,
    /// Bytes transferred per time bin, for accesses that are not stored as segments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heat: Vec<HeatDef>,
    /// Access counts from another tool (Darshan), which take precedence over counts derived from segments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub whole: Vec<WholeDef>,
    /// MPI communicators whose collective calls are recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<CommunicatorDef>,
    /// Memory alignment of the buffers of reads and writes.
    #[serde(skip_serializing_if = "MemoryDef::is_none")]
    pub memory: MemoryDef,
    /// CPUs on which the process may run, and the times that its threads ran on a CPU or waited for one.
    #[serde(skip_serializing_if = "ProcessorDef::is_none")]
    pub processor: ProcessorDef,
    /// Call sites: the call stacks from which the streams' calls were made.
    #[serde(skip_serializing_if = "SitesDef::is_none")]
    pub sites: SitesDef,
}

impl Reduction {
    /// True if the block belongs to a single process, so that there is no additional data.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.ranks == 0
    }
}

impl Process {
    /// Returns the memory held by the block's tables, in bytes, excluding allocator overhead.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let paths: usize = self.files.iter().flat_map(|file| &file.path).map(Vec::len).sum();
        let layouts: usize = self.layouts.iter().map(|layout| layout.bytes.len()).sum();
        let notes: usize = self.notes.iter().map(|note| note.what.len()).sum();
        let heat: usize = self.heat.iter().map(|def| size_of_val(def.bytes.as_slice())).sum();
        let sets = |set: &DataSetDef| set.path.len() + size_of_val(set.accesses.as_slice());
        let sets: usize = self.data_sets.iter().map(sets).sum();
        let samples: usize = self.processor.threads.iter().map(|of| size_of_val(of.samples.as_slice())).sum();
        let chunks: usize = self.chunks.iter().map(|chunk| size_of_val(chunk.shape.as_slice())).sum();
        let lists = [
            size_of_val(self.threads.as_slice()),
            size_of_val(self.files.as_slice()),
            size_of_val(self.streams.as_slice()),
            size_of_val(self.layouts.as_slice()),
            size_of_val(self.missing.as_slice()),
            size_of_val(self.hints.as_slice()),
            size_of_val(self.datatypes.as_slice()),
            size_of_val(self.datatype_extents.as_slice()),
            size_of_val(self.views.as_slice()),
            size_of_val(self.data_sets.as_slice()),
            size_of_val(self.chunks.as_slice()),
            size_of_val(self.profiles.as_slice()),
            size_of_val(self.reduction.spreads.as_slice()),
            size_of_val(self.heat.as_slice()),
            size_of_val(self.whole.as_slice()),
            size_of_val(self.communicators.as_slice()),
            size_of_val(self.memory.streams.as_slice()),
            size_of_val(self.memory.costs.as_slice()),
            size_of_val(self.processor.cpus.as_slice()),
            size_of_val(self.processor.threads.as_slice()),
        ];
        let info = size_of::<Self>() + self.info.exe.len() + self.info.node.len() + self.info.ended_by.len();
        let dimensions: usize = self.views.iter().map(|view| size_of_val(view.dimensions.as_slice())).sum();
        (info
            + lists.into_iter().sum::<usize>()
            + dimensions
            + paths
            + layouts
            + notes
            + heat
            + sets
            + samples
            + chunks
            + self.sites.held_bytes()) as u64
    }

    /// Encodes the process block as a list of tagged sections.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        codec::section(tag::INFO, &self.info, &mut out);
        codec::section(tag::THREADS, &self.threads, &mut out);
        codec::section(tag::FILES, &self.files, &mut out);
        codec::section(tag::STREAMS, &self.streams, &mut out);
        codec::section(tag::LAYOUTS, &self.layouts, &mut out);
        codec::section(tag::MISSING, &self.missing, &mut out);
        codec::section(tag::NOTES, &self.notes, &mut out);
        if !self.profiles.is_empty() {
            codec::section(tag::PROFILES, &self.profiles, &mut out);
        }
        if !self.reduction.is_none() {
            codec::section(tag::SPREADS, &self.reduction, &mut out);
        }
        codec::list_section(tag::HINTS, &self.hints, &mut out);
        codec::list_section(tag::DATATYPES, &self.datatypes, &mut out);
        codec::list_section(tag::DATA_SETS, &self.data_sets, &mut out);
        codec::list_section(tag::HEAT, &self.heat, &mut out);
        codec::list_section(tag::WHOLE, &self.whole, &mut out);
        codec::list_section(tag::COMMUNICATORS, &self.communicators, &mut out);
        if !self.memory.is_none() {
            codec::section(tag::MEMORY, &self.memory, &mut out);
        }
        codec::list_section(tag::DATATYPE_EXTENTS, &self.datatype_extents, &mut out);
        codec::list_section(tag::VIEWS, &self.views, &mut out);
        if !self.processor.is_none() {
            codec::section(tag::PROCESSOR, &self.processor, &mut out);
        }
        codec::list_section(tag::CHUNKS, &self.chunks, &mut out);
        if !self.sites.is_none() {
            codec::section(tag::SITES, &self.sites, &mut out);
            codec::list_section(tag::FUNCTIONS, &self.sites.functions, &mut out);
        }
        out
    }

    /// Decodes the decompressed payload of the process frame at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`crate::Error::Malformed`] if a section is invalid, and [`crate::Error::Limit`] if the tables exceed the memory limit.
    #[cfg(feature = "read")]
    pub fn decode(block: &[u8], offset: u64) -> crate::Result<Self> {
        Self::decode_within(block, offset, &crate::read::Meter::new(&crate::read::Room::default()))
    }

    /// Decodes the process block like [`Self::decode`], charging the memory to `meter`.
    #[cfg(feature = "read")]
    pub(crate) fn decode_within(block: &[u8], offset: u64, meter: &crate::read::Meter<'_>) -> crate::Result<Self> {
        let mut process = Self::default();
        for section in codec::sections(block, offset) {
            let (tag, bytes) = section?;
            match tag {
                tag::INFO => process.info = codec::value("a process's description", bytes, offset, meter)?,
                tag::THREADS => process.threads = codec::value("a thread table", bytes, offset, meter)?,
                tag::FILES => process.files = codec::value("a file table", bytes, offset, meter)?,
                tag::STREAMS => process.streams = codec::value("a stream table", bytes, offset, meter)?,
                tag::LAYOUTS => process.layouts = codec::value("a layout table", bytes, offset, meter)?,
                tag::MISSING => process.missing = codec::value("counters of missing segments", bytes, offset, meter)?,
                tag::NOTES => process.notes = codec::value("notes", bytes, offset, meter)?,
                tag::PROFILES => process.profiles = codec::value("profiles", bytes, offset, meter)?,
                tag::SPREADS => {
                    let reduction: Reduction = codec::value("spreads over ranks", bytes, offset, meter)?;
                    // A reduction that stands for no ranks contains no information.
                    process.reduction = if reduction.is_none() { Reduction::default() } else { reduction };
                }
                tag::HINTS => process.hints = codec::value("hints", bytes, offset, meter)?,
                tag::DATATYPES => process.datatypes = codec::value("datatypes", bytes, offset, meter)?,
                tag::DATATYPE_EXTENTS => {
                    process.datatype_extents = codec::value("extents of datatypes", bytes, offset, meter)?;
                }
                tag::PROCESSOR => process.processor = codec::value("the use of the processors", bytes, offset, meter)?,
                tag::VIEWS => process.views = codec::value("file views", bytes, offset, meter)?,
                tag::CHUNKS => process.chunks = codec::value("chunks of data sets", bytes, offset, meter)?,
                tag::SITES => {
                    let functions = std::mem::take(&mut process.sites.functions);
                    process.sites = codec::value("call sites", bytes, offset, meter)?;
                    process.sites.functions = functions;
                }
                tag::FUNCTIONS => {
                    process.sites.functions = codec::value("functions of scripts", bytes, offset, meter)?;
                }
                tag::DATA_SETS => process.data_sets = codec::value("data sets", bytes, offset, meter)?,
                tag::HEAT => process.heat = codec::value("bytes over time", bytes, offset, meter)?,
                tag::COMMUNICATORS => process.communicators = codec::value("communicators", bytes, offset, meter)?,
                tag::MEMORY => process.memory = codec::value("where in memory calls began", bytes, offset, meter)?,
                tag::WHOLE => process.whole = codec::value("what was counted of all accesses", bytes, offset, meter)?,
                _ => {}
            }
        }
        Ok(process)
    }
}
