//! Decides if a file is slow or the one rank that uses it: with one file per rank, both have the same calls. The rank is slow if it uses no
//! other file of the kind, or if opens and closes are slow, too (another server handles those). The same question arises for a storage
//! target and the only process that reaches it, if that process reaches no other target.

use crate::cube::{Cell, Cube};
use crate::effects::Effect;
use crate::effects::unit::Unit;
use crate::model::{Class, FileId, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Processes that alone use a slow file or target, and if they can be distinguished from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SoleUser {
    /// These processes are slow, not the files that only they use.
    Theirs(Vec<ProcessId>),
    /// Either this process or the file that only it uses is slow.
    Either(ProcessId),
    /// Either this process or its storage target (the second field) is slow.
    EitherOnTarget(ProcessId, u32),
}

/// Returns the sole users of the slow files, of the slow storage target, or of the only target of a slow process; `None` if other processes
/// use them, too, or if the slow unit is of another kind.
#[must_use]
pub(super) fn sole_user(cube: &Cube<'_>, slow: &Effect) -> Option<SoleUser> {
    if matches!(slow.unit, Unit::Target(_) | Unit::Process(_)) {
        return alone_on(cube, slow);
    }
    let file = |unit: &Unit| if let Unit::File(file) = unit { Some(*file) } else { None };
    let files: BTreeSet<FileId> = std::iter::once(&slow.unit).chain(&slow.more).map(file).collect::<Option<_>>()?;
    let mut processes = of_classes(cube, slow).map(|cell| cell.process);
    // A process without peers is slow on none of its other files.
    let first = processes.next();
    if processes.all(|other| Some(other) == first) {
        return None;
    }
    let mut users: BTreeMap<FileId, BTreeSet<ProcessId>> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| files.contains(&cell.file)) {
        users.entry(cell.file).or_default().insert(cell.process);
    }
    let mut theirs: BTreeSet<ProcessId> = BTreeSet::new();
    let mut either = None;
    for (file, users) in &users {
        let process = *users.first().filter(|_| users.len() == 1)?;
        if !has_others(cube, slow, *file, process) || opens_are_slow(cube, slow, *file) {
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

/// Returns the process that alone has calls of the slow classes on a storage target, and on no other target; `None` if there is no such
/// process.
fn alone_on(cube: &Cube<'_>, slow: &Effect) -> Option<SoleUser> {
    let all = || of_classes(cube, slow);
    let first = all().find(|cell| slow.more.is_empty() && slow.unit.has(cube, cell))?;
    let (process, [target]) = (first.process, first.targets.as_slice()) else { return None };
    let both = |cell: &Cell| (cell.process == process, cell.targets.as_slice() == [*target]);
    let either = |cell: &Cell| cell.process == process || cell.targets.contains(target);
    if all().filter(|cell| either(cell)).any(|cell| both(cell) != (true, true)) {
        return None;
    }
    let files: BTreeSet<FileId> = all().filter(|cell| cell.process == process).map(|cell| cell.file).collect();
    if files.iter().any(|file| opens_are_slow(cube, slow, *file)) {
        return Some(SoleUser::Theirs(vec![process])).filter(|_| matches!(slow.unit, Unit::Target(_)));
    }
    Some(SoleUser::EitherOnTarget(process, *target))
}

/// Returns the cells (groups of similar calls) of the slow classes.
fn of_classes<'c>(cube: &'c Cube<'_>, slow: &Effect) -> impl Iterator<Item = &'c Cell> {
    let classes: BTreeSet<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    cube.cells.iter().filter(move |cell| cell.leaf && classes.contains(&cell.class))
}

/// True if the process makes at least `several_min` calls of the slow classes, of the same sizes, on other files than `file`.
fn has_others(cube: &Cube<'_>, slow: &Effect, file: FileId, process: ProcessId) -> bool {
    let mine = || of_classes(cube, slow).filter(|cell| cell.process == process);
    let sizes: BTreeSet<(Class, u8)> =
        mine().filter(|cell| cell.file == file).map(|cell| (cell.class, cell.size)).collect();
    let others = mine().filter(|cell| cell.file != file && sizes.contains(&(cell.class, cell.size)));
    others.fold(0_u64, |sum, cell| sum.saturating_add(cell.sums.calls)) >= cube.run.thresholds.several_min
}

/// True if opens and closes of a file take far longer than their peers.
fn opens_are_slow(cube: &Cube<'_>, slow: &Effect, file: FileId) -> bool {
    let thresholds = &cube.run.thresholds;
    let is = |class: Class| matches!(class, Class::Open | Class::Metadata);
    if slow.by.iter().any(|(class, ..)| is(*class)) {
        return true;
    }
    let (mut sum, mut calls) = (0.0, 0.0);
    for cell in cube.cells.iter().filter(|cell| cell.leaf && is(cell.class) && cell.file == file) {
        sum += cell.above_kind * cell.sums.calls as f64;
        calls += cell.sums.calls as f64;
    }
    let above = slow.by.iter().map(|(_, odd, ..)| odd.above).fold(0.0, f64::max);
    calls > 0.0 && sum / calls >= thresholds.slower_ratio.ln().max(above * thresholds.half_share)
}
