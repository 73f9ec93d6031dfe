//! The process block: what one process says of itself, its files, its streams and what it has no segments of.

use super::codec;
use super::communicators::CommunicatorDef;
use super::data_sets::DataSetDef;
use super::memory::MemoryDef;
use super::mpi_io::{DatatypeExtents, DatatypeUse, HintDef};
use super::views::ViewDef;
use super::whole::WholeDef;
use crate::coded::coded;
use crate::counters::Counters;
use crate::op::Layer;
use crate::profile::Profile;
use crate::spread::Spread;
use serde::{Deserialize, Serialize};

/// Section tags of the process block.
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
}

/// The clock behind the segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum ClockSource {
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    #[default]
    Monotonic,
    /// The processor's invariant counter (x86-64 TSC, aarch64 CNTVCT).
    Counter,
    /// One that this version does not know.
    Other,
}

coded!(ClockSource { Monotonic = 0, Counter = 1, Other = 0xffff_ffff } else Other);

/// Identity and time of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Rank in `MPI_COMM_WORLD`, or the launcher's number of a process without MPI, or -1.
    pub rank: i32,
    /// Host name.
    pub node: String,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Path of the executable.
    pub exe: Vec<u8>,
    /// Wall clock at the process's time zero, in ns since 1970-01-01 UTC.
    pub epoch_unix_ns: i64,
    /// The clock.
    pub clock: ClockSource,
    /// Its rate in ticks per second, as measured over the whole run.
    pub clock_hz: u64,
    /// When the process left the barrier that aligns the ranks, in ns since its epoch.
    pub sync_ns: Option<u64>,
    /// When recording ended, in ns since the epoch.
    pub end_ns: u64,
    /// What ended it: `MPI_Finalize`, `exit`, `_exit`, ...
    pub ended_by: String,
    /// Segments on record.
    pub segments: u64,
    /// Segments that were recorded and then folded into [`Missing`].
    pub missing: u64,
    /// Segment frames.
    pub blocks: u32,
}

/// A thread that recorded something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadDef {
    /// Index that block heads give.
    pub index: u32,
    /// Kernel thread id.
    pub tid: u32,
}

/// What kind of file a path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum FileKind {
    /// Not known: named through MPI-IO only, or gone.
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

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDef {
    /// [`super::path_hash`] of the path.
    pub hash: u64,
    /// Its absolute path; `None` if the job block's names hold it.
    pub path: Option<Vec<u8>>,
    /// Kind.
    pub kind: FileKind,
    /// Device number (`st_dev`), 0 if unknown.
    pub device: u64,
    /// Inode number, 0 if unknown.
    pub inode: u64,
    /// Preferred I/O size in bytes (`st_blksize`), 0 if unknown.
    pub block_size: u32,
}

/// Bits of [`StreamDef::flags`].
pub mod stream_flags {
    /// The calls were made inside an MPI-IO call of the same thread.
    pub const NESTED: u8 = 1;
    /// The calls failed; [`super::StreamDef::errno`] says how.
    pub const FAILED: u8 = 2;
    /// The calls were made inside an HDF5 call of the same thread.
    pub const IN_HDF5: u8 = 8;
    /// The segments' offsets are estimates: others may have moved the position, or the file's end, at the same time.
    pub const ESTIMATED: u8 = 16;
    /// The calls returned when storage had the bytes: O_SYNC or O_DSYNC (open(2)), RWF_SYNC or RWF_DSYNC (pwritev2(2)).
    pub const THROUGH: u8 = 32;
    /// The calls went past the page cache: O_DIRECT (open(2)).
    pub const DIRECT: u8 = 64;
    /// The calls wrote where the file ended at that moment: O_APPEND (open(2)), RWF_APPEND (pwritev2(2)).
    pub const APPENDED: u8 = 128;
}

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamDef {
    /// Id that segments carry.
    pub id: u32,
    /// Index into the process's file table.
    pub file: u32,
    /// Code in the job's operation table.
    pub op: u16,
    /// Bits of [`stream_flags`].
    pub flags: u8,
    /// Error number of a failed stream, else 0.
    pub errno: u16,
}

/// Whose structure a layout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum LayoutSource {
    /// Extended attribute `lustre.lov`: `struct lov_user_md`.
    Lustre,
    /// Extended attribute `ceph.file.layout`: text.
    Ceph,
    /// One that this version does not know.
    Other,
}

coded!(LayoutSource { Lustre = 0, Ceph = 1, Other = 0xffff_ffff } else Other);

/// When a layout was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum LayoutMoment {
    /// When the file was opened.
    Open,
    /// When it was closed; a progressive layout has grown by then.
    Close,
    /// One that this version does not know.
    Other,
}

coded!(LayoutMoment { Open = 0, Close = 1, Other = 0xffff_ffff } else Other);

/// A file's stripe layout, as its file system gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutDef {
    /// Index into the process's file table.
    pub file: u32,
    /// When.
    pub moment: LayoutMoment,
    /// Whose.
    pub source: LayoutSource,
    /// The bytes; [`crate::layout`] reads them.
    pub bytes: Vec<u8>,
}

/// Exact counters of a stream's segments that are not on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Stream id.
    pub stream: u32,
    /// Times are in ns since the process's epoch.
    pub counters: Counters,
}

