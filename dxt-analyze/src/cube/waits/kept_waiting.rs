//! Ranks that do I/O while most others wait in MPI's collective calls, if it is unknown whether all ranks synchronize: the others may wait for a
//! message of such a rank.

use crate::model::{ProcessId, Run};
use crate::shared::stats::median;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Least median wait of all ranks in a phase, as a part of a rank's time in calls, for them to wait for the rank.
const KEPT: f64 = 0.5;

/// Ranks that block others, by phase.
#[derive(Clone, Debug, Default)]
pub struct KeptWaiting(BTreeSet<(usize, ProcessId)>);

impl KeptWaiting {
    /// Finds such ranks. `waits`: waits by phase, ns; `in_calls`: time in calls by phase and rank, ns.
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
            let is = usual > 0.0 && usual >= ns * KEPT && mine <= usual * (1.0 - KEPT);
            is.then_some((phase, process))
        };
        Self(in_calls.iter().filter_map(does).collect())
    }

    /// True if a rank blocks others in a phase.
    #[must_use]
    pub fn by(&self, process: ProcessId, phase: usize) -> bool {
        self.0.contains(&(phase, process))
    }
}
