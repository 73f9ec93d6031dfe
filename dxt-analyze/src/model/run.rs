//! Loaded job: the tables that segments refer to, merged over all files and processes. Segments stay on disk; the scan reads their blocks.

use super::ProcessId;
use super::cpu_waits::CpuWaits;
use super::file_entry::File;
use super::filters::Filters;
use super::origin::{Kept, Origin};
use super::shape::Shape;
use super::sites::{Site, Sites};
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
use trace_format::meta::{
    CommunicatorDef, HeatDef, JobInfo, MemoryDef, Missing, ProfileDef, Reduction, ThreadDef, ViewDef, WholeDef,
};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::profile::MEMORY_ALIGNMENT;
use trace_format::read::{BlockRef, Trace};

/// I/O operation that occurs in the job. `layer` and `class` are `None` if the operation table that defines it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// I/O interface (POSIX, STDIO, MPI-IO, HDF5, ...).
    pub layer: Option<Layer>,
    /// Class of the operation: read, write, metadata, sync, ...
    pub class: Option<OpClass>,
    /// Variant of the call (independent, collective, nonblocking, ...).
    pub mode: OpMode,
    /// Lower-case name of the operation, such as `write`.
    pub name: String,
}

impl From<&OpDef> for Op {
    fn from(def: &OpDef) -> Self {
        Self { layer: Some(def.layer), class: Some(def.class), mode: def.mode, name: def.name.clone() }
    }
}

impl Op {
    /// Returns the layer's name, or `?` if the layer is unknown.
    #[must_use]
    pub fn layer_name(&self) -> &'static str {
        self.layer.map_or("?", Layer::name)
    }

    /// Returns the operation's name and its variant, such as `write` or `write collective`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.mode.name() {
            "" => self.name.clone(),
            mode => format!("{} {mode}", self.name),
        }
    }

    /// True if the operation moves file data.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.class.is_some_and(OpClass::is_data)
    }
}

/// Process of the job, or a reduced record that stands for several ranks.
#[derive(Clone, Debug)]
pub struct Process {
    /// Rank in `MPI_COMM_WORLD`, or the launcher's task number for a process without MPI, or -1.
    pub rank: i32,
    /// Index into [`Run::nodes`]; equal to the length of that list if the node is unknown.
    pub node: u32,
    /// Process id of the process on its node.
    pub pid: u32,
    /// Process id of the parent process.
    pub ppid: u32,
    /// Path of the executable; invalid UTF-8 is replaced.
    pub exe: String,
    /// Offset to add to the process's timestamps to get ns since the job's start; includes the clock alignment.
    pub shift_ns: u64,
    /// End of recording, ns since the job's start.
    pub end_ns: u64,
    /// Reason why recording ended, such as `MPI_Finalize`.
    pub ended_by: String,
    /// Threads of the process that made recorded calls.
    pub threads: Vec<ThreadDef>,
    /// Streams (calls with the same operation, file and caller), sorted by stream id.
    pub streams: Vec<Stream>,
    /// Stream ids of calls from further call sites, sorted: (id that segments carry, id of the stream in `streams` that has the same operation,
    /// file and caller).
    pub aliases: Vec<(u32, u32)>,
    /// Call sites, sorted by the stream id that segments carry.
    pub sites: Vec<Site>,
    /// Exact counters of those I/O calls that are not recorded as single calls (segments).
    pub missing: Vec<Missing>,
    /// Exact counters of synchronization calls (MPI calls that are no I/O, see [`Stream::meets`]) that have no segments.
    pub met: Vec<Missing>,
    /// Communicators of the synchronization calls; these calls carry the communicator ID in their offset field.
    pub communicators: Vec<CommunicatorDef>,
    /// Access profiles of calls without segments; `file` is an index into [`Run::files`].
    pub profiles: Vec<ProfileDef>,
    /// Profiles that another tool (Darshan) counted over all accesses; analyses use them instead of values computed from segments. `file`
    /// is an index into [`Run::files`].
    pub whole: Vec<WholeDef>,
    /// Statistics over ranks if this process is a reduced record, which stands for several ranks. `file` is an index into [`Run::files`].
    pub reduction: Reduction,
    /// Number of ranks that used each file, if this process is a reduced record. Read it through [`Run::ranks_of`].
    pub file_ranks: FileRanks,
    /// MPI-IO file views, per file in the order in which they were set. `file` is an index into [`Run::files`].
    pub views: Vec<ViewDef>,
    /// Heat map: bytes moved over time by calls that are not recorded singly.
    pub heat: Vec<HeatDef>,
    /// Memory alignment of the reads and writes that no access profile in `profiles` covers.
    pub memory: MemoryDef,
    /// Time in which the threads waited for a processor.
    pub cpu: CpuWaits,
    /// True if no call has a segment by design: `DXT_ENABLE=counters`.
    pub counters_only: bool,
    /// True if only POSIX and MPI-IO reads and writes have segments, by design (Darshan DXT).
    pub data_only: bool,
    /// Input file that the process was read from: index into [`Run::inputs`].
    pub input: u32,
    /// Locations of the segment blocks, sorted by thread, then in the order in which they were written.
    pub blocks: Vec<BlockRef>,
}

