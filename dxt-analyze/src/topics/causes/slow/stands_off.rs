//! Ranks clear of all others: the slowest few, above a gap wider than the others' range; and nodes all of whose ranks are slower than those of
//! any other node. Unlike [`crate::shared::outlier_test`], this does not depend on the distribution of the others.

use super::apart::against;
use super::load::{Loads, OVERLOADED};
use super::of_two::clearly_slower;
use super::unit::{Member, Unit};
use crate::cube::{Cell, Cube};
use crate::model::{Class, ProcessId};
use crate::shared::outlier_test::{FEWEST, Odd};
use std::collections::BTreeMap;

/// Fewest ranks: among few, one is often far from the rest.
const FEWEST_IN_ALL: usize = 8;
/// Least gap between slow ranks and all others, as multiples of the others' range.
const GAP: f64 = 1.0;
/// Least gap between a slow node's ranks and all others, as multiples of the others' range.
const GAP_OF_NODE: f64 = 0.5;
const LEAST_GAP: f64 = 0.3;
/// Part of the calls on a storage target that the slow ranks make, from which the target may be slow instead: other ranks would be slow there, too.
const THEIRS: f64 = 0.8;
/// Largest part of all ranks that can be slow, and least part of their time on such targets.
const MOST: f64 = 0.5;

/// Slow units of a sort, their slowdown, the number compared, and their calls.
#[derive(Clone, Debug)]
pub(super) struct StandsOff {
    pub(super) units: Vec<Unit>,
    pub(super) odd: Odd,
    pub(super) among: usize,
    pub(super) calls: u64,
}

/// Returns nodes clear of all others, else ranks, by the calls of a class, if the members of `sort` are processes.
pub(super) fn stand_off(cube: &Cube<'_>, class: Class, sort: &[Member]) -> Vec<StandsOff> {
    let ranks: Vec<(ProcessId, &Member)> = sort
        .iter()
        .filter_map(|member| match member.unit {
            Unit::Process(process) => Some((process, member)),
            _ => None,
        })
        .collect();
    if ranks.len() < FEWEST_IN_ALL || ranks.len() < sort.len() {
        return Vec::new();
    }
    let nodes = nodes(cube, &ranks);
    if nodes.is_empty() { group(cube, class, &ranks).into_iter().collect() } else { nodes }
}

/// Returns the ranks above the widest gap of the slower half, if it is wide enough and storage targets that only they use do not explain it.
fn group(cube: &Cube<'_>, class: Class, ranks: &[(ProcessId, &Member)]) -> Option<StandsOff> {
    let mut order = ranks.to_vec();
    order.sort_by(|a, b| a.1.above.total_cmp(&b.1.above).then(a.0.cmp(&b.0)));
    let values: Vec<f64> = order.iter().map(|(_, member)| member.above).collect();
    let first = clear_from(&values)?;
    let slow = order.split_off(first);
    let odd = against(values.get(..first)?, values.get(first..)?);
    let calls = slow.iter().map(|(_, member)| member.calls).fold(0, u64::saturating_add);
    let mut processes: Vec<ProcessId> = slow.into_iter().map(|(process, _)| process).collect();
    processes.sort_unstable();
    if are_of_targets(cube, class, &processes) {
        return None;
    }
    let units = as_nodes(cube, ranks, &processes)
        .unwrap_or_else(|| processes.into_iter().map(Unit::Process).collect::<Vec<Unit>>());
    Some(StandsOff { units, odd, among: ranks.len(), calls })
}

/// Returns the index in sorted `values` above the widest gap of the slower half, if it is wide enough.
fn clear_from(values: &[f64]) -> Option<usize> {
    let least = ((values.len() as f64 * (1.0 - MOST)).ceil() as usize).max(1);
    let gap = |at: &usize| Some(values.get(*at)? - values.get(at - 1)?);
    let widest = (least..values.len()).max_by(|a, b| gap(a).unwrap_or(0.0).total_cmp(&gap(b).unwrap_or(0.0)))?;
    let range = values.get(widest - 1)? - values.first()?;
    (gap(&widest)? >= (range * GAP).max(LEAST_GAP)).then_some(widest)
}

