//! All cells of a run, ready to be compared: what each is of, and how its calls differ from their peers.
//!
//! * [`regions`]: parts of files; [`folders`]: those that files lie in; [`kind_of_file`]: what files most of something is on.
//! * [`helpers`]: processes that work for another; [`whole_waits`], [`stalled_once`]: what counters of whole runs tell of waiting;
//!   [`made_together`]: where ranks wait in calls of MPI-IO; [`compared`]: which calls are held against those on their file only; [`steps`]: files of a time of their own; [`on_targets`]: which storage targets calls reach.

mod compared;
mod entry;
pub mod folders;
pub mod helpers;
pub mod kind_of_file;
mod made;
pub mod made_together;
mod on_targets;
pub mod regions;
pub mod stalled_once;
pub mod steps;
pub mod whole_waits;

pub use entry::Entry;

use super::reading::at_work::AtWork;
use super::reading::questions::Found;
use super::reading::read_before;
use super::reading::served::Served;
use super::reading::slots::Slots;
use super::reading::threads::Threads;
use super::replay::kept_waiting::KeptWaiting;
use super::replay::known::Known;
use super::replay::sync_points::SyncPoints;
use crate::model::{Class, FileId, Process, ProcessId, Run, Stream};
use folders::Folders;
use made::Group;
use regions::Regions;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpMode};

/// The cells of a run.
#[derive(Debug)]
pub struct Grid<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its slots.
    pub slots: Slots,
    /// Slots from one cell of a kind to the next: more than one where there are too many.
    pub slots_of_cell: usize,
    /// The cells, by process.
    pub entries: Vec<Entry>,
    /// Time of all cells of calls that reach the system, ns.
    pub(super) leaf_ns: u64,
    /// Time of all cells of calls that the program makes itself, ns.
    pub(super) called_ns: u64,
    /// Spread of the logarithm of single durations, mean over calls.
    pub spread: f64,
    /// By process: part of the time of its calls that the process is in them; less than 1 where threads are in calls at once.
    pub at_once: Vec<f64>,
    /// By process: its threads.
    pub threads: Vec<Threads>,
    /// By process: what these do, where they can be compared.
    pub at_work: Vec<Option<AtWork>>,
    /// Who waits for whom.
    pub sync_points: SyncPoints,
    /// Parts of files.
    pub regions: Regions,
    /// Folders of files.
    pub folders: Folders,
    /// Who keeps others waiting where not all are known to meet.
    kept_waiting: KeptWaiting,
    /// What is known of whether others go on during calls.
    pub(super) pace: Known,
    /// By storage target: processes that begin a request on it together, mean over requests; of targets that most processes use.
    pub begin_together: BTreeMap<u32, f64>,
    /// Files that processes asked for before they were there, by process.
    pub found: Vec<Found>,
    /// Blocks that processes read and overwrite at once, by file.
    pub read_before: read_before::Partial,
    /// By file: its stripes, where its layout is known and it has any.
    pub stripes: FxHashMap<FileId, u32>,
    /// Reads, or writes, if these take the longer the more others they find on their storage target.
    pub grow_with_depth: Vec<Class>,
    /// By class: how many calls storage targets serve by how many they have.
    pub served: BTreeMap<Class, Served>,
    /// By class: for how long each storage target has calls that begin on it in flight, ns.
    pub busy: BTreeMap<Class, BTreeMap<u32, f64>>,
    /// Who is left alone at the end, and since when, ns since the job's start.
    pub last_alone: Option<(ProcessId, u64)>,
    /// By process: whether it works for another, and has time left.
    has_time_left: Vec<bool>,
    /// By process: whether it is in calls for so much of the run that who waits for its messages is held up. `None` if nothing tells whether ranks
    /// meet, or all do in collective calls of MPI-IO.
    hold_up: Option<Vec<bool>>,
}

/// Weighted quantile of values in any order; `None` of nothing.
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