impl Process {
    /// Returns the time from the start to the end of recording, ns.
    #[must_use]
    pub fn life_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.shift_ns)
    }

    /// Returns start and end of time bin `bin` of a heat map, ns since the job's start. The last time bin ends where recording ends.
    #[must_use]
    pub fn heat_bin(&self, def: &HeatDef, bin: u64) -> (u64, u64) {
        let start = bin.saturating_mul(def.width_ns).saturating_add(self.shift_ns);
        let end = start.saturating_add(def.width_ns);
        (start, if self.end_ns > start { end.min(self.end_ns) } else { end })
    }

    /// Returns the kernel thread id for the thread index `index` of a segment block, or `index` itself if the thread table lacks it.
    /// Collective MPI calls of a thread have a thread index of their own: compare the returned ids to find out if two calls belong to one
    /// thread.
    #[must_use]
    pub fn tid(&self, index: u32) -> u32 {
        let is = |thread: &&ThreadDef| thread.index == index;
        let there = self.threads.get(index as usize).filter(is);
        there.or_else(|| self.threads.iter().find(is)).map_or(index, |thread| thread.tid)
    }
}

/// Input file of the job, and the trace in it.
#[derive(Debug)]
pub struct Input {
    /// Path of the input file.
    pub path: PathBuf,
    /// Trace read from the input file.
    pub trace: Trace<Content>,
    /// Problems and remarks of the conversion, if the trace was converted from another tool's log.
    pub converted: Option<Converted>,
}

/// Part of an input that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Name of the input file with the unreadable part.
    pub file: String,
    /// Byte offset of the problem in the file.
    pub offset: u64,
    /// Description of the problem, for the user.
    pub what: String,
}

/// Damage of the inputs that is known before any segment is read.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Parts of inputs that could not be read.
    pub problems: Vec<Problem>,
    /// Number of input files of which nothing could be read.
    pub unread_files: u64,
    /// Number of segments that a trace announces in its metadata but does not contain, plus segments whose process block is lost.
    pub lost_segments: u64,
    /// Number of processes whose metadata (process block of the trace) is lost.
    pub lost_processes: u64,
    /// Number of ranks of the job that no input contains.
    pub absent_ranks: u64,
}

/// Counts and times over all processes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverProcesses {
    /// Number of different ranks that the run's processes have, without those that only reduced records stand for.
    ranks: u64,
    /// Number of ranks that the largest reduced record stands for; 0 without reduced records.
    reduced_ranks: u64,
    /// Processes that are reduced records, each standing for several ranks.
    reduced: Vec<ProcessId>,
    /// First start and last end of all recorded and counted calls, ns since the job's start; the start is larger than the end if there are no calls.
    span: (u64, u64),
    /// Latest end of any process, ns since the job's start.
    end_ns: u64,
}

impl OverProcesses {
    /// Computes the counts and times of `processes`: after loading, and again after a selection.
    pub(crate) fn of(processes: &[Process]) -> Self {
        let mut ranks: Vec<i32> = processes.iter().map(|process| process.rank).filter(|&rank| rank >= 0).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut out = Self { ranks: ranks.len() as u64, span: (u64::MAX, 0), ..Self::default() };
        for (at, process) in processes.iter().enumerate() {
            out.reduced_ranks = out.reduced_ranks.max(u64::from(process.reduction.ranks));
            if !process.reduction.is_none() {
                out.reduced.push(ProcessId::at(at));
            }
            out.end_ns = out.end_ns.max(process.end_ns);
            let blocks = process.blocks.iter().map(|block| (block.head.min_start, block.head.max_end));
            let missing =
                process.missing.iter().map(|missing| (missing.counters.first_start, missing.counters.last_end));
            for (start, end) in blocks.chain(missing) {
                out.span.0 = out.span.0.min(start.saturating_add(process.shift_ns));
                out.span.1 = out.span.1.max(end.saturating_add(process.shift_ns));
            }
        }
        out
    }
}

