//! Processes of a run and those that started them.

use super::{Process, Run};
use crate::limits::PARENT_GENERATIONS;
use rustc_hash::FxHashMap;

/// Processes by node and process id, to find who started whom.
#[derive(Debug)]
pub struct Family<'r>(FxHashMap<(u32, u32), &'r Process>);

impl<'r> Family<'r> {
    /// Collects the processes of a run; of several with one process id, the last one counts.
    #[must_use]
    pub fn of(run: &'r Run) -> Self {
        Self(run.processes.iter().map(|process| ((process.node, process.pid), process)).collect())
    }

    /// True if `ancestor` started `process`, directly or through up to [`PARENT_GENERATIONS`] processes.
    #[must_use]
    pub fn has_started(&self, ancestor: &Process, process: &'r Process) -> bool {
        let above = |of: &&'r Process| self.0.get(&(of.node, of.ppid)).copied();
        let mut line = std::iter::successors(above(&process), above).take(PARENT_GENERATIONS);
        line.any(|of| (of.node, of.pid) == (ancestor.node, ancestor.pid))
    }
}
