//! All cells of a run, ready to be compared: what each is of, and how its calls differ from their like.
//!
//! * [`regions`]: parts of files; [`folders`]: those that files lie in; [`kind_of_file`]: what files most of something is on.
//! * [`helpers`]: processes that work for another; [`whole_waits`], [`stalled_once`]: what counters of whole runs tell of waiting;
//!   [`made_together`]: where ranks wait in calls of MPI-IO; [`compared`]: which calls are held against those on their file only; [`steps`]: files of a time of their own; [`on_targets`]: which storage targets calls reach.

mod compared;
pub mod folders;
pub mod helpers;
pub mod kind_of_file;
pub mod made_together;
mod on_targets;
pub mod regions;
pub mod stalled_once;
pub mod steps;
pub mod whole_waits;

use super::class::Class;
use super::reading::at_work::AtWork;
use super::reading::cell::{Cell, Key, NO_TARGET, coarse};
use super::reading::cells::{OfProcess, looked_at};
use super::reading::parts::Parts;
use super::reading::questions::Found;
use super::reading::read_before;
use super::reading::served::Served;
use super::reading::slots::{SLOTS, Slots};
use super::reading::threads::Threads;
use super::reading::usual::{Kind, Usual};
use super::replay::kept_waiting::KeptWaiting;
use super::replay::known::Known;
use super::replay::meetings::Meetings;
use crate::model::{FileId, FileLayout, Process, ProcessId, Run, Stream, StreamIx, Within};
use crate::topics::layers::parts::Form;
use compared::compared_on_a_file;
use folders::Folders;
use on_targets::{known_targets, only_target, stripes, targets};
use regions::Regions;
use rustc_hash::{FxHashMap, FxHashSet};
use stalled_once::{Stalls, counted_cell};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpMode};

/// Processes from which on calls on a file are compared among themselves rather than with those on other files.
const SHARED_BY: usize = 3;

/// Part of the run that a process is in calls from which it holds up who waits for its messages.
const HOLDS_UP: f64 = 0.5;

/// A cell and what it is of.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index into [`Run::processes`].
    pub process: ProcessId,
    /// Slot of the run.
    pub slot: u16,
    /// Index into the process's streams.
    pub stream: StreamIx,
    /// Index into [`Run::files`].
    pub file: FileId,
    /// Octave of the length.
    pub size: u8,
    /// Storage targets that the calls reach, as far as these are few of the file's.
    pub targets: Vec<u32>,
    /// What its calls do.
    pub class: Class,
    /// Whether they reach the system: calls of POSIX and C streams, and of libraries whose inner calls are not on record.
    pub leaf: bool,
    /// Made inside MPI-IO or HDF5.
    pub inside: bool,
    /// Calls in which ranks meet.
    pub collective: bool,
    /// The calls.
    pub cell: Cell,
    /// What is usual for each of them, ns.
    pub usual_ns: f64,
    /// The same of all calls of their kind and size, on whatever file and though nothing but counters tells of them, ns.
    pub usual_of_kind_ns: f64,
    /// Spread of their logarithm, and how far it leans to the fast side.
    pub spread: (f64, f64),
    /// How far the logarithm of their time is above that of their like, without the longest call where there are several.
    pub above: f64,
    /// The same against all calls of their kind and size, on whatever file.
    pub above_kind: f64,
    /// Whether `above` is against those on the same file.
    pub by_file: bool,
    /// Their time that nothing explains yet, ns.
    pub left_ns: f64,
}

impl Entry {
    /// Time of the calls that are far from their like beyond `times` what is usual, ns: single calls, whatever else is slow about these.
    #[must_use]
    pub fn beyond_ns(&self, times: f64) -> f64 {
        let with_the_rest = self.cell.far_calls as f64 * self.usual_ns * times;
        (self.cell.far_ns as f64 - with_the_rest).clamp(0.0, self.left_ns.max(0.0))
    }
}

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
    /// Spread of the logarithm of single durations, mean over calls.
    pub spread: f64,
    /// By process: part of the time of its calls that the process is in them; less than 1 where threads are in calls at once.
    pub at_once: Vec<f64>,
    /// By process: its threads.
    pub threads: Vec<Threads>,
    /// By process: what these do, where they can be compared.
    pub at_work: Vec<Option<AtWork>>,
    /// Who waits for whom.
    pub meetings: Meetings,
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

