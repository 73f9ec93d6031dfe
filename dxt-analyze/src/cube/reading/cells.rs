//! Second pass over the trace: sums the time in calls by process, time window, stream (one operation on one file), size and storage target.
//! Each sum is a cell. A library call (MPI-IO, HDF5) and the calls inside it have separate cells.

use super::at_work::{self, AtWork};
use super::cpu_waits::CallsWithout;
use super::depths::{self, Depths};
use super::parts::Parts;
use super::role::all_meet;
use super::slots::{SLOTS, Slots};
use super::sums::{Call, Key, NO_TARGET, Sums, coarse, log};
use super::threads::{OfThread, Threads};
use super::usual::{Kind, Least, Usual, size_class};
use super::who::{Who, of_all};
use crate::layouts::placed::Placed;
use crate::limits::{CELLS, LEAST_CELLS};
use crate::model::{Class, FileLayout, ProcessId, Run, Stream, StreamIx};
use crate::scan::{Analysis, Block, Row};
use crate::shared::layer_calls::Form;
use crate::shared::sum_cache::InTurn;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use trace_format::frame::BlockHead;
use trace_format::op::{Layer, OpMode};

/// Number of cells (sums over similar calls) that take as much memory as one stream's sums by part of the file. Stream: one operation on
/// one file.
const PER_PARTS: usize = 16;
/// Minimum number of streams (one operation on one file) of a process whose times are also summed by part of the file.
const FEWEST_PARTS: usize = 4;

/// Minimum number of threads of a process for calls to be summed by thread, too. Includes the thread under which the trace lists collective
/// MPI calls.
const FEWEST_THREADS: usize = 3;

/// Analysis (pass over all recorded calls) that sums up calls in cells: by process, time window, stream, size and storage target.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    slots: &'a Slots,
    usual: &'a FxHashMap<Kind, Usual>,
    layouts: &'a [Option<FileLayout>],
    /// By process and stream: true if the stream's calls are summed.
    looked_at: Vec<Vec<bool>>,
    /// By file: true if parts of the file can be slow. If only one of several processes uses a file, its parts cannot be distinguished from
    /// time windows.
    in_parts: Vec<bool>,
    /// By process: number in the trace of each communicator that contains all ranks, and its identity across processes.
    communicators: Vec<FxHashMap<i64, Who>>,
    depths: Depths,
    /// Largest number of cells (sums over similar calls) of one process.
    limit: usize,
}

/// True if calls of a stream are summed: they are selected, and their duration is time that the process spends in them.
#[must_use]
pub fn looked_at(run: &Run, stream: &Stream) -> bool {
    stream.chosen && !stream.overview && Form::of(run.op(stream).mode) != Form::Unfinished
}

impl<'a> Cells<'a> {
    /// Prepares the pass over the trace of `run` that sums calls in cells.
    #[must_use]
    pub fn new(
        run: &Run,
        slots: &'a Slots,
        usual: &'a FxHashMap<Kind, Usual>,
        layouts: &'a [Option<FileLayout>],
    ) -> Self {
        let of =
            |process: &crate::model::Process| process.streams.iter().map(|stream| looked_at(run, stream)).collect();
        Self {
            slots,
            usual,
            layouts,
            looked_at: run.processes.iter().map(of).collect(),
            in_parts: run.users().iter().map(|users| *users > 1 || run.processes.len() == 1).collect(),
            communicators: run.processes.iter().map(|process| of_all(process, run.ranks())).collect(),
            depths: Depths::new(run.length_ns(), layouts),
            limit: (CELLS / run.processes.len().max(1)).max(LEAST_CELLS),
        }
    }

    /// Returns the phase (time up to a synchronization point) to which a wait from `begin` to `end` (ns since the job's start) belongs: the
    /// last phase that ends during the wait. If several phases end during the wait, calls such as a gather, in which only some ranks wait,
    /// ended the earlier ones. A rank that arrives last waits from the end of a phase on, and its wait counts in the phase that ended.
    fn waited_in(&self, begin: u64, end: u64) -> usize {
        let of = |moment: u64| self.slots.phase(self.slots.of(moment));
        let first = of(begin.saturating_sub(1));
        first.max(of(end).saturating_sub(1))
    }

