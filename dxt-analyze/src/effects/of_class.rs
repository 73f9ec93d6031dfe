//! Facts about the calls of a class that stay the same while slow units are found one after another: queues, storage targets that can be
//! distinguished, files of single steps.

use super::queue::Queues;
use crate::cube::steps::steps;
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about the calls of one class that stay the same while slow units are found one after another.
pub(super) struct OfClass {
    pub(super) class: Class,
    pub(super) queues: Queues,
    /// Storage targets that calls distinguish: of several targets that exactly the same calls reach, only the first.
    targets: BTreeSet<u32>,
    /// True if some calls reach several of `targets`.
    pub(super) reach_several: bool,
    /// Folders and files that the program uses in one time step only, such as an output file per step.
    pub(super) steps: (BTreeSet<u32>, BTreeSet<FileId>),
}

impl OfClass {
    pub(super) fn new(cube: &Cube<'_>, class: Class) -> Self {
        let cells = || cube.cells.iter().filter(|cell| cell.leaf && cell.class == class);
        let lists: BTreeSet<&[u32]> = cells().map(|cell| cell.targets.as_slice()).collect();
        let mut reached: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (number, list) in lists.iter().enumerate() {
            list.iter().for_each(|target| reached.entry(*target).or_default().push(number));
        }
        let mut first: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
        reached.into_iter().for_each(|(target, lists)| _ = first.entry(lists).or_insert(target));
        let targets: BTreeSet<u32> = first.into_values().collect();
        let reach_several = lists.iter().any(|list| list.iter().filter(|target| targets.contains(target)).count() > 1);
        let folders = steps(cells().filter_map(|cell| Some((cell.slot, cube.folders.of(cell.file)?, cell.sums.calls))));
        let files = steps(cells().map(|cell| (cell.slot, cell.file, cell.sums.calls)));
        Self { class, queues: Queues::of(cube, class), targets, reach_several, steps: (folders, files) }
    }

    /// Returns those storage targets of `list` that can be distinguished from others by their calls.
    pub(super) fn targets_of<'s>(&'s self, list: &'s [u32]) -> impl Iterator<Item = u32> + 's {
        list.iter().copied().filter(|target| self.targets.contains(target))
    }

    /// True for cells of the class that reach the kernel.
    pub(super) fn has(&self, cell: &Cell) -> bool {
        cell.leaf && cell.class == self.class
    }
}
