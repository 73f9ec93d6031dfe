//! Stragglers (ranks that arrive last) at collective MPI-IO and HDF5 calls, for which all others wait.
//!
//! Lateness = time since the end of the rank's previous collective call, without its other I/O calls, minus the first quartile of that time
//! over ranks. Waits inside the previous call thus do not count.

use super::who_is_late::{SyncPoint, by_turns, first_quartile, late};
use crate::cube::reading::met::FIRST;
use crate::cube::reading::phases::Gaps;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, ProcessId};
use crate::shared::stats::median;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Returns the claim (finding with its saving) with the largest cost. Each group of ranks (communicator) in `gaps` (times since the ranks'
/// previous collective calls) is examined separately, since stragglers of several groups are late at the same time.
#[must_use]
pub fn claim(cube: &Cube<'_>, gaps: &[Gaps]) -> Option<Claim> {
    let mut groups: BTreeMap<(bool, Vec<ProcessId>), Vec<SyncPoint>> = BTreeMap::new();
    for of in gaps {
        let who = of.by_process.iter().map(|(process, _)| *process).collect();
        groups.entry((of.of_part, who)).or_default().extend(sync_points(of));
    }
    let claims = groups.iter().filter_map(|((of_part, who), sync_points)| {
        if *of_part { of_part_of_all(cube, who, sync_points) } else { of_group(cube, sync_points) }
    });
    claims.max_by(|a, b| a.waiting_ns.total_cmp(&b.waiting_ns))
}

/// Returns the claim (finding with its saving) about stragglers in a group of processes (`who`), a part of all ranks, that calls MPI's own
/// collectives together; `None` if chance or the stragglers' own I/O may explain the lateness. The claim's cost is at most the time that
/// the other ranks wait at synchronization points of all ranks.
fn of_part_of_all(cube: &Cube<'_>, who: &[ProcessId], sync_points: &[SyncPoint]) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let found = late(thresholds, sync_points)?;
    let often =
        found.last.len() >= (thresholds.repeated_min as usize) && found.saves_ns > found.all_ns * thresholds.half_share;
    if !often || found.may_be_chance(thresholds, sync_points) {
        return None;
    }
    // Excess I/O of the stragglers over their group is part of the time between calls.
    let mut of: BTreeMap<ProcessId, f64> = who.iter().map(|process| (*process, 0.0)).collect();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        if let Some(ns) = of.get_mut(&cell.process) {
            *ns += cube.wall(cell, cell.sums.time_ns as f64);
        }
    }
    let in_calls = |process: &ProcessId| of.get(process).copied().unwrap_or_default();
    let usual = first_quartile(&who.iter().map(in_calls).collect::<Vec<f64>>());
    let of_io = found.processes.iter().map(|process| in_calls(process) - usual).fold(0.0, f64::max);
    let saves_ns = found.saves_ns - of_io;
    if saves_ns < found.saves_ns * thresholds.half_share {
        return None;
    }
    let waiting_ns = cube.sync_points.waited_by_others(who).map_or(saves_ns, |most| most.min(saves_ns));
    let (of, about) = found.named(cube.run, sync_points.len(), saves_ns);
    let about = About { calls: Some(of.times), ..about };
    let words = words::late_in_group(&of, who.len() as u64, about);
    let claim = Claim::new(Finding::new(Code::LATE_TO_MEET, words), Vec::new());
    Some(Claim { waiting_ns, ..claim })
}

fn of_group(cube: &Cube<'_>, sync_points: &[SyncPoint]) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let found = late(thresholds, sync_points)?;
    if found.last.len() < thresholds.repeated_min as usize || found.saves_ns <= found.all_ns * thresholds.half_share {
        return by_turns(thresholds, sync_points).map(|of| of.claim(words::Place::Calls, sync_points.len()));
    }
    // At each synchronization point some rank is last.
    if found.may_be_chance(thresholds, sync_points) && found.saves_ns < matters_ns(cube) {
        return None;
    }
    // Calls that a log reports without their time may lie in between.
    let own_calls = found.processes.iter().map(|process| unplaced_ns(cube, *process)).fold(0.0, f64::max);
    if own_calls >= found.saves_ns * thresholds.half_share {
        return None;
    }
    let own_ns = median(&mut found.last.iter().map(|(_, own, _)| *own).collect::<Vec<f64>>())?;
    let usual_ns = median(&mut found.last.iter().map(|(.., usual)| *usual).collect::<Vec<f64>>())?;
    let (of, about) = found.named(cube.run, sync_points.len(), found.saves_ns);
    let about = About { calls: Some(of.of), ..about };
    let words = words::late_to_calls(&of, own_ns as u64, usual_ns as u64, about);
    let claim = Claim::new(Finding::new(Code::LATE_RANKS, words), Vec::new());
    Some(Claim { waiting_ns: found.saves_ns, ..claim })
}

/// Returns the cost, ns of run time, from which stragglers are reported even if they may be last by chance.
pub fn matters_ns(cube: &Cube<'_>) -> f64 {
    cube.run.length_ns() as f64 * cube.run.thresholds.io_matters_share
}

/// Returns the time of a process's calls whose place in time is unknown, ns. In a Darshan log, only reads and writes have begin and end.
fn unplaced_ns(cube: &Cube<'_>, process: ProcessId) -> f64 {
    let counts =
        |cell: &&Cell| cell.process == process && cell.leaf && !matches!(cell.class, Class::Read | Class::Write);
    if cube.run.was_log() { cube.cells.iter().filter(counts).map(|cell| cell.time_ns()).sum() } else { 0.0 }
}

/// Returns the ranks' gaps (time since their previous collective call) at each call of one operation on one file, for calls at which all
/// gaps are known.
fn sync_points(of: &Gaps) -> Vec<SyncPoint> {
    let count = of.by_process.iter().map(|(_, gaps)| gaps.len()).min().unwrap_or(0);
    let sync_point = |number: usize| {
        let gaps = of.by_process.iter().filter_map(|(process, gaps)| Some((*process, *gaps.get(number)?)));
        gaps.map(|(process, gap)| (gap != FIRST).then_some((process, gap as f64))).collect::<Option<SyncPoint>>()
    };
    (0..count).filter_map(sync_point).collect()
}
