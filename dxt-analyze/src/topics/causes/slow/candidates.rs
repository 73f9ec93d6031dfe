//! Units that are outliers among their peers by calls of some class.

use super::Slow;
use super::apart::grows_to_the_end;
use super::by_time::by_time;
use super::known::is_of_target;
use super::members::Sorts;
use super::moments::{LESS, is_of_moment, lasts, moves_less};
use super::of_two;
use super::remaining::Remaining;
use super::stands_off::{StandsOff, stand_off};
use super::unit::{Member, Unit};
use crate::cube::reading::usual::FAR;
use crate::model::class::{CLASSES, Class};
use crate::replay::Savings;
use crate::shared::outlier_test::{Odd, odd};
use crate::topics::causes::shape::slow_metadata::QUICK_NS;
use std::collections::{BTreeMap, BTreeSet};

/// Least slowdown of a slow storage target: less may come from concurrent calls.
const ONLY_BUSY: f64 = 1.4;
/// Least slowdown of one of two groups of targets.
const TARGETS_DIFFER: f64 = 2.0;
/// Least slowdown of a slow file: less may come from its use.
const FILES_DIFFER: f64 = 1.5;
/// Least slowdown of a slow folder: its files are mostly of one kind.
const FOLDERS_DIFFER: f64 = 2.0;
/// Most slow periods of a run.
const MOMENTS: usize = 4;
/// Largest number of time windows between two slow ones that are merged.
const APART: u16 = 1;

/// Returns units that are slow by calls of some class, with all such classes, except those `known`: a known target keeps part of its time if its
/// fastest calls are not as slow.
pub(super) fn candidates(cube: &Remaining<'_, '_>, known: &BTreeSet<(Unit, Class)>, sorts: &Sorts) -> Vec<Slow> {
    let least = &cube.run.thresholds;
    let mut by: BTreeMap<Unit, Vec<(Class, Odd, usize, u64)>> = BTreeMap::new();
    let mut growing: BTreeSet<Unit> = BTreeSet::new();
    let mut apart: Vec<Slow> = Vec::new();
    for &(class, ref sorts) in sorts {
        if let Some((unit, odd, calls)) = of_two::nodes(cube, sorts)
            && odd.above >= least.min_slowdown.ln()
            && odd.p <= least.false_discovery_rate / 8.0
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        if let Some((unit, odd, calls)) = of_two::targets(cube, class)
            && odd.above >= least.min_slowdown.max(TARGETS_DIFFER).ln()
            && odd.p <= least.false_discovery_rate / 8.0
            && !known.contains(&(unit, class))
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        if let Some((unit, odd, calls)) = of_two::folders(cube, class)
            && odd.above >= least.min_slowdown.max(FOLDERS_DIFFER).ln()
            && odd.p <= least.false_discovery_rate / 8.0
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        if let Some((unit, odd, calls)) = of_two::files(cube, class)
            && odd.above >= least.min_slowdown.max(FILES_DIFFER).ln()
            && odd.p <= least.false_discovery_rate / 8.0
            && !answers_soon(cube, unit, class)
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        let clear = |of: &StandsOff| {
            let is_new = !of.units.iter().any(|unit| known.contains(&(*unit, class)));
            let on_targets = of.units.iter().all(|unit| is_of_target(cube, known, *unit, class));
            is_new && !on_targets && of.odd.above >= least.min_slowdown.ln()
        };
        for of in sorts.iter().flat_map(|sort| stand_off(cube, class, sort)).filter(clear) {
            match of.units.as_slice() {
                [unit] => by.entry(*unit).or_default().push((class, of.odd, of.among, of.calls)),
                _ => apart.extend(of_several(cube, class, &of)),
            }
        }
        for sort in sorts {
            let values: Vec<f64> = sort.iter().map(|member| member.above).collect();
            let errors: Vec<f64> = sort.iter().map(|member| member.error).collect();
            let tests = (sort.len() * 4) as f64;
            let slow: Vec<(usize, Member, Odd)> = sort
                .iter()
                .copied()
                .zip(odd(&values, &errors))
                .enumerate()
                .map(|(at, (member, odd))| (at, member, odd))
                .filter(|(_, member, odd)| {
                    let busy = match member.unit {
                        Unit::Target(_) => ONLY_BUSY,
                        Unit::Folder(_) => FOLDERS_DIFFER,
                        Unit::File(_) | Unit::Region(_) => FILES_DIFFER,
                        _ => 1.0,
                    };
                    odd.above >= least.min_slowdown.max(busy).ln() && odd.p * tests <= least.false_discovery_rate
                })
                .collect();
            // So many slow periods are the program's way of working.
            let found = joined(&slow);
            if found.len() > MOMENTS && matches!(found.first(), Some((Unit::Moment(..), ..))) {
                continue;
            }
            for (unit, odd, calls) in
                found.into_iter().filter(|(unit, ..)| lasts(cube, *unit) && moves_less(cube, *unit, class, LESS))
            {
                if known.contains(&(unit, class))
                    || is_of_moment(cube, known, unit, class)
                    || is_of_target(cube, known, unit, class)
                    || answers_soon(cube, unit, class)
                {
                    continue;
                }
                if range(sort, unit).is_some_and(|range| grows_to_the_end(&values, range)) {
                    growing.insert(unit);
                }
                let classes = by.entry(unit).or_default();
                if classes.iter().all(|(of, ..)| *of != class) {
                    classes.push((class, odd, sort.len(), calls));
                }
            }
        }
    }
    // By total time, if no unit is slow by its typical call.
    for class in CLASSES.into_iter().filter(|class| matches!(class, Class::Read | Class::Write)) {
        let found = |slow: &Slow| {
            let mut units = slow.more.iter().chain([&slow.unit]);
            !units.any(|unit| by.get(unit).is_some_and(|of| of.iter().any(|(of, ..)| *of == class)))
        };
        apart.extend(by_time(cube, class, known).into_iter().filter(found));
    }
    let slow = |(unit, by): (Unit, Vec<(Class, Odd, usize, u64)>)| Slow {
        savings: savings(cube, unit, &by),
        grows: growing.contains(&unit),
        unit,
        more: Vec::new(),
        by,
    };
    by.into_iter().map(slow).chain(apart).collect()
}