/// True if most of the time of ranks' calls is on targets that hardly any other rank uses (if there are others), or that are overloaded and serve
/// some ranks last: then the targets may explain the ranks.
pub(super) fn are_of_targets(cube: &Cube<'_>, class: Class, of: &[ProcessId]) -> bool {
    let mut calls: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let is_theirs = |cell: &Cell| of.binary_search(&cell.process).is_ok();
    let of_class = || cube.cells.iter().filter(|cell| cell.leaf && cell.class == class);
    for cell in of_class() {
        for target in &cell.targets {
            let sums = calls.entry(*target).or_default();
            sums.0 += cell.sums.calls as f64;
            sums.1 += if is_theirs(cell) { cell.sums.calls as f64 } else { 0.0 };
        }
    }
    let alone = |target: &u32| calls.get(target).is_some_and(|(all, theirs)| *theirs >= all * THEIRS);
    let time = |counts: &dyn Fn(&Cell) -> bool| {
        of_class().filter(|cell| is_theirs(cell) && counts(cell)).map(|cell| cell.sums.time_ns as f64).sum::<f64>()
    };
    let loads = Loads::of(cube, &[class]);
    let on_theirs = time(&|cell| cell.targets.iter().any(|of| alone(of) || loads.asked(*of) >= OVERLOADED));
    !calls.keys().all(alone) && on_theirs >= time(&|_| true) * MOST
}

/// Returns the nodes whose ranks are exactly the given ones, if each has several.
fn as_nodes(cube: &Cube<'_>, all: &[(ProcessId, &Member)], of: &[ProcessId]) -> Option<Vec<Unit>> {
    let node = |process: ProcessId| cube.run.process(process).map(|process| process.node);
    let mut count: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (process, _) in all {
        let of_node = count.entry(node(*process)?).or_default();
        of_node.0 += 1;
        of_node.1 += usize::from(of.contains(process));
    }
    count.retain(|_, of_node| of_node.1 > 0);
    let whole = count.values().all(|(all, slow)| all == slow && *all > 1);
    whole.then(|| count.into_keys().map(Unit::Node).collect())
}

/// Returns the node whose ranks are all slower than those of each other node, if there are at least three nodes.
fn nodes(cube: &Cube<'_>, ranks: &[(ProcessId, &Member)]) -> Vec<StandsOff> {
    let mut by: BTreeMap<u32, Vec<&Member>> = BTreeMap::new();
    for (process, member) in ranks {
        if let Some(process) = cube.run.process(*process) {
            by.entry(process.node).or_default().push(member);
        }
    }
    if by.len() < FEWEST {
        return Vec::new();
    }
    let values = |of: &[&Member]| of.iter().map(|member| member.above).collect::<Vec<f64>>();
    let most = |of: &[&Member]| of.iter().map(|member| member.above).fold(f64::NEG_INFINITY, f64::max);
    let mut tops: Vec<(f64, u32)> = by.iter().map(|(node, of)| (most(of), *node)).collect();
    tops.sort_by(|a, b| b.0.total_cmp(&a.0));
    // At most one node has all ranks above those of all others: values are collected for that one only.
    let is_above = |(node, mine): &(&u32, &Vec<&Member>)| {
        let others = tops.iter().find(|(_, other)| other != *node).map_or(f64::NEG_INFINITY, |(top, _)| *top);
        mine.iter().all(|member| member.above > others)
    };
    let one = |(node, mine): (&u32, &Vec<&Member>)| {
        let others: Vec<f64> = by.iter().filter(|(other, _)| *other != node).flat_map(|(_, of)| values(of)).collect();
        let calls = mine.iter().map(|member| member.calls).fold(0, u64::saturating_add);
        let odd = clearly_slower(&values(mine), &others)?;
        if !is_apart(&values(mine), &others) {
            return None;
        }
        Some(StandsOff { units: vec![Unit::Node(*node)], odd, among: by.len(), calls })
    };
    by.iter().filter(is_above).filter_map(one).collect()
}

/// True if the gap between slow values and the others is at least `GAP_OF_NODE` of the others' range: the last rank of a queue is close to the
/// one before.
fn is_apart(slow: &[f64], others: &[f64]) -> bool {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    least(slow) - most(others) >= (most(others) - least(others)) * GAP_OF_NODE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_the_last_of_a_queue_is_not_apart() {
        assert!(is_apart(&[0.9, 1.0], &[0.0, 0.2, 0.4]));
        let queue: Vec<f64> = (1..17).map(|at| f64::from(at).ln()).collect();
        assert!(!is_apart(&queue[8..], &queue[..8]));
    }

    #[test]
    fn a_gap_wider_than_all_others_spread_tells_who_stands_off() {
        // The others form two groups near each other.
        let others = [-0.2, -0.19, -0.18, -0.17, 0.05, 0.06, 0.07, 0.08];
        let with = |slow: &[f64]| clear_from(&[&others, slow].concat());
        assert_eq!(with(&[0.9, 0.92]), Some(8));
        assert_eq!(with(&[0.9]), Some(8));
        assert_eq!(with(&[0.3]), None, "as far as the others are from each other");
        assert_eq!(with(&[]), None);
        let even: Vec<f64> = (0..16).map(|at| f64::from(at) * 0.1).collect();
        assert_eq!(clear_from(&even), None);
        assert_eq!(clear_from(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.1]), None, "hardly slower");
        assert_eq!(clear_from(&[0.0, 0.01, 0.9, 0.9, 0.9, 0.9]), None, "most");
    }
}