    /// Adds a cell's calls to the sums of the thread that made them, if they are reads or writes that reach the kernel.
    fn add_to_thread(&self, thread: &mut at_work::OfThread, block: &Block<'_>, key: Key, sums: &Sums) {
        let Some(stream) = block.process.stream(key.stream).filter(|stream| !stream.failed) else { return };
        let op = block.run.op(stream);
        if matches!(op.layer, Some(Layer::Posix | Layer::Stdio)) && op.mode == OpMode::Plain {
            let (phase, like) = (self.slots.phase(usize::from(key.slot)), self.like(stream, key.size));
            thread.add((Class::of(op), stream.file), phase, sums, like.log);
        }
    }

    /// Returns the usual duration of calls of a stream and size octave (bit length of the bytes).
    fn like(&self, stream: &Stream, size: u8) -> Like {
        let usual = self.usual.get(&Kind::of_size(stream, size));
        Like {
            size,
            far_ns: usual.map_or(u64::MAX, |usual| usual.far_ns),
            log: usual.map_or(0, |usual| log(usual.median_ns as u64)),
            least: usual.map_or(Least::default(), |usual| usual.least),
        }
    }

    /// Returns the times of a block's calls without the parts in which the thread waited for a processor.
    fn without_waits(&self, block: &Block<'_>, looked_at: &[bool]) -> CallsWithout {
        let mut out = CallsWithout::new(block);
        if !out.is_empty() {
            for stretch in block.stretches().filter(|of| looked_at.get(of.stream.index()).is_some_and(|&is| is)) {
                let Some(stream) = block.process.stream(stretch.stream) else { continue };
                for row in stretch.rows() {
                    out.add(&row, stream.within(), self.like(stream, size_class(row.length)).least);
                }
            }
        }
        out
    }
}

/// Usual duration of calls of one stream and size octave (bit length of the bytes).
#[derive(Clone, Copy)]
struct Like {
    size: u8,
    /// Duration from which a call is an outlier, ns.
    far_ns: u64,
    /// Natural logarithm of the calls' median duration in ns, times 2^16.
    log: i64,
    /// Median duration of the calls without waits for a processor.
    least: Least,
}

#[inline]
fn target(placed: Option<&Placed<'_>>, row: &Row) -> u32 {
    let offset = u64::try_from(row.offset).ok().filter(|_| row.length > 0);
    let place = placed.zip(offset).and_then(|(placed, offset)| placed.locate(offset));
    place.and_then(|(_, target)| target).unwrap_or(NO_TARGET)
}

/// Cells of one process. If there are too many, 2, 4, ... adjacent time windows share a cell.
#[derive(Clone, Debug, Default)]
pub struct OfProcess {
    /// Cells (sums over similar calls), sorted by key.
    pub cells: Vec<(Key, Sums)>,
    /// Number of times that the number of time windows was halved: 2^`merged` windows share a cell.
    pub merged: u32,
    /// Times in calls by part of the file, for as many streams (one operation on one file) as fit in memory.
    pub parts: Vec<(StreamIx, Parts)>,
    /// Time of the process's threads in calls, from which follows for how long several threads are in calls at once.
    pub threads: Threads,
    /// Time in calls of each of the process's threads, by thread id, ns.
    pub by_thread: FxHashMap<u32, u64>,
    /// Reads and writes of the process's threads, compared with each other; `None` if the process has too few threads.
    pub at_work: Option<AtWork>,
    /// By phase (time up to a synchronization point): time that the process spends in synchronizing MPI calls other than MPI-IO, ns.
    pub waits: FxHashMap<u32, u64>,
    /// Phases in which the process makes a synchronizing MPI call (other than MPI-IO) on a communicator of all ranks.
    pub met_all: FxHashSet<u32>,
}

