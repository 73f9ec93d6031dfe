//! Time in calls by process, slot, stream, size and storage target: second reading. A call of the program that has others inside (of
//! MPI-IO or HDF5) has a cell of its own beside theirs.

use super::depths::{self, Depths};
use super::parts::{LOG_BITS, Part, Parts};
use super::slots::{SLOTS, Slots};
use super::threads::{OfThread, Threads};
use super::usual::{FAR, Kind, Usual, size_class};
use crate::layouts::placed::Placed;
use crate::limits::CELLS;
use crate::model::{FileLayout, ProcessId, Run, Stream, StreamIx};
use crate::scan::{Analysis, Block, Row};
use crate::shared::in_turn::InTurn;
use crate::topics::causes::class::Class;
use crate::topics::layers::parts::Form;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use trace_format::frame::BlockHead;

/// Stands for no storage target.
pub const NO_TARGET: u32 = u32::MAX;
/// Cells that each process may have at least.
const FEWEST: usize = 16;
/// Cells that take as much room as the parts of one stream's file, and streams of a process that have such parts at least.
const PER_PARTS: usize = 16;
const FEWEST_PARTS: usize = 4;

/// Stands for a moment that is not known.
const AT_SOME_TIME: u64 = u64::MAX;
/// Calls besides the longest of which their mean tells what is usual, at least.
const FEWEST_OTHERS: u64 = 3;

/// What calls are of, within a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Slot of the run.
    pub slot: u16,
    /// Index into the process's streams.
    pub stream: StreamIx,
    /// Octave of the length.
    pub size: u8,
    /// Storage target of the first byte, or [`NO_TARGET`].
    pub target: u32,
}

/// Calls. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// How many.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in them.
    pub time_ns: u64,
    /// Sum of the natural logarithms of their durations, times 2^16.
    logs: i64,
    /// Calls far from their like.
    pub far_calls: u64,
    /// Time in those.
    pub far_ns: u64,
    /// The longest, and when it began since the job's start; [`AT_SOME_TIME`] if that is not known.
    pub longest_ns: u64,
    /// See above.
    pub longest_at: u64,
    /// The shortest; 0 if that is not known.
    pub shortest_ns: u64,
    /// When the first began since the job's start, as [`Self::longest_at`].
    pub first_at: u64,
    /// Bytes of the file between which they lie, as far as that is known; the first behind the second if not.
    pub range: (u64, u64),
}

