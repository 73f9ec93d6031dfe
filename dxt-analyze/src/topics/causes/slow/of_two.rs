//! Finds the slower of two nodes, files, folders or groups of storage targets. Two values alone show nothing, but the ranks of each node do, and
//! processes that use both items.

use super::at_once::AtOnce;
use super::by_folder::{across_nodes, folders_by_process};
use super::mean::Mean;
use super::remaining::Remaining;
use super::unit::{Member, Unit};
use crate::cube::Cube;
use crate::model::{Class, FileId, ProcessId};
use crate::shared::outlier_test::{FEWEST, Odd};
use crate::shared::stats::upper_tail_t;
use std::collections::{BTreeMap, BTreeSet};

/// Largest relative load of a target that counts as equal.
pub(super) const AS_MUCH: f64 = 1.2;
/// Least part of the time windows in which a process uses both of two files, of those in which it uses any, for it to alternate between them.
const BY_TURNS: f64 = 0.5;
/// Fewest changes of a process between two folders, for it to alternate between them.
const CHANGES: usize = 6;
/// Least standard error of a mean of logarithms.
const LEAST_ERROR: f64 = 0.02;

/// Returns the slower of two nodes, if each of its ranks is slower than each of the other's.
pub fn nodes(cube: &Cube<'_>, sorts: &[Vec<Member>]) -> Option<(Unit, Odd, u64)> {
    let both: Vec<&Member> = sorts.iter().flatten().filter(|member| matches!(member.unit, Unit::Node(_))).collect();
    let [a, b] = both.as_slice() else { return None };
    let ranks = |unit: Unit| -> Vec<f64> {
        let on = |member: &&Member| match (member.unit, unit) {
            (Unit::Process(process), Unit::Node(node)) => {
                cube.run.process(process).is_some_and(|process| process.node == node)
            }
            _ => false,
        };
        sorts.iter().flatten().filter(on).map(|member| member.above).collect()
    };
    let (slow, fast) = if a.above > b.above { (a, b) } else { (b, a) };
    let (mine, theirs) = (ranks(slow.unit), ranks(fast.unit));
    Some((slow.unit, clearly_slower(&mine, &theirs)?, slow.calls))
}

/// Returns the slowdown of `mine`, if each of them is above each of `theirs`: one or two slow values are not enough.
pub(super) fn clearly_slower(mine: &[f64], theirs: &[f64]) -> Option<Odd> {
    if mine.len() < FEWEST || theirs.len() < FEWEST {
        return None;
    }
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (values.len() - 1) as f64 / values.len() as f64)
    };
    let ((mean, error), (other, others_error)) = (moments(mine), moments(theirs));
    let least = mine.iter().copied().fold(f64::INFINITY, f64::min);
    let most = theirs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let score = (mean - other) / (error + others_error).sqrt().max(LEAST_ERROR);
    let p = upper_tail_t(score, (mine.len() + theirs.len() - 2) as f64);
    (least > most).then_some(Odd { above: mean - other, score, p })
}

/// Returns the slower of two folders, by processes that use both, else by all that use either; if processes alternate between them, by files.
pub fn folders(cube: &Remaining<'_, '_>, class: Class) -> Option<(Unit, Odd, u64)> {
    let by = folders_by_process(cube, class);
    let (slow, odd, calls) = slower(cube, &by).or_else(|| folders_by_file(cube, class))?;
    Some((Unit::Folder(slow), odd, calls))
}

/// Returns the slower of two folders between which processes alternate, if each of its files is slower than each of the other's.
fn folders_by_file(cube: &Remaining<'_, '_>, class: Class) -> Option<(u32, Odd, u64)> {
    let mut by: BTreeMap<u32, BTreeMap<FileId, Mean>> = BTreeMap::new();
    let mut calls: Vec<(ProcessId, u64, u32)> = Vec::new();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class && cell.sums.bytes > 0) {
        let Some(folder) = cube.folders.of(cell.file) else { continue };
        by.entry(folder).or_default().entry(cell.file).or_default().add(cell.above_kind, cell.sums.calls as f64);
        calls.push((cell.process, cell.sums.first_at, folder));
        if by.len() > 2 {
            return None;
        }
    }
    let by: Vec<(u32, Vec<f64>)> =
        by.into_iter().map(|(folder, files)| (folder, files.into_values().map(|mean| mean.get()).collect())).collect();
    let [(a, mine), (b, theirs)] = by.as_slice() else { return None };
    calls.sort_unstable();
    let changes = calls.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].2 != pair[1].2).count();
    if changes < CHANGES {
        return None;
    }
    let one = clearly_slower(mine, theirs).map(|odd| (*a, odd, mine.len() as u64));
    one.or_else(|| clearly_slower(theirs, mine).map(|odd| (*b, odd, theirs.len() as u64)))
}

