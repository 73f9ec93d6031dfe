//! Which of two nodes or folders is slow. Two members tell nothing by themselves, but each rank of a node does, and each process that uses both folders.

use super::by_folder::{across_nodes, folders_by_process};
use super::mean::Mean;
use super::odd::{FEWEST, Odd};
use super::unit::{Member, Unit};
use crate::model::ProcessId;
use crate::shared::stats::upper_tail_t;
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::Grid;
use std::collections::BTreeMap;

/// Least error of a mean of logarithms.
const LEAST_ERROR: f64 = 0.02;

/// The slower of two nodes, by their ranks: two members tell nothing by themselves, but each of their ranks does.
pub fn nodes(grid: &Grid<'_>, sorts: &[Vec<Member>]) -> Option<(Unit, Odd, u64)> {
    let both: Vec<&Member> = sorts.iter().flatten().filter(|member| matches!(member.unit, Unit::Node(_))).collect();
    let [a, b] = both.as_slice() else { return None };
    let ranks = |unit: Unit| -> Vec<f64> {
        let on = |member: &&Member| match (member.unit, unit) {
            (Unit::Process(process), Unit::Node(node)) => {
                grid.run.process(process).is_some_and(|process| process.node == node)
            }
            _ => false,
        };
        sorts.iter().flatten().filter(on).map(|member| member.above).collect()
    };
    let (slow, fast) = if a.above > b.above { (a, b) } else { (b, a) };
    let (mine, theirs) = (ranks(slow.unit), ranks(fast.unit));
    Some((slow.unit, clearly_slower(&mine, &theirs)?, slow.calls))
}

/// How these stand against those, if each of them is slower than each of those: one or two slow ones make nothing slow.
fn clearly_slower(mine: &[f64], theirs: &[f64]) -> Option<Odd> {
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

/// The slower of two folders, by the processes that use both; where none does, by all that use either.
pub fn folders(grid: &Grid<'_>, class: Class) -> Option<(Unit, Odd, u64)> {
    let by = folders_by_process(grid, class);
    let mut both: Vec<u32> = by.keys().map(|(folder, _)| *folder).collect();
    both.dedup();
    let [a, b] = both.as_slice() else { return None };
    let differences: Vec<f64> = by
        .iter()
        .filter(|((folder, _), _)| folder == a)
        .filter_map(|((_, process), mine)| Some(mine.get() - by.get(&(*b, *process))?.get()))
        .collect();
    let uses_both = |process: &ProcessId| by.contains_key(&(*a, *process)) && by.contains_key(&(*b, *process));
    let users = |folder: u32| {
        let only = by.iter().filter(move |((of, process), _)| *of == folder && !uses_both(process));
        only.map(|(_, mean)| mean.get())
    };
    if differences.len() < FEWEST {
        if !across_nodes(grid, class) {
            return None;
        }
        let (mine, theirs): (Vec<f64>, Vec<f64>) = (users(*a).collect(), users(*b).collect());
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let slow = if mean(&mine) > mean(&theirs) { *a } else { *b };
        let odd = if slow == *a { clearly_slower(&mine, &theirs) } else { clearly_slower(&theirs, &mine) }?;
        return Some((Unit::Folder(slow), odd, calls_in(&by, slow)));
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
    Some((Unit::Folder(slow), odd, calls_in(&by, slow)))
}

/// Calls in a folder.
fn calls_in(by: &BTreeMap<(u32, ProcessId), Mean>, folder: u32) -> u64 {
    by.iter().filter(|((of, _), _)| *of == folder).map(|(_, mean)| mean.weight()).sum::<f64>() as u64
}
