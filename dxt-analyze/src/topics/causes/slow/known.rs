//! Processes that are slow because of storage targets that are known to be slow.

use super::unit::Unit;
use crate::cube::Cube;
use crate::model::Class;
use std::collections::BTreeSet;

/// Least part of the time of a process's calls on slow targets for these to explain the process.
const ON_SLOW: f64 = 0.8;

/// True if nearly all calls of a process are on known slow targets.
pub(super) fn is_of_target(cube: &Cube<'_>, known: &BTreeSet<(Unit, Class)>, unit: Unit, class: Class) -> bool {
    let is_target = |one: &&(Unit, Class)| one.1 == class && matches!(one.0, Unit::Target(_));
    let targets: Vec<Unit> = known.iter().filter(is_target).map(|(unit, _)| *unit).collect();
    if !matches!(unit, Unit::Process(_)) || targets.is_empty() {
        return false;
    }
    let (mut on_them, mut all) = (0.0, 0.0);
    let theirs = cube.cells.iter().filter(|cell| cell.leaf && cell.class == class && unit.has(cube, cell));
    for cell in theirs {
        all += cell.sums.time_ns as f64;
        if targets.iter().any(|target| target.has(cube, cell)) {
            on_them += cell.sums.time_ns as f64;
        }
    }
    on_them >= all * ON_SLOW
}
