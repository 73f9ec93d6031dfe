//! Pass of the checks over each process's calls, thread by thread, in the order in which the calls returned. Memory: totals per file, and
//! at most [`crate::limits::HELD_RANGES`] byte ranges of the process being read.

use super::cells::Cells;
use super::ranges::Ranges;
use super::roles::Role;
use super::runs::Run as SmallRun;
use super::sums::FileSums;
use super::walked_file::{WalkedFile, Who};
use super::writers::{Writers, written_by_several};
use crate::limits::{FOLLOWED_CELLS, HELD_RANGES};
use crate::model::{FileId, Process, ProcessId, Run};
use crate::scan::{Analysis, Block, Row, Stretch};
use crate::thresholds::Thresholds;
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::counters::Counters;
use trace_format::meta::WholeDef;
use trace_format::op::Layer;

/// Number of calls processed singly after a call that breaks the access pattern, before processing in bulk is tried again.
const IN_VAIN: usize = 8;

/// Pass of the checks over all calls in call order.
#[derive(Debug)]
pub struct Walk<'a> {
    /// Thresholds, such as those for small and slow requests.
    thresholds: &'a Thresholds,
    /// Files for which [`Writers`] are tracked: several processes write them, and at least one of these also reads them.
    written_by_several: FxHashSet<FileId>,
}

impl<'a> Walk<'a> {
    /// Creates the pass of the checks over the calls of `run`.
    #[must_use]
    pub fn new(run: &'a Run) -> Self {
        Self { thresholds: &run.thresholds, written_by_several: written_by_several(run) }
    }
}

/// Data collected by one thread of the analyzer, for several processes.
#[derive(Debug)]
pub struct Partial {
    /// Totals of the accesses to each file.
    pub files: FxHashMap<FileId, Box<FileSums>>,
    /// Cells (fixed-size regions of files) that several processes read.
    pub cells: Cells,
    /// Byte ranges that each process wrote in shared files.
    pub writers: Writers,
    current: Option<Current>,
}

/// State of the process whose calls are being read.
#[derive(Debug)]
struct Current {
    number: ProcessId,
    thread: u32,
    roles: Vec<(Role, u32)>,
    runs: Vec<SmallRun>,
    slots: Vec<WalkedFile>,
    ranges: usize,
}

impl Current {
    fn new(run: &Run, number: ProcessId, process: &Process, thread: u32, several: &FxHashSet<FileId>) -> Self {
        let mut places: FxHashMap<FileId, u32> = FxHashMap::default();
        let mut slots: Vec<WalkedFile> = Vec::new();
        let roles = process.streams.iter().map(|stream| {
            let place = *places.entry(stream.file).or_insert_with(|| {
                let shared = several.contains(&stream.file);
                slots.push(WalkedFile { file: stream.file, shared, ..WalkedFile::default() });
                slots.len() as u32 - 1
            });
            (Role::of(run, stream), place)
        });
        let mut roles: Vec<(Role, u32)> = roles.collect();
        let reported: FxHashMap<FileId, &WholeDef> =
            run.whole(process).filter(|def| def.layer == Layer::Posix).map(|def| (FileId(def.file), def)).collect();
        for ((role, _), stream) in roles.iter_mut().zip(&process.streams).filter(|_| !reported.is_empty()) {
            let def = reported.get(&stream.file).filter(|_| run.op(stream).layer == Some(Layer::Posix));
            if let (Role::Data { writes, reported, .. }, Some(def)) = (role, def) {
                *reported = def.order(*writes).known > 0;
            }
        }
        let runs = vec![SmallRun::default(); roles.len()];
        Self { number, thread, roles, runs, slots, ranges: 0 }
    }

    /// Ends the current thread's runs of small requests, and forgets its last accesses, after the thread's last call.
    fn end_thread(&mut self, least: &Thresholds) {
        for ((role, place), run) in self.roles.iter().zip(&mut self.runs) {
            if let (Role::Data { writes, .. }, Some(slot)) = (role, self.slots.get_mut(*place as usize)) {
                run.finish(slot.sums.direction(*writes), self.number, least.small_request_bytes);
            }
        }
        for slot in &mut self.slots {
            (slot.last, slot.inside) = Default::default();
        }
    }

    fn calls(&mut self, calls: Stretch<'_>, alone: Option<&Counters>, least: &Thresholds) {
        let Some(&(role, place)) = self.roles.get(calls.stream.index()) else { return };
        let Some(slot) = self.slots.get_mut(place as usize) else { return };
        if let Role::Data { writes, requests, .. } = role {
            slot.all(calls, alone, writes, requests);
        }
        let (count, mut from) = (calls.start.len(), 0);
        while from < count {
            let taken = self.going_on(calls.part(from, count), (role, place), least);
            from += taken;
            if taken == 0 {
                // Calls that break the pattern rarely come alone, so several are processed singly before the next try in bulk.
                let some = calls.part(from, count.min(from + IN_VAIN));
                some.rows().for_each(|row| self.row(&row, (role, place), least));
                from += some.start.len();
            }
        }
    }

