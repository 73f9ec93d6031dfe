//! A loaded job: the tables that segments refer to, merged over all files and processes. No segments live here; blocks
//! are read by the scan.

use super::ProcessId;
use super::filters::Filters;
use super::origin::{Kept, Origin};
use super::shape::Shape;
use super::stream::Stream;
use super::users::FileRanks;
use crate::model::content::Content;
use crate::model::converted::Converted;
use crate::model::details::{DataSet, DatatypeSum, ExtentSum, Hint};
use crate::model::notes::Note;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use trace_format::counters::Counters;
use trace_format::layout::Layout;
use trace_format::meta::{
    CommunicatorDef, HeatDef, JobInfo, MemoryDef, Missing, ProfileDef, Reduction, ThreadDef, ViewDef, WholeDef,
};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::profile::MEMORY_ALIGNMENT;
use trace_format::read::{BlockRef, Trace};

/// An operation of the job. `layer` and `class` are `None` if the operation table that names it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// Interface.
    pub layer: Option<Layer>,
    /// Kind of work.
    pub class: Option<OpClass>,
    /// Form of the call.
    pub mode: OpMode,
    /// Lower-case name.
    pub name: String,
}

impl From<&OpDef> for Op {
    fn from(def: &OpDef) -> Self {
        Self { layer: Some(def.layer), class: Some(def.class), mode: def.mode, name: def.name.clone() }
    }
}

impl Op {
    /// The layer's name, `?` if it is lost.
    #[must_use]
    pub fn layer_name(&self) -> &'static str {
        self.layer.map_or("?", Layer::name)
    }

    /// Name and form: `write`, `write collective`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.mode.name() {
            "" => self.name.clone(),
            mode => format!("{} {mode}", self.name),
        }
    }

    /// Whether it moves file data.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.class.is_some_and(OpClass::is_data)
    }
}

/// A process of the job.
#[derive(Clone, Debug)]
pub struct Process {
    /// Rank in `MPI_COMM_WORLD`, or the launcher's number of a process without MPI, or -1.
    pub rank: i32,
    /// Index into [`Run::nodes`], behind its end if the node is not known.
    pub node: u32,
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Its program. Bytes that are no UTF-8 are replaced.
    pub exe: String,
    /// What is added to its times to get ns since the job's start; clock alignment included.
    pub shift_ns: u64,
    /// When recording ended, ns since the job's start.
    pub end_ns: u64,
    /// What ended it.
    pub ended_by: String,
    /// Threads that recorded something.
    pub threads: Vec<ThreadDef>,
    /// Streams, by id.
    pub streams: Vec<Stream>,
    /// Exact counters of what has no segment.
    pub missing: Vec<Missing>,
    /// The same of calls that are no I/O ([`Stream::meets`]).
    pub met: Vec<Missing>,
    /// Communicators of such calls, by the number that these have as their offset.
    pub communicators: Vec<CommunicatorDef>,
    /// How files were accessed, as far as no segments say so; `file` is an index into [`Run::files`].
    pub profiles: Vec<ProfileDef>,
    /// What another tool counted of all accesses, instead of what segments tell; `file` as above.
    pub whole: Vec<WholeDef>,
    /// What is only there if this stands for several ranks; `file` as above.
    pub reduction: Reduction,
    /// How many of these ranks used which file; `file` as above. What [`Run::ranks_of`] looks at.
    pub file_ranks: FileRanks,
    /// File views of MPI-IO, those of a file in the order in which they were set; `file` as above.
    pub views: Vec<ViewDef>,
    /// Bytes over time of what has no segments.
    pub heat: Vec<HeatDef>,
    /// How the memory of reads and writes was aligned, as far as no profile says so.
    pub memory: MemoryDef,
    /// Whether it has no segments by design: `DXT_ENABLE=counters`.
    pub counters_only: bool,
    /// Whether it has segments of POSIX and MPI-IO reads and writes only, by design: Darshan's DXT.
    pub data_only: bool,
    /// Index into [`Run::inputs`].
    pub input: u32,
    /// Segment blocks, by thread, then in the order written.
    pub blocks: Vec<BlockRef>,
}

impl Process {
    /// A bin of bytes over time: start and end, ns since the job's start. The last one ends where recording does.
    #[must_use]
    pub fn heat_bin(&self, def: &HeatDef, bin: u64) -> (u64, u64) {
        let start = bin.saturating_mul(def.width_ns).saturating_add(self.shift_ns);
        let end = start.saturating_add(def.width_ns);
        (start, if self.end_ns > start { end.min(self.end_ns) } else { end })
    }

