//! Outliers that are the first call of their process (connections, memory, cold caches), which do not matter in a longer run, or the first of a
//! burst, where all ranks begin at once and wait for each other.

use super::tails::Tail;
use crate::cube::{Cell, Cube};
use crate::findings::{Code, Finding, Severity};
use crate::model::ProcessId;
use crate::topics::causes::claim::{Claim, lost_on};
use crate::words::calls as words;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest processes whose first call is an outlier, and least part of the processes with such calls.
const FEWEST: usize = 3;
const MOST_PROCESSES: f64 = 0.5;
/// Least part of the outliers' excess that is in first calls of processes.
const NEARLY_ALL: f64 = 0.98;
/// Least part of the outliers' excess that is in first calls of bursts.
const MOSTLY: f64 = 0.8;
/// Least mean number of bursts per process.
const BURSTS: usize = 2;
/// Longest first call: longer ones are not due to setting up, ns.
const LONGEST_NS: u64 = 1_000_000_000;
/// Least mean number of calls per process or burst.
const CALLS: u64 = 4;

/// Returns a claim if a tail consists of first calls of processes or of bursts.
#[must_use]
pub fn claim(cube: &Cube<'_>, tail: &Tail) -> Option<Claim> {
    of_run(cube, tail).or_else(|| of_bursts(cube, tail))
}

/// Returns a claim if a tail is mostly first calls of processes after a pause without I/O or a synchronization point.
fn of_bursts(cube: &Cube<'_>, tail: &Tail) -> Option<Claim> {
    let is = |cell: &&Cell| cell.leaf && (cell.class == tail.class || tail.also.contains(&cell.class));
    let mut begins: BTreeMap<(usize, ProcessId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(is) {
        let first = begins.entry((cube.phase(cell), cell.process)).or_insert(u64::MAX);
        *first = (*first).min(cell.sums.first_at);
    }
    let began = |cell: &Cell| begins.get(&(cube.phase(cell), cell.process)).copied();
    let is_first =
        |cell: &&Cell| cell.sums.far_calls == 1 && cell.sums.longest_began().is_some_and(|at| began(cell) == Some(at));
    let first = |index: u32| cube.cells.get(index as usize).filter(is_first);
    let all: f64 = tail.savings.iter().map(|(_, ns)| ns).sum();
    let firsts: Vec<(u32, f64)> = tail.savings.iter().filter(|(index, _)| first(*index).is_some()).copied().collect();
    let lost: f64 = firsts.iter().map(|(_, ns)| ns).sum();
    let of: Vec<&Cell> = firsts.iter().filter_map(|(index, _)| first(*index)).collect();
    let processes: BTreeSet<ProcessId> = of.iter().map(|cell| cell.process).collect();
    let longest = of.iter().map(|cell| cell.sums.longest_ns).max()?;
    let all_of: BTreeSet<ProcessId> = begins.keys().map(|(_, process)| *process).collect();
    let in_bursts = begins.len() >= all_of.len() * BURSTS;
    let few = !in_bursts || processes.len() < FEWEST || tail.calls < (begins.len() as u64).saturating_mul(CALLS);
    if few || lost < all * MOSTLY || longest > LONGEST_NS {
        return None;
    }
    let words = words::first_calls(&words::FirstCalls {
        classes: tail.classes(),
        processes: processes.len() as u64,
        of: None,
        worker: cube.run.worker_name(),
        longest_ns: longest,
        excess_ns: lost as u64,
    });
    let claim = Claim::new(Finding::new(Code::FIRST_CALLS, words.on(lost_on(cube, &firsts))), tail.savings.clone());
    Some(Claim { at_most: Severity::Warn, ..claim })
}

fn of_run(cube: &Cube<'_>, tail: &Tail) -> Option<Claim> {
    let mut begins: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == tail.class) {
        let first = begins.entry(cell.process).or_insert(u64::MAX);
        *first = (*first).min(cell.sums.first_at);
    }
    let is_first = |cell: &Cell| {
        cell.sums.far_calls == 1 && cell.sums.longest_began().is_some_and(|at| begins.get(&cell.process) == Some(&at))
    };
    let first = |index: u32| cube.cells.get(index as usize).filter(|cell| is_first(cell));
    let all: f64 = tail.savings.iter().map(|(_, ns)| ns).sum();
    let firsts: Vec<(u32, f64)> = tail.savings.iter().filter(|(index, _)| first(*index).is_some()).copied().collect();
    let lost: f64 = firsts.iter().map(|(_, ns)| ns).sum();
    let processes: BTreeSet<ProcessId> = firsts.iter().filter_map(|(index, _)| Some(first(*index)?.process)).collect();
    let most = processes.len() >= FEWEST && processes.len() as f64 >= begins.len() as f64 * MOST_PROCESSES;
    if !most || lost < all * NEARLY_ALL || tail.calls < (begins.len() as u64).saturating_mul(CALLS) {
        return None;
    }
    let longest = firsts.iter().filter_map(|(index, _)| first(*index)).map(|cell| cell.sums.longest_ns).max()?;
    if longest > LONGEST_NS {
        return None;
    }
    let words = words::first_calls(&words::FirstCalls {
        classes: tail.classes(),
        processes: processes.len() as u64,
        of: Some(begins.len() as u64),
        worker: cube.run.worker_name(),
        longest_ns: longest,
        excess_ns: lost as u64,
    });
    Some(Claim::new(Finding::new(Code::FIRST_CALLS, words.on(lost_on(cube, &firsts))), firsts))
}