/// Returns the slower of two files, by processes that alternate between them: at different times, files may differ because of the time.
pub fn files(cube: &Remaining<'_, '_>, class: Class) -> Option<(Unit, Odd, u64)> {
    let mut by: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    let mut slots: BTreeMap<(ProcessId, u16), u32> = BTreeMap::new();
    let mut both: Vec<FileId> = Vec::new();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class && !cube.lists(cell)) {
        let known = both.iter().position(|file| *file == cell.file);
        let at = known.unwrap_or_else(|| {
            both.push(cell.file);
            both.len() - 1
        });
        if at > 1 {
            return None;
        }
        by.entry((at as u32, cell.process)).or_default().add(cell.above_kind, cell.sums.calls as f64);
        *slots.entry((cell.process, cell.slot)).or_default() |= 1 << at;
    }
    let together = slots.values().filter(|of| **of == 3).count();
    if (together as f64) < slots.len() as f64 * BY_TURNS {
        return None;
    }
    let (slow, odd, calls) = slower(cube, &by)?;
    Some((Unit::File(*both.get(slow as usize)?), odd, calls))
}

/// Returns the slower of two disjoint groups of storage targets with equal load, by its first target: each request reaches all targets of a
/// group, which cannot be distinguished.
pub fn targets(cube: &Remaining<'_, '_>, class: Class) -> Option<(Unit, Odd, u64)> {
    let mut groups: BTreeSet<Vec<u32>> = BTreeSet::new();
    let mut by: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    let mut asked: BTreeMap<u32, f64> = BTreeMap::new();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class && !cell.targets.is_empty()) {
        let mut group = cell.targets.clone();
        group.sort_unstable();
        let first = *group.first()?;
        by.entry((first, cell.process)).or_default().add(cell.above_kind, cell.sums.calls as f64);
        *asked.entry(first).or_default() += cell.sums.calls as f64 * cell.usual_of_kind_ns;
        groups.insert(group);
        if groups.len() > 2 {
            return None;
        }
    }
    let [a, b]: [Vec<u32>; 2] = groups.into_iter().collect::<Vec<_>>().try_into().ok()?;
    if a.iter().any(|target| b.contains(target)) {
        return None;
    }
    let (slow, odd, calls) = slower(cube, &by)?;
    let mine = asked.remove(&slow)?;
    let as_much = asked.into_values().all(|theirs| mine <= theirs * AS_MUCH);
    let slower = as_much && !AtOnce::of(cube, class).is_only_busy(slow);
    slower.then_some((Unit::Target(slow), odd, calls))
}

/// Returns the slower of two items that processes use, and its calls.
fn slower(cube: &Cube<'_>, by: &BTreeMap<(u32, ProcessId), Mean>) -> Option<(u32, Odd, u64)> {
    let mut both: Vec<u32> = by.keys().map(|(one, _)| *one).collect();
    both.dedup();
    let [a, b] = both.as_slice() else { return None };
    let calls =
        |one: u32| by.iter().filter(|((of, _), _)| *of == one).map(|(_, mean)| mean.weight()).sum::<f64>() as u64;
    let differences: Vec<f64> = by
        .iter()
        .filter(|((one, _), _)| one == a)
        .filter_map(|((_, process), mine)| Some(mine.get() - by.get(&(*b, *process))?.get()))
        .collect();
    let uses_both = |process: &ProcessId| by.contains_key(&(*a, *process)) && by.contains_key(&(*b, *process));
    let users = |one: u32| {
        let only = by.iter().filter(move |((of, process), _)| *of == one && !uses_both(process));
        only.map(|(_, mean)| mean.get())
    };
    if differences.len() < FEWEST {
        if !across_nodes(cube, by.keys().copied()) {
            return None;
        }
        let (mine, theirs): (Vec<f64>, Vec<f64>) = (users(*a).collect(), users(*b).collect());
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let slow = if mean(&mine) > mean(&theirs) { *a } else { *b };
        let odd = if slow == *a { clearly_slower(&mine, &theirs) } else { clearly_slower(&theirs, &mine) }?;
        return Some((slow, odd, calls(slow)));
    }
    let count = differences.len() as f64;
    let above = differences.iter().sum::<f64>() / count.max(1.0);
    let (slow, sign) = if above > 0.0 { (*a, 1.0) } else { (*b, -1.0) };
    if differences.iter().any(|difference| difference * sign <= 0.0) {
        return None;
    }
    let squares: f64 = differences.iter().map(|difference| (difference - above).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt().max(LEAST_ERROR);
    let score = above.abs() / error;
    let odd = Odd { above: above.abs(), score, p: upper_tail_t(score, count - 1.0) };
    Some((slow, odd, calls(slow)))
}