/// What is compared with each other.
type Group = (Kind, FileId);

impl<'a> Grid<'a> {
    /// Of what was read, and of calls that have only counters.
    #[must_use]
    pub fn new(
        run: &'a Run,
        slots: Slots,
        usual: &FxHashMap<Kind, Usual>,
        layouts: &[Option<FileLayout>],
        mut read: FxHashMap<ProcessId, OfProcess>,
    ) -> Self {
        let merged = read.values().map(|of| of.merged).max().unwrap_or(0);
        let shared = shared_files(run);
        let known = known_targets(layouts);
        let mut entries: Vec<Entry> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut at_once: Vec<f64> = Vec::new();
        let mut threads: Vec<Threads> = Vec::new();
        let mut at_work: Vec<Option<AtWork>> = Vec::new();
        let mut parts: FxHashMap<(ProcessId, StreamIx), Parts> = FxHashMap::default();
        let mut waits: Vec<FxHashMap<ProcessId, f64>> = vec![FxHashMap::default(); slots.phases()];
        let mut met_all: Vec<Vec<ProcessId>> = vec![Vec::new(); slots.phases()];
        let stalls = Stalls::of(run);
        for (number, process) in run.numbered_processes() {
            let has_inside = process.streams.iter().any(|stream| stream.within() > Within::Nothing);
            let of = read.remove(&number).unwrap_or_default();
            let outermost = whole_waits::are_whole(run, process);
            let split = split_files(run, process);
            let reaches_system = |stream: &Stream| {
                let (library, collective) = of_library(run, stream);
                if outermost && whole_waits::is_wait(run, stream) {
                    return stream.within() == Within::Nothing;
                }
                let of_split = split.contains(&stream.file) && is_of_split(run, stream);
                !library || (!has_inside && !collective && !of_split)
            };
            let leaves = of.parts.into_iter().filter(|(stream, _)| process.stream(*stream).is_some_and(reaches_system));
            parts.extend(leaves.map(|(stream, of)| ((number, stream), of)));
            threads.push(of.threads);
            at_work.push(of.at_work);
            at_once.push(of.threads.at_once());
            for (phase, ns) in super::replay::meetings::with_counted(process, &slots, of.waits) {
                if let Some(waits) = waits.get_mut(phase) {
                    waits.insert(number, ns);
                }
            }
            for phase in of.met_all {
                if let Some(met) = met_all.get_mut(phase as usize) {
                    met.push(number);
                }
            }
            let of_segments = of.cells;
            let mut cells: FxHashMap<Key, Cell> = FxHashMap::default();
            let counted = process.missing.iter().filter_map(|missing| {
                let stream = process.stream_index(missing.stream)?;
                let c = &missing.counters;
                let at = process.shift_ns.saturating_add(c.first_start);
                let key = Key {
                    slot: u16::try_from(slots.of(at)).unwrap_or(u16::MAX),
                    stream,
                    size: super::reading::usual::size_class(c.bytes / c.segments.max(1)),
                    target: process.stream(stream).map_or(NO_TARGET, |stream| only_target(layouts, stream)),
                };
                let is = c.segments > 0 && process.stream(stream).is_some_and(|stream| looked_at(run, stream));
                let cell = counted_cell(c);
                let stalled = process.stream(stream).is_some_and(|of| stalls.has(of.op, &cell));
                is.then_some((key, if stalled { cell.with_stall() } else { cell }))
            });
            for (key, cell) in of_segments.into_iter().chain(counted) {
                cells.entry(coarse(key, merged, SLOTS.ilog2())).or_default().add(&cell);
            }
            let mut cells: Vec<(Key, Cell)> = cells.into_iter().collect();
            cells.sort_unstable_by_key(|(key, _)| *key);
            for (key, cell) in cells {
                let Some(stream) = process.stream(key.stream) else { continue };
                let op = run.op(stream);
                let (_, collective) = of_library(run, stream);
                let kind = Kind::of_size(stream, key.size);
                let file = if shared.contains(&stream.file) { stream.file } else { FileId::NONE };
                groups.push((kind, file));
                entries.push(Entry {
                    process: number,
                    slot: key.slot,
                    stream: key.stream,
                    file: stream.file,
                    size: key.size,
                    targets: targets(layouts, known, stream, key.target, cell.bytes / cell.calls.max(1)),
                    class: Class::of(op),
                    leaf: reaches_system(stream),
                    inside: stream.within() > Within::Nothing,
                    collective,
                    usual_ns: usual.get(&kind).map_or(cell.mean_of_near_ns(), |usual| usual.median_ns),
                    usual_of_kind_ns: 0.0,
                    spread: usual.get(&kind).map_or((0.5, 0.0), |usual| (usual.spread, usual.leans)),
                    above: cell.typical_log(),
                    above_kind: cell.typical_log(),
                    by_file: false,
                    left_ns: cell.time_ns as f64,
                    cell,
                });
            }
        }
        let compared = compared_on_a_file(&entries, &groups);
        for (entry, group) in entries.iter_mut().zip(&mut groups) {
            if !compared.contains(group) {
                group.1 = FileId::NONE;
            }
            entry.by_file = group.1 != FileId::NONE;
        }
        let collective = entries.iter().any(|entry| entry.collective);
        let unmet = if collective || slots.ranks_met { Vec::new() } else { waits.clone() };
        let meetings = if collective {
            Meetings::default()
        } else {
            Meetings::of(run, &slots, waits, &met_all).with_library(made_together::waits(run, &entries, &slots))
        };
        let regions = Regions::new(run, parts);
        let spread = spread(usual);
        let mut grid = Self {
            run,
            slots,
            slots_of_cell: 1 << merged.min(SLOTS.ilog2()),
            entries,
            spread,
            at_once,
            threads,
            at_work,
            meetings,
            regions,
            folders: Folders::new(run),
            kept_waiting: KeptWaiting::default(),
            pace: Known::default(),
            begin_together: BTreeMap::new(),
            stripes: stripes(run, layouts),
            found: Vec::new(),
            read_before: read_before::Partial::default(),
            grow_with_depth: Vec::new(),
            served: BTreeMap::new(),
            busy: BTreeMap::new(),
            last_alone: super::replay::alone::last_alone(run),
            has_time_left: Vec::new(),
            hold_up: None,
        };
        grid.hold_up = grid.hold_up();
        grid.has_time_left = helpers::with_time_left(run, &grid.in_calls(), grid.last_alone);
        grid.set_above(&groups);
        let in_calls = grid.in_calls_by_phase();
        grid.kept_waiting = KeptWaiting::of(run, unmet, &in_calls);
        let meetings = std::mem::take(&mut grid.meetings);
        let time = |phase, process| in_calls.get(&(phase, process)).copied().unwrap_or_default();
        let several =
            |(process, _): &(ProcessId, &Process)| grid.threads.get(process.index()).is_some_and(|of| of.count > 1);
        let threaded = run.numbered_processes().filter(several).map(|(process, _)| process).collect();
        grid.meetings = meetings.with_calls(run, &grid.slots, threaded, time);
        grid
    }

