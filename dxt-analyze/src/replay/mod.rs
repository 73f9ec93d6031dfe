//! Run time of the job if some calls took less time. In each phase (part of the run up to a synchronization point or a time without I/O),
//! only the slowest rank's time counts, since all wait for it at the end.
//!
//! * [`crate::cube::waits`]: which ranks wait for which others.
//! * [`pace`]: progress of other processes during a long call; [`ahead`]: ranks a whole round of calls ahead at a synchronization point;
//!   [`turns`]: waits of ranks whose calls are serialized.

pub mod ahead;
pub mod pace;
pub mod turns;

use crate::cube::waits::sync_points::BeforeSyncPoint;
use crate::cube::{Cell, Cube};
use crate::model::ProcessId;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Time of each process in calls in each phase (part of the run up to a synchronization point or a time without I/O), ns.
#[derive(Clone, Debug)]
pub struct Work {
    /// For each phase: time of each process in calls, ns.
    phases: Vec<FxHashMap<ProcessId, f64>>,
    /// For each time window: index of its phase in `phases`.
    of_slot: Vec<u32>,
    /// True if phases end at synchronization points or at times without I/O; false if each time window counts as a phase.
    by_phase: bool,
    /// Ranks a whole round of calls ahead at synchronization points; computed on first use.
    ahead: OnceLock<ahead::Ahead>,
}

/// Minimum share of one process in all processes' time in calls of a phase, for the process to work alone in the phase.
const ALONE: f64 = 0.95;
/// Maximum time of one process, relative to the mean of all, for processes that work alone in different phases to count as alternating.
const EVEN: f64 = 1.5;

/// Minimum share of a finding's savings that is on ranks a whole round of calls ahead of others, for the savings to shorten the run only at
/// the next synchronization point.
const AHEAD: f64 = 0.8;

/// Value that stands for the end of the run, in place of the phase that a synchronization point ends.
const END: usize = usize::MAX;

/// Time saved per cell of the cube (similar calls of one process in a time window): (index of the cell, ns).
pub type Savings = Vec<(u32, f64)>;

impl Work {
    /// Sums the time in calls by phase and process. With `by_slot`, each time window counts as a phase, as if ranks synchronized at its
    /// end.
    #[must_use]
    pub fn of(cube: &Cube<'_>, by_slot: bool) -> Self {
        let slots = 0..cube.slots.len();
        let of_slot = slots.map(|slot| if by_slot { slot } else { cube.slots.phase(slot) });
        let work = Self::sum(cube, of_slot.map(|phase| u32::try_from(phase).unwrap_or(0)).collect(), |_| true);
        Self { by_phase: !by_slot, ..work }
    }

    /// Sums the time in calls by phase and process, over the cells (similar calls of one process in a time window) for which `counts`
    /// returns true.
    #[must_use]
    pub fn of_those(cube: &Cube<'_>, counts: impl Fn(&Cell) -> bool) -> Self {
        let phases = (0..cube.slots.len()).map(|slot| u32::try_from(cube.slots.phase(slot)).unwrap_or(0));
        Self::sum(cube, phases.collect(), counts)
    }

    fn sum(cube: &Cube<'_>, of_slot: Vec<u32>, counts: impl Fn(&Cell) -> bool) -> Self {
        let count = of_slot.last().map_or(0, |last| *last as usize + 1);
        let mut work =
            Self { phases: vec![FxHashMap::default(); count], of_slot, by_phase: true, ahead: OnceLock::new() };
        for cell in cube.cells.iter().filter(|cell| cell.leaf && counts(cell)) {
            let phase = work.phase(cell.slot);
            if let Some(phase) = work.phases.get_mut(phase) {
                *phase.entry(cell.process).or_default() += cube.wall(cell, cell.time_ns());
            }
        }
        work
    }

    /// Returns the time that a process spends in calls in a phase, ns.
    #[must_use]
    pub fn time(&self, phase: usize, process: ProcessId) -> f64 {
        self.phases.get(phase).and_then(|work| work.get(&process)).copied().unwrap_or_default()
    }

    /// Returns the sum over all phases of the time in calls of the phase's slowest process, or of processes one after another, ns.
    #[must_use]
    pub fn critical(&self, cube: &Cube<'_>) -> f64 {
        let of = |work: &FxHashMap<ProcessId, f64>| {
            longest_chain(cube, work.iter().map(|(process, time)| (*process, *time)))
        };
        self.phases.iter().map(of).sum()
    }

