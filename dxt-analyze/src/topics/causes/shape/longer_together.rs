//! Several ranks that spend longer in calls than all others with as much work, and for which the others wait: ranks of one node, or of a
//! part of the network. Found by the gap between their times and those of the others. Also finds slow ranks inside MPI-IO, if the ranks
//! that move bytes inside MPI-IO move about equally many.

use super::uneven::several;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::replay::Savings;
use crate::shared::stats::median;
use crate::text::units as show;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a claim (finding with its saving) for reads and one for writes, about several ranks that spend longer in calls than all others.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    if cube.run.ranks() < cube.run.thresholds.calls_min || cube.run.reduced_ranks() > 0 {
        return Vec::new();
    }
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class)).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Does {
    calls: f64,
    bytes: f64,
    ns: f64,
}

fn of_class(cube: &Cube<'_>, class: Class) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let counts = |cell: &&Cell| cell.leaf && cell.class == class && cell.sums.bytes > 0;
    let mut of: BTreeMap<ProcessId, Does> = BTreeMap::new();
    for cell in cube.cells.iter().filter(counts) {
        let does = of.entry(cell.process).or_default();
        does.calls += cell.sums.calls as f64;
        does.bytes += cell.sums.bytes as f64;
        does.ns += cube.wall(cell, cell.time_ns());
    }
    as_much(thresholds, &mut of)?;
    let slow = group(thresholds, &of.iter().map(|(process, does)| (*process, does.ns)).collect::<Vec<_>>())?;
    let phases = Phases::of(cube, |cell| counts(&cell) && of.contains_key(&cell.process));
    if !slow.iter().all(|process| phases.is_longer_in_most(thresholds, *process, &slow)) {
        return None;
    }
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell)) {
        let phase = cube.phase(cell);
        if !slow.contains(&cell.process) || !cube.waited_for(cell.process, phase) {
            continue;
        }
        let own = phases.time(phase, cell.process);
        if let Some(others) = phases.others(thresholds, phase, &slow).filter(|others| *others < own) {
            savings.push((index, cell.time_ns() * (1.0 - others / own)));
        }
    }
    if savings.is_empty() {
        return None;
    }
    Some(reported(cube, class, &of, &slow, savings))
}

/// Keeps the ranks with about the median number of calls and bytes; `None` if fewer than `calls_min`, or not most of the ranks, remain.
fn as_much(thresholds: &Thresholds, of: &mut BTreeMap<ProcessId, Does>) -> Option<()> {
    let all = of.len();
    let calls = median(&mut of.values().map(|does| does.calls).collect::<Vec<f64>>())?;
    let bytes = median(&mut of.values().map(|does| does.bytes).collect::<Vec<f64>>())?;
    let like =
        |mine: f64, usual: f64| mine <= usual * thresholds.similar_ratio && mine * thresholds.similar_ratio >= usual;
    of.retain(|_, does| like(does.calls, calls) && like(does.bytes, bytes));
    (of.len() >= (thresholds.calls_min as usize) && of.len() * 2 > all).then_some(())
}

