//! Ranks that do their I/O one after another in some phases of a run whose I/O is otherwise parallel. Over the whole run, nothing looks
//! serial.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{Class, FileId, ProcessId};
use crate::replay::turns::{LOCKS_FOR_EACH, handed_on_by, span, waited};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// A phase (from one synchronization or pause to the next) in which ranks are serialized (do their I/O one after another).
#[derive(Debug, Default)]
struct Turns {
    ranks: usize,
    /// Number of groups of ranks that do their I/O at the same time, while the ranks within each group do theirs one after another.
    groups: u64,
    calls: u64,
    files: BTreeSet<FileId>,
    /// Time in calls of all ranks together (at most the length of the phase) minus that of the rank with most, ns: what a rank waits while
    /// the others do their I/O.
    waits_ns: f64,
    writes: bool,
    reads: bool,
}

/// Returns one claim (finding with its saving) about all phases (from one synchronization or pause to the next) in which ranks do their I/O
/// one after another.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    if !cube.slots.ranks_met || (cube.run.ranks() as usize) < cube.run.thresholds.few_min as usize {
        return None;
    }
    // Aggregators follow one another even in a healthy run.
    let collective = cube.cells.iter().filter(|cell| cell.collective);
    let collective: BTreeSet<FileId> = collective.map(|cell| cell.file).collect();
    let mut by: BTreeMap<usize, Vec<&Cell>> = BTreeMap::new();
    let mut locks: BTreeMap<usize, (u64, f64)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && !(cell.inside && collective.contains(&cell.file))) {
        let phase = cube.phase(cell);
        match cell.class {
            Class::Read | Class::Write => by.entry(phase).or_default().push(cell),
            Class::Lock => {
                let (calls, ns) = locks.entry(phase).or_default();
                add(calls, cell.sums.calls);
                *ns += cell.time_ns();
            }
            _ => {}
        }
    }
    // Ranks serialized by locks have a finding about the locks.
    by.retain(|phase, cells| {
        let (locks, in_locks) = locks.get(phase).copied().unwrap_or_default();
        let in_calls: f64 = cells.iter().map(|cell| cell.time_ns()).sum();
        (locks as f64) < calls_of(cells) as f64 * LOCKS_FOR_EACH && in_locks < in_calls
    });
    let found: Vec<Turns> = by.values().filter_map(|cells| of_phase(cube, cells)).collect();
    let waits_ns = found.iter().map(|of| of.waits_ns).sum::<f64>().min(waited(cube).unwrap_or(f64::INFINITY));
    let ranks = found.iter().map(|of| of.ranks).max()?;
    let files: BTreeSet<FileId> = found.iter().flat_map(|of| &of.files).copied().collect();
    let file = cube.run.file_name(*files.first()?).to_owned();
    let calls = found.iter().fold(0_u64, |sum, of| sum.saturating_add(of.calls));
    let about = About { file: Some(file.clone()), calls: Some(calls), ..About::default() };
    let others = files.iter().skip(1).take(NAMED_EXAMPLES);
    let of = words::Serialized {
        ranks: ranks as u64,
        groups: found.iter().map(|of| of.groups).max().unwrap_or(0),
        phases: found.len() as u64,
        reads: found.iter().any(|of| of.reads),
        writes: found.iter().any(|of| of.writes),
        file: &file,
        files: files.len() as u64,
        others: others.map(|file| cube.run.file_name(*file)).collect(),
        calls,
        saves_ns: waits_ns as u64,
    };
    (waits_ns > 0.0).then(|| Claim {
        waiting_ns: waits_ns,
        ..Claim::new(Finding::new(Code::SERIALISED, words::serialized(&of, about)), Vec::new())
    })
}

fn calls_of(cells: &[&Cell]) -> u64 {
    cells.iter().map(|cell| cell.sums.calls).fold(0, u64::saturating_add)
}

/// Checks if all ranks that read or write in a phase (from one synchronization or pause to the next) are serialized; else checks the ranks
/// of each file. Groups of ranks on different files run at the same time, so the longest wait counts. `None` if no ranks are serialized.
fn of_phase(cube: &Cube<'_>, cells: &[&Cell]) -> Option<Turns> {
    if let Some(all) = of_group(cube, cells) {
        return Some(all);
    }
    let mut by: BTreeMap<FileId, Vec<&Cell>> = BTreeMap::new();
    cells.iter().for_each(|cell| by.entry(cell.file).or_default().push(cell));
    let groups: Vec<Turns> = by.values().filter_map(|cells| of_group(cube, cells)).collect();
    groups.into_iter().reduce(|a, b| {
        let longest = if a.waits_ns >= b.waits_ns { a.waits_ns } else { b.waits_ns };
        Turns {
            ranks: a.ranks.saturating_add(b.ranks),
            groups: a.groups.saturating_add(b.groups),
            calls: a.calls.saturating_add(b.calls),
            files: a.files.into_iter().chain(b.files).collect(),
            waits_ns: longest,
            writes: a.writes | b.writes,
            reads: a.reads | b.reads,
        }
    })
}

fn of_group(cube: &Cube<'_>, cells: &[&Cell]) -> Option<Turns> {
    let thresholds = &cube.run.thresholds;
    // Time in calls, and span from the first to the last call.
    let mut by: BTreeMap<ProcessId, (f64, (u64, u64))> = BTreeMap::new();
    let joined = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
    for cell in cells {
        let (in_calls, turn) = by.entry(cell.process).or_insert((0.0, (u64::MAX, 0)));
        *in_calls += cube.wall(cell, cell.time_ns());
        *turn = span(cell).map_or(*turn, |of| joined(*turn, of));
    }
    if by.len() < thresholds.few_min as usize {
        return None;
    }
    let long = |of: (u64, u64)| of.1.saturating_sub(of.0) as f64;
    let length = long(by.values().map(|(_, turn)| *turn).fold((u64::MAX, 0), joined));
    let turns = || by.values().map(|(_, turn)| long(*turn));
    let (turns, longest_turn) = (turns().sum::<f64>(), turns().fold(0.0, f64::max));
    let in_calls = || by.values().map(|(in_calls, _)| *in_calls);
    let (all, longest) = (in_calls().sum::<f64>(), in_calls().fold(0.0, f64::max));
    // In parallel, all ranks take as long as the one with the longest turn; serialized, the other turns come in addition.
    let follow = length - longest_turn >= (turns - longest_turn) * thresholds.most_share;
    let one_at_a_time = all >= length * thresholds.most_share && follow;
    let is = one_at_a_time && handed_on_by(cube, cells.iter().copied()) >= thresholds.most_share;
    let has = |class: Class| cells.iter().any(|cell| cell.class == class);
    is.then(|| Turns {
        ranks: by.len(),
        groups: 1,
        calls: calls_of(cells),
        files: cells.iter().map(|cell| cell.file).collect(),
        waits_ns: (all.min(length) - longest).max(0.0),
        writes: has(Class::Write),
        reads: has(Class::Read),
    })
}
