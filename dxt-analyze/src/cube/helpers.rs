//! Processes whose faster calls would not shorten the run. Helper processes work for another one of the same program, such as data loaders of
//! a training. It is not recorded whether that process waits for their data. Helpers that are rarely in calls have time left: they keep up.
//! In other processes a thread computes for their whole life, and other threads make the calls beside it.

use crate::model::{CpuWaits, Process, ProcessId, Run};
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;

/// The helpers of one process have time left only if they together spend at most this part of their lives in calls.
const HAS_TIME: f64 = 0.25;
/// A helper that spends more than this part of its life in calls has no time left: a process that waits for all its helpers waits for the
/// busiest.
const BUSY: f64 = 0.5;
/// A helper that is the last process of the run for more than this part of its life has no time left: the end of the run waits for it.
const ALONE: f64 = 0.1;
/// Least part of a helper's life during which the process that it works for runs, too.
const LIVES_ON: f64 = 0.9;

/// Returns, for each process, true if it is a helper with time left. `in_calls`: time in calls of each process, ns; `alone`: process that
/// runs alone at the end, and since when, ns.
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
    // Helpers of one process share the work: they have time left together, or none.
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

/// True if a thread of a process is busy (it runs, or waits for a processor) for nearly all of the process's life, `life_ns`, and other threads make
/// nearly all calls. `in_calls`: time in calls by thread id, ns.
pub fn computes_beside(thresholds: &Thresholds, life_ns: u64, cpu: &CpuWaits, in_calls: &FxHashMap<u32, u64>) -> bool {
    let all: u64 = in_calls.values().fold(0, |sum, ns| sum.saturating_add(*ns));
    let computes = |(tid, ready_ns): (u32, u64)| {
        let mine = in_calls.get(&tid).copied().unwrap_or_default();
        let always = ready_ns as f64 >= life_ns as f64 * thresholds.nearly_all_share;
        always && mine as f64 <= all as f64 * thresholds.minor_share
    };
    cpu.ready().any(computes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::{CpuSample, ProcessorDef, ThreadTimes};

    #[test]
    fn a_thread_that_computes_all_the_time_leaves_nothing_to_save() {
        let sample = |time_ns, run_ns, wait_ns| CpuSample { time_ns, run_ns, wait_ns, voluntary: 0, involuntary: 0 };
        let thread = |tid, run_ns| ThreadTimes {
            tid,
            knows_waits: 1,
            samples: vec![sample(0, 0, 0), sample(1000, run_ns, 200)],
        };
        let beside = |run_ns: u64, main: u64, other: u64| {
            let def = ProcessorDef { cpus: vec![3], threads: vec![thread(1, run_ns), thread(2, 10)] };
            let calls = FxHashMap::from_iter([(1, main), (2, other)]);
            computes_beside(&Thresholds::default(), 1000, &CpuWaits::of(def, 0, 1000), &calls)
        };
        assert!(beside(750, 10, 600));
        assert!(!beside(750, 100, 600), "it makes calls itself");
        assert!(!beside(600, 0, 600), "it sleeps for a fifth of the time");
    }
}
