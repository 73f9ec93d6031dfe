//! Ranks that do I/O while most others wait in MPI's collective calls, where not all ranks are known to meet: what those wait for there may be a message
//! that one has of another that waits.

use crate::model::{ProcessId, Run};
use crate::shared::stats::median;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Part of the time that a rank is in calls of a phase that the others usually wait meanwhile, from which they wait for it.
const KEPT: f64 = 0.5;

/// Who does, by phase.
#[derive(Clone, Debug, Default)]
pub struct KeptWaiting(BTreeSet<(usize, ProcessId)>);

impl KeptWaiting {
    /// Of what ranks wait (`waits`: by phase, ns) and the time that they are in calls of each phase.
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

    /// Whether a rank keeps others waiting in a phase.
    #[must_use]
    pub fn by(&self, process: ProcessId, phase: usize) -> bool {
        self.0.contains(&(phase, process))
    }
}
