//! What many analyses ask of all processes of a run, computed once.

use super::ProcessId;
use super::run::Process;

/// Counts and times over all processes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverProcesses {
    /// Number of distinct ranks that have a record.
    pub(super) ranks: u64,
    /// Number of ranks that the largest reduced record stands for; 0 without one.
    pub(super) reduced_ranks: u64,
    /// Reduced records.
    pub(super) reduced: Vec<ProcessId>,
    /// First start and last end of all recorded and counted calls, ns since the job's start; the start is larger if there are none.
    pub(super) span: (u64, u64),
    /// Last end of a process, ns since the job's start.
    pub(super) end_ns: u64,
}

impl OverProcesses {
    /// Computes them. The loader does so for a loaded run, and the selection for what it leaves.
    pub(crate) fn of(processes: &[Process]) -> Self {
        let mut ranks: Vec<i32> = processes.iter().map(|process| process.rank).filter(|&rank| rank >= 0).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let mut out = Self { ranks: ranks.len() as u64, span: (u64::MAX, 0), ..Self::default() };
        for (at, process) in processes.iter().enumerate() {
            out.reduced_ranks = out.reduced_ranks.max(u64::from(process.reduction.ranks));
            if !process.reduction.is_none() {
                out.reduced.push(ProcessId::at(at));
            }
            out.end_ns = out.end_ns.max(process.end_ns);
            let blocks = process.blocks.iter().map(|block| (block.head.min_start, block.head.max_end));
            let missing =
                process.missing.iter().map(|missing| (missing.counters.first_start, missing.counters.last_end));
            for (start, end) in blocks.chain(missing) {
                out.span.0 = out.span.0.min(start.saturating_add(process.shift_ns));
                out.span.1 = out.span.1.max(end.saturating_add(process.shift_ns));
            }
        }
        out
    }
}
