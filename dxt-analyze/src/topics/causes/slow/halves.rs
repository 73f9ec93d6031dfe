//! Units of which none is an outlier, but half are slow; and periods in which all calls are slow.

use super::Slow;
use super::apart::{apart, for_a_while, growing, grows_to_the_end};
use super::candidates::shortened_of;
use super::known::is_of_target;
use super::load::Loads;
use super::members::Sorts;
use super::moments::{LESS, LESS_AS_IT_GROWS, lasts, moves_less};
use super::of_two::AS_MUCH;
use super::remaining::Remaining;
use super::stands_off::are_of_targets;
use super::unit::{Member, Unit};
use crate::cube::Cube;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::outlier_test::FEW;
use crate::sum::Sum;
use std::collections::{BTreeMap, BTreeSet};

/// Returns groups of slow nodes or targets among few: no member is an outlier, since its peers include the other slow ones.
pub(super) fn several_of_few(cube: &Remaining<'_, '_>, known: &BTreeSet<(Unit, Class)>, sorts: &Sorts) -> Vec<Slow> {
    // At most half can be slow: the others are the reference.
    let few = |slow: &Slow| {
        let fewest = |among: usize| among <= FEW && (slow.more.len() + 1) * 2 <= among;
        matches!(slow.unit, Unit::Node(_) | Unit::Target(_)) && slow.by.iter().all(|(_, _, among, _)| fewest(*among))
    };
    halves(cube, known, sorts).into_iter().filter(few).collect()
}

/// Returns the slow halves of all classes and sorts.
pub(super) fn halves(cube: &Remaining<'_, '_>, known: &BTreeSet<(Unit, Class)>, sorts: &Sorts) -> Vec<Slow> {
    let rate = cube.run.thresholds.false_discovery_rate;
    let of_class = |(class, sorts): &(Class, Vec<Vec<Member>>)| -> Vec<Slow> {
        sorts.iter().filter_map(|sort| half(cube, *class, sort, rate / (sort.len() * 4) as f64)).collect()
    };
    let of_targets = |slow: &Slow| {
        let mut all = slow.more.iter().chain([&slow.unit]);
        all.all(|unit| slow.by.iter().all(|(class, ..)| is_of_target(cube, known, *unit, *class)))
    };
    sorts.iter().flat_map(of_class).filter(|slow| !of_targets(slow)).collect()
}

/// Returns the slow half of ranks, nodes or targets, or the slow period of the run.
fn half(cube: &Remaining<'_, '_>, class: Class, sort: &[Member], least_p: f64) -> Option<Slow> {
    let values: Vec<f64> = sort.iter().map(|member| member.above).collect();
    let mut grows = false;
    let (units, odd, of) = match sort.first()?.unit {
        Unit::Process(_) | Unit::Node(_) | Unit::Target(_) => {
            let (slow, odd) = apart(&values)?;
            let mut of: Vec<&Member> = slow.into_iter().filter_map(|at| sort.get(at)).collect();
            of.sort_by_key(|member| member.unit);
            let units: Vec<Unit> = of.iter().map(|member| member.unit).collect();
            // Half of many targets may differ by their files.
            if matches!(sort.first()?.unit, Unit::Target(_)) && sort.len() > FEW && !of_same_files(cube, class, &units)
            {
                return None;
            }
            (node_of(cube, sort, &units).map_or(units, |node| vec![node]), odd, of)
        }
        Unit::Moment(..) => {
            let calls: Vec<u64> = sort.iter().map(|member| member.calls).collect();
            let (range, odd) = for_a_while(&values, &calls).or_else(|| growing(&values))?;
            grows = grows_to_the_end(&values, range.clone());
            grows |= range.end == values.len() && growing(&values).is_some();
            let of: Vec<&Member> = sort.get(range)?.iter().collect();
            let (Unit::Moment(from, _), Unit::Moment(_, until)) = (of.first()?.unit, of.last()?.unit) else {
                return None;
            };
            let unit = Unit::Moment(from, until);
            (vec![unit], odd, of)
        }
        Unit::Folder(_) | Unit::File(_) | Unit::Region(_) => return None,
    };
    let (unit, more) = units.split_first()?;
    // At most half can be slow.
    if matches!(unit, Unit::Target(_) | Unit::Process(_)) && units.len() * 2 > sort.len() {
        return None;
    }
    let part = if grows { LESS_AS_IT_GROWS } else { LESS };
    // Ranks may be slow because of their targets, as all ranks with files on an overloaded one.
    let process = |unit: &Unit| if let Unit::Process(process) = unit { Some(*process) } else { None };
    let processes: Vec<ProcessId> = units.iter().filter_map(process).collect();
    if !processes.is_empty() && are_of_targets(cube, class, &processes) {
        return None;
    }
    if odd.p > least_p || !lasts(cube, *unit) || !moves_less(cube, *unit, class, part) {
        return None;
    }
    let calls = of.iter().map(|member| member.calls).sum::<Sum>().get();
    let by = vec![(class, odd, sort.len(), calls)];
    let savings = shortened_of(cube, &units, &by);
    Some(Slow { unit: *unit, more: more.to_vec(), by, grows, savings })
}

/// True if `units`, storage targets, hold parts of the same files as all others, and none of them has more load.
fn of_same_files(cube: &Cube<'_>, class: Class, units: &[Unit]) -> bool {
    let is_theirs = |target: &u32| units.contains(&Unit::Target(*target));
    let loads = Loads::of(cube, &[class]);
    let mut files: BTreeMap<FileId, (bool, bool)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
        let (theirs, others) = files.entry(cell.file).or_default();
        *theirs |= cell.targets.iter().any(is_theirs);
        *others |= !cell.targets.iter().all(is_theirs);
    }
    let as_much = |unit: &Unit| matches!(unit, Unit::Target(target) if loads.asked(*target) <= AS_MUCH);
    files.values().all(|(theirs, others)| *theirs && *others) && units.iter().all(as_much)
}

/// Returns the node if `units` are exactly its ranks, it has several, and there are other nodes.
fn node_of(cube: &Cube<'_>, sort: &[Member], units: &[Unit]) -> Option<Unit> {
    let node = |unit: &Unit| match unit {
        Unit::Process(process) => cube.run.process(*process).map(|process| process.node),
        _ => None,
    };
    let first = node(units.first()?)?;
    let its = sort.iter().filter(|member| node(&member.unit) == Some(first)).count();
    let all_its = units.iter().all(|unit| node(unit) == Some(first)) && its == units.len();
    (all_its && its > 1 && its < sort.len()).then_some(Unit::Node(first))
}
