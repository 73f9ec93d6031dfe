//! Totals over each rank's operations on each file, by layer, from which Darshan's counter records are made.

use super::heat::Heat;
use crate::model::{File, FileId, ProcessId, Run, Stream, StreamIx};
use crate::progress::Bar;
use crate::scan::{Lost, Progress, Reader, Row, segments_of};
use crate::sum::Sum;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::WholeDef;
use trace_format::op::{Layer, OpClass, OpMode};
use trace_format::profile::{Access, Last, Profile};
use trace_format::spread::Spread;

#[derive(Clone, Debug, Default)]
pub(crate) struct RecordSum {
    /// Counters of the file's reads, and counters of its writes.
    pub(crate) data: [Counters; 2],
    pub(crate) profile: Profile,
    /// Number of calls by class, name and form (0 independent, 1 collective, 2 split, 3 nonblocking).
    pub(crate) calls: BTreeMap<(OpClass, String, u8), Sum>,
    /// Total time in the calls that Darshan counts as metadata, without syncs, in ns.
    pub(crate) metadata_ns: Sum,
    /// Total time in syncs, in ns; Darshan adds sync time to write time.
    pub(crate) sync_ns: Sum,
    /// Counters and access profile over all calls, with and without segments (records of single calls), as another tool recorded them.
    pub(crate) whole: Option<WholeDef>,
    /// Start of the first open and end of the last open of the file, in ns since the job's start.
    pub(crate) opened: Option<(u64, u64)>,
    /// Start of the first close and end of the last close of the file, in ns since the job's start.
    pub(crate) closed: Option<(u64, u64)>,
    /// Differences between ranks (fastest, slowest, variance); only in records that stand for all ranks.
    pub(crate) spread: Option<Spread>,
    previous: [Previous; 2],
    last: Last,
}

#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) all: BTreeMap<(Layer, i64, FileId), RecordSum>,
    pub(crate) files: FxHashSet<FileId>,
}

/// Rank number in records that stand for all ranks.
pub(crate) const ALL_RANKS: i64 = -1;

impl Sums {
    /// Merges the totals of single ranks into the record that stands for all ranks, for files with such a record. In the trace, the record
    /// of all ranks covers only calls without segments.
    pub(crate) fn join_shared(&mut self) {
        let of_all = |key: &&(Layer, i64, FileId)| key.1 == ALL_RANKS;
        let shared: FxHashSet<(Layer, FileId)> = self.all.keys().filter(of_all).map(|key| (key.0, key.2)).collect();
        let single = self.all.keys().filter(|key| key.1 != ALL_RANKS && shared.contains(&(key.0, key.2)));
        for key in single.copied().collect::<Vec<_>>() {
            let of_rank = self.all.remove(&key);
            if let (Some(all), Some(of_rank)) = (self.all.get_mut(&(key.0, ALL_RANKS, key.2)), of_rank) {
                all.merge(of_rank);
            }
        }
    }
}

/// Returns `layer` if Darshan has counters for this layer, else `None`.
pub(crate) fn counts(layer: Option<Layer>) -> Option<Layer> {
    layer.filter(|layer| matches!(layer, Layer::Posix | Layer::Mpiio | Layer::Stdio))
}

/// Returns the number of a call form: 0 independent, 1 collective, 2 split, 3 nonblocking.
pub(crate) fn form(mode: OpMode) -> u8 {
    match mode {
        OpMode::Collective | OpMode::Ordered => 1,
        OpMode::Split => 2,
        OpMode::Nonblocking => 3,
        _ => 0,
    }
}

impl RecordSum {
    fn calls(&mut self, class: OpClass, name: &str, mode: OpMode, count: u64) {
        let calls = self.calls.entry((class, name.to_owned(), form(mode))).or_default();
        *calls += count;
    }

    fn merge(&mut self, other: Self) {
        self.data.iter_mut().zip(&other.data).for_each(|(mine, theirs)| mine.merge(theirs));
        self.profile.merge(&other.profile);
        for (call, count) in other.calls {
            let calls = self.calls.entry(call).or_default();
            *calls += count;
        }
        self.metadata_ns += other.metadata_ns;
        self.sync_ns += other.sync_ns;
        for (class, span) in [(OpClass::Open, other.opened), (OpClass::Close, other.closed)] {
            if let Some((start, end)) = span {
                self.span(class, start, end);
            }
        }
    }

    /// Adds the counters and the access profile in `def`, which another tool (such as Darshan) recorded over all calls.
    fn tell(&mut self, def: &WholeDef) {
        match &mut self.whole {
            None => self.whole = Some(*def),
            Some(mine) => {
                mine.reads.merge(&def.reads);
                mine.writes.merge(&def.writes);
                mine.memory_alignment = mine.memory_alignment.max(def.memory_alignment);
                mine.profile.merge(&def.profile);
            }
        }
    }