/// State of one analysis thread during the pass over the trace.
#[derive(Debug, Default)]
pub struct Partial {
    done: FxHashMap<ProcessId, OfProcess>,
    now: Option<ProcessId>,
    cells: FxHashMap<Key, Sums>,
    parts: FxHashMap<StreamIx, Parts>,
    merged: u32,
    /// Times in calls of each thread of the current process, by thread id.
    threads: FxHashMap<u32, OfThread>,
    /// Reads and writes of each thread of the current process, by thread id; empty if the process has few threads.
    at_work: FxHashMap<u32, at_work::OfThread>,
    /// By phase (time up to a synchronization point): time that the current process spends in synchronizing MPI calls other than MPI-IO,
    /// ns.
    waits: FxHashMap<u32, u64>,
    /// Phases in which the current process makes a synchronizing MPI call (other than MPI-IO) on a communicator of all ranks.
    met_all: FxHashSet<u32>,
    depths: depths::Partial,
}

impl Partial {
    fn end_process(&mut self) {
        let mut cells: Vec<(Key, Sums)> = self.cells.drain().collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        if let Some(process) = self.now.take() {
            let threads = Threads::of(self.threads.values());
            let by_thread = self.threads.iter().map(|(tid, of)| (*tid, of.in_calls_ns())).collect();
            let (waits, met_all) = (std::mem::take(&mut self.waits), std::mem::take(&mut self.met_all));
            let parts = self.parts.drain().collect();
            let at_work = AtWork::of(std::mem::take(&mut self.at_work));
            let merged = self.merged;
            self.done.insert(process, OfProcess { cells, parts, merged, threads, by_thread, at_work, waits, met_all });
        }
        self.parts.clear();
        self.waits.clear();
        self.met_all.clear();
        self.at_work.clear();
        self.threads.clear();
        self.merged = 0;
    }

    /// Returns the counts of calls in flight on storage targets, and resets them to 0.
    pub fn take_depths(&mut self) -> depths::Partial {
        std::mem::take(&mut self.depths)
    }

    /// Returns the cells (sums over similar calls) of each process.
    #[must_use]
    pub fn processes(mut self) -> FxHashMap<ProcessId, OfProcess> {
        self.end_process();
        self.done
    }

    /// Merges cells until at most `limit` are left: first time windows, then storage targets, then sizes.
    fn coarser(&mut self, limit: usize) {
        while self.cells.len() > limit && self.merged < SLOTS.ilog2() + 2 {
            self.merged += 1;
            let (merged, whole) = (self.merged, SLOTS.ilog2());
            let mut fewer: FxHashMap<Key, Sums> = FxHashMap::default();
            for (key, sums) in self.cells.drain() {
                fewer.entry(coarse(key, merged, whole)).or_default().add(&sums);
            }
            self.cells = fewer;
        }
    }
}

/// Returns a stream's sums by part of the file. Creates empty ones if fewer than `limit` streams have such sums; else `None`.
fn parts_of(all: &mut FxHashMap<StreamIx, Parts>, stream: StreamIx, limit: usize) -> Option<&mut Parts> {
    let room = all.len() < limit;
    match all.entry(stream) {
        Entry::Occupied(of) => Some(of.into_mut()),
        Entry::Vacant(none) if room => Some(none.insert(Parts::default())),
        Entry::Vacant(_) => None,
    }
}