impl Cell {
    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.first_at = if self.calls == 0 { other.first_at } else { self.first_at.min(other.first_at) };
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
        self.far_calls = self.far_calls.saturating_add(other.far_calls);
        self.far_ns = self.far_ns.saturating_add(other.far_ns);
        self.shortest_ns = match (self.shortest_ns, other.shortest_ns) {
            (0, shortest) | (shortest, 0) => shortest,
            (mine, theirs) => mine.min(theirs),
        };
        let known = |range: (u64, u64)| range.0 < range.1;
        self.range = match (known(self.range), known(other.range)) {
            (true, true) => (self.range.0.min(other.range.0), self.range.1.max(other.range.1)),
            (false, _) => other.range,
            _ => self.range,
        };
        if (other.longest_ns, self.longest_at) > (self.longest_ns, other.longest_at) {
            (self.longest_ns, self.longest_at) = (other.longest_ns, other.longest_at);
        }
    }

    /// Of one call.
    fn of_call(call: &Call) -> Self {
        let &Call { at, duration, logs, is_far, bytes, range } = call;
        Self {
            calls: 1,
            bytes,
            time_ns: duration,
            logs,
            far_calls: u64::from(is_far),
            far_ns: if is_far { duration } else { 0 },
            longest_ns: duration,
            longest_at: at,
            shortest_ns: duration.max(1),
            first_at: at,
            range,
        }
    }

    /// Adds a call. Shorter than [`Cell::add`], since what a call has is known.
    #[inline]
    fn add_call(&mut self, call: &Call) {
        let &Call { at, duration, logs, is_far, bytes, range } = call;
        self.calls += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(duration);
        self.logs = self.logs.saturating_add(logs);
        if is_far {
            self.far_calls += 1;
            self.far_ns = self.far_ns.saturating_add(duration);
        }
        self.shortest_ns = self.shortest_ns.min(duration.max(1));
        self.first_at = self.first_at.min(at);
        if duration > self.longest_ns || duration == self.longest_ns && at < self.longest_at {
            (self.longest_ns, self.longest_at) = (duration, at);
        }
        if self.range.0 >= self.range.1 {
            if range.0 < range.1 {
                self.range = range;
            }
        } else if range.0 < range.1 {
            self.range = (self.range.0.min(range.0), self.range.1.max(range.1));
        }
    }

    /// Calls of which only sums are known, and how long the longest took (0: unknown).
    #[must_use]
    pub fn counted(calls: u64, bytes: u64, time_ns: u64, longest_ns: u64) -> Self {
        let mean = (time_ns / calls.max(1)).max(1);
        let logs = log(mean).saturating_mul(i64::try_from(calls).unwrap_or(i64::MAX));
        Self {
            calls,
            bytes,
            time_ns,
            logs,
            far_calls: 0,
            far_ns: 0,
            longest_ns,
            longest_at: AT_SOME_TIME,
            shortest_ns: 0,
            first_at: AT_SOME_TIME,
            range: (0, 0),
        }
    }

    /// Mean time of the calls that are not far from their like.
    #[must_use]
    pub fn mean_of_near_ns(&self) -> f64 {
        let near = self.calls.saturating_sub(self.far_calls).max(1);
        self.time_ns.saturating_sub(self.far_ns) as f64 / near as f64
    }

    /// Whether the longest took far longer than the mean of all others, of [`Cell::counted`].
    #[must_use]
    pub fn has_stalled(&self) -> bool {
        let others = self.calls.saturating_sub(1);
        let rest_ns = self.time_ns.saturating_sub(self.longest_ns);
        others >= FEWEST_OTHERS && self.longest_ns as f64 * others as f64 >= rest_ns as f64 * FAR && self.longest_ns > 0
    }

    /// The same calls, the longest of which is no matter of all others: one call makes nothing slow.
    #[must_use]
    pub fn with_stall(self) -> Self {
        let others = self.calls.saturating_sub(1).max(1);
        let mean = (self.time_ns.saturating_sub(self.longest_ns) / others).max(1);
        let logs = log(mean).saturating_mul(i64::try_from(others).unwrap_or(i64::MAX));
        Self { logs: logs.saturating_add(log(self.longest_ns)), far_calls: 1, far_ns: self.longest_ns, ..self }
    }

    /// When the longest began since the job's start, if that is known.
    #[must_use]
    pub fn longest_began(&self) -> Option<u64> {
        (self.longest_at != AT_SOME_TIME).then_some(self.longest_at)
    }

    /// Mean logarithm of their durations, without the longest where there are several: one call makes nothing slow.
    #[must_use]
    pub fn typical_log(&self) -> f64 {
        let (logs, calls) = if self.calls > 1 {
            (self.logs.saturating_sub(log(self.longest_ns)), self.calls - 1)
        } else {
            (self.logs, 1)
        };
        logs as f64 / f64::from(1 << LOG_BITS) / calls as f64
    }
}

/// A call, as cells count it.
struct Call {
    /// Its beginning, ns since the job's start.
    at: u64,
    duration: u64,
    /// Logarithm of that.
    logs: i64,
    is_far: bool,
    bytes: u64,
    /// As [`Cell::range`].
    range: (u64, u64),
}

/// Natural logarithm of a duration, times 2^16, to 0.5 %: a straight line and a parabola between powers of two.
#[inline]
pub(crate) fn log(duration: u64) -> i64 {
    const LN_2: i64 = 45426;
    let duration = duration.max(1);
    let octave = duration.ilog2();
    let part = i64::try_from((duration << (63 - octave) << 1) >> 48).unwrap_or(0);
    // log2(1 + x) = x + 0.344 x (1 - x), nearly.
    let curve = (part * ((1 << LOG_BITS) - part)) >> LOG_BITS;
    let octaves = (i64::from(octave) << LOG_BITS) + part + ((curve * 22544) >> LOG_BITS);
    (octaves * LN_2) >> LOG_BITS
}

/// The analysis.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    slots: &'a Slots,
    usual: &'a FxHashMap<Kind, Usual>,
    layouts: &'a [Option<FileLayout>],
    /// Per process: whether each stream is looked at.
    looked_at: Vec<Vec<bool>>,
    depths: Depths,
    /// Cells that a process may have.
    limit: usize,
}