    fn span(&mut self, class: OpClass, start: u64, end: u64) {
        let span = match class {
            OpClass::Open => &mut self.opened,
            OpClass::Close => &mut self.closed,
            _ => return,
        };
        *span = Some(span.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
    }

    fn row(&mut self, class: OpClass, timed: bool, row: &Row, alignment: u64) {
        match class {
            OpClass::Read | OpClass::Write => {
                let side = usize::from(class == OpClass::Write);
                let (data, previous) = (&mut self.data[side], &mut self.previous[side]);
                data.fold(previous, row.offset, row.length, row.start, row.end);
                let access = Access {
                    writes: side == 1,
                    offset: row.offset,
                    length: row.length,
                    start: row.start,
                    end: row.end,
                    memory_unaligned: None,
                };
                self.profile.fold(&mut self.last, access, alignment);
            }
            OpClass::Sync => self.sync_ns += row.duration_ns(),
            _ => {
                self.metadata_ns += if timed { row.duration_ns() } else { 0 };
                self.span(class, row.start, row.end);
            }
        }
    }

    fn folded(&mut self, class: OpClass, timed: bool, counters: &Counters, shift_ns: u64) {
        let mut counters = counters.clone();
        counters.first_start = counters.first_start.saturating_add(shift_ns);
        counters.last_end = counters.last_end.saturating_add(shift_ns);
        match class {
            OpClass::Read | OpClass::Write => self.data[usize::from(class == OpClass::Write)].merge(&counters),
            OpClass::Sync => self.sync_ns += counters.duration,
            _ => {
                self.metadata_ns += if timed { counters.duration } else { 0 };
                self.span(class, counters.first_start, counters.last_end);
            }
        }
    }
}

/// Returns the layer and class of the calls of a stream (one operation on one file); `None` if Darshan would not count these calls.
pub(crate) fn counted(run: &Run, stream: &Stream) -> Option<(Layer, OpClass)> {
    let op = run.op(stream);
    let layer = counts(op.layer).filter(|_| !stream.failed && stream.chosen)?;
    Some((layer, op.class?))
}

/// Returns true if Darshan's metadata time includes the calls of a stream (one operation on one file): opens, closes, seeks, stats, renames
/// and MPI-IO settings. Darshan excludes locks, which wait for other processes, and calls that create and remove names.
fn timed(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    match op.class {
        Some(OpClass::Open | OpClass::Close | OpClass::Seek) => true,
        Some(OpClass::Metadata) => op.layer != Some(Layer::Posix) || ["stat", "rename"].contains(&op.name.as_str()),
        _ => false,
    }
}

pub(crate) fn add(
    run: &Run,
    rank: i64,
    processes: &[ProcessId],
    sums: &mut Sums,
    heat: &mut Heat,
    lost: &mut Lost,
    bar: &Bar,
) {
    let mut of_rank: FxHashMap<(Layer, FileId), RecordSum> = FxHashMap::default();
    let mut reader = Reader::default();
    for &number in processes {
        let Some(process) = run.process(number) else { continue };
        heat.add_process(process, rank);
        let mut calls: FxHashMap<StreamIx, u64> = FxHashMap::default();
        for block in 0..process.blocks.len() as u32 {
            bar.advance(segments_of(run, number, block));
            let Some(block) = reader.block(run, number, block, lost) else { continue };
            for row in block.rows() {
                let Some(stream) = process.stream(row.stream) else { continue };
                let Some((layer, class)) = counted(run, stream) else { continue };
                let place = |time: u64| time.saturating_add(process.shift_ns);
                let row = Row { start: place(row.start), end: place(row.end), ..row };
                let alignment = run.file(stream.file).map_or(0, File::alignment);
                of_rank.entry((layer, stream.file)).or_default().row(class, timed(run, stream), &row, alignment);
                *calls.entry(row.stream).or_default() += 1;
                heat.add(layer, rank, class, &row);
            }
        }
        for missing in &process.missing {
            let Some(index) = process.stream_index(missing.stream) else { continue };
            let Some(stream) = process.stream(index) else { continue };
            let Some((layer, class)) = counted(run, stream) else { continue };
            let sum = of_rank.entry((layer, stream.file)).or_default();
            sum.folded(class, timed(run, stream), &missing.counters, process.shift_ns);
            *calls.entry(index).or_default() += missing.counters.segments;
        }
        for (index, count) in calls {
            let Some(stream) = process.stream(index) else { continue };
            let Some((layer, class)) = counted(run, stream) else { continue };
            let op = run.op(stream);
            of_rank.entry((layer, stream.file)).or_default().calls(class, &op.name, op.mode, count);
        }
        for def in process.reduction.spreads.iter().filter(|def| counts(Some(def.layer)).is_some()) {
            of_rank.entry((def.layer, FileId(def.file))).or_default().spread = Some(def.spread);
        }
        for def in process.profiles.iter().filter(|def| counts(Some(def.layer)).is_some()) {
            of_rank.entry((def.layer, FileId(def.file))).or_default().profile.merge(&def.profile);
        }
        for def in process.whole.iter().filter(|def| counts(Some(def.layer)).is_some()) {
            of_rank.entry((def.layer, FileId(def.file))).or_default().tell(def);
        }
    }
    for ((layer, file), sum) in of_rank {
        sums.files.insert(file);
        sums.all.insert((layer, rank, file), sum);
    }
}