    /// Adds the first calls of `calls` in bulk as long as they continue the access pattern; returns how many were added. `role`: effect of
    /// the calls on the checks; `place`: index of their file in `slots`.
    fn going_on(&mut self, calls: Stretch<'_>, (role, place): (Role, u32), least: &Thresholds) -> usize {
        let Role::Data { writes, requests, nested, reported } = role else { return 0 };
        let (Some(slot), Some(run)) = (self.slots.get_mut(place as usize), self.runs.get_mut(calls.stream.index()))
        else {
            return 0;
        };
        if nested && !writes {
            return 0;
        }
        // In bulk, all requests must be small, or none.
        let small = calls.length.first().is_some_and(|length| *length < least.small_request_bytes);
        let lengths = match (requests, small) {
            (false, _) => 1..=u64::MAX,
            (true, true) => 1..=least.small_request_bytes - 1,
            (true, false) => least.small_request_bytes.max(1)..=u64::MAX,
        };
        let taken = slot.bytes_that_go_on(calls, writes, self.thread, &lengths);
        if requests && taken > 0 {
            slot.requests_that_go_on(run, calls.part(0, taken), (writes, reported, small), self.number, least);
        }
        taken
    }

    #[inline]
    fn row(&mut self, row: &Row, (role, place): (Role, u32), least: &Thresholds) {
        let Some(slot) = self.slots.get_mut(place as usize) else { return };
        match role {
            Role::None => {}
            Role::Sync => slot.syncs = slot.syncs.wrapping_add(1),
            Role::Replace => {
                self.ranges = self.ranges.saturating_sub(slot.read.len() + slot.written.len());
                slot.replaced |= !slot.written.is_empty();
                slot.read.clear();
                slot.written.clear();
            }
            Role::Caller(caller) => slot.call_returned(caller, row),
            Role::Data { writes, requests, nested, reported } => {
                let Some(run) = self.runs.get_mut(row.stream.index()) else { return };
                let before = slot.read.len() + slot.written.len();
                if requests {
                    slot.request(run, row, (writes, reported), self.number, least);
                }
                if nested && !writes {
                    slot.add_inside(row);
                }
                slot.bytes(row, writes, self.number, self.thread);
                self.ranges = (self.ranges + slot.read.len() + slot.written.len()).saturating_sub(before);
                if self.ranges > HELD_RANGES {
                    self.forget();
                }
            }
        }
    }

    #[cold]
    fn forget(&mut self) {
        let ranges = |slots: &[WalkedFile]| slots.iter().map(|slot| slot.read.len() + slot.written.len()).sum();
        self.slots.iter_mut().flat_map(|slot| [&mut slot.read, &mut slot.written]).for_each(Ranges::sort_in);
        self.ranges = ranges(&self.slots);
        if self.ranges > HELD_RANGES {
            self.slots.iter_mut().flat_map(|slot| [&mut slot.read, &mut slot.written]).for_each(Ranges::forget_half);
            self.ranges = ranges(&self.slots);
        }
    }
}

impl Partial {
    /// Completes the process that was read last. Call after the last block.
    pub fn finish(&mut self, least: &Thresholds) {
        if let Some(mut current) = self.current.take() {
            current.end_thread(least);
            for slot in current.slots {
                if slot.shared && slot.written_by != Who::Nobody {
                    self.writers.add(&slot);
                }
                slot.finish(&mut self.files, &mut self.cells);
            }
        }
    }
}

impl Analysis for Walk<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial {
            files: FxHashMap::default(),
            cells: Cells::with_limit(FOLLOWED_CELLS),
            writers: Writers::default(),
            current: None,
        }
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if partial.current.as_ref().is_none_or(|current| current.number != block.number) {
            partial.finish(self.thresholds);
            let several = &self.written_by_several;
            partial.current = Some(Current::new(block.run, block.number, block.process, block.thread, several));
        }
        let Some(current) = &mut partial.current else { return };
        if current.thread != block.thread {
            current.end_thread(self.thresholds);
            current.thread = block.thread;
        }
        block.summed().for_each(|(calls, alone)| current.calls(calls, alone, self.thresholds));
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        other.finish(self.thresholds);
        into.finish(self.thresholds);
        into.cells.merge(other.cells);
        into.writers.merge(other.writers);
        other.files.into_iter().for_each(|(file, sums)| sums.merge_into(&mut into.files, file));
    }
}