impl<'a> Grid<'a> {
    /// Time of each process in calls of each phase, ns.
    fn in_calls_by_phase(&self) -> FxHashMap<(usize, ProcessId), f64> {
        let mut of: FxHashMap<(usize, ProcessId), f64> = FxHashMap::default();
        for entry in self.entries.iter().filter(|entry| entry.leaf) {
            *of.entry((self.phase(entry), entry.process)).or_default() += self.wall(entry, entry.cell.time_ns as f64);
        }
        of
    }

    /// By process: for how long it is in calls, ns.
    fn in_calls(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.run.processes.len()];
        for entry in self.entries.iter().filter(|entry| entry.leaf) {
            if let Some(of) = out.get_mut(entry.process.index()) {
                *of += self.wall(entry, entry.left_ns);
            }
        }
        out
    }

    /// Time that its process is in calls of an entry for, where they take `ns`.
    #[must_use]
    pub fn wall(&self, entry: &Entry, ns: f64) -> f64 {
        let at_once = self.at_once.get(entry.process.index()).copied().unwrap_or(1.0);
        match self.run.process(entry.process) {
            // Ranks with one record together are as long as the mean of those that use the file.
            Some(process) if !process.reduction.is_none() => {
                ns / self.run.ranks_of(process, entry.file, None).max(1) as f64
            }
            _ => ns * at_once,
        }
    }

    /// Longest time that one process is in calls inside of others on a file between `from` and `length` ns later, as far as slots tell.
    #[must_use]
    pub fn longest_inside(&self, from: u64, length: f64, file: FileId) -> f64 {
        let slots = self.slots.of(from)..=self.slots.of(from.saturating_add(length as u64));
        let mut by: BTreeMap<ProcessId, f64> = BTreeMap::new();
        for entry in &self.entries {
            if entry.leaf && entry.inside && entry.file == file && slots.contains(&usize::from(entry.slot)) {
                *by.entry(entry.process).or_default() += entry.left_ns;
            }
        }
        by.values().copied().fold(0.0, f64::max).min(length)
    }

    /// Whether others wait for a process at the end of a phase, as far as that is on record: ranks that meet again and again do. Of others that seldom
    /// meet, but send each other messages, which are not on record, only what takes most of the run is known to hold them up. Who waits for nobody where
    /// all others do holds them up for that long ([`SyncPoints::wait_for`]).
    #[must_use]
    pub fn waited_for(&self, process: ProcessId, phase: usize) -> bool {
        let holds_up = |of: &Vec<bool>| of.get(process.index()).copied().unwrap_or_default();
        let known = self.hold_up.as_ref();
        known.is_none_or(|of| {
            holds_up(of) || self.sync_points.after(phase).is_some() || self.kept_waiting.by(process, phase)
        })
    }

    /// Whether the run is no shorter if a process's calls are, as far as that is on record.
    #[must_use]
    pub fn has_time_left(&self, process: ProcessId) -> bool {
        self.has_time_left.get(process.index()).copied().unwrap_or_default()
    }

    /// Whether its calls list a folder.
    #[must_use]
    pub fn lists(&self, entry: &Entry) -> bool {
        self.stream(entry).is_some_and(|stream| self.run.op(stream).name == "opendir")
    }

    /// The stream of an entry.
    #[must_use]
    pub fn stream(&self, entry: &Entry) -> Option<&'a Stream> {
        self.run.process(entry.process)?.stream(entry.stream)
    }

    /// The interface of an entry's calls.
    #[must_use]
    pub fn layer(&self, entry: &Entry) -> Option<Layer> {
        self.run.op(self.stream(entry)?).layer
    }

    /// Phase of an entry.
    #[must_use]
    pub fn phase(&self, entry: &Entry) -> usize {
        self.slots.phase(usize::from(entry.slot))
    }
}

/// Files that a process uses split collective calls on: in those it waits for others, in the one that begins them or in the one that ends them.
pub fn split_files(run: &Run, process: &Process) -> BTreeSet<FileId> {
    let is = |stream: &&Stream| run.op(stream).mode == OpMode::Split;
    process.streams.iter().filter(is).map(|stream| stream.file).collect()
}
