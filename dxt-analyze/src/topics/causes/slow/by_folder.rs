//! Folders that are slower than their like.

use super::mean::Mean;
use super::odd::FEWEST;
use super::unit::{Member, Unit};
use crate::model::ProcessId;
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid};
use std::collections::{BTreeMap, BTreeSet};

/// What the calls of `class` in each folder differ by from those of their kind and size, by process.
pub(super) fn folders_by_process(grid: &Grid<'_>, class: Class) -> BTreeMap<(u32, ProcessId), Mean> {
    let mut by: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    // How long the list of a folder takes is a matter of what is in it.
    let is = |entry: &&Entry| entry.leaf && entry.class == class && !grid.lists(entry);
    for entry in grid.entries.iter().filter(is) {
        if let Some(folder) = grid.folders.of(entry.file) {
            by.entry((folder, entry.process)).or_default().add(entry.above_kind, entry.cell.calls as f64);
        }
    }
    by
}

/// Folders, by all calls of a kind and size, whatever file they are on. Where each process has a folder of its own nothing tells it from it,
/// unless several have the same.
pub(super) fn folders(grid: &Grid<'_>, class: Class, member: &dyn Fn(Unit, &[Mean]) -> Option<Member>) -> Vec<Member> {
    let (mut of_folder, mut of_process) = (BTreeMap::<u32, Vec<Mean>>::new(), BTreeMap::<ProcessId, u32>::new());
    let by = folders_by_process(grid, class);
    for (&(folder, process), &mean) in &by {
        of_folder.entry(folder).or_default().push(mean);
        *of_process.entry(process).or_default() += 1;
    }
    if of_process.values().all(|folders| *folders == 1) {
        of_folder.retain(|_, means| means.len() >= FEWEST);
        if !across_nodes(grid, by.keys().copied()) {
            return Vec::new();
        }
    }
    let alone = at_a_time_of_their_own(grid, class);
    of_folder.retain(|folder, _| !alone.contains(folder));
    of_folder.iter().filter_map(|(&folder, means)| member(Unit::Folder(folder), means)).collect()
}

/// Part of the calls of a class in the slots of a folder that others have at least, for that folder to be more than a moment.
const BESIDE: f64 = 0.1;

/// Folders that are used when no other is, as of a program that makes one for each step: nothing tells these from that time.
fn at_a_time_of_their_own(grid: &Grid<'_>, class: Class) -> BTreeSet<u32> {
    let mut slots: BTreeMap<u16, BTreeMap<u32, f64>> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == class) {
        if let Some(folder) = grid.folders.of(entry.file) {
            *slots.entry(entry.slot).or_default().entry(folder).or_default() += entry.cell.calls as f64;
        }
    }
    let mut of: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for here in slots.values() {
        let all: f64 = here.values().sum();
        for (folder, calls) in here {
            let sums = of.entry(*folder).or_default();
            *sums = (sums.0 + calls, sums.1 + all - calls);
        }
    }
    let alone: BTreeSet<u32> =
        of.iter().filter(|(_, (mine, others))| *others <= mine * BESIDE).map(|(folder, _)| *folder).collect();
    // Of two, one may be read at first, and the other written later.
    if alone.len() >= FEWEST { alone } else { BTreeSet::new() }
}

/// Whether what processes use (`used`) is no matter of nodes, where each process uses one: some node has processes that use one and others that use another.
pub(super) fn across_nodes(grid: &Grid<'_>, mut used: impl Iterator<Item = (u32, ProcessId)>) -> bool {
    let mut of_node: BTreeMap<u32, u32> = BTreeMap::new();
    used.any(|(one, process)| {
        let node = grid.run.process(process).map_or(u32::MAX, |process| process.node);
        *of_node.entry(node).or_insert(one) != one
    })
}