    /// Kernel thread id of the thread that block heads call `index`; the index itself if the table lacks it. MPI's collective calls of a thread
    /// have an index of their own: who asks whether two calls are one thread's compares these.
    #[must_use]
    pub fn tid(&self, index: u32) -> u32 {
        let is = |thread: &&ThreadDef| thread.index == index;
        let there = self.threads.get(index as usize).filter(is);
        there.or_else(|| self.threads.iter().find(is)).map_or(index, |thread| thread.tid)
    }
}

/// Where a file's layout comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutOrigin {
    /// `lustre.lov` in the trace.
    Lustre,
    /// `ceph.file.layout` in the trace.
    Ceph,
    /// `--layout`.
    Given,
    /// No layout: the file's preferred I/O size (`st_blksize`) stands in for the stripe size.
    Guess,
}

/// A file's layout and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// The layout.
    pub layout: Layout,
    /// Where it comes from.
    pub origin: LayoutOrigin,
}

/// A file of the job.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Hash of its path.
    pub hash: u64,
    /// Its path, or `file#<hash>` if the path is lost. Bytes that are no UTF-8 are replaced.
    pub name: String,
    /// Preferred I/O size in bytes, 0 if unknown.
    pub block_size: u32,
    /// Its layout, if the trace has one.
    pub layout: Option<FileLayout>,
    /// Why a layout in the trace could not be used.
    pub layout_problem: Option<String>,
}

/// An input file.
#[derive(Debug)]
pub struct Input {
    /// Its path.
    pub path: PathBuf,
    /// The open trace.
    pub trace: Trace<Content>,
    /// What was found when it was made of another tool's log.
    pub converted: Option<Converted>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// File.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// What is wrong.
    pub what: String,
}

/// What is known to be wrong with the trace before any segment is read.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Files among them of which nothing could be read.
    pub unread_files: u64,
    /// Segments that should be there and are not.
    pub lost_segments: u64,
    /// Processes whose own block is lost.
    pub lost_processes: u64,
    /// Ranks that the job had and the inputs lack.
    pub absent_ranks: u64,
}

/// One job, loaded. A copy shares the files.
#[derive(Clone, Debug)]
pub struct Run {
    /// The files it was read from.
    pub inputs: Arc<Vec<Input>>,
    /// Who, what, where, when.
    pub info: JobInfo,
    /// Mounted file systems: (path, type), by path; none of an old or recovered trace.
    pub mounts: Vec<(String, String)>,
    /// Settings that shaped the trace.
    pub settings: Vec<(String, String)>,
    /// Filters among them, of all inputs.
    pub filters: Filters,
    /// Earliest epoch of a process, ns since 1970-01-01 UTC: zero of all relative times.
    pub start_unix_ns: i64,
    /// Clock corrections that were applied: (node, ns added).
    pub clock_shifts: Vec<(String, i64)>,
    /// Host names.
    pub nodes: Vec<String>,
    /// Operations.
    pub ops: Vec<Op>,
    /// Processes by rank, pid and start.
    pub processes: Vec<Process>,
    /// Files by name.
    pub files: Vec<File>,
    /// Data sets by file and path.
    pub data_sets: Vec<DataSet>,
    /// Hints by file and key.
    pub hints: Vec<Hint>,
    /// Datatypes by file, role and combiner.
    pub datatypes: Vec<DatatypeSum>,
    /// Extents of datatypes by file and role.
    pub datatype_extents: Vec<ExtentSum>,
    /// Forms of strided file views, each once, in order.
    pub shapes: Vec<Shape>,
    /// What was seen and not recorded: (what, how often).
    pub notes: Vec<(Note, u64)>,
    /// What is wrong.
    pub health: Health,
    /// Remarks on the inputs for the user.
    pub remarks: Vec<String>,
    /// What of the job is looked at, as the user wrote it; empty for everything.
    pub selection: Vec<(&'static str, String)>,
    /// The span of time that is looked at, ns since the job's start.
    pub window: Option<(u64, u64)>,
    /// What verdicts are measured by.
    pub thresholds: Thresholds,
}

impl Run {
    /// The operation of `stream`. Streams are made by the loader with indices that exist.
    #[inline]
    #[must_use]
    pub fn op(&self, stream: &Stream) -> &Op {
        &self.ops[usize::from(stream.op)]
    }

