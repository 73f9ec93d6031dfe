//! Finds ranks that do I/O while most others wait in MPI's collective calls, if it is unknown whether all ranks synchronize. The others may
//! then wait for a message of such a rank.

use crate::model::{ProcessId, Run};
use crate::shared::stats::median;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Ranks for which others wait: pairs of phase and rank.
#[derive(Clone, Debug, Default)]
pub struct KeptWaiting(BTreeSet<(usize, ProcessId)>);

impl KeptWaiting {
    /// Finds the ranks for which others wait. `waits`: wait of each rank, by phase, ns; `in_calls`: time in calls by phase and rank, ns.
    #[must_use]
    pub fn of(run: &Run, waits: Vec<FxHashMap<ProcessId, f64>>, in_calls: &FxHashMap<(usize, ProcessId), f64>) -> Self {
        let ranks = run.ranks() as usize;
        let usual = |waits: &FxHashMap<ProcessId, f64>| {
            let mut all: Vec<f64> = waits.values().copied().collect();
            all.resize(ranks.max(all.len()), 0.0);
            median(&mut all).unwrap_or_default()
        };
        let usual: Vec<f64> = waits.iter().map(usual).collect();
        let does = |(&(phase, process), ns): (&(usize, ProcessId), &f64)| {
            let (usual, waits) = (usual.get(phase).copied()?, waits.get(phase)?);
            let mine = waits.get(&process).copied().unwrap_or_default();
            let is = usual > 0.0
                && usual >= ns * run.thresholds.half_share
                && mine <= usual * (1.0 - run.thresholds.half_share);
            is.then_some((phase, process))
        };
        Self(in_calls.iter().filter_map(does).collect())
    }

    /// True if other ranks wait for a message of the rank `process` in a phase.
    #[must_use]
    pub fn by(&self, process: ProcessId, phase: usize) -> bool {
        self.0.contains(&(phase, process))
    }
}
