//! Reduces segments (records of single calls) to counters, per process and stream (one operation, file and caller), in call order, as the
//! tracer does in counters-only mode.

use crate::model::{FileId, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block, Stretch, fold_alone, group_of_process};
use crate::shared::memory;
use crate::shared::profiles::Profiles;
use rustc_hash::FxHashMap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::{Counters, Previous};
use trace_format::meta::Order;
use trace_format::op::{Layer, OpClass};
use trace_format::profile::{Accesses, Last, Profile};

/// Key of counters: file, operation, caller, and success or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOp {
    /// File of the counted calls, as an index into [`Run::files`].
    pub file: FileId,
    /// Operation of the counted calls, as an index into [`Run::ops`].
    pub op: u16,
    /// Caller: the program itself, or a library (HDF5, MPI-IO) whose call made this call.
    pub within: Within,
    /// True for failed calls, false for successful ones.
    pub failed: bool,
}

/// Number of classes of time: reads, writes, all else (see [`kind_of`]).
pub const KINDS: usize = 3;

/// Returns the class of a call's time: 0 for reads, 1 for writes, 2 for metadata and all else, including failed reads and writes.
#[must_use]
pub fn kind_of(class: Option<OpClass>, failed: bool) -> usize {
    match class {
        Some(OpClass::Read) if !failed => 0,
        Some(OpClass::Write) if !failed => 1,
        _ => 2,
    }
}

/// Time that one process spent in calls, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time in calls, ns, by layer (see [`layer_place`]) and class (see [`kind_of`]), including calls made inside other layers' calls.
    pub layers: [[u64; KINDS]; LAYERS],
    /// Time in calls that the program itself made; excludes calls made inside them.
    pub outermost: u64,
}

/// Number of layers distinguished in [`Times`].
pub const LAYERS: usize = 5;

/// Returns the index of a layer in the arrays of [`Times`] (time in calls by layer).
#[must_use]
pub fn layer_place(layer: Option<Layer>) -> usize {
    match layer {
        Some(Layer::Posix) => 0,
        Some(Layer::Stdio) => 1,
        Some(Layer::Mpiio) => 2,
        Some(Layer::Hdf5) => 3,
        _ => 4,
    }
}

/// Reads or writes of a file through a layer: file, layer, true for writes, caller.
pub type ProfileKey = (FileId, Layer, bool, Within);

/// Counters, access profiles and times, summed over a set of processes.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Counters of calls (number, bytes, time, sizes) per file, operation and caller.
    pub operations: FxHashMap<FileOp, Counters>,
    /// Counts of sequential and consecutive reads and writes, per file, layer, direction and caller.
    pub orders: BTreeMap<ProfileKey, Order>,
    /// Access profiles (sizes, strides, alignment) per file and layer.
    pub profiles: Profiles,
    /// Processes that used each file.
    pub users: FxHashMap<FileId, BTreeSet<ProcessId>>,
    /// Time in calls of each process, by layer and class (reads, writes, all else).
    pub times: Vec<(ProcessId, Times)>,
}

impl Sums {
    /// Appends the totals of processes whose blocks follow in the trace.
    fn append(&mut self, other: Self) {
        if self.times.is_empty() {
            *self = other;
            return;
        }
        for (key, counters) in other.operations {
            self.operations.entry(key).or_default().merge(&counters);
        }
        for (key, profile) in other.profiles {
            self.profiles.entry(key).or_default().merge(&profile);
        }
        for (file, users) in other.users {
            self.users.entry(file).or_default().extend(users);
        }
        for (place, order) in other.orders {
            self.orders.entry(place).or_default().merge(&order);
        }
        self.times.extend(other.times);
    }

