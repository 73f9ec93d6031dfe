//! Decides which calls are compared only with calls on the same file, and which with calls on any file.

use super::steps::steps;
use super::{Cell, Group};
use crate::cube::reading::usual::Kind;
use crate::model::{FileId, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the groups (kind of call, file) whose calls are compared only with calls on the same file. A file is in a group if some process
/// makes calls of this kind on it and on other files. If each process uses one file only, a comparison within the file would hide a
/// slowdown that all of its users share. Files used in one time step only are left out for the same reason.
pub(super) fn compared_on_a_file(cells: &[Cell], groups: &[Group]) -> FxHashSet<Group> {
    let mut first: FxHashMap<(ProcessId, Kind), FileId> = FxHashMap::default();
    let mut out: FxHashSet<Group> = FxHashSet::default();
    for (cell, (kind, file)) in cells.iter().zip(groups).filter(|(_, (_, file))| *file != FileId::NONE) {
        let one = *first.entry((cell.process, *kind)).or_insert(*file);
        if one != *file {
            out.extend([(*kind, one), (*kind, *file)]);
        }
    }
    // Within a file of one time step, that step would be the norm: such files are compared with each other.
    let mut kinds: FxHashMap<Kind, Vec<(u16, FileId, u64)>> = FxHashMap::default();
    for (cell, group) in cells.iter().zip(groups).filter(|(_, group)| out.contains(group)) {
        kinds.entry(group.0).or_default().push((cell.slot, group.1, cell.sums.calls));
    }
    for (kind, calls) in kinds {
        for file in steps(calls.into_iter()) {
            out.remove(&(kind, file));
        }
    }
    out
}
