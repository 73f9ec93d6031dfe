//! Which calls are held against those on the same file only.

use super::{Entry, Group, Kind};
use crate::model::{FileId, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Files whose calls of a kind are held against each other only: those of which a process uses several. Where each uses one, what a file's processes share
/// would be what is usual for them.
pub(super) fn compared_on_a_file(entries: &[Entry], groups: &[Group]) -> FxHashSet<Group> {
    let mut first: FxHashMap<(ProcessId, Kind), FileId> = FxHashMap::default();
    let mut out: FxHashSet<Group> = FxHashSet::default();
    for (entry, (kind, file)) in entries.iter().zip(groups).filter(|(_, (_, file))| *file != FileId::NONE) {
        let one = *first.entry((entry.process, *kind)).or_insert(*file);
        if one != *file {
            out.extend([(*kind, one), (*kind, *file)]);
        }
    }
    out
}
