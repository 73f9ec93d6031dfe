//! All cells of a run (sums over similar calls of a process in a time window), with the slowdown of these calls against their peers.
//!
//! * [`regions`]: parts of files; [`folders`] of files; [`kind_of_file`]: folder or file name suffix with most of the lost time.
//! * [`helpers`]: processes that work for another process; [`whole_waits`], [`stalled_once`]: waits and stalled calls in counters.
//! * [`made_together`]: waits of ranks for each other in MPI-IO calls; [`waits`]: all other waits for each other.
//! * [`compared`]: calls that are compared within their file only; [`steps`]: files that are used one after another.
//! * [`on_targets`]: storage targets that calls reach; [`reading`]: the passes over the trace.

mod building;
mod cell;
mod compared;
pub mod folders;
pub mod helpers;
pub mod kind_of_file;
pub mod made_together;
mod on_targets;
pub mod reading;
pub mod regions;
pub mod stalled_once;
pub mod steps;
pub mod waits;
pub mod whole_waits;

pub use cell::Cell;

use crate::cube::reading::at_work::AtWork;
use crate::cube::reading::episodes;
use crate::cube::reading::questions::Found;
use crate::cube::reading::read_before;
use crate::cube::reading::renamed;
use crate::cube::reading::served::Served;
use crate::cube::reading::slots::Slots;
use crate::cube::reading::threads::Threads;
use crate::cube::reading::usual::Kind;
use crate::cube::waits::kept_waiting::KeptWaiting;
use crate::cube::waits::known::Known;
use crate::cube::waits::sync_points::SyncPoints;
use crate::model::{Class, FileId, Process, ProcessId, Run, Stream};
use building::Group;
use folders::Folders;
use regions::Regions;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpMode};

/// All cells of a run (sums over similar calls), and what else is known of its calls.
#[derive(Debug)]
pub struct Cube<'a> {
    /// Run whose calls the cells sum up.
    pub run: &'a Run,
    /// Time windows into which the run is divided.
    pub slots: Slots,
    /// Number of adjacent time windows that share a cell: more than one if there would be too many cells.
    pub slots_of_cell: usize,
    /// Cells (sums over similar calls), sorted by process.
    pub cells: Vec<Cell>,
    /// Time of all cells whose calls reach the kernel, ns.
    pub(super) leaf_ns: u64,
    /// Time of all cells with calls of the program itself (not of a library), ns.
    pub(super) called_ns: u64,
    /// Usual spread of the log durations of similar calls: median over kinds of calls.
    pub spread: f64,
    /// For each process: wall time in calls / summed time of its calls; below 1 if several threads are in calls at once.
    pub at_once: Vec<f64>,
    /// For each process: time in synchronizing MPI calls other than MPI-IO, ns.
    synchronizing: Vec<u64>,
    /// For each process: times of its threads in calls.
    pub threads: Vec<Threads>,
    /// For each process: reads and writes of its threads, and the slow thread; `None` if the threads have different work.
    pub at_work: Vec<Option<AtWork>>,
    /// Waits of ranks for each other at synchronization points, from which savings are computed.
    pub sync_points: SyncPoints,
    /// Parts of files, to find a part that is slow.
    pub regions: Regions,
    /// Folders that contain several files.
    pub folders: Folders,
    /// Ranks for which others wait, in runs where not all ranks are known to synchronize.
    kept_waiting: KeptWaiting,
    /// Cached results: for each long call, true if other processes continue while it lasts.
    pub(super) pace: Known,
    /// By storage target (OST index): mean number of processes that begin a request on the target in the same time window, over its
    /// requests. Only targets of files that most processes use.
    pub begin_together: BTreeMap<u32, f64>,
    /// Files that processes queried before the files existed, sorted by process.
    pub found: Vec<Found>,
    /// By process and file: blocks that the process overwrites right after reading them.
    pub read_before: read_before::Partial,
    /// By process and stream: time of calls that the process repeats after each open of their file, ns.
    pub repeated: episodes::Repeated,
    /// By process and file: pauses of the process after its reads of the file.
    pub pauses: episodes::AfterReads,
    /// New names of renamed files, by process and file.
    pub renamed: renamed::Partial,
    /// Stripe count by file, if the layout is known.
    pub stripes: FxHashMap<FileId, u32>,
    /// Classes (read, write) whose calls take longer the more calls are in flight on their storage target.
    pub grow_with_depth: Vec<Class>,
    /// By class: number of calls that storage targets complete per time, by number of calls in flight.
    pub served: BTreeMap<Class, Served>,
    /// By class and storage target: time during which calls that begin on the target are in flight, ns.
    pub busy: BTreeMap<Class, BTreeMap<u32, f64>>,
    /// Process that runs alone at the end of the run, and since when, ns since the job's start; `None` if no process runs alone there.
    pub last_alone: Option<(ProcessId, u64)>,
    /// For each process: true if it is a helper of another process and keeps up with it, so that faster calls save no time.
    has_time_left: Vec<bool>,
    /// For each process: true if one thread is busy for its whole life while others make its calls, so that faster calls save no time.
    computes_beside: Vec<bool>,
    /// For each process: true if it is in calls for so much of the run that it blocks ranks waiting for its messages. `None` if the trace
    /// does not show if ranks synchronize, or if ranks synchronize in collective MPI-IO calls.
    hold_up: Option<Vec<bool>>,
}