    /// Assigns counts of sequential and consecutive accesses, which a log has per file over all callers, to the caller (program, HDF5 or
    /// MPI-IO) if there is only one.
    fn settle(&mut self, run: &Run) {
        let mut makers: BTreeMap<(FileId, Layer, bool), BTreeSet<Within>> = BTreeMap::new();
        for key in self.operations.keys().filter(|key| !key.failed) {
            let op = run.ops.get(usize::from(key.op)).filter(|op| op.is_data());
            if let Some((layer, class)) = op.and_then(|op| op.layer.zip(op.class)) {
                makers.entry((key.file, layer, class == OpClass::Write)).or_default().insert(key.within);
            }
        }
        let whole = |place: &ProfileKey| place.3 == Within::Overview && place.1 <= Layer::Mpiio;
        let places: Vec<ProfileKey> = self.orders.keys().filter(|place| whole(place)).copied().collect();
        for place in places {
            let made_by = makers.get(&(place.0, place.1, place.2)).filter(|made_by| made_by.len() == 1);
            // With several callers, the trace does not record the order of their calls.
            let maker = made_by.and_then(|made_by| made_by.first().copied()).unwrap_or(Within::Mpiio);
            if let Some(order) = self.orders.remove(&place) {
                self.orders.entry((place.0, place.1, place.2, maker)).or_default().merge(&order);
            }
        }
    }

    /// Adds the counters of one process: those computed from its segments, and those written by the tracer.
    fn process(&mut self, run: &Run, current: Current) {
        let Some(process) = run.process(current.number) else { return };
        // Darshan's counters cover all accesses, so they replace counters derived from segments.
        let reported: BTreeMap<(FileId, Layer), [bool; 2]> = run
            .whole(process)
            .map(|def| ((FileId(def.file), def.layer), [false, true].map(|writes| def.order(writes).known > 0)))
            .collect();
        let mut streams: Vec<(Counters, u64)> =
            current.streams.into_iter().map(|(counters, _, known)| (counters, known)).collect();
        streams.resize(process.streams.len(), Default::default());
        for missing in &process.missing {
            let sums = process.stream_index(missing.stream).and_then(|index| streams.get_mut(index.index()));
            if let Some((counters, known)) = sums {
                counters.merge(&missing.counters);
                *known = known.saturating_add(missing.counters.ordered());
            }
        }
        for (key, (profile, _)) in current.profiles.into_iter().filter(|(key, _)| !reported.contains_key(key)) {
            match self.profiles.entry(key) {
                Entry::Occupied(of) => of.into_mut().merge(&profile),
                Entry::Vacant(of) => {
                    of.insert(profile);
                }
            }
        }
        for def in process.profiles.iter().filter(|def| !reported.contains_key(&(FileId(def.file), def.layer))) {
            self.profiles.entry((FileId(def.file), def.layer)).or_default().merge(&def.profile);
        }
        for (key, [known, unaligned]) in memory::of_process(run, process).filter(|(key, _)| !reported.contains_key(key))
        {
            let profile = self.profiles.entry(key).or_default();
            profile.memory_known = profile.memory_known.saturating_add(known);
            profile.memory_unaligned = profile.memory_unaligned.saturating_add(unaligned);
        }
        for def in &process.whole {
            self.profiles.entry((FileId(def.file), def.layer)).or_default().merge(&def.profile);
            for writes in [false, true].into_iter().filter(|writes| def.order(*writes).known > 0) {
                // The caller is assigned by `settle`, once all processes are known.
                let place = (FileId(def.file), def.layer, writes, Within::Overview);
                self.orders.entry(place).or_default().merge(def.order(writes));
            }
        }
        let mut times = Times::default();
        let mut used: Vec<FileId> = Vec::new();
        for (stream, (mut counters, known)) in
            process.streams.iter().zip(streams).filter(|(_, (counters, _))| counters.segments > 0)
        {
            let op = run.op(stream);
            let writes = op.class == Some(OpClass::Write);
            if let (Some(layer), true, false) = (op.layer, op.is_data(), stream.failed)
                && !reported.get(&(stream.file, layer)).is_some_and(|reported| reported[usize::from(writes)])
            {
                let order = Order { known, consecutive: counters.consecutive, sequential: counters.sequential };
                self.orders.entry((stream.file, layer, writes, stream.within())).or_default().merge(&order);
            }
            let time = &mut times.layers[layer_place(op.layer)][kind_of(op.class, stream.failed)];
            *time = time.saturating_add(counters.duration);
            if stream.within() == Within::Nothing {
                times.outermost = times.outermost.saturating_add(counters.duration);
            }
            counters.first_start = counters.first_start.saturating_add(process.shift_ns);
            counters.last_end = counters.last_end.saturating_add(process.shift_ns);
            let key = FileOp { file: stream.file, op: stream.op, within: stream.within(), failed: stream.failed };
            self.operations.entry(key).or_default().merge(&counters);
            used.push(stream.file);
        }
        for file in used {
            self.users.entry(file).or_default().insert(current.number);
        }
        self.times.push((current.number, times));
    }
}