impl Analysis for Cells<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        true
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if partial.now != Some(block.number) {
            partial.end_process();
            partial.now = Some(block.number);
        }
        let (of, shift) = (block.number.index(), block.process.shift_ns);
        let (Some(looked_at), Some(of_all)) = (self.looked_at.get(of), self.communicators.get(of)) else { return };
        let (whole, merged) = (SLOTS.ilog2(), partial.merged);
        let mut mine = OfThread::default();
        let several = block.process.threads.len() >= FEWEST_THREADS;
        let mut at_work = at_work::OfThread::default();
        let limit = (self.limit / PER_PARTS).max(FEWEST_PARTS);
        let mut slot = (0, 0..0);
        let mut open: InTurn<Key, Sums> = InTurn::default();
        let mut near = depths::Near::default();
        let mut add = |(key, sums): (Key, Sums)| {
            if several {
                self.add_to_thread(&mut at_work, block, key, &sums);
            }
            partial.cells.entry(coarse(key, merged, whole)).or_default().add(&sums);
        };
        let without = self.without_waits(block, looked_at);
        for stretch in block.stretches() {
            if !looked_at.get(stretch.stream.index()).is_some_and(|&is| is) {
                // MPI's own synchronizing calls have a mark that no stream number has.
                let stream = block.process.stream(stretch.stream.any());
                let meets = stream.is_some_and(|stream| stream.meets);
                let together = stream.is_some_and(|stream| all_meet(block.run.op(stream)));
                let op = stream.map_or(u16::MAX, |stream| stream.op);
                for row in stretch.rows().filter(|row| row.stream.may_meet() && meets) {
                    let phase = self.waited_in(row.start.saturating_add(shift), row.end.saturating_add(shift));
                    let phase = u32::try_from(phase).unwrap_or(u32::MAX);
                    let wait = partial.waits.entry(phase).or_default();
                    *wait = wait.saturating_add(row.duration_ns());
                    // A rank that only sends its part of a reduction continues before others arrive.
                    let meets = |who: &Who| together || self.slots.met_in.contains(&(op, *who));
                    if of_all.get(&row.offset).is_some_and(meets) {
                        partial.met_all.insert(phase);
                    }
                }
                continue;
            }
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let layout = self.layouts.get(stream.file.index()).and_then(Option::as_ref);
            let placed = layout.filter(|_| stream.storage).map(|layout| Placed::new(&layout.layout));
            let class = Class::of(block.run.op(stream));
            let mut like = self.like(stream, 0);
            mine.add_all(stretch, shift);
            let in_parts = self.in_parts.get(stream.file.index()).is_some_and(|&is| is);
            let any = in_parts && stretch.rows().any(|row| row.length > 0 && row.offset >= 0);
            let mut parts = if any { parts_of(&mut partial.parts, stretch.stream, limit) } else { None };
            for row in stretch.rows() {
                let at = row.start.saturating_add(shift);
                let size = size_class(row.length);
                if like.size != size {
                    like = self.like(stream, size);
                }
                if !slot.1.contains(&at) {
                    slot = self.slots.around(at);
                }
                let key = Key {
                    slot: u16::try_from(slot.0).unwrap_or(u16::MAX),
                    stream: row.stream,
                    size,
                    target: target(placed.as_ref(), &row),
                };
                let duration = without.duration(&row, stream.within(), like.least);
                let is_far = duration >= like.far_ns;
                let logs = log(duration);
                let above = logs - like.log;
                let offset = u64::try_from(row.offset);
                if row.length > 0
                    && let Ok(offset) = offset
                    && let Some(parts) = &mut parts
                {
                    parts.add(offset, duration, above);
                }
                if key.target != NO_TARGET {
                    let call = depths::Call { at, duration, above };
                    self.depths.add(&mut partial.depths, &mut near, (class, key.target), call);
                }
                let range = offset.map_or((0, 0), |offset| (offset, offset.saturating_add(row.length)));
                let call = Call { at, duration, logs, is_far, bytes: row.length, range };
                match open.find(key.target as usize, &key) {
                    Some(sums) => Sums::add_call(sums, &call),
                    None => {
                        open.put(key.target as usize, key, Sums::of_call(&call)).into_iter().for_each(&mut add);
                    }
                }
            }
        }
        open.rest().for_each(add);
        if several {
            partial.at_work.entry(block.process.tid(block.thread)).or_default().join(at_work);
        }
        partial.threads.entry(block.process.tid(block.thread)).or_default().join(&mine);
        if partial.cells.len() > self.limit {
            partial.coarser(self.limit);
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        into.depths.merge(other.take_depths());
        into.done.extend(other.done);
    }
}
