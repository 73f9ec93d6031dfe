//! Finds the process that runs alone at the end of a run, for runs in which it is unknown which processes wait for which. At the end, this
//! process waits for no other, so the time of its calls prolongs the run.

use crate::model::family::Family;
use crate::model::{Process, ProcessId, Run};
use std::cmp::Reverse;

/// Returns the process that runs alone at the end, and since when, ns since the job's start; `None` if there is no such time. Processes
/// that started it, directly or not, may still exist and wait for it.
#[must_use]
pub fn last_alone(run: &Run) -> Option<(ProcessId, u64)> {
    // Converted logs have no ends of processes, only those of their calls.
    if run.was_log() {
        return None;
    }
    let mut by_end: Vec<(ProcessId, &Process)> = run.numbered_processes().collect();
    by_end.sort_by_key(|(id, process)| (Reverse(process.end_ns), *id));
    let end = by_end.first()?.1.end_ns;
    let family = Family::of(run);
    let mut best: Option<(ProcessId, u64, u64)> = None;
    for two in by_end.windows(2) {
        let ((id, mine), (_, next)) = (two[0], two[1]);
        let alone = mine.end_ns.saturating_sub(next.end_ns);
        let waits = end.saturating_sub(mine.end_ns) as f64 <= alone as f64 * run.thresholds.some_share;
        if waits && best.is_none_or(|(.., longest)| alone > longest) {
            best = Some((id, next.end_ns, alone));
        }
        if !family.has_started(mine, next) {
            break;
        }
    }
    best.filter(|(.., alone)| *alone > 0).map(|(id, since, _)| (id, since))
}
