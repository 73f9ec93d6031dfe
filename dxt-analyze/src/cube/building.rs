//! Makes the cells of a run (sums over similar calls) from what the two passes over the trace have found.

use super::compared::compared_on_a_file;
use super::folders::Folders;
use super::on_targets::{known_targets, only_target, stripes, targets};
use super::regions::Regions;
use super::stalled_once::{Stalls, counted_cell};
use super::{Cell, Cube, helpers, made_together, split_files, weighted_quantile, whole_waits};
use crate::cube::reading::at_work::AtWork;
use crate::cube::reading::cells::{OfProcess, looked_at};
use crate::cube::reading::episodes;
use crate::cube::reading::parts::Parts;
use crate::cube::reading::read_before;
use crate::cube::reading::renamed;
use crate::cube::reading::slots::{SLOTS, Slots};
use crate::cube::reading::sums::{Key, NO_TARGET, Sums, coarse};
use crate::cube::reading::threads::Threads;
use crate::cube::reading::usual::{Kind, Usual};
use crate::cube::waits::kept_waiting::KeptWaiting;
use crate::cube::waits::known::Known;
use crate::cube::waits::sync_points::SyncPoints;
use crate::model::{Class, FileId, FileLayout, Process, ProcessId, Run, Stream, StreamIx, Within};
use crate::shared::layer_calls::Form;
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpMode};

/// A process that is in calls for at least this part of the run counts as blocking the ranks that wait for its messages.
const HOLDS_UP: f64 = 0.5;

/// Calls that are compared with each other: kind of call, and the file if they are compared only with calls on the same file.
pub(super) type Group = (Kind, FileId);