/// Whether calls of a stream have a time that a process spends in them.
#[must_use]
pub fn looked_at(run: &Run, stream: &Stream) -> bool {
    stream.chosen && !stream.overview && Form::of(run.op(stream).mode) != Form::Unfinished
}

impl<'a> Cells<'a> {
    /// Of `run`.
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
            depths: Depths::new(super::phases::length(run), layouts),
            limit: (CELLS / run.processes.len().max(1)).max(FEWEST),
        }
    }

    /// The phase that a wait for others ends: one that ends while it lasts, the last of several, since calls in which not all wait (a gather) may end
    /// phases before. The last to come begins when the phase ends: it is of that phase, too.
    fn waited_in(&self, begin: u64, end: u64) -> usize {
        let of = |moment: u64| self.slots.phase(self.slots.of(moment));
        let first = of(begin.saturating_sub(1));
        first.max(of(end).saturating_sub(1))
    }

    /// What is usual for calls of a stream and size.
    fn like(&self, stream: &Stream, size: u8) -> Like {
        let usual = self.usual.get(&Kind::of_size(stream, size));
        Like {
            size,
            far_ns: usual.map_or(u64::MAX, |usual| usual.far_ns),
            log: usual.map_or(0, |usual| log(usual.median_ns as u64)),
        }
    }
}

/// What is usual for calls of one stream and size.
#[derive(Clone, Copy)]
struct Like {
    size: u8,
    /// From here on a call is far from its like, ns.
    far_ns: u64,
    /// Logarithm of what they take.
    log: i64,
}

/// Storage target of a call's first byte.
#[inline]
fn target(placed: Option<&Placed<'_>>, row: &Row) -> u32 {
    let offset = u64::try_from(row.offset).ok().filter(|_| row.length > 0);
    let place = placed.zip(offset).and_then(|(placed, offset)| placed.locate(offset));
    place.and_then(|(_, target)| target).unwrap_or(NO_TARGET)
}

/// Cells of a process. Slots are merged in twos, fours, ... if there are too many.
#[derive(Clone, Debug, Default)]
pub struct OfProcess {
    /// By what they are of, in order.
    pub cells: Vec<(Key, Cell)>,
    /// Slots are merged by two to the power of this.
    pub merged: u32,
    /// The parts of the files of its streams, as far as there is room.
    pub parts: Vec<(StreamIx, Parts)>,
    /// Its threads: several may be in calls at once.
    pub threads: Threads,
    /// By phase: time in MPI's calls in which processes meet, ns.
    pub waits: FxHashMap<u32, u64>,
}

/// What a thread keeps.
#[derive(Debug, Default)]
pub struct Partial {
    done: FxHashMap<ProcessId, OfProcess>,
    now: Option<ProcessId>,
    cells: FxHashMap<Key, Cell>,
    parts: FxHashMap<StreamIx, Parts>,
    merged: u32,
    /// Each thread of the process that is being read.
    threads: FxHashMap<u32, OfThread>,
    /// By phase: time in MPI's calls in which processes meet, ns.
    waits: FxHashMap<u32, u64>,
    depths: depths::Partial,
}

impl Partial {
    fn end_process(&mut self) {
        let mut cells: Vec<(Key, Cell)> = self.cells.drain().collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        if let Some(process) = self.now.take() {
            let threads = Threads::of(self.threads.values());
            let waits = std::mem::take(&mut self.waits);
            let parts = self.parts.drain().collect();
            self.done.insert(process, OfProcess { cells, parts, merged: self.merged, threads, waits });
        }
        self.parts.clear();
        self.waits.clear();
        self.threads.clear();
        self.merged = 0;
    }

    /// How many calls others find on their target.
    pub fn take_depths(&mut self) -> depths::Partial {
        std::mem::take(&mut self.depths)
    }

    /// All of them, by process.
    #[must_use]
    pub fn processes(mut self) -> FxHashMap<ProcessId, OfProcess> {
        self.end_process();
        self.done
    }

    /// Makes room: fewer slots, then no targets, then no sizes.
    fn coarser(&mut self, limit: usize) {
        while self.cells.len() > limit && self.merged < SLOTS.ilog2() + 2 {
            self.merged += 1;
            let (merged, whole) = (self.merged, SLOTS.ilog2());
            let mut fewer: FxHashMap<Key, Cell> = FxHashMap::default();
            for (key, cell) in self.cells.drain() {
                fewer.entry(coarse(key, merged, whole)).or_default().add(&cell);
            }
            self.cells = fewer;
        }
    }
}

