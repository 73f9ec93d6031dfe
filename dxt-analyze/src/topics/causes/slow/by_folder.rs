//! Folders as members of a comparison.

use super::mean::Mean;
use super::remaining::{LeftOf, Remaining};
use super::unit::{Member, Unit};
use crate::cube::Cube;
use crate::cube::steps::steps;
use crate::model::{Class, ProcessId};
use crate::shared::outlier_test::FEWEST;
use std::collections::BTreeMap;

/// Returns the mean log slowdown of `class` calls against calls of their kind and size, by folder and process.
pub(super) fn folders_by_process(cube: &Remaining<'_, '_>, class: Class) -> BTreeMap<(u32, ProcessId), Mean> {
    let mut by: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    // The time to list a folder depends on its content.
    let is = |cell: &LeftOf<'_>| cell.leaf && cell.class == class && !cube.lists(cell);
    for cell in cube.cells().filter(is) {
        if let Some(folder) = cube.folders.of(cell.file) {
            by.entry((folder, cell.process)).or_default().add(cell.above_kind, cell.sums.calls as f64);
        }
    }
    by
}

/// Returns folders, compared by calls of a kind and size on any file. If each process uses one folder, only folders of several processes are
/// distinguishable.
pub(super) fn folders(
    cube: &Remaining<'_, '_>,
    class: Class,
    member: &dyn Fn(Unit, &[Mean]) -> Option<Member>,
) -> Vec<Member> {
    let (mut of_folder, mut of_process) = (BTreeMap::<u32, Vec<Mean>>::new(), BTreeMap::<ProcessId, u32>::new());
    let by = folders_by_process(cube, class);
    for (&(folder, process), &mean) in &by {
        of_folder.entry(folder).or_default().push(mean);
        *of_process.entry(process).or_default() += 1;
    }
    if of_process.values().all(|folders| *folders == 1) {
        of_folder.retain(|_, means| means.len() >= FEWEST);
        if !across_nodes(cube, by.keys().copied()) {
            return Vec::new();
        }
    }
    let of_class = cube.cells.iter().filter(|cell| cell.leaf && cell.class == class);
    let steps = steps(of_class.filter_map(|cell| Some((cell.slot, cube.folders.of(cell.file)?, cell.sums.calls))));
    of_folder.retain(|folder, _| !steps.contains(folder));
    of_folder.iter().filter_map(|(&folder, means)| member(Unit::Folder(folder), means)).collect()
}

/// True if some node's processes use different items, where each process uses one: differences between items are not those of nodes. `used`:
/// item, process.
pub(super) fn across_nodes(cube: &Cube<'_>, mut used: impl Iterator<Item = (u32, ProcessId)>) -> bool {
    let mut of_node: BTreeMap<u32, u32> = BTreeMap::new();
    used.any(|(one, process)| {
        let node = cube.run.process(process).map_or(u32::MAX, |process| process.node);
        *of_node.entry(node).or_insert(one) != one
    })
}
