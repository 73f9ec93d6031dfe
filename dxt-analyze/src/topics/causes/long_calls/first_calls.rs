//! Outliers that are the first call of their process (connections, memory, cold caches), which do not matter in a longer run, or the first of a
//! burst, where all ranks begin at once and wait for each other.

use super::tails::Tail;
use crate::findings::{Code, Finding, Severity};
use crate::model::ProcessId;
use crate::topics::causes::claim::{Claim, lost_on};
use crate::topics::causes::grid::{Entry, Grid};
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
pub fn claim(grid: &Grid<'_>, tail: &Tail) -> Option<Claim> {
    of_run(grid, tail).or_else(|| of_bursts(grid, tail))
}

/// Returns a claim if a tail is mostly first calls of processes after a pause without I/O or a synchronization point.
fn of_bursts(grid: &Grid<'_>, tail: &Tail) -> Option<Claim> {
    let is = |entry: &&Entry| entry.leaf && (entry.class == tail.class || tail.also.contains(&entry.class));
    let mut begins: BTreeMap<(usize, ProcessId), u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(is) {
        let first = begins.entry((grid.phase(entry), entry.process)).or_insert(u64::MAX);
        *first = (*first).min(entry.cell.first_at);
    }
    let began = |entry: &Entry| begins.get(&(grid.phase(entry), entry.process)).copied();
    let is_first = |entry: &&Entry| {
        entry.cell.far_calls == 1 && entry.cell.longest_began().is_some_and(|at| began(entry) == Some(at))
    };
    let first = |index: u32| grid.entries.get(index as usize).filter(is_first);
    let all: f64 = tail.savings.iter().map(|(_, ns)| ns).sum();
    let firsts: Vec<(u32, f64)> = tail.savings.iter().filter(|(index, _)| first(*index).is_some()).copied().collect();
    let lost: f64 = firsts.iter().map(|(_, ns)| ns).sum();
    let of: Vec<&Entry> = firsts.iter().filter_map(|(index, _)| first(*index)).collect();
    let processes: BTreeSet<ProcessId> = of.iter().map(|entry| entry.process).collect();
    let longest = of.iter().map(|entry| entry.cell.longest_ns).max()?;
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
        worker: grid.run.worker_name(),
        longest_ns: longest,
        excess_ns: lost as u64,
    });
    let claim = Claim::new(Finding::new(Code::FIRST_CALLS, words.on(lost_on(grid, &firsts))), tail.savings.clone());
    Some(Claim { at_most: Severity::Warn, ..claim })
}

fn of_run(grid: &Grid<'_>, tail: &Tail) -> Option<Claim> {
    let mut begins: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == tail.class) {
        let first = begins.entry(entry.process).or_insert(u64::MAX);
        *first = (*first).min(entry.cell.first_at);
    }
    let is_first = |entry: &Entry| {
        entry.cell.far_calls == 1
            && entry.cell.longest_began().is_some_and(|at| begins.get(&entry.process) == Some(&at))
    };
    let first = |index: u32| grid.entries.get(index as usize).filter(|entry| is_first(entry));
    let all: f64 = tail.savings.iter().map(|(_, ns)| ns).sum();
    let firsts: Vec<(u32, f64)> = tail.savings.iter().filter(|(index, _)| first(*index).is_some()).copied().collect();
    let lost: f64 = firsts.iter().map(|(_, ns)| ns).sum();
    let processes: BTreeSet<ProcessId> = firsts.iter().filter_map(|(index, _)| Some(first(*index)?.process)).collect();
    let most = processes.len() >= FEWEST && processes.len() as f64 >= begins.len() as f64 * MOST_PROCESSES;
    if !most || lost < all * NEARLY_ALL || tail.calls < (begins.len() as u64).saturating_mul(CALLS) {
        return None;
    }
    let longest = firsts.iter().filter_map(|(index, _)| first(*index)).map(|entry| entry.cell.longest_ns).max()?;
    if longest > LONGEST_NS {
        return None;
    }
    let words = words::first_calls(&words::FirstCalls {
        classes: tail.classes(),
        processes: processes.len() as u64,
        of: Some(begins.len() as u64),
        worker: grid.run.worker_name(),
        longest_ns: longest,
        excess_ns: lost as u64,
    });
    Some(Claim::new(Finding::new(Code::FIRST_CALLS, words.on(lost_on(grid, &firsts))), firsts))
}