/// The parts of a stream's file, if there is room.
fn parts_of(all: &mut FxHashMap<StreamIx, Parts>, stream: StreamIx, limit: usize) -> Option<&mut Parts> {
    let room = all.len() < limit;
    match all.entry(stream) {
        Entry::Occupied(of) => Some(of.into_mut()),
        Entry::Vacant(none) if room => Some(none.insert(Parts::default())),
        Entry::Vacant(_) => None,
    }
}

/// What a cell is part of when slots are merged by two to the power of `merged`; beyond `whole`, targets and sizes go too.
#[inline]
#[must_use]
pub fn coarse(key: Key, merged: u32, whole: u32) -> Key {
    if merged == 0 {
        return key;
    }
    let slot = if merged >= whole { 0 } else { key.slot >> merged << merged };
    let target = if merged > whole { NO_TARGET } else { key.target };
    let size = if merged > whole + 1 { key.size.min(1) } else { key.size };
    Key { slot, target, size, ..key }
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
        let (Some(looked_at), shift) = (self.looked_at.get(block.number.index()), block.process.shift_ns) else {
            return;
        };
        let (whole, merged) = (SLOTS.ilog2(), partial.merged);
        let mut mine = OfThread::default();
        let limit = (self.limit / PER_PARTS).max(FEWEST_PARTS);
        let mut slot = (0, 0..0);
        let mut open: InTurn<Key, Cell> = InTurn::default();
        let mut near = depths::Near::default();
        let mut add =
            |(key, cell): (Key, Cell)| partial.cells.entry(coarse(key, merged, whole)).or_default().add(&cell);
        for stretch in block.stretches() {
            if !looked_at.get(stretch.stream.index()).is_some_and(|&is| is) {
                // MPI's calls in which processes meet bear a mark that no stream's number has.
                let meets = block.process.stream(stretch.stream.any()).is_some_and(|stream| stream.meets);
                for row in stretch.rows().filter(|row| row.stream.may_meet() && meets) {
                    let phase = self.waited_in(row.start.saturating_add(shift), row.end.saturating_add(shift));
                    let wait = partial.waits.entry(u32::try_from(phase).unwrap_or(u32::MAX)).or_default();
                    *wait = wait.saturating_add(row.duration_ns());
                }
                continue;
            }
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let layout = self.layouts.get(stream.file.index()).and_then(Option::as_ref);
            let placed = layout.filter(|_| stream.storage).map(|layout| Placed::new(&layout.layout));
            let class = Class::of(block.run.op(stream));
            let mut like = self.like(stream, 0);
            mine.add_all(stretch, shift);
            let any = stretch.rows().any(|row| row.length > 0 && row.offset >= 0);
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
                let duration = row.duration_ns();
                let is_far = duration >= like.far_ns;
                let logs = log(duration);
                let offset = u64::try_from(row.offset);
                if row.length > 0
                    && let Ok(offset) = offset
                    && let Some(parts) = &mut parts
                {
                    parts.add(offset, &Part::of(duration, logs.saturating_sub(like.log)));
                }
                if key.target != NO_TARGET {
                    let above = logs.saturating_sub(like.log);
                    let call = depths::Call { at, duration, above };
                    self.depths.add(&mut partial.depths, &mut near, (class, key.target), call);
                }
                let range = offset.map_or((0, 0), |offset| (offset, offset.saturating_add(row.length)));
                let call = Call { at, duration, logs, is_far, bytes: row.length, range };
                match open.find(key.target as usize, &key) {
                    Some(cell) => Cell::add_call(cell, &call),
                    None => {
                        open.put(key.target as usize, key, Cell::of_call(&call)).into_iter().for_each(&mut add);
                    }
                }
            }
        }
        open.rest().for_each(add);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_near() {
        for duration in (1..2000).chain([123_456, 7_654_321, 1 << 40, u64::MAX]) {
            let exact = (duration as f64).ln();
            let found = log(duration) as f64 / f64::from(1 << LOG_BITS);
            assert!((found - exact).abs() < 0.006, "{duration}: {found}, not {exact}");
        }
    }
}