impl<'a> Cube<'a> {
    /// Makes the cube's cells (sums over similar calls) from recorded calls (`read`, by process) and from calls that are only in counters.
    #[must_use]
    pub fn new(
        run: &'a Run,
        slots: Slots,
        usual: &FxHashMap<Kind, Usual>,
        layouts: &[Option<FileLayout>],
        mut read: FxHashMap<ProcessId, OfProcess>,
    ) -> Self {
        let merged = read.values().map(|of| of.merged).max().unwrap_or(0);
        let users = run.users();
        let of_users = |file: FileId| users.get(file.index()).copied().unwrap_or_default();
        let known = known_targets(layouts);
        let counted: usize = run.processes.iter().map(|process| process.missing.len()).sum();
        let most = read.values().map(|of| of.cells.len()).sum::<usize>() + counted;
        let mut cells: Vec<Cell> = Vec::with_capacity(most);
        let mut groups: Vec<Group> = Vec::with_capacity(most);
        let mut by_key: Vec<(Key, Sums)> = Vec::new();
        let mut at_once: Vec<f64> = Vec::new();
        let mut threads: Vec<Threads> = Vec::new();
        let mut at_work: Vec<Option<AtWork>> = Vec::new();
        let mut computes_beside: Vec<bool> = Vec::new();
        let mut parts: FxHashMap<(ProcessId, StreamIx), Parts> = FxHashMap::default();
        let mut waits: Vec<FxHashMap<ProcessId, f64>> = vec![FxHashMap::default(); slots.phases()];
        let mut met_all: Vec<Vec<ProcessId>> = vec![Vec::new(); slots.phases()];
        let mut synchronizing: Vec<u64> = vec![0; run.processes.len()];
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
            let leaves =
                of.parts.into_iter().filter(|(stream, _)| process.stream(*stream).is_some_and(&reaches_system));
            parts.extend(leaves.map(|(stream, of)| ((number, stream), of)));
            threads.push(of.threads);
            at_work.push(of.at_work);
            // A thread of a rank may look for messages all the time.
            let beside = || helpers::computes_beside(&run.thresholds, process.life_ns(), &process.cpu, &of.by_thread);
            computes_beside.push(run.ranks() == 0 && beside());
            at_once.push(of.threads.at_once());
            for (phase, ns) in crate::cube::waits::sync_points::with_counted(process, &slots, of.waits) {
                if let Some(waits) = waits.get_mut(phase) {
                    waits.insert(number, ns);
                }
                if let Some(all) = synchronizing.get_mut(number.index()) {
                    *all = all.saturating_add(ns as u64);
                }
            }
            for phase in of.met_all {
                if let Some(met) = met_all.get_mut(phase as usize) {
                    met.push(number);
                }
            }
            let of_segments = of.cells;
            let counted = process.missing.iter().filter_map(|missing| {
                let stream = process.stream_index(missing.stream)?;
                let c = &missing.counters;
                let at = process.shift_ns.saturating_add(c.first_start);
                let key = Key {
                    slot: u16::try_from(slots.of(at)).unwrap_or(u16::MAX),
                    stream,
                    size: crate::cube::reading::usual::size_class(c.bytes / c.segments.max(1)),
                    target: process.stream(stream).map_or(NO_TARGET, |stream| only_target(layouts, stream)),
                };
                let is = c.segments > 0 && process.stream(stream).is_some_and(|stream| looked_at(run, stream));
                let sums = counted_cell(c);
                let stalled = process.stream(stream).is_some_and(|of| stalls.has(of.op, &sums));
                is.then_some((key, if stalled { sums.with_stall() } else { sums }))
            });
            by_key.clear();
            let all = of_segments.into_iter().chain(counted);
            by_key.extend(all.map(|(key, sums)| (coarse(key, merged, SLOTS.ilog2()), sums)));
            by_key.sort_by_key(|(key, _)| *key);
            for of_key in by_key.chunk_by(|a, b| a.0 == b.0) {
                let Some(&(key, _)) = of_key.first() else { continue };
                let mut sums = Sums::default();
                of_key.iter().for_each(|(_, more)| sums.add(more));
                let Some(stream) = process.stream(key.stream) else { continue };
                let op = run.op(stream);
                let (_, collective) = of_library(run, stream);
                let kind = Kind::of_size(stream, key.size);
                // Calls on a file that several processes use are compared with each other only.
                let is_shared = u64::from(of_users(stream.file)) >= run.thresholds.several_min;
                let file = if is_shared { stream.file } else { FileId::NONE };
                groups.push((kind, file));
                cells.push(Cell {
                    process: number,
                    slot: key.slot,
                    stream: key.stream,
                    file: stream.file,
                    size: key.size,
                    targets: targets(layouts, known, stream, key.target, sums.bytes / sums.calls.max(1)),
                    class: Class::of(op),
                    leaf: reaches_system(stream),
                    inside: stream.within() > Within::Nothing,
                    collective,
                    usual_ns: usual.get(&kind).map_or(sums.mean_of_near_ns(), |usual| usual.median_ns),
                    usual_of_kind_ns: 0.0,
                    spread: usual.get(&kind).map_or((0.5, 0.0), |usual| (usual.spread, usual.leans)),
                    above: sums.typical_log(),
                    above_kind: sums.typical_log(),
                    by_file: false,
                    sums,
                });
            }
        }
        let compared = compared_on_a_file(&cells, &groups);
        for (cell, group) in cells.iter_mut().zip(&mut groups) {
            if !compared.contains(group) {
                group.1 = FileId::NONE;
            }
            cell.by_file = group.1 != FileId::NONE;
        }
        let collective = cells.iter().any(|cell| cell.collective);
        let unmet = if collective || slots.ranks_met { Vec::new() } else { waits.clone() };
        let sync_points = if collective {
            SyncPoints::default()
        } else {
            SyncPoints::of(run, &slots, waits, &met_all).with_library(made_together::waits(run, &cells, &slots))
        };
        let regions = Regions::new(run, parts);
        let spread = spread(usual);
        let time = |counts: fn(&Cell) -> bool| {
            cells.iter().filter(|cell| counts(cell)).map(|cell| cell.sums.time_ns).sum::<Sum>().get()
        };
        let (leaf_ns, called_ns) = (time(|cell| cell.leaf), time(|cell| !cell.inside));
        let mut cube = Self {
            run,
            slots,
            slots_of_cell: 1 << merged.min(SLOTS.ilog2()),
            cells,
            leaf_ns,
            called_ns,
            spread,
            at_once,
            synchronizing,
            threads,
            at_work,
            sync_points,
            regions,
            folders: Folders::new(run),
            kept_waiting: KeptWaiting::default(),
            pace: Known::default(),
            begin_together: BTreeMap::new(),
            stripes: stripes(run, layouts),
            found: Vec::new(),
            read_before: read_before::Partial::default(),
            repeated: episodes::Repeated::default(),
            pauses: episodes::AfterReads::default(),
            renamed: renamed::Partial::default(),
            grow_with_depth: Vec::new(),
            served: BTreeMap::new(),
            busy: BTreeMap::new(),
            last_alone: crate::cube::waits::alone::last_alone(run),
            has_time_left: Vec::new(),
            computes_beside,
            hold_up: None,
        };
        cube.hold_up = cube.hold_up();
        cube.has_time_left = helpers::with_time_left(run, &cube.in_calls(), cube.last_alone);
        cube.set_above(&groups);
        let in_calls = cube.in_calls_by_phase();
        cube.kept_waiting = KeptWaiting::of(run, unmet, &in_calls);
        let sync_points = std::mem::take(&mut cube.sync_points);
        let time = |phase, process| in_calls.get(&(phase, process)).copied().unwrap_or_default();
        let several =
            |(process, _): &(ProcessId, &Process)| cube.threads.get(process.index()).is_some_and(|of| of.count > 1);
        let threaded = run.numbered_processes().filter(several).map(|(process, _)| process).collect();
        cube.sync_points = sync_points.with_calls(run, &cube.slots, threaded, time);
        cube
    }

    fn hold_up(&self) -> Option<Vec<bool>> {
        let recorded = self.run.processes.iter().any(|of| of.streams.iter().any(|stream| stream.meets));
        // Processes without MPI are not known to wait for others.
        let ranks = self.run.ranks() > 0;
        if ranks && (!recorded || self.cells.iter().any(|cell| cell.collective)) {
            return None;
        }
        let most = self.run.length_ns() as f64 * HOLDS_UP;
        Some(self.in_calls().into_iter().map(|ns| ns >= most).collect())
    }

    /// Turns each cell's mean log duration into a slowdown: subtracts the usual log duration of its peers.
    fn set_above(&mut self, groups: &[Group]) {
        let mut of: FxHashMap<Group, Vec<(f64, f64)>> = FxHashMap::default();
        for (cell, group) in self.cells.iter().zip(groups) {
            of.entry(*group).or_default().push((cell.above, cell.sums.calls as f64));
        }
        let usual: FxHashMap<Group, f64> =
            of.into_iter().filter_map(|(group, mut all)| Some((group, weighted_quantile(&mut all, 0.5)?))).collect();
        let mut of: FxHashMap<Kind, Vec<(f64, f64)>> = FxHashMap::default();
        for (cell, (kind, _)) in self.cells.iter().zip(groups) {
            of.entry(*kind).or_default().push((cell.above_kind, cell.sums.calls as f64));
        }
        let of_kind: FxHashMap<Kind, f64> =
            of.into_iter().filter_map(|(kind, mut all)| Some((kind, weighted_quantile(&mut all, 0.5)?))).collect();
        for (cell, group) in self.cells.iter_mut().zip(groups) {
            cell.above -= usual.get(group).copied().unwrap_or_default();
            let usual = of_kind.get(&group.0).copied().unwrap_or_default();
            cell.above_kind -= usual;
            cell.usual_of_kind_ns = usual.exp();
            // Calls that do not even reach the page cache, such as most of those on C streams, say nothing of who is slow.
            if cell.time_ns() < cell.sums.calls as f64 * self.run.thresholds.in_memory_ns {
                cell.above = cell.above.min(0.0);
                cell.above_kind = cell.above_kind.min(0.0);
            }
        }
    }
}

/// Returns two facts on the calls of a stream: true if they are calls of MPI-IO, HDF5 or PnetCDF, and true if they are collective MPI-IO
/// calls.
fn of_library(run: &Run, stream: &Stream) -> (bool, bool) {
    let op = run.op(stream);
    let library = matches!(op.layer, Some(Layer::Mpiio | Layer::Hdf5 | Layer::Pnetcdf));
    (library, Form::of(op.mode) == Form::Collective && op.layer == Some(Layer::Mpiio))
}

/// True if calls of a stream are a part of split collective calls (begin, end or wait), given that the file has such calls.
fn is_of_split(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    op.mode == OpMode::Split || matches!(Class::of(op), Class::Wait | Class::HandOver)
}

fn spread(usual: &FxHashMap<Kind, Usual>) -> f64 {
    let mut all: Vec<(f64, f64)> = usual.values().map(|usual| (usual.spread, 1.0)).collect();
    weighted_quantile(&mut all, 0.5).unwrap_or(0.5)
}
