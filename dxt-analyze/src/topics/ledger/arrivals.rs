//! Computes how long each process waits in collective MPI-IO calls until the last rank arrives.
//!
//! The k-th collective call of one rank on a file is matched with the k-th of every other rank, as in
//! [`crate::topics::layers::collectives`]. A rank that left a call before the last rank arrived did not wait for it.

use crate::limits::FOLLOWED_ARRIVALS;
use crate::model::{FileId, ProcessId, Run, Within};
use crate::scan::{Analysis, Block};
use crate::shared::layer_calls::{Form, is_made_together};
use crate::shared::sampled_table::{Followed, Value};
use crate::sum::Sum;
use crate::topics::layers::collectives::Key;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::Layer;

/// Calls of all ranks in one collective operation: process, start and end (ns since the job's start).
#[derive(Clone, Debug, Default)]
struct Calls(Vec<(ProcessId, u64, u64)>);

impl Value for Calls {
    fn join(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
}

/// Analysis that computes waiting times from the ranks' arrivals at collective calls.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// File and operation of collective calls, by process and stream (one operation, file and caller); `None` for streams without
    /// collective calls.
    collective: Vec<Vec<Option<(FileId, u16)>>>,
    /// For each process, true if it has MPI synchronization calls.
    meet: Vec<bool>,
    /// Operations that are collective over a communicator, which may consist of a single process. They count as collective only if calls of
    /// all `ranks` ranks overlap in time.
    unsure: Vec<u16>,
    /// Number of MPI ranks of the run.
    ranks: usize,
    /// Maximum number of collective operations that are tracked.
    limit: usize,
}

impl Arrivals {
    /// Creates the analysis of `run`. Tracks nothing if a time window is selected, since calls of an operation may lie outside the window.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let of = |process: &crate::model::Process| -> Vec<Option<(FileId, u16)>> {
            let key = |stream: &crate::model::Stream| {
                let op = run.op(stream);
                let collective = op.layer == Some(Layer::Mpiio) && Form::of(op.mode) == Form::Collective;
                // Opens that HDF5 makes through MPI-IO are parts of HDF5 calls.
                let together = is_made_together(op) && stream.within() == Within::Nothing;
                ((collective || together) && run.window.is_none()).then_some((stream.file, stream.op))
            };
            let all: Vec<_> = process.streams.iter().map(key).collect();
            if all.iter().any(Option::is_some) { all } else { Vec::new() }
        };
        Self {
            collective: run.processes.iter().map(of).collect(),
            meet: run.processes.iter().map(|process| process.streams.iter().any(|stream| stream.meets)).collect(),
            unsure: (0_u16..).zip(&run.ops).filter(|(_, op)| is_made_together(op)).map(|(op, _)| op).collect(),
            ranks: usize::try_from(run.ranks()).unwrap_or(usize::MAX),
            limit: FOLLOWED_ARRIVALS / run.processes.len().max(1),
        }
    }

    fn of(&self, process: ProcessId) -> &[Option<(FileId, u16)>] {
        self.collective.get(process.index()).map_or(&[], Vec::as_slice)
    }
}

/// Collective calls, and times in synchronization calls, that one thread of the analyzer collected.
#[derive(Debug)]
pub struct Partial {
    calls: Followed<Key, Calls>,
    process: ProcessId,
    /// Time of each process in MPI synchronization calls, ns.
    sync_point: FxHashMap<ProcessId, u64>,
    /// Number of collective calls that the current process has made so far, by file and operation.
    numbers: FxHashMap<(FileId, u16), u64>,
    /// Operations that may be collective over a single process only, as in [`Arrivals`].
    unsure: Vec<u16>,
    /// Number of MPI ranks of the run.
    ranks: usize,
}

/// Waiting times of processes; estimates if only a sample of the collective operations was tracked.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Time that each process waits in collective MPI-IO calls for the last rank, ns.
    pub by_process: FxHashMap<ProcessId, u64>,
    /// Time of each process in MPI synchronization calls, ns.
    pub sync_point: FxHashMap<ProcessId, u64>,
    /// Sampling factor: one in this many collective operations was tracked; 1 if all were.
    pub one_in: u64,
}

impl Partial {
    /// Computes the waiting times from all tracked operations.
    #[must_use]
    pub fn waits(self) -> Waits {
        let one_in = self.calls.one_in();
        let mut by_process: FxHashMap<ProcessId, u64> = FxHashMap::default();
        for (key, Calls(calls)) in self.calls.iter() {
            let last = calls.iter().map(|(_, start, _)| *start).max().unwrap_or_default();
            let all_met = || calls.len() == self.ranks && calls.iter().all(|(_, _, end)| *end >= last);
            if self.unsure.contains(&key.op) && !all_met() {
                continue;
            }
            for (process, start, end) in calls {
                if *end >= last {
                    let sum = by_process.entry(*process).or_default();
                    *sum = sum.saturating_add((last - start).saturating_mul(one_in));
                }
            }
        }
        Waits { by_process, sync_point: self.sync_point, one_in }
    }
}

impl Analysis for Arrivals {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial {
            calls: Followed::with_limit(self.limit),
            process: ProcessId::NONE,
            sync_point: FxHashMap::default(),
            numbers: FxHashMap::default(),
            unsure: self.unsure.clone(),
            ranks: self.ranks,
        }
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        !self.of(process).is_empty() || self.meet.get(process.index()).copied().unwrap_or_default()
    }

    fn ordered(&self) -> bool {
        self.collective.iter().any(|streams| !streams.is_empty())
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if self.meet.get(block.number.index()).copied().unwrap_or_default() {
            let own =
                block.rows().filter(|row| row.stream.may_meet() && block.process.stream(row.stream.any()).is_some());
            let time = own.map(|row| row.duration_ns()).sum::<Sum>().get();
            let sum = partial.sync_point.entry(block.number).or_default();
            *sum = sum.saturating_add(time);
        }
        let collective = self.of(block.number);
        if collective.is_empty() {
            return;
        }
        if partial.process != block.number {
            (partial.process, partial.numbers) = (block.number, FxHashMap::default());
        }
        let shift = block.process.shift_ns;
        for row in block.rows() {
            let Some(&Some((file, op))) = collective.get(row.stream.index()) else { continue };
            let number = partial.numbers.entry((file, op)).or_default();
            let key = Key { file, op, number: *number };
            *number += 1;
            let call = (block.number, row.start.saturating_add(shift), row.end.saturating_add(shift));
            partial.calls.change(key, |calls| calls.0.push(call));
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        into.calls.merge(other.calls);
        for (process, ns) in other.sync_point {
            let sum = into.sync_point.entry(process).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
}