    /// Returns the time saved if processes that work one after another worked at the same time, ns. For each phase: the time with any
    /// process in a call (`busy`, ns), at most the sum over processes, minus the time of the slowest process.
    #[must_use]
    pub fn one_after_another(&self, busy: &[u64]) -> f64 {
        let phase = |(work, busy): (&FxHashMap<ProcessId, f64>, &u64)| {
            let longest = work.values().copied().fold(0.0, f64::max);
            (work.values().sum::<f64>().min(*busy as f64) - longest).max(0.0)
        };
        self.phases.iter().zip(busy).map(phase).sum::<f64>() + self.by_turns()
    }

    /// Returns the time saved if alternating processes worked at the same time, ns; 0 if processes do not alternate. Processes alternate if
    /// a single one works in each phase, and each spends about the same time in calls over all phases.
    fn by_turns(&self) -> f64 {
        let mut of: FxHashMap<ProcessId, f64> = FxHashMap::default();
        let mut alone = 0.0;
        for work in &self.phases {
            let all: f64 = work.values().sum();
            if let Some((&process, &ns)) = work.iter().max_by(|a, b| a.1.total_cmp(b.1))
                && ns >= all * ALONE
            {
                *of.entry(process).or_default() += ns;
                alone += ns;
            }
        }
        let most = of.values().copied().fold(0.0, f64::max);
        let share = alone / of.len().max(1) as f64;
        if of.len() > 1 && most <= share * EVEN { (alone - most).max(0.0) } else { 0.0 }
    }

    fn phase(&self, slot: u16) -> usize {
        self.of_slot.get(usize::from(slot)).map_or(0, |phase| *phase as usize)
    }

    /// Returns the run time that the job saves if calls get shorter by `savings`, ns.
    #[must_use]
    pub fn saved(&self, cube: &Cube<'_>, savings: &[(u32, f64)]) -> f64 {
        let mut by: FxHashMap<usize, FxHashMap<ProcessId, f64>> = FxHashMap::default();
        for &(index, ns) in savings {
            let Some(cell) = cube.cells.get(index as usize).filter(|cell| cell.leaf) else { continue };
            *by.entry(self.phase(cell.slot)).or_default().entry(cell.process).or_default() += cube.wall(cell, ns);
        }
        let mut phases: Vec<usize> = by.keys().copied().collect();
        phases.sort_unstable();
        let mut between: Vec<BeforeSyncPoint> = Vec::new();
        let alone = std::cell::OnceCell::new();
        // If the other processes continue, they wait for no message, however far the next synchronization point is.
        let goes_on = || *alone.get_or_init(|| pace::others_go_on(cube, savings));
        for phase in phases {
            let (Some(work), Some(less)) = (self.phases.get(phase), by.get(&phase)) else { continue };
            let rest = |(&process, &time): (&ProcessId, &f64)| {
                (process, time - less.get(&process).copied().unwrap_or_default())
            };
            let before = longest_chain(cube, work.iter().map(|(process, time)| (*process, *time)));
            let after = longest_chain(cube, work.iter().map(rest));
            let near = cube.sync_points.after(phase).filter(|_| self.by_phase);
            let ahead = |end: usize| {
                let ahead = self.ahead.get_or_init(|| ahead::Ahead::of(cube));
                let of_those: f64 = less.iter().filter(|of| ahead.is(*of.0, end)).map(|of| of.1).sum();
                of_those >= less.values().sum::<f64>() * AHEAD
            };
            let far = || cube.sync_points.far_after(phase).filter(|_| self.by_phase);
            let none_near = || far().filter(|end| ahead(*end) || goes_on());
            // Without known synchronization points, each process reaches the run's end earlier by its own saving.
            let at_the_end = || goes_on().then_some(END);
            let sync_point = near.or_else(none_near).or_else(at_the_end);
            // Processes that continue do not wait at the phase's end either.
            let beside = sync_point != near;
            if between.last().is_none_or(|last| last.end != sync_point) {
                between.push(BeforeSyncPoint { end: sync_point, ..Default::default() });
            }
            let Some(last) = between.last_mut() else { continue };
            last.ns += if beside { less.values().copied().fold(0.0, f64::max) } else { before - after };
            for (process, ns) in less {
                *last.less.entry(*process).or_default() += ns;
            }
        }
        for before in between.iter_mut().filter(|before| before.end == Some(END)) {
            before.ns = longest_chain(cube, before.less.iter().map(|(process, ns)| (*process, *ns)));
        }
        cube.sync_points.saved(&cube.run.thresholds, &between).into_iter().sum()
    }
}