    /// Who recorded it.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::of(&self.settings)
    }

    /// Segments on record in all blocks that were found.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.processes.iter().flat_map(|process| &process.blocks).map(|block| u64::from(block.head.segments)).sum()
    }

    /// Segments that were folded into counters because there was no room for them.
    #[must_use]
    pub fn missing_segments(&self) -> u64 {
        self.folded(false)
    }

    /// Operations of which counters were to be kept and no segments: `DXT_ENABLE=counters`.
    #[must_use]
    pub fn counted_operations(&self) -> u64 {
        self.folded(true)
    }

    fn folded(&self, by_design: bool) -> u64 {
        let of_process = |process: &Process| {
            let counted = process.missing.iter().filter(|missing| self.is_by_design(process, missing) == by_design);
            counted.map(|missing| missing.counters.segments).sum::<Sum>().get()
        };
        self.processes.iter().map(of_process).sum::<Sum>().get()
    }

    /// What should have segments in a process and has none, with its stream.
    pub fn missing_of<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = (&'a Stream, &'a Counters)> {
        let lacking = process.missing.iter().filter(|missing| !self.is_by_design(process, missing));
        lacking.filter_map(|missing| Some((process.stream_with_id(missing.stream)?, &missing.counters)))
    }

    /// Whether no segments were to be kept of what `missing` counts.
    fn is_by_design(&self, process: &Process, missing: &Missing) -> bool {
        let stream = process.stream_with_id(missing.stream);
        let op = stream.map(|stream| self.op(stream));
        let kept = Kept { counters_only: process.counters_only, data_only: process.data_only };
        !kept.has_segments(op.and_then(|op| Some((op.layer?, op.class?))))
    }

    /// Mount point and type of the file system that holds a file, if mounts are known.
    #[must_use]
    pub fn mount_of(&self, file: &File) -> Option<&(String, String)> {
        let holds = |mount: &str| match file.name.strip_prefix(mount) {
            Some(rest) => mount.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        self.mounts.iter().filter(|(path, _)| holds(path)).max_by_key(|(path, _)| path.len())
    }

    /// Where a file lies: mount point and type of its file system. Without mounts, the first directory of its path.
    #[must_use]
    pub fn place_of(&self, file: &File) -> String {
        match self.mount_of(file) {
            Some((path, kind)) => format!("{path} ({kind})"),
            None if file.name.starts_with('/') => {
                let end = file.name.get(1..).and_then(|rest| rest.find('/')).map_or(file.name.len(), |at| at + 1);
                file.name.get(..end).unwrap_or("/").to_owned()
            }
            None => "elsewhere".into(),
        }
    }

    /// Whether a file lies in memory: on a tmpfs or the like.
    #[must_use]
    pub fn is_in_memory(&self, file: &File) -> bool {
        match self.mount_of(file) {
            Some((_, kind)) => ["tmpfs", "ramfs", "hugetlbfs"].contains(&kind.as_str()),
            None => file.name.starts_with("/dev/shm/"),
        }
    }

    /// First start and last end of what is on record, ns since the job's start; both 0 of nothing. A part that is looked at
    /// is as long as what it was cut to, but no longer than what is on record.
    #[must_use]
    pub fn span(&self) -> (u64, u64) {
        let mut span = (u64::MAX, 0);
        for process in &self.processes {
            let blocks = process.blocks.iter().map(|block| (block.head.min_start, block.head.max_end));
            let missing =
                process.missing.iter().map(|missing| (missing.counters.first_start, missing.counters.last_end));
            for (start, end) in blocks.chain(missing) {
                span.0 = span.0.min(start.saturating_add(process.shift_ns));
                span.1 = span.1.max(end.saturating_add(process.shift_ns));
            }
        }
        if let Some((from, until)) = self.window {
            span = (span.0.max(from), span.1.min(until));
        }
        if span.0 <= span.1 { span } else { (0, 0) }
    }

    /// Whether there are counters by design and no segment at all.
    #[must_use]
    pub fn counters_only(&self) -> bool {
        self.segments() == 0 && self.processes.iter().any(|process| process.counters_only)
    }

    /// Number of nodes, with those that a reduced record stands for; those of ranks whose node is not known are not in it. `None` if
    /// no node is known.
    #[must_use]
    pub fn node_count(&self) -> Option<u64> {
        let reduced = self.processes.iter().map(|process| u64::from(process.reduction.nodes)).max();
        Some(reduced.unwrap_or_default().max(self.nodes.len() as u64)).filter(|count| *count > 0)
    }

    /// What another tool counted of all of a process's accesses, its part of what it counted of all ranks among them.
    pub fn whole<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = &'a WholeDef> {
        let of_all = self.processes.iter().filter(|other| !other.reduction.is_none() && process.reduction.is_none());
        process.whole.iter().chain(of_all.flat_map(|other| &other.whole))
    }

    /// Ranks that the largest reduced record stands for; 0 without one.
    #[must_use]
    pub fn reduced_ranks(&self) -> u64 {
        self.processes.iter().map(|process| u64::from(process.reduction.ranks)).max().unwrap_or_default()
    }

    /// Bytes at whose multiples memory counts as aligned: what a process says, else the usual; the largest of several.
    #[must_use]
    pub fn memory_alignment(&self) -> u64 {
        let said = self.processes.iter().map(|process| process.memory.alignment).max().unwrap_or_default();
        let of_log = self.processes.iter().flat_map(|process| &process.whole).map(|def| def.memory_alignment).max();
        if said > 0 { said } else { of_log.filter(|bytes| *bytes > 0).unwrap_or(MEMORY_ALIGNMENT as u64) }
    }

    /// Whether calls were not timed (`DXT_TIMING=off`): then no time in calls is known.
    #[must_use]
    pub fn untimed(&self) -> bool {
        self.inputs.iter().any(|input| {
            let settings = &input.trace.job.settings;
            settings.iter().any(|(name, value)| name == "DXT_TIMING" && value == "off")
        })
    }

    /// Whether it was made of another tool's log, which does not tell everything.
    #[must_use]
    pub fn was_log(&self) -> bool {
        self.settings.iter().any(|(name, _)| name == crate::model::converted::SOURCE)
    }

    /// Number of different ranks.
    #[must_use]
    pub fn ranks(&self) -> u64 {
        let mut ranks: Vec<i32> = self.processes.iter().map(|process| process.rank).filter(|&rank| rank >= 0).collect();
        ranks.sort_unstable();
        ranks.dedup();
        (ranks.len() as u64).max(self.reduced_ranks())
    }

    /// True if every call of the program is on record or counted. If not, sums and shares are lower bounds, and what has no record may have been done.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let health = &self.health;
        let lost = [health.lost_segments, health.lost_processes, health.unread_files, health.absent_ranks];
        health.problems.is_empty()
            && lost.iter().all(|count| *count == 0)
            && !self.notes.iter().any(|(note, _)| matches!(note, Note::Lacks(_)))
    }

    /// Ranks that a log's job had and that did no I/O: the log has no record of them. 0 where only a part of the job
    /// is looked at, or could be read.
    #[must_use]
    pub fn silent_ranks(&self) -> u64 {
        let of_job = self.info.mpi.as_ref().map_or(0, |mpi| u64::from(mpi.ranks));
        let whole = self.was_log() && self.selection.is_empty() && self.is_whole();
        if whole { of_job.saturating_sub(self.ranks()) } else { 0 }
    }

    /// Host name of a process.
    #[must_use]
    pub fn node(&self, process: &Process) -> &str {
        self.nodes.get(process.node as usize).map_or("?", String::as_str)
    }

    /// `rank 3`, or `pid 4711` for a process without a rank.
    #[must_use]
    pub fn process_name(&self, process: ProcessId) -> String {
        match self.process(process) {
            Some(process) if process.rank >= 0 => format!("rank {}", process.rank),
            Some(process) if !process.reduction.is_none() => format!("{} ranks together", process.reduction.ranks),
            Some(process) => format!("pid {}", process.pid),
            None => "?".into(),
        }
    }
}

impl File {
    /// Bytes at whose multiples accesses are aligned, as profiles count it: the stripe size of the layout in the trace, or
    /// else the preferred I/O size; 0 if neither is known.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        let own = self.layout.as_ref().filter(|layout| !layout.is_guess());
        let components = own.into_iter().flat_map(|layout| &layout.layout.components);
        let stripe = components.filter(|component| component.active && !component.on_metadata).map(|c| c.stripe_size);
        stripe.into_iter().next().unwrap_or(u64::from(self.block_size))
    }
}

impl FileLayout {
    /// Whether it is no layout but a guess from the file's preferred I/O size.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.origin == LayoutOrigin::Guess
    }
}