    /// Time of each process in calls of each phase, ns.
    fn in_calls_by_phase(&self) -> FxHashMap<(usize, ProcessId), f64> {
        let mut of: FxHashMap<(usize, ProcessId), f64> = FxHashMap::default();
        for entry in self.entries.iter().filter(|entry| entry.leaf) {
            *of.entry((self.phase(entry), entry.process)).or_default() += self.wall(entry, entry.cell.time_ns as f64);
        }
        of
    }

    fn hold_up(&self) -> Option<Vec<bool>> {
        let recorded = self.run.processes.iter().any(|of| of.streams.iter().any(|stream| stream.meets));
        // Who is no rank is not known to wait for others either.
        let ranks = self.run.ranks() > 0;
        if ranks && (!recorded || self.entries.iter().any(|entry| entry.collective)) {
            return None;
        }
        let most = super::reading::phases::length(self.run) as f64 * HOLDS_UP;
        Some(self.in_calls().into_iter().map(|ns| ns >= most).collect())
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

    /// Subtracts what is usual for the like of each cell.
    fn set_above(&mut self, groups: &[Group]) {
        let mut of: FxHashMap<Group, Vec<(f64, f64)>> = FxHashMap::default();
        for (entry, group) in self.entries.iter().zip(groups) {
            of.entry(*group).or_default().push((entry.above, entry.cell.calls as f64));
        }
        let usual: FxHashMap<Group, f64> =
            of.into_iter().filter_map(|(group, mut all)| Some((group, weighted_quantile(&mut all, 0.5)?))).collect();
        // Next to memory any storage is slow.
        let in_memory: Vec<bool> = self.run.files.iter().map(|file| self.run.is_in_memory(file)).collect();
        let like = |entry: &Entry, kind: Kind| (kind, in_memory.get(entry.file.index()).copied().unwrap_or_default());
        let mut of: FxHashMap<(Kind, bool), Vec<(f64, f64)>> = FxHashMap::default();
        for (entry, (kind, _)) in self.entries.iter().zip(groups) {
            of.entry(like(entry, *kind)).or_default().push((entry.above_kind, entry.cell.calls as f64));
        }
        let of_kind: FxHashMap<(Kind, bool), f64> =
            of.into_iter().filter_map(|(kind, mut all)| Some((kind, weighted_quantile(&mut all, 0.5)?))).collect();
        for (entry, group) in self.entries.iter_mut().zip(groups) {
            entry.above -= usual.get(group).copied().unwrap_or_default();
            let usual = of_kind.get(&like(entry, group.0)).copied().unwrap_or_default();
            entry.above_kind -= usual;
            entry.usual_of_kind_ns = usual.exp();
        }
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
    /// all others do holds them up for that long ([`Meetings::wait_for`]).
    #[must_use]
    pub fn waited_for(&self, process: ProcessId, phase: usize) -> bool {
        let holds_up = |of: &Vec<bool>| of.get(process.index()).copied().unwrap_or_default();
        let known = self.hold_up.as_ref();
        known.is_none_or(|of| {
            holds_up(of) || self.meetings.after(phase).is_some() || self.kept_waiting.by(process, phase)
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

/// Whether a stream's calls are a library's, and whether they are collective ones of MPI-IO.
fn of_library(run: &Run, stream: &Stream) -> (bool, bool) {
    let op = run.op(stream);
    let library = matches!(op.layer, Some(Layer::Mpiio | Layer::Hdf5 | Layer::Pnetcdf));
    (library, Form::of(op.mode) == Form::Collective && op.layer == Some(Layer::Mpiio))
}

/// Whether a call on such a file is one of those that make a split collective one.
fn is_of_split(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    op.mode == OpMode::Split || matches!(Class::of(op), Class::Wait | Class::HandOver)
}

/// Files that a process uses split collective calls on: in those it waits for others, in the one that begins them or in the one that ends them.
pub fn split_files(run: &Run, process: &Process) -> BTreeSet<FileId> {
    let is = |stream: &&Stream| run.op(stream).mode == OpMode::Split;
    process.streams.iter().filter(is).map(|stream| stream.file).collect()
}

/// Files that several processes have data or other calls on.
fn shared_files(run: &Run) -> FxHashSet<FileId> {
    let mut count: FxHashMap<FileId, usize> = FxHashMap::default();
    for process in &run.processes {
        let files: FxHashSet<FileId> = process.streams.iter().map(|stream| stream.file).collect();
        files.into_iter().for_each(|file| *count.entry(file).or_default() += 1);
    }
    count.into_iter().filter(|(_, count)| *count >= SHARED_BY).map(|(file, _)| file).collect()
}

fn spread(usual: &FxHashMap<Kind, Usual>) -> f64 {
    let mut all: Vec<(f64, f64)> = usual.values().map(|usual| (usual.spread, 1.0)).collect();
    weighted_quantile(&mut all, 0.5).unwrap_or(0.5)
}
