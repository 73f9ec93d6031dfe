//! Repeated metadata queries on the same paths: existence, size, permissions.

use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use rustc_hash::FxHashSet;

/// Operations that query a path without changing anything.
const ASK: [&str; 2] = ["stat", "access"];
/// Least mean number of queries per process and path.
const AGAIN: u64 = 4;
/// Fewest queries to report, and fewest failed ones.
const FEWEST: u64 = 100;
const FEWEST_IN_VAIN: u64 = 1000;

/// Returns one claim about the queries of all processes.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let asks = |entry: &Entry| {
        let name = grid.stream(entry).map(|stream| grid.run.op(stream).name.as_str());
        entry.leaf && !entry.inside && name.is_some_and(|name| ASK.contains(&name))
    };
    let mut names: FxHashSet<(ProcessId, FileId)> = FxHashSet::default();
    let (mut calls, mut time) = (0_u64, 0.0);
    for entry in grid.entries.iter().filter(|entry| asks(entry)) {
        names.insert((entry.process, entry.file));
        calls = calls.saturating_add(entry.cell.calls);
        time += entry.left_ns;
    }
    let (known, processes) =
        (names.len() as u64, names.iter().map(|(process, _)| process).collect::<FxHashSet<_>>().len() as u64);
    if calls < FEWEST.max(known.saturating_mul(AGAIN)) {
        return in_vain(grid, asks, calls);
    }
    // The first query of each process and path is needed.
    let part = 1.0 - known as f64 / calls as f64;
    let savings: Savings = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| asks(entry))
        .map(|(index, entry)| (index, entry.left_ns * part))
        .collect();
    let called = |name: &&&str| {
        let is = |entry: &Entry| grid.stream(entry).is_some_and(|stream| grid.run.op(stream).name == **name);
        grid.entries.iter().any(|entry| asks(entry) && is(entry))
    };
    let files_asked = names.iter().map(|(_, file)| file).collect::<FxHashSet<_>>().len() as u64;
    let operations = ASK.iter().filter(called).copied().collect();
    let (paths, are_ranks) = (files_asked, grid.run.ranks() > 0);
    let of = words::Repeated { calls, time_ns: time, operations, processes, are_ranks, paths, pairs: known };
    Some(Claim::on_files(grid, Code::ASKED_AGAIN, savings, |lost| words::asked_again(&of, lost)))
}

/// Returns a claim about failed queries on paths that the process finds later: it waits for files of others. `calls`: number of all queries.
fn in_vain(grid: &Grid<'_>, asks: impl Fn(&Entry) -> bool, calls: u64) -> Option<Claim> {
    let failed = |entry: &Entry| grid.stream(entry).is_some_and(|stream| stream.failed);
    let found: FxHashSet<(ProcessId, FileId)> = grid
        .entries
        .iter()
        .filter(|entry| (asks(entry) || entry.class == Class::Open) && !failed(entry))
        .map(|entry| (entry.process, entry.file))
        .collect();
    let (mut vain, mut savings) = (0_u64, Savings::new());
    let mut processes: FxHashSet<ProcessId> = FxHashSet::default();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if asks(entry) && failed(entry) && found.contains(&(entry.process, entry.file)) {
            vain = vain.saturating_add(entry.cell.calls);
            processes.insert(entry.process);
            savings.push((index, entry.left_ns));
        }
    }
    if vain < FEWEST_IN_VAIN || vain < calls / 2 {
        return None;
    }
    Some(Claim::on_files(grid, Code::ASKED_AGAIN, savings, |lost| {
        words::asked_in_vain(vain, calls, processes.len() as u64, lost)
    }))
}