/// Makes one slow unit of several that are slow together by calls of a class.
fn of_several(cube: &Remaining<'_, '_>, class: Class, of: &StandsOff) -> Option<Slow> {
    let by = vec![(class, of.odd, of.among, of.calls)];
    let savings = shortened_of(cube, &of.units, &by);
    let (unit, more) = of.units.split_first()?;
    Some(Slow { unit: *unit, more: more.to_vec(), by, grows: false, savings })
}

/// Returns the indices of the members that are in a range of time windows.
fn range(sort: &[Member], unit: Unit) -> Option<std::ops::Range<usize>> {
    let Unit::Moment(first, last) = unit else { return None };
    let slot = |member: &Member| match member.unit {
        Unit::Moment(slot, _) => slot,
        _ => 0,
    };
    Some(sort.partition_point(|member| slot(member) < first)..sort.partition_point(|member| slot(member) <= last))
}

/// True if metadata calls on a file or in a folder are as fast as on an idle server: they only look slow because others are answered from memory.
fn answers_soon(cube: &Remaining<'_, '_>, unit: Unit, class: Class) -> bool {
    if !matches!(unit, Unit::File(_) | Unit::Folder(_)) || !matches!(class, Class::Open | Class::Metadata) {
        return false;
    }
    let theirs = cube.cells().filter(|cell| cell.leaf && cell.class == class && unit.has(cube, cell));
    let (calls, time) = theirs.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.sums.calls as f64, sum.1 + cell.left_ns));
    time < calls * QUICK_NS
}

/// Merges slow members: time windows without fast ones between, and neighbouring parts of a file. `slow`: index among all members of the sort.
fn joined(slow: &[(usize, Member, Odd)]) -> Vec<(Unit, Odd, u64)> {
    let mut out: Vec<(Unit, Odd, u64)> = Vec::new();
    let mut last = 0;
    for (at, member, odd) in slow {
        // Windows between without calls do not show an end of the slow period.
        let next = at - std::mem::replace(&mut last, *at) <= 1;
        match (out.last_mut(), member.unit) {
            (Some((Unit::Moment(_, until), all, calls)), Unit::Moment(from, to))
                if next || from <= *until + 1 + APART =>
            {
                *until = to;
                joined_with(all, calls, *odd, member.calls);
            }
            (Some((Unit::Region(of), all, calls)), Unit::Region(next))
                if of.file == next.file && next.from <= of.until + 1 =>
            {
                of.until = next.until;
                joined_with(all, calls, *odd, member.calls);
            }
            _ => out.push((member.unit, *odd, member.calls)),
        }
    }
    out
}

/// Adds the slowdown of another member, weighted by calls.
fn joined_with(all: &mut Odd, calls: &mut u64, odd: Odd, others: u64) {
    let (mine, theirs) = (*calls as f64, others as f64);
    all.above = (all.above * mine + odd.above * theirs) / (mine + theirs).max(1.0);
    (all.score, all.p) = (all.score.max(odd.score), all.p.min(odd.p));
    *calls = calls.saturating_add(others);
}

/// Returns the savings of several units, each cell once: a call that reaches two slow targets is as slow as on one.
pub(super) fn shortened_of(cube: &Remaining<'_, '_>, units: &[Unit], by: &[(Class, Odd, usize, u64)]) -> Savings {
    let mut all: BTreeMap<u32, f64> = BTreeMap::new();
    for (index, ns) in units.iter().flat_map(|unit| savings(cube, *unit, by)) {
        let most = all.entry(index).or_default();
        *most = most.max(ns);
    }
    all.into_iter().collect()
}

fn savings(cube: &Remaining<'_, '_>, unit: Unit, by: &[(Class, Odd, usize, u64)]) -> Savings {
    let mut times: [f64; CLASSES.len()] = [1.0; CLASSES.len()];
    for (class, odd, ..) in by {
        times[*class as usize] = odd.above.exp();
    }
    let theirs = (0_u32..).zip(cube.cells()).filter(|(_, cell)| cell.leaf && unit.has(cube, cell));
    theirs
        .map(|(index, cell)| {
            let times = times[cell.class as usize];
            // Calls that are outliers even within the unit have findings of their own.
            let theirs = (cell.left_ns - cell.beyond_ns(times * FAR)) * unit.share(cube, &cell);
            (index, theirs * (1.0 - 1.0 / times))
        })
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}
