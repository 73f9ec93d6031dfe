//! Decides if a slow file or the one rank that uses it is slow: with a file per rank, both have the same calls. The rank is, if it uses no other
//! such file, or if opens and closes (another server) are slow, too. The same holds for a storage target and the only process that reaches it,
//! and only it.

use super::grid::{Entry, Grid};
use super::slow::Slow;
use super::slow::unit::Unit;
use crate::model::{Class, FileId, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest calls on another file of the same kind that show the process's speed there.
const FEWEST: u64 = 3;
/// Least slowdown of opens and closes to be slow, and least part of the log slowdown of the file's other calls that they reach.
const SLOWER: f64 = 1.5;
const AS_FAR: f64 = 0.5;

/// Units that cannot be distinguished from slow files or targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SoleUser {
    /// These processes are slow.
    Theirs(Vec<ProcessId>),
    /// This process or its file.
    Either(ProcessId),
    /// This process or its storage target.
    EitherOnTarget(ProcessId, u32),
}

/// Returns the sole users of the slow files, or of the slow storage target, or of the target of a slow process; `None` if there are other users,
/// or another unit is slow.
#[must_use]
pub(super) fn sole_user(grid: &Grid<'_>, slow: &Slow) -> Option<SoleUser> {
    if matches!(slow.unit, Unit::Target(_) | Unit::Process(_)) {
        return alone_on(grid, slow);
    }
    let file = |unit: &Unit| if let Unit::File(file) = unit { Some(*file) } else { None };
    let files: BTreeSet<FileId> = std::iter::once(&slow.unit).chain(&slow.more).map(file).collect::<Option<_>>()?;
    if grid.run.processes.len() < 2 {
        return None;
    }
    let mut users: BTreeMap<FileId, BTreeSet<ProcessId>> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| files.contains(&entry.file)) {
        users.entry(entry.file).or_default().insert(entry.process);
    }
    let mut theirs: BTreeSet<ProcessId> = BTreeSet::new();
    let mut either = None;
    for (file, users) in &users {
        let process = *users.first().filter(|_| users.len() == 1)?;
        if !has_others(grid, slow, *file, process) || opens_are_slow(grid, slow, *file) {
            theirs.insert(process);
        } else {
            either = Some(process);
        }
    }
    match either {
        None => Some(SoleUser::Theirs(theirs.into_iter().collect())),
        Some(process) if files.len() == 1 => Some(SoleUser::Either(process)),
        Some(_) => None,
    }
}

/// Returns the process that alone has calls of the slow classes on a storage target, and on no other target.
fn alone_on(grid: &Grid<'_>, slow: &Slow) -> Option<SoleUser> {
    let is = |entry: &&Entry| entry.leaf && slow.by.iter().any(|(class, ..)| *class == entry.class);
    let all = || grid.entries.iter().filter(is);
    let first = all().find(|entry| slow.more.is_empty() && slow.unit.has(grid, entry))?;
    let (process, [target]) = (first.process, first.targets.as_slice()) else { return None };
    let both = |entry: &Entry| (entry.process == process, entry.targets == [*target]);
    let either = |entry: &Entry| entry.process == process || entry.targets.contains(target);
    if all().filter(|entry| either(entry)).any(|entry| both(entry) != (true, true)) {
        return None;
    }
    let files: BTreeSet<FileId> = all().filter(|entry| entry.process == process).map(|entry| entry.file).collect();
    if files.iter().any(|file| opens_are_slow(grid, slow, *file)) {
        return Some(SoleUser::Theirs(vec![process])).filter(|_| matches!(slow.unit, Unit::Target(_)));
    }
    Some(SoleUser::EitherOnTarget(process, *target))
}

/// True if the process makes enough such calls on another file.
fn has_others(grid: &Grid<'_>, slow: &Slow, file: FileId, process: ProcessId) -> bool {
    let of_class = |entry: &&Entry| entry.leaf && slow.by.iter().any(|(class, ..)| *class == entry.class);
    let mine = || grid.entries.iter().filter(of_class).filter(|entry| entry.process == process);
    let sizes: BTreeSet<(Class, u8)> =
        mine().filter(|entry| entry.file == file).map(|entry| (entry.class, entry.size)).collect();
    let others = mine().filter(|entry| entry.file != file && sizes.contains(&(entry.class, entry.size)));
    others.fold(0_u64, |sum, entry| sum.saturating_add(entry.cell.calls)) >= FEWEST
}

/// True if opens and closes of a file take far longer than their peers.
fn opens_are_slow(grid: &Grid<'_>, slow: &Slow, file: FileId) -> bool {
    let is = |class: Class| matches!(class, Class::Open | Class::Metadata);
    if slow.by.iter().any(|(class, ..)| is(*class)) {
        return true;
    }
    let (mut sum, mut calls) = (0.0, 0.0);
    for entry in grid.entries.iter().filter(|entry| entry.leaf && is(entry.class) && entry.file == file) {
        sum += entry.above_kind * entry.cell.calls as f64;
        calls += entry.cell.calls as f64;
    }
    let above = slow.by.iter().map(|(_, odd, ..)| odd.above).fold(0.0, f64::max);
    calls > 0.0 && sum / calls >= SLOWER.ln().max(above * AS_FAR)
}
