//! Worker processes of a job: its MPI ranks, each once; or all processes, if there are no ranks.

use super::ProcessId;
use super::run::{Process, Run};
use super::stream::Stream;
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::op::Layer;

impl Run {
    /// Returns the number of processes, including all ranks that a reduced record stands for.
    #[must_use]
    pub fn process_count(&self) -> u64 {
        let without_rank = self.processes.iter().filter(|process| process.rank < 0 && process.reduction.is_none());
        let with_rank = self.processes.iter().filter(|process| process.rank >= 0).count() - self.continuations().len();
        let with_rank = with_rank as u64;
        without_rank.count() as u64 + with_rank.max(self.reduced_ranks())
    }

    /// Iterates over the processes that do the job's work: ranks, if there are any, and reduced records. Shells that start ranks, and
    /// children of ranks, are excluded: they may have inherited a rank's number in their environment, but do not use MPI.
    pub fn workers(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(self.is_worker())
    }

    /// Returns the plural noun for the workers of the job: `ranks` or `processes`.
    #[must_use]
    pub fn workers_name(&self) -> &'static str {
        if self.ranks() > 0 { "ranks" } else { "processes" }
    }

    /// Returns the singular noun for a worker of the job: `rank` or `process`.
    #[must_use]
    pub fn worker_name(&self) -> &'static str {
        if self.ranks() > 0 { "rank" } else { "process" }
    }

    /// Returns a predicate that is true for the processes in [`Self::workers`].
    pub fn is_worker(&self) -> impl Fn(&&Process) -> bool {
        let ranks = self.ranks() > 0;
        let in_mpi = || self.processes.iter().filter(|of| self.in_mpi(of));
        let known: FxHashSet<i32> = in_mpi().map(|of| of.rank).collect();
        let same: FxHashSet<(u32, u32)> = in_mpi().map(|of| (of.node, of.pid)).collect();
        move |process| {
            let is_in = if same.contains(&(process.node, process.pid)) {
                self.in_mpi(process)
            } else {
                !known.contains(&process.rank)
            };
            !ranks || process.rank >= 0 && is_in || !process.reduction.is_none()
        }
    }

    /// Maps the record that a process wrote after `MPI_Finalize` to the record that the same process wrote before, for all processes with both.
    #[must_use]
    pub fn continuations(&self) -> FxHashMap<ProcessId, ProcessId> {
        let whose = |process: &Process| (process.node, process.pid, process.rank);
        let ended = |process: &Process| process.ended_by == "MPI_Finalize" && process.rank >= 0;
        let first: FxHashMap<(u32, u32, i32), ProcessId> = self
            .numbered_processes()
            .filter(|(_, process)| ended(process))
            .map(|(number, process)| (whose(process), number))
            .collect();
        // A process that calls exec has a new start time, so its record is no continuation.
        let later = |first: &Process, process: &Process| {
            first.shift_ns == process.shift_ns && process.end_ns >= first.end_ns && !self.in_mpi(process)
        };
        let of = |(number, process): (ProcessId, &Process)| {
            let first = *first.get(&whose(process))?;
            later(self.process(first)?, process).then_some((number, first))
        };
        self.numbered_processes().filter_map(of).collect()
    }

    /// Returns true if the process is known to have used MPI.
    fn in_mpi(&self, process: &Process) -> bool {
        let of_mpi = |stream: &Stream| stream.meets || self.op(stream).layer == Some(Layer::Mpiio);
        process.rank >= 0 && (process.ended_by == "MPI_Finalize" || process.streams.iter().any(of_mpi))
    }

    /// Returns the number of [`Self::workers`], including all ranks that a reduced record stands for.
    #[must_use]
    pub fn worker_count(&self) -> u64 {
        let single = self.workers().filter(|process| process.reduction.is_none()).count() as u64;
        single.max(self.reduced_ranks())
    }
}
