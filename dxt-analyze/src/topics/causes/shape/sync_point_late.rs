//! Stragglers (ranks that arrive last) at MPI's own collective calls, because they compute longer and not because of slow I/O: all others
//! wait for them.

use super::who_is_late::{SyncPoint, by_turns, first_quartile, late};
use crate::cube::Cube;
use crate::findings::{About, Code, Finding};
use crate::model::ProcessId;
use crate::replay::Work;
use crate::shared::stats::median;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use rustc_hash::FxHashMap;

/// Returns the claim (finding with its saving) about the stragglers whose lateness costs most.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let work = Work::of(cube, false);
    let (mut sync_points, mut by_calls, mut all_waits, mut from) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (phase, waits) in cube.sync_points.waits() {
        all_waits.push(waits);
        let in_calls = |process: ProcessId| (from..=phase).map(|phase| work.time(phase, process)).sum::<f64>();
        sync_points.push(sync_point(waits, in_calls));
        by_calls.push(held_by_calls(thresholds, waits, in_calls));
        from = phase + 1;
    }
    let found = late(thresholds, &sync_points)?;
    let times = found.last.len();
    // If another rank is about as late because of its I/O calls, the straggler may only wait for messages from that rank.
    let similar = |(number, ns, usual): &&(usize, f64, f64)| {
        let of_others =
            by_calls.get(*number).into_iter().flatten().filter(|(process, _)| !found.processes.contains(process));
        of_others.map(|(_, ns)| *ns).fold(0.0, f64::max) >= (ns - usual) * thresholds.majority_share
    };
    if found.last.iter().filter(similar).count() * 2 > times {
        return None;
    }
    if times < thresholds.repeated_min as usize || found.saves_ns <= found.all_ns * thresholds.majority_share {
        return by_turns(thresholds, &sync_points).map(|of| of.claim(words::Place::Points, sync_points.len()));
    }
    // Ranks that are in calls for longer do not wait for the stragglers meanwhile.
    let waited = |(number, ..): &(usize, f64, f64)| {
        let others = all_waits.get(*number)?.iter().filter(|(process, _)| !found.processes.contains(process));
        median(&mut others.map(|(_, ns)| *ns).collect::<Vec<f64>>())
    };
    let waited_ns: f64 = found.last.iter().filter_map(waited).sum();
    if waited_ns < found.saves_ns * thresholds.half_share {
        return None;
    }
    // At each synchronization point some rank is last.
    if found.may_be_chance(thresholds, &sync_points) && found.saves_ns < super::late::matters_ns(cube) {
        return None;
    }
    let (of, about) = found.named(cube.run, sync_points.len(), found.saves_ns);
    let about = About { calls: Some(of.times), ..about };
    let claim = Claim::new(Finding::new(Code::LATE_TO_MEET, words::late_to_meet(&of, about)), Vec::new());
    Some(Claim { waiting_ns: found.saves_ns, ..claim })
}

/// Returns the ranks that arrive last because their I/O calls take longer than usual, each with its excess time in calls, ns. `waits`: time
/// that each rank waits at the synchronization point; `in_calls`: its time in I/O calls before, ns.
fn held_by_calls(
    thresholds: &Thresholds,
    waits: &FxHashMap<ProcessId, f64>,
    in_calls: impl Fn(ProcessId) -> f64,
) -> SyncPoint {
    let calls: Vec<f64> = waits.keys().map(|process| in_calls(*process)).collect();
    let usual = first_quartile(&calls);
    let least = waits.values().copied().fold(f64::INFINITY, f64::min);
    let mean = waits.values().sum::<f64>() / waits.len().max(1) as f64;
    let last = waits.iter().filter(|(_, waited)| **waited - least <= (mean - least) * thresholds.half_share);
    last.map(|(process, _)| (*process, in_calls(*process) - usual)).filter(|(_, more)| *more > 0.0).collect()
}

/// Returns each rank's lateness, ns: the longest wait in `waits` (time at the synchronization point) minus the rank's own wait. A rank's
/// excess time in I/O calls (`in_calls`) is added to its wait first.
fn sync_point(waits: &FxHashMap<ProcessId, f64>, in_calls: impl Fn(ProcessId) -> f64) -> SyncPoint {
    let mut all: Vec<(ProcessId, f64, f64)> =
        waits.iter().map(|(process, ns)| (*process, *ns, in_calls(*process))).collect();
    all.sort_unstable_by_key(|(process, ..)| *process);
    // Up to half of the ranks may be late or slow.
    let calls: Vec<f64> = all.iter().map(|(.., ns)| *ns).collect();
    let usual = first_quartile(&calls);
    let would_wait = |(process, waits, calls): (ProcessId, f64, f64)| (process, waits + (calls - usual).max(0.0));
    let all: SyncPoint = all.into_iter().map(would_wait).collect();
    let most = all.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
    all.into_iter().map(|(process, ns)| (process, most - ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_least_is_late_but_for_its_calls() {
        let waits: FxHashMap<ProcessId, f64> =
            [(ProcessId(0), 100.0), (ProcessId(1), 4.0), (ProcessId(2), 90.0)].into_iter().collect();
        let of = |in_calls: &dyn Fn(ProcessId) -> f64| sync_point(&waits, in_calls);
        assert_eq!(of(&|_| 7.0), [(ProcessId(0), 0.0), (ProcessId(1), 96.0), (ProcessId(2), 10.0)]);
        let slower = |process| if process == ProcessId(1) { 60.0 } else { 10.0 };
        assert_eq!(of(&slower), [(ProcessId(0), 0.0), (ProcessId(1), 46.0), (ProcessId(2), 10.0)]);
        assert_eq!(sync_point(&FxHashMap::default(), |_| 0.0), []);
    }
}