/// Something that was seen and not recorded, with how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What, in words for a report.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// How a file was accessed through one layer, over the accesses that are not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Layer.
    pub layer: Layer,
    /// Times are in ns since the process's epoch.
    pub profile: Profile,
}

/// How ranks differ in a file through one layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpreadDef {
    /// Index into the process's file table.
    pub file: u32,
    /// Layer.
    pub layer: Layer,
    /// The numbers.
    pub spread: Spread,
}

/// Bytes over time that a process moved through one layer, in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatDef {
    /// Layer.
    pub layer: Layer,
    /// Whether they were written.
    pub writes: bool,
    /// Width of a bin in ns; bin 0 begins at the process's epoch.
    pub width_ns: u64,
    /// Number of the bin that `bytes` begins with.
    pub first_bin: u64,
    /// Bytes, bin by bin.
    pub bytes: Vec<u64>,
}

/// What a process block says that stands for several ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// Ranks that it stands for; 0 in the block of one process.
    pub ranks: u32,
    /// Nodes on which they ran; 0 if that is not known.
    pub nodes: u32,
    /// Per file and layer.
    pub spreads: Vec<SpreadDef>,
}

/// The process block.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Process {
    /// Identity and time.
    pub info: ProcessInfo,
    /// Threads that recorded something.
    pub threads: Vec<ThreadDef>,
    /// Files, in the order in which they were first seen.
    pub files: Vec<FileDef>,
    /// Streams, by id.
    pub streams: Vec<StreamDef>,
    /// Layouts.
    pub layouts: Vec<LayoutDef>,
    /// What has no segment, per stream.
    pub missing: Vec<Missing>,
    /// What was not recorded.
    pub notes: Vec<Note>,
    /// Hints of files that were opened through MPI-IO.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<HintDef>,
    /// Datatypes of MPI-IO calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datatypes: Vec<DatatypeUse>,
    /// Extents of these datatypes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub datatype_extents: Vec<DatatypeExtents>,
    /// File views.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<ViewDef>,
    /// Data sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_sets: Vec<DataSetDef>,
    /// How files were accessed, as far as no segments say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileDef>,
    /// What is only there if the block stands for several ranks.
    #[serde(skip_serializing_if = "Reduction::is_none")]
    pub reduction: Reduction,
    /// Bytes over time, as far as no segments say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heat: Vec<HeatDef>,
    /// What another tool counted of all accesses, instead of what segments tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub whole: Vec<WholeDef>,
    /// Communicators of the layer MPI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub communicators: Vec<CommunicatorDef>,
    /// Where in memory reads and writes began.
    #[serde(skip_serializing_if = "MemoryDef::is_none")]
    pub memory: MemoryDef,
}

impl Reduction {
    /// Whether the block is that of one process.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.ranks == 0
    }
}

impl Process {
    /// Bytes of memory that its tables take, without what allocations round up.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let paths: usize = self.files.iter().flat_map(|file| &file.path).map(Vec::len).sum();
        let layouts: usize = self.layouts.iter().map(|layout| layout.bytes.len()).sum();
        let notes: usize = self.notes.iter().map(|note| note.what.len()).sum();
        let heat: usize = self.heat.iter().map(|def| size_of_val(def.bytes.as_slice())).sum();
        let sets = |set: &DataSetDef| set.path.len() + size_of_val(set.accesses.as_slice());
        let sets: usize = self.data_sets.iter().map(sets).sum();
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
            size_of_val(self.profiles.as_slice()),
            size_of_val(self.reduction.spreads.as_slice()),
            size_of_val(self.heat.as_slice()),
            size_of_val(self.whole.as_slice()),
            size_of_val(self.communicators.as_slice()),
            size_of_val(self.memory.streams.as_slice()),
            size_of_val(self.memory.costs.as_slice()),
        ];
        let info = size_of::<Self>() + self.info.exe.len() + self.info.node.len() + self.info.ended_by.len();
        let dimensions: usize = self.views.iter().map(|view| size_of_val(view.dimensions.as_slice())).sum();
        (info + lists.into_iter().sum::<usize>() + dimensions + paths + layouts + notes + heat + sets) as u64
    }

    /// The block's sections as bytes.
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
        out
    }

    /// From the decompressed payload of the process frame at file offset `offset`.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if a section makes no sense, [`crate::Error::Limit`] if it becomes too much.
    #[cfg(feature = "read")]
    pub fn decode(block: &[u8], offset: u64) -> crate::Result<Self> {
        Self::decode_within(block, offset, &crate::read::Meter::new(&crate::read::Room::default()))
    }

    /// As [`Self::decode`]; what is made counts.
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
                    // Of no ranks it says nothing.
                    process.reduction = if reduction.is_none() { Reduction::default() } else { reduction };
                }
                tag::HINTS => process.hints = codec::value("hints", bytes, offset, meter)?,
                tag::DATATYPES => process.datatypes = codec::value("datatypes", bytes, offset, meter)?,
                tag::DATATYPE_EXTENTS => {
                    process.datatype_extents = codec::value("extents of datatypes", bytes, offset, meter)?;
                }
                tag::VIEWS => process.views = codec::value("file views", bytes, offset, meter)?,
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
