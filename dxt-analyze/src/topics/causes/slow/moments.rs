//! Conditions for slow periods, which are ranges of time windows.

use super::unit::Unit;
use crate::cube::{Cell, Cube};
use crate::model::Class;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest time windows of a slow period, and its least part of the run: shorter ones are the begin or end of a burst.
const LONG_ENOUGH: (u16, f64) = (2, 0.02);
/// Part of the calls on a file region that are in slow periods, from which these explain the region.
const MOSTLY: f64 = 0.5;
/// Largest throughput in a slow period, as a part of that at other times: with more, calls are long because of their number.
pub(super) const LESS: f64 = 0.7;
/// Like `LESS`, if calls get slower and slower.
pub(super) const LESS_AS_IT_GROWS: f64 = 0.85;

/// True if a period is long enough; always true for other units.
pub(super) fn lasts(cube: &Cube<'_>, unit: Unit) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let length = cube.run.length_ns();
    let begin = |slot: u16| cube.slots.begin(usize::from(slot)).unwrap_or(length);
    until + 1 - from >= LONG_ENOUGH.0 && (begin(until + 1) - begin(from)) as f64 >= length as f64 * LONG_ENOUGH.1
}

/// True if throughput in a period is below `part` of that at other times, over windows with calls of the class; always true for other units.
pub(super) fn moves_less(cube: &Cube<'_>, unit: Unit, class: Class, part: f64) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let (mut amounts, mut mine) = (BTreeMap::<u16, f64>::new(), 0.0);
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
        let amount = if matches!(class, Class::Read | Class::Write) { cell.sums.bytes } else { cell.sums.calls } as f64;
        *amounts.entry(cell.slot).or_default() += amount;
    }
    let (mut time, mut other, mut other_time) = (0.0, 0.0, 0.0);
    for (slot, amount) in amounts {
        let busy = cube.slots.busy(usize::from(slot)) as f64;
        if (from..=until).contains(&slot) {
            (mine, time) = (mine + amount, time + busy);
        } else {
            (other, other_time) = (other + amount, other_time + busy);
        }
    }
    other_time <= 0.0 || time <= 0.0 || mine / time < other / other_time * part
}

/// True if a file region is mostly reached in known slow periods: a process that reads in order is in one region at a time.
pub(super) fn is_of_moment(cube: &Cube<'_>, known: &BTreeSet<(Unit, Class)>, unit: Unit, class: Class) -> bool {
    let Unit::Region(region) = unit else { return false };
    let moments: Vec<Unit> = known.iter().filter(|(_, its)| *its == class).map(|(unit, _)| *unit).collect();
    let moments = || moments.iter().filter(|unit| matches!(unit, Unit::Moment(..)));
    let Some((from, until)) = cube.regions.range(region).filter(|_| moments().next().is_some()) else { return false };
    let reaches = |cell: &&Cell| {
        cell.leaf
            && cell.class == class
            && cell.file == region.file
            && cell.sums.range.0 < until
            && from < cell.sums.range.1
    };
    let (mut within, mut outside) = (0.0, 0.0);
    for cell in cube.cells.iter().filter(reaches) {
        let at_all = (cell.sums.range.1 - cell.sums.range.0).max(1) as f64;
        let there = (cell.sums.range.1.min(until) - cell.sums.range.0.max(from)) as f64;
        let calls = cell.sums.calls as f64 * there / at_all;
        *(if moments().any(|unit| unit.has(cube, cell)) { &mut within } else { &mut outside }) += calls;
    }
    within >= (within + outside) * MOSTLY
}