/// Returns the quantile `share` (0 to 1) of (value, weight) pairs in any order; `None` without values.
#[must_use]
pub fn weighted_quantile(values: &mut [(f64, f64)], share: f64) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    let found = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= all * share
    });
    found.or(values.last()).map(|(value, _)| *value)
}

impl<'a> Cube<'a> {
    /// Returns the wall time in calls of each process in each phase, ns.
    fn in_calls_by_phase(&self) -> FxHashMap<(usize, ProcessId), f64> {
        let mut of: FxHashMap<(usize, ProcessId), f64> = FxHashMap::default();
        for cell in self.cells.iter().filter(|cell| cell.leaf) {
            *of.entry((self.phase(cell), cell.process)).or_default() += self.wall(cell, cell.sums.time_ns as f64);
        }
        of
    }

    /// Returns the wall time in calls of each process, ns.
    fn in_calls(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.run.processes.len()];
        for cell in self.cells.iter().filter(|cell| cell.leaf) {
            if let Some(of) = out.get_mut(cell.process.index()) {
                *of += self.wall(cell, cell.time_ns());
            }
        }
        out
    }

    /// Returns the wall time that `ns` of summed call time take in a cell's process, ns: less if its threads make calls at once.
    #[must_use]
    pub fn wall(&self, cell: &Cell, ns: f64) -> f64 {
        let at_once = self.at_once.get(cell.process.index()).copied().unwrap_or(1.0);
        match self.run.process(cell.process) {
            // One record of several ranks: mean over the ranks that use the file.
            Some(process) if !process.reduction.is_none() => {
                ns / self.run.ranks_of(process, cell.file, None).max(1) as f64
            }
            _ => ns * at_once,
        }
    }

    /// Upper bound, at window resolution, of the time that any one process spends in I/O calls made inside MPI-IO or HDF5 calls on `file`
    /// in [from, from + length), ns.
    #[must_use]
    pub fn longest_inside(&self, from: u64, length: f64, file: FileId) -> f64 {
        let slots = self.slots.of(from)..=self.slots.of(from.saturating_add(length as u64));
        let mut by: BTreeMap<ProcessId, f64> = BTreeMap::new();
        for cell in &self.cells {
            if cell.leaf && cell.inside && cell.file == file && slots.contains(&usize::from(cell.slot)) {
                *by.entry(cell.process).or_default() += cell.time_ns();
            }
        }
        by.values().copied().fold(0.0, f64::max).min(length)
    }

    /// True if other processes wait for a process at the end of a phase, or may wait: if waits are unknown, if the phase lies between two
    /// near synchronization points, or if the process is in calls for most of the run (others may then wait for its messages, which are not
    /// recorded). [`SyncPoints::wait_for`] finds single waits.
    #[must_use]
    pub fn waited_for(&self, process: ProcessId, phase: usize) -> bool {
        let holds_up = |of: &Vec<bool>| of.get(process.index()).copied().unwrap_or_default();
        let known = self.hold_up.as_ref();
        known.is_none_or(|of| {
            holds_up(of) || self.sync_points.after(phase).is_some() || self.kept_waiting.by(process, phase)
        })
    }

    /// True if shorter calls of a process are known not to shorten the run.
    #[must_use]
    pub fn has_time_left(&self, process: ProcessId) -> bool {
        self.has_time_left.get(process.index()).copied().unwrap_or_default() || self.computes_beside(process)
    }

    /// True if one thread of a process is busy for its whole life while others make its calls.
    #[must_use]
    pub fn computes_beside(&self, process: ProcessId) -> bool {
        self.computes_beside.get(process.index()).copied().unwrap_or_default()
    }

    /// Returns for each process the time in MPI calls in which ranks wait for each other, ns: synchronizing calls, and collective MPI-IO calls
    /// without the system calls inside them.
    #[must_use]
    pub fn in_collective_calls(&self) -> Vec<f64> {
        let files: FxHashSet<FileId> = self.cells.iter().filter(|cell| cell.collective).map(|cell| cell.file).collect();
        // By process and file: time in collective and in all MPI-IO calls, and in system calls inside them.
        let mut by: BTreeMap<(ProcessId, FileId), [f64; 3]> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| files.contains(&cell.file)) {
            let [collective, all, inside] = by.entry((cell.process, cell.file)).or_default();
            if cell.leaf && cell.inside {
                *inside += cell.time_ns();
            } else if !cell.leaf && self.layer(cell) == Some(Layer::Mpiio) {
                *all += cell.time_ns();
                *collective += if cell.collective { cell.time_ns() } else { 0.0 };
            }
        }
        let mut out: Vec<f64> = self.synchronizing.iter().map(|ns| *ns as f64).collect();
        for ((process, _), [collective, all, inside]) in by {
            if let Some(of) = out.get_mut(process.index()) {
                *of += (collective - inside * collective / all.max(1.0)).max(0.0);
            }
        }
        out
    }

    /// True if a cell's calls list a folder.
    #[must_use]
    pub fn lists(&self, cell: &Cell) -> bool {
        self.stream(cell).is_some_and(|stream| self.run.op(stream).name == "opendir")
    }

    /// Returns the stream (one operation on one file) of a cell's calls.
    #[must_use]
    pub fn stream(&self, cell: &Cell) -> Option<&'a Stream> {
        self.run.process(cell.process)?.stream(cell.stream)
    }

    /// Returns the kind of calls with which a cell's calls are compared, and their file if only calls on the same file are.
    #[must_use]
    pub fn peers(&self, cell: &Cell) -> Option<(Kind, FileId)> {
        let file = if cell.by_file { cell.file } else { FileId::NONE };
        self.stream(cell).map(|stream| (Kind::of_size(stream, cell.size), file))
    }

    /// Returns the I/O interface (POSIX, MPI-IO, ...) of a cell's calls; `None` if unknown.
    #[must_use]
    pub fn layer(&self, cell: &Cell) -> Option<Layer> {
        self.run.op(self.stream(cell)?).layer
    }

    /// True if a cell's calls usually only copy to or from the buffer of a C stream: no requests.
    #[must_use]
    pub fn only_copies(&self, cell: &Cell) -> bool {
        self.layer(cell) == Some(Layer::Stdio) && cell.usual_ns < self.run.thresholds.system_call_ns
    }

    /// Returns the number of the phase in which a cell's time window lies.
    #[must_use]
    pub fn phase(&self, cell: &Cell) -> usize {
        self.slots.phase(usize::from(cell.slot))
    }
}

/// Returns the files on which a process makes split collective calls: it waits for other ranks in the call that begins one or in the call
/// that ends it.
pub fn split_files(run: &Run, process: &Process) -> BTreeSet<FileId> {
    let is = |stream: &&Stream| run.op(stream).mode == OpMode::Split;
    process.streams.iter().filter(is).map(|stream| stream.file).collect()
}
