//! Repeated metadata queries on the same paths: existence, size, permissions.

use crate::cube::reading::episodes::ASK;
use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use rustc_hash::FxHashSet;

/// Returns one claim (finding with its saving) about the repeated metadata queries (stat, access) of all processes.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let asks = |cell: &Cell| {
        let name = cube.stream(cell).map(|stream| cube.run.op(stream).name.as_str());
        cell.leaf && !cell.inside && name.is_some_and(|name| ASK.contains(&name))
    };
    let mut names: FxHashSet<(ProcessId, FileId)> = FxHashSet::default();
    let (mut calls, mut time) = (0_u64, 0.0);
    for cell in cube.cells.iter().filter(|cell| asks(cell)) {
        names.insert((cell.process, cell.file));
        calls = calls.saturating_add(cell.sums.calls);
        time += cell.time_ns();
    }
    let (known, processes) =
        (names.len() as u64, names.iter().map(|(process, _)| process).collect::<FxHashSet<_>>().len() as u64);
    if calls < thresholds.hundred_calls_min.max(known.saturating_mul(thresholds.few_min)) {
        return in_vain(cube, asks, calls);
    }
    // The first query of each process and path is needed.
    let part = 1.0 - known as f64 / calls as f64;
    let savings: Savings = (0_u32..)
        .zip(&cube.cells)
        .filter(|(_, cell)| asks(cell))
        .map(|(index, cell)| (index, cell.time_ns() * part))
        .collect();
    let called = |name: &&&str| {
        let is = |cell: &Cell| cube.stream(cell).is_some_and(|stream| cube.run.op(stream).name == **name);
        cube.cells.iter().any(|cell| asks(cell) && is(cell))
    };
    let files_asked = names.iter().map(|(_, file)| file).collect::<FxHashSet<_>>().len() as u64;
    let operations = ASK.iter().filter(called).copied().collect();
    let (paths, are_ranks) = (files_asked, cube.run.ranks() > 0);
    let of = words::Repeated { calls, time_ns: time, operations, processes, are_ranks, paths, pairs: known };
    Some(Claim::on_files(cube, Code::ASKED_AGAIN, savings, |lost| words::asked_again(&of, lost)))
}

/// Returns a claim (finding with its saving) about failed queries on paths that the process finds later: the process waits for files that
/// others make. `None` if such queries are few, or less than half of all. `calls`: number of all queries. `asks`: true for cells (groups of
/// similar calls) of such queries.
fn in_vain(cube: &Cube<'_>, asks: impl Fn(&Cell) -> bool, calls: u64) -> Option<Claim> {
    let failed = |cell: &Cell| cube.stream(cell).is_some_and(|stream| stream.failed);
    let found: FxHashSet<(ProcessId, FileId)> = cube
        .cells
        .iter()
        .filter(|cell| (asks(cell) || cell.class == Class::Open) && !failed(cell))
        .map(|cell| (cell.process, cell.file))
        .collect();
    let (mut vain, mut savings) = (0_u64, Savings::new());
    let mut processes: FxHashSet<ProcessId> = FxHashSet::default();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        if asks(cell) && failed(cell) && found.contains(&(cell.process, cell.file)) {
            vain = vain.saturating_add(cell.sums.calls);
            processes.insert(cell.process);
            savings.push((index, cell.time_ns()));
        }
    }
    if vain < cube.run.thresholds.hundred_calls_min || vain < calls / 2 {
        return None;
    }
    Some(Claim::on_files(cube, Code::ASKED_AGAIN, savings, |lost| {
        words::asked_in_vain(vain, calls, processes.len() as u64, lost)
    }))
}