/// One loaded job. Clones share the input files, which stay open.
#[derive(Clone, Debug)]
pub struct Run {
    /// Input files of the job.
    pub inputs: Arc<Vec<Input>>,
    /// Job description: user, program, MPI library, start time.
    pub info: JobInfo,
    /// Mounted file systems: (path, type), sorted by path; empty for old or recovered traces.
    pub mounts: Vec<(String, String)>,
    /// Tracer settings: (name, value).
    pub settings: Vec<(String, String)>,
    /// Filters that were set while recording, from the settings of all inputs.
    pub filters: Filters,
    /// Earliest time zero of any process, ns since 1970-01-01 UTC; times since the job's start count from this moment.
    pub start_unix_ns: i64,
    /// Clock corrections that were applied: (host name of the node, ns added).
    pub clock_shifts: Vec<(String, i64)>,
    /// Host names of the job's nodes.
    pub nodes: Vec<String>,
    /// Operations that occur in the job; [`Stream::op`] is an index into this list.
    pub ops: Vec<Op>,
    /// Processes, sorted by rank, pid and start.
    pub processes: Vec<Process>,
    /// Files that the job used, sorted by name.
    pub files: Vec<File>,
    /// Call stacks from which calls were made.
    pub sites: Sites,
    /// HDF5 data sets, sorted by file and path.
    pub data_sets: Vec<DataSet>,
    /// MPI-IO hints, sorted by file and key.
    pub hints: Vec<Hint>,
    /// Calls by MPI datatype constructor, sorted by file, role and constructor.
    pub datatypes: Vec<DatatypeSum>,
    /// Extents of MPI datatypes, sorted by file and role.
    pub datatype_extents: Vec<ExtentSum>,
    /// Distinct shapes of strided file views, sorted.
    pub shapes: Vec<Shape>,
    /// Events that the tracer saw but did not record: (kind of event, number of occurrences).
    pub notes: Vec<(Note, u64)>,
    /// Damage of the inputs found while loading.
    pub health: Health,
    /// Remarks on the inputs for the user.
    pub remarks: Vec<String>,
    /// Options that select a part of the job, as the user wrote them: (option, value); empty if the whole job is selected.
    pub selection: Vec<(&'static str, String)>,
    /// Selected time window as (start, end), ns since the job's start; `None` if all times are selected.
    pub window: Option<(u64, u64)>,
    /// Thresholds for findings: the defaults or the user's.
    pub thresholds: Thresholds,
    pub(crate) over_processes: OverProcesses,
}

impl Run {
    /// Returns the operation of `stream`. Panics for an invalid index; the loader creates streams with valid indices only.
    #[inline]
    #[must_use]
    pub fn op(&self, stream: &Stream) -> &Op {
        &self.ops[usize::from(stream.op)]
    }

    /// True if the run has no ranks, and its processes run one after another for the most part, see [`Run::are_together`].
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.ranks() == 0 && !self.are_together(self.processes.iter())
    }