/// Returns the processes, at least two, whose times in calls are above all others by a clear gap; `None` if there is no such gap. `times`:
/// ns.
fn group(thresholds: &Thresholds, times: &[(ProcessId, f64)]) -> Option<BTreeSet<ProcessId>> {
    let mut times = times.to_vec();
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let most = (times.len() as f64 * thresholds.third_share) as usize;
    let stands_off = |size: &usize| {
        let (others, slow) = times.split_at(times.len() - size);
        let (Some(longest), Some(least)) = (others.last(), slow.first()) else { return None };
        let fast = others.get(((others.len() as f64 * thresholds.some_share) as usize).min(others.len() - 1))?.1;
        let usual = others.get(others.len() / 2)?.1;
        let gap = least.1 - longest.1;
        (least.1 >= usual * thresholds.similar_ratio && gap >= longest.1 - fast)
            .then_some((least.1 / longest.1.max(1.0), *size))
    };
    let found = (2..=most).filter_map(|size| stands_off(&size)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(times.split_off(times.len() - found.1).into_iter().map(|(process, _)| process).collect())
}

/// Time of each process in calls, ns, by phase (from one synchronization of the ranks to the next).
#[derive(Debug, Default)]
struct Phases(BTreeMap<usize, BTreeMap<ProcessId, f64>>);

impl Phases {
    fn of(cube: &Cube<'_>, counts: impl Fn(&Cell) -> bool) -> Self {
        let mut out = Self::default();
        for cell in cube.cells.iter().filter(|cell| counts(cell)) {
            let of = out.0.entry(cube.phase(cell)).or_default();
            *of.entry(cell.process).or_default() += cube.wall(cell, cell.time_ns());
        }
        out
    }

    fn time(&self, phase: usize, process: ProcessId) -> f64 {
        self.0.get(&phase).and_then(|of| of.get(&process)).copied().unwrap_or_default()
    }

    /// Returns the times in calls of all but the slow processes in one phase (from one synchronization to the next), ns, ascending.
    fn sorted(&self, phase: usize, slow: &BTreeSet<ProcessId>) -> Vec<f64> {
        let theirs = self.0.get(&phase).into_iter().flatten().filter(|(process, _)| !slow.contains(process));
        let mut all: Vec<f64> = theirs.map(|(_, ns)| *ns).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Returns the median time in calls of all processes that are not slow, in one phase (from one synchronization to the next), ns; `None`
    /// if there are fewer than `calls_min` / 2 such processes.
    fn others(&self, thresholds: &Thresholds, phase: usize, slow: &BTreeSet<ProcessId>) -> Option<f64> {
        let all = self.sorted(phase, slow);
        all.get(all.len() / 2).copied().filter(|_| all.len() * 2 >= thresholds.calls_min as usize)
    }

    fn is_longer_in_most(&self, thresholds: &Thresholds, process: ProcessId, slow: &BTreeSet<ProcessId>) -> bool {
        let (mut longer, mut compared) = (0_usize, 0_usize);
        for (phase, of) in &self.0 {
            let Some(mine) = of.get(&process) else { continue };
            let others = self.sorted(*phase, slow);
            if others.len() * 2 < thresholds.calls_min as usize {
                continue;
            }
            compared += 1;
            let at = ((others.len() as f64 * thresholds.nearly_all_share) as usize).min(others.len().saturating_sub(1));
            let nearly_all = others.get(at);
            longer += usize::from(nearly_all.is_none_or(|theirs| mine >= theirs));
        }
        compared >= (thresholds.several_min as usize) && longer as f64 >= compared as f64 * thresholds.majority_share
    }
}

fn reported(
    cube: &Cube<'_>,
    class: Class,
    of: &BTreeMap<ProcessId, Does>,
    slow: &BTreeSet<ProcessId>,
    savings: Savings,
) -> Claim {
    let run = cube.run;
    let times = |is: bool| {
        let theirs = of.iter().filter(move |(process, _)| slow.contains(process) == is);
        let mut all: Vec<f64> = theirs.map(|(_, does)| does.ns).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (mine, others) = (times(true), times(false));
    let ends = |all: &[f64]| {
        let at = |at: usize| all.get(at).copied().unwrap_or_default() as u64;
        [at(0), at(all.len() / 2), at(all.len().saturating_sub(1))]
    };
    let members: Vec<ProcessId> = slow.iter().copied().collect();
    let nodes: BTreeSet<u32> = members.iter().filter_map(|process| Some(run.process(*process)?.node)).collect();
    let one = nodes.first().filter(|_| nodes.len() == 1);
    let node = one.and_then(|node| run.nodes.get(*node as usize)).cloned();
    let whole = one.is_some_and(|node| {
        run.processes.iter().filter(|process| process.node == *node && process.rank >= 0).count() == slow.len()
    });
    let ranks = several(cube, &members).unwrap_or_else(|| show::counted(members.len() as u64, "process"));
    // With a single node, naming it says nothing.
    let tells = run.nodes.len() > 1;
    let of = words::LongerTogether {
        ranks,
        node: node.as_deref().filter(|_| whole || tells).map(|node| (node, whole)),
        class,
        mine_ns: ends(&mine),
        others_ns: ends(&others),
        others: others.len() as u64,
    };
    let about = About { node: node.clone().filter(|_| tells), ..About::default() };
    Claim::on_files(cube, Code::TIME_IMBALANCE, savings, |lost| words::longer_together(&of, about, lost))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(times: &[f64]) -> usize {
        let of: Vec<(ProcessId, f64)> = times.iter().enumerate().map(|(at, ns)| (ProcessId::at(at), *ns)).collect();
        group(&Thresholds::default(), &of).map_or(0, |slow| slow.len())
    }

    #[test]
    fn a_group_stands_off_by_more_than_the_others_differ() {
        let others = [3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1, 4.2];
        assert_eq!(found(&[&others[..], &[6.2, 6.4]].concat()), 2);
        assert_eq!(found(&[&others[..], &[6.2]].concat()), 0, "one is another's matter");
        assert_eq!(found(&[&others[..], &[4.6, 4.7]].concat()), 0, "no gap");
        assert_eq!(found(&[3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.5, 8.0]), 0, "a slope");
        assert_eq!(found(&[&others[..], &[6.0; 6]].concat()), 0, "too many");
    }
}