/// Returns the largest sum of times, ns, of processes that run one after another (a loop that starts a process for each item): each begins
/// earlier if those before it end earlier. Ranks run at the same time, so for them it is the largest time.
fn longest_chain(cube: &Cube<'_>, times: impl Iterator<Item = (ProcessId, f64)>) -> f64 {
    if cube.run.ranks() > 0 {
        return times.map(|(_, ns)| ns).fold(0.0, f64::max);
    }
    let span = |(process, ns): (ProcessId, f64)| {
        let process = cube.run.process(process)?;
        Some((process.end_ns, process.shift_ns, ns))
    };
    chained(times.filter_map(span).collect())
}

/// Returns the largest sum of times of processes of which none begins before another ends. `spans`: end, begin, and time of each, ns.
fn chained(mut spans: Vec<(u64, u64, f64)>) -> f64 {
    spans.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    // Largest sum of processes that end until each end; ends ascend.
    let mut best: Vec<(u64, f64)> = Vec::new();
    for (end, begin, ns) in spans {
        let until = best.partition_point(|(end, _)| *end <= begin);
        let before = until.checked_sub(1).and_then(|at| best.get(at)).map_or(0.0, |(_, ns)| *ns);
        let most = best.last().map_or(0.0, |(_, ns)| *ns);
        best.push((end, most.max(before + ns)));
    }
    best.last().map_or(0.0, |(_, ns)| *ns)
}

/// Returns the run time that the job saves if calls get shorter by `savings`, ns, where only `process` still runs from `since` (ns since
/// the job's start) on ([`crate::cube::waits::alone`]).
#[must_use]
pub fn saved_alone(cube: &Cube<'_>, (process, since): (ProcessId, u64), savings: &[(u32, f64)]) -> f64 {
    let cell = |index: u32| cube.cells.get(index as usize).filter(|cell| cell.leaf && cell.process == process);
    let parts =
        savings.iter().filter_map(|&(index, ns)| cell(index).map(|cell| cube.wall(cell, then(cube, cell, since, ns))));
    let then: f64 = parts.sum();
    // A call that the others did not wait for delayed all that followed in its process.
    let before = || savings.iter().filter_map(|&(index, ns)| cell(index).map(|cell| cube.wall(cell, ns)));
    let end = cube.run.process(process).map_or(since, |of| of.end_ns);
    let later = before().sum::<f64>().min(end.saturating_sub(since) as f64);
    if later > then && pace::others_go_on(cube, savings) { later } else { then }
}

/// Returns the part of the saving `ns` in the calls of a cell (similar calls of one process in a time window) that lies after `since` (ns
/// since the job's start): all if the cell's time window begins later, else at most the rest of the cell's longest call.
fn then(cube: &Cube<'_>, cell: &Cell, since: u64, ns: f64) -> f64 {
    if cube.slots.begin(usize::from(cell.slot)).is_some_and(|begin| begin >= since) {
        return ns;
    }
    let end = cell.sums.longest_began().map_or(0, |began| began.saturating_add(cell.sums.longest_ns));
    ns.min(end.saturating_sub(since) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_one_after_another_add_up_and_those_beside_each_other_do_not() {
        assert!((chained(vec![(20, 10, 3.0), (10, 0, 2.0), (30, 20, 4.0)]) - 9.0).abs() < 1e-9);
        assert!((chained(vec![(10, 0, 2.0), (11, 1, 3.0), (12, 2, 4.0)]) - 4.0).abs() < 1e-9);
        // A shell that lasts as long as two of its children.
        assert!((chained(vec![(25, 0, 1.0), (10, 1, 2.0), (20, 10, 3.0)]) - 5.0).abs() < 1e-9);
        assert_eq!(chained(Vec::new()).to_bits(), 0.0_f64.to_bits());
    }
}