    /// True if at least half of `of`, processes of the run, are alive at one moment; false for programs that are started one after another.
    #[must_use]
    pub fn are_together<'p>(&self, of: impl Iterator<Item = &'p Process>) -> bool {
        let mut changes: Vec<(u64, i64)> = of.flat_map(|one| [(one.shift_ns, 1), (one.end_ns, -1)]).collect();
        // At equal times, ends come first.
        changes.sort_unstable();
        let mut alive = 0_i64;
        let most = changes.iter().map(|(_, change)| {
            alive += change;
            alive
        });
        let most = most.max().unwrap_or(0);
        most as f64 >= (changes.len() / 2) as f64 * self.thresholds.half_share
    }

    /// Returns the tool that recorded the run.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::of(&self.settings)
    }

    /// Returns the number of segments in all segment blocks of the run.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.processes.iter().flat_map(|process| &process.blocks).map(|block| u64::from(block.head.segments)).sum()
    }

    /// Returns the number of operations that should have segments but have only counters, because the recorder lacked memory for segments.
    #[must_use]
    pub fn missing_segments(&self) -> u64 {
        self.folded(false)
    }

    /// Returns the number of operations that by design have only counters (`DXT_ENABLE=counters`).
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

    /// Returns streams and counters of operations of `process` that should have segments but have none.
    pub fn missing_of<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = (&'a Stream, &'a Counters)> {
        let lacking = process.missing.iter().filter(|missing| !self.is_by_design(process, missing));
        lacking.filter_map(|missing| Some((process.stream_with_id(missing.stream)?, &missing.counters)))
    }

    /// Returns true if the operations counted in `missing` have only counters by design.
    fn is_by_design(&self, process: &Process, missing: &Missing) -> bool {
        let stream = process.stream_with_id(missing.stream);
        let op = stream.map(|stream| self.op(stream));
        let kept = Kept { counters_only: process.counters_only, data_only: process.data_only };
        !kept.has_segments(op.and_then(|op| Some((op.layer?, op.class?))))
    }

    /// Returns the first start and the last end of all recorded and counted calls, limited to the selected time window, in ns since the
    /// job's start; (0, 0) if there are no calls.
    #[must_use]
    pub fn span(&self) -> (u64, u64) {
        let mut span = self.over_processes.span;
        if let Some((from, until)) = self.window {
            span = (span.0.max(from), span.1.min(until));
        }
        if span.0 <= span.1 { span } else { (0, 0) }
    }

    /// Returns true if the run has no segments at all, by design: it was recorded with counters only.
    #[must_use]
    pub fn counters_only(&self) -> bool {
        self.segments() == 0 && self.processes.iter().any(|process| process.counters_only)
    }

    /// Returns the number of known nodes, including the nodes of ranks that a reduced record stands for; `None` if no node is known.
    #[must_use]
    pub fn node_count(&self) -> Option<u64> {
        let reduced = self.processes.iter().map(|process| u64::from(process.reduction.nodes)).max();
        Some(reduced.unwrap_or_default().max(self.nodes.len() as u64)).filter(|count| *count > 0)
    }

    /// Returns the access profiles that another tool counted for `process`, then those of all reduced records (each stands for several ranks).
    pub fn whole<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = &'a WholeDef> {
        let reduced = if process.reduction.is_none() { self.over_processes.reduced.as_slice() } else { &[] };
        let of_all = reduced.iter().filter_map(|reduced| self.process(*reduced));
        process.whole.iter().chain(of_all.flat_map(|other| &other.whole))
    }

    /// Returns the number of ranks that the largest reduced record stands for; 0 without reduced records.
    #[must_use]
    pub fn reduced_ranks(&self) -> u64 {
        self.over_processes.reduced_ranks
    }

    /// Returns the time from the job's start to its last end, in ns, at least 1.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.over_processes.end_ns.max(self.span().1).max(1)
    }

    /// Returns the memory alignment in bytes that accesses are compared with: the largest of any process, else the log's, else [`MEMORY_ALIGNMENT`].
    #[must_use]
    pub fn memory_alignment(&self) -> u64 {
        let said = self.processes.iter().map(|process| process.memory.alignment).max().unwrap_or_default();
        let of_log = self.processes.iter().flat_map(|process| &process.whole).map(|def| def.memory_alignment).max();
        if said > 0 { said } else { of_log.filter(|bytes| *bytes > 0).unwrap_or(MEMORY_ALIGNMENT as u64) }
    }

    /// Returns true if calls were not timed (`DXT_TIMING=off`), so that the time spent in calls is unknown.
    #[must_use]
    pub fn untimed(&self) -> bool {
        self.inputs.iter().any(|input| {
            let settings = &input.trace.job.settings;
            settings.iter().any(|(name, value)| name == "DXT_TIMING" && value == "off")
        })
    }

    /// Returns true if the run was converted from another tool's log, which contains less than a trace.
    #[must_use]
    pub fn was_log(&self) -> bool {
        self.settings.iter().any(|(name, _)| name == crate::model::converted::SOURCE)
    }

    /// Returns the number of distinct ranks, including ranks that a reduced record stands for.
    #[must_use]
    pub fn ranks(&self) -> u64 {
        self.over_processes.ranks.max(self.reduced_ranks())
    }

    /// Returns true if every call of the program was recorded or counted. If not, sums and shares are lower bounds; absence of a call proves nothing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let health = &self.health;
        let lost = [health.lost_segments, health.lost_processes, health.unread_files, health.absent_ranks];
        health.problems.is_empty()
            && lost.iter().all(|count| *count == 0)
            && !self.notes.iter().any(|(note, _)| matches!(note, Note::Lacks(_)))
    }

    /// Returns the number of ranks of a Darshan log without a record because they did no I/O; 0 if only a part of the job is selected or readable.
    #[must_use]
    pub fn silent_ranks(&self) -> u64 {
        let of_job = self.info.mpi.as_ref().map_or(0, |mpi| u64::from(mpi.ranks));
        let whole = self.was_log() && self.selection.is_empty() && self.is_whole();
        if whole { of_job.saturating_sub(self.ranks()) } else { 0 }
    }

    /// Returns the host name of the node of `process`, or `?` if unknown.
    #[must_use]
    pub fn node(&self, process: &Process) -> &str {
        self.nodes.get(process.node as usize).map_or("?", String::as_str)
    }

    /// Returns the name of a process for reports: `rank 3`, or `pid 4711` without a rank.
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
