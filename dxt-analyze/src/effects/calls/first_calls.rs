//! Outliers that are the first call of their process (connections, memory, cold caches), which do not matter in a longer run, or the first of a
//! burst, where all ranks begin at once and wait for each other.

use super::Tail;
use crate::cube::{Cell, Cube};
use crate::model::ProcessId;
use crate::replay::Savings;
use crate::shared::outlier_test::FEWEST;
use std::collections::{BTreeMap, BTreeSet};

/// Outliers (calls far longer than their peers) that are the first calls of their processes, or of bursts of I/O.
#[derive(Clone, Debug)]
pub struct FirstCalls {
    /// Number of processes whose first call is an outlier, and number of all processes; `None` if these are first calls of bursts.
    pub processes: (u64, Option<u64>),
    /// Duration of the longest of these first calls, ns.
    pub longest_ns: u64,
    /// Time saved if these first calls took as long as their peers, by cell (similar calls of one process), ns.
    pub savings: Savings,
}

/// Returns the first calls of processes, or else of bursts of I/O, if nearly all time of the outliers in `tail` is in such calls.
pub(super) fn first_calls(cube: &Cube<'_>, tail: &Tail) -> Option<FirstCalls> {
    of(cube, tail, false).or_else(|| of(cube, tail, true))
}

/// Returns the first calls of processes or, if `by_burst`, of bursts, if most time of the outliers in `tail` is in such calls. A burst is
/// the I/O of a process between two pauses without I/O or synchronization points.
fn of(cube: &Cube<'_>, tail: &Tail, by_burst: bool) -> Option<FirstCalls> {
    let thresholds = &cube.run.thresholds;
    let burst = |cell: &Cell| (if by_burst { cube.phase(cell) } else { 0 }, cell.process);
    let is = |cell: &&Cell| cell.leaf && tail.has(cell.class);
    let mut begins: BTreeMap<(usize, ProcessId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(is) {
        let first = begins.entry(burst(cell)).or_insert(u64::MAX);
        *first = (*first).min(cell.sums.first_at);
    }
    let is_first = |cell: &&Cell| {
        let began = cell.sums.longest_began();
        cell.sums.far_calls == 1 && began.is_some() && began == begins.get(&burst(cell)).copied()
    };
    let first = |index: u32| cube.cells.get(index as usize).filter(is_first);
    let savings: Savings = tail.savings.iter().filter(|(index, _)| first(*index).is_some()).copied().collect();
    let firsts: Vec<&Cell> = savings.iter().filter_map(|(index, _)| first(*index)).collect();
    let processes = firsts.iter().map(|cell| cell.process).collect::<BTreeSet<ProcessId>>().len();
    let all = begins.keys().map(|(_, process)| process).collect::<BTreeSet<_>>().len();
    let longest_ns = firsts.iter().map(|cell| cell.sums.longest_ns).max()?;
    let (most, is_usual) = if by_burst {
        (thresholds.most_share, begins.len() >= all * thresholds.repeated_min as usize)
    } else {
        (thresholds.all_share, processes as f64 >= begins.len() as f64 * thresholds.half_share)
    };
    let lost: f64 = savings.iter().map(|(_, ns)| ns).sum();
    let enough = processes >= FEWEST && tail.calls >= (begins.len() as u64).saturating_mul(thresholds.few_min);
    let is_all = lost >= tail.savings.iter().map(|(_, ns)| ns).sum::<f64>() * most;
    let of = (!by_burst).then_some(all as u64);
    (is_usual && enough && is_all && longest_ns <= thresholds.setup_ns).then_some(FirstCalls {
        processes: (processes as u64, of),
        longest_ns,
        savings,
    })
}
