//! Processes that work for another one of the same program, as those that load data for a training do. Whether it waits for what they bring
//! is not on record: those that have time left keep up with it.

use crate::model::{Process, ProcessId, Run};
use rustc_hash::FxHashMap;

/// Part of its life that a helper is in calls at most if it has time left.
const HAS_TIME: f64 = 0.25;
/// The same of one by itself: who waits for all waits for the busiest.
const BUSY: f64 = 0.5;
/// Part of its life that it is left alone at the end, from which the others wait for it.
const ALONE: f64 = 0.1;
/// Part of its life in which the process that it works for runs on, at least.
const LIVES_ON: f64 = 0.9;

/// By process: whether it works for another one that lives on, and has time left. Each is `in_calls` for so long, ns; the last one is left `alone` since a moment.
pub fn with_time_left(run: &Run, in_calls: &[f64], alone: Option<(ProcessId, u64)>) -> Vec<bool> {
    if run.ranks() > 0 {
        return vec![false; run.processes.len()];
    }
    let lives = |process: &Process| (process.shift_ns, process.end_ns);
    let is_of = |process: &Process, parent: &Process| {
        let ((from, until), (begun, ended)) = (lives(process), lives(parent));
        let together = ended.min(until).saturating_sub(begun.max(from));
        parent.pid == process.ppid
            && (parent.node, &parent.exe) == (process.node, &process.exe)
            && together as f64 >= until.saturating_sub(from) as f64 * LIVES_ON
    };
    let helps = |process: &Process| run.processes.iter().any(|parent| is_of(process, parent));
    // Those of one process share the work: together they have time left, or none.
    let mut of_parent: FxHashMap<(u32, u32), (f64, f64)> = FxHashMap::default();
    for (process, ns) in run.processes.iter().zip(in_calls).filter(|(process, _)| helps(process)) {
        let (from, until) = lives(process);
        let (sum, life) = of_parent.entry((process.node, process.ppid)).or_default();
        (*sum, *life) = (*sum + ns, *life + until.saturating_sub(from) as f64);
    }
    let has_time = |process: &Process, in_calls: f64| {
        let (from, until) = lives(process);
        let busy = in_calls > until.saturating_sub(from) as f64 * BUSY;
        !busy && of_parent.get(&(process.node, process.ppid)).is_some_and(|(ns, life)| *ns <= life * HAS_TIME)
    };
    let is_last = |id: ProcessId, process: &Process| {
        let (from, until) = lives(process);
        let since = alone.filter(|(last, _)| *last == id).map_or(until, |(_, since)| since);
        until.saturating_sub(since) as f64 > until.saturating_sub(from) as f64 * ALONE
    };
    run.numbered_processes()
        .zip(in_calls)
        .map(|((id, process), ns)| helps(process) && has_time(process, *ns) && !is_last(id, process))
        .collect()
}