/// State of the process whose segments are being read: counters by stream, and ends of previous calls.
#[derive(Debug)]
struct Current {
    number: ProcessId,
    /// By stream (one operation, file and caller): counters, end of the previous call, and number of calls with a known offset.
    streams: Vec<(Counters, Previous, u64)>,
    /// For each stream, index of the first stream (often itself) with the same file, operation, caller and outcome: the calls of such
    /// streams form one sequence. They differ only in open flags, or in whether offsets are estimated.
    follows: Vec<usize>,
    profiles: BTreeMap<(FileId, Layer), (Box<Profile>, Last)>,
}

fn follows(streams: &[Stream]) -> Vec<usize> {
    let mut first = BTreeMap::new();
    let of = |(index, stream): (usize, &Stream)| {
        let inside = (stream.nested, stream.in_hdf5, stream.overview, stream.data_set);
        *first.entry((stream.file, stream.op, inside, stream.failed, stream.errno)).or_insert(index)
    };
    streams.iter().enumerate().map(of).collect()
}

impl Current {
    fn new(number: ProcessId, streams: &[Stream]) -> Self {
        let follows = follows(streams);
        Self { number, streams: vec![Default::default(); streams.len()], follows, profiles: BTreeMap::new() }
    }
}

/// Pass over the segments that computes the counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fold;

/// State of the pass: totals per group of processes, and the process read last (more blocks may follow).
#[derive(Debug, Default)]
pub struct Partial {
    groups: BTreeMap<u32, Sums>,
    unfinished: Vec<Current>,
}

impl Partial {
    fn finish(&mut self, run: &Run) {
        for current in self.unfinished.drain(..) {
            self.groups.entry(group_of_process(run, current.number)).or_default().process(run, current);
        }
    }

    /// Returns the totals over all processes, including processes without segments.
    #[must_use]
    pub fn sums(mut self, run: &Run) -> Sums {
        self.finish(run);
        let mut all = Sums::default();
        // Merges in process order: only 16 request sizes and 16 strides are kept, and the order decides which.
        self.groups.into_values().for_each(|sums| all.append(sums));
        let mut seen = vec![false; run.processes.len()];
        for (number, _) in &all.times {
            seen.get_mut(number.index()).into_iter().for_each(|seen| *seen = true);
        }
        for (number, _) in seen.into_iter().enumerate().filter(|(_, seen)| !seen) {
            all.process(run, Current::new(ProcessId::at(number), &[]));
        }
        all.settle(run);
        all
    }
}

impl Analysis for Fold {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if partial.unfinished.last().is_none_or(|current| current.number != block.number) {
            partial.finish(block.run);
            partial.unfinished.push(Current::new(block.number, &block.process.streams));
        }
        let Some(current) = partial.unfinished.last_mut() else { return };
        for (stretch, alone) in block.summed() {
            let index = stretch.stream.index();
            let Some(stream) = block.process.streams.get(index) else { continue };
            let follows = current.follows.get(index).copied().unwrap_or(index);
            let Some((_, previous, _)) = current.streams.get(follows) else { continue };
            let mut previous = *previous;
            let Some((counters, _, known)) = current.streams.get_mut(index) else { continue };
            match alone {
                Some(alone) => counters.merge(alone),
                None => fold_alone(counters, stretch),
            }
            *known += counters.fold_order(&mut previous, stretch.offset, stretch.length);
            if let Some((_, last, _)) = current.streams.get_mut(follows) {
                *last = previous;
            }
            let op = block.run.op(stream);
            let (Some(layer), Some(class @ (OpClass::Read | OpClass::Write)), false) =
                (op.layer, op.class, stream.failed)
            else {
                continue;
            };
            let alignment = block.run.file(stream.file).map_or(0, crate::model::File::alignment);
            let (profile, last) = current.profiles.entry((stream.file, layer)).or_default();
            let Stretch { offset, length, start, end, .. } = stretch;
            profile.fold_all(last, class == OpClass::Write, Accesses { offset, length, start, end }, alignment);
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        // Each group is read by one thread, so no group is in both maps. `sums` adds the thread's last process at the end.
        into.groups.extend(other.groups);
        into.unfinished.extend(other.unfinished);
    }
}
