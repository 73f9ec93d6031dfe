//! Which calls are held against those on the same file only.

use super::steps::steps;
use super::{Entry, Group};
use crate::model::{FileId, ProcessId};
use crate::topics::causes::reading::usual::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

/// Files whose calls of a kind are held against each other only: those of which a process uses several. Where each uses one, what a file's processes share
/// would be what is usual for them; nor files of which each step has one.
pub(super) fn compared_on_a_file(entries: &[Entry], groups: &[Group]) -> FxHashSet<Group> {
    let mut first: FxHashMap<(ProcessId, Kind), FileId> = FxHashMap::default();
    let mut out: FxHashSet<Group> = FxHashSet::default();
    for (entry, (kind, file)) in entries.iter().zip(groups).filter(|(_, (_, file))| *file != FileId::NONE) {
        let one = *first.entry((entry.process, *kind)).or_insert(*file);
        if one != *file {
            out.extend([(*kind, one), (*kind, *file)]);
        }
    }
    // What is usual in a step would be what that step is: those are held against each other.
    let mut kinds: FxHashMap<Kind, Vec<(u16, FileId, u64)>> = FxHashMap::default();
    for (entry, group) in entries.iter().zip(groups).filter(|(_, group)| out.contains(group)) {
        kinds.entry(group.0).or_default().push((entry.slot, group.1, entry.cell.calls));
    }
    for (kind, calls) in kinds {
        for file in steps(calls.into_iter()) {
            out.remove(&(kind, file));
        }
    }
    out
}
