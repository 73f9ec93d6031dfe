//! Storage targets (OSTs) on which files lie, and those that calls reach.

use super::Cube;
use super::cell::Targets;
use crate::cube::reading::sums::NO_TARGET;
use crate::model::{FileId, FileLayout, Run, Stream};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

impl Cube<'_> {
    /// Extends `together` (storage target: number of processes that begin requests on it at the same time) from the first target of
    /// requests to all targets that the requests reach: a further target gets at least the number of the first.
    #[must_use]
    pub fn with_those_reached(&self, together: BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
        let mut all = together.clone();
        for cell in self.cells.iter().filter(|cell| cell.leaf) {
            let Some((first, others)) = cell.targets.split_first() else { continue };
            let Some(of_first) = together.get(first) else { continue };
            for other in others {
                let of = all.entry(*other).or_default();
                *of = of.max(*of_first);
            }
        }
        all
    }
}

/// Returns, for each file with a known layout, the largest stripe count of the layout's components.
pub(super) fn stripes(run: &Run, layouts: &[Option<FileLayout>]) -> FxHashMap<FileId, u32> {
    let of = |layout: &FileLayout| layout.layout.components.iter().map(|one| one.targets.len()).max();
    let known = run.numbered_files().zip(layouts).filter_map(|((file, _), layout)| Some((file, of(layout.as_ref()?)?)));
    known
        .filter(|(_, count)| *count > 0)
        .map(|(file, count)| (file, u32::try_from(count).unwrap_or(u32::MAX)))
        .collect()
}

/// Returns the number of different storage targets on which the run's files lie.
pub(super) fn known_targets(layouts: &[Option<FileLayout>]) -> usize {
    let all = layouts.iter().flatten().flat_map(|of| &of.layout.components).flat_map(|one| one.targets.iter().copied());
    all.collect::<FxHashSet<u32>>().len()
}

/// Returns the storage targets of a call of `length` bytes that begins on target `first`. Empty if they are most of the file's targets, and
/// the file is on more than half of all `known` targets: such a call does not show which target is slow.
pub(super) fn targets(
    layouts: &[Option<FileLayout>],
    known: usize,
    stream: &Stream,
    first: u32,
    length: u64,
) -> Targets {
    let layout = layouts.get(stream.file.index()).and_then(Option::as_ref);
    let has = layout.and_then(|layout| layout.layout.components.iter().find(|of| of.targets.contains(&first)));
    let Some(component) = has.filter(|_| first != NO_TARGET) else { return Targets::new() };
    let all = &component.targets;
    let count = usize::try_from(length.div_ceil(component.stripe_size.max(1))).unwrap_or(usize::MAX).max(1);
    let begin = all.iter().position(|target| *target == first).unwrap_or(0);
    if all.len() > 1 && count > 1 && count * 2 > all.len() && all.len() * 2 > known {
        return Targets::new();
    }
    (0..count.min(all.len())).filter_map(|next| all.get((begin + next) % all.len()).copied()).collect()
}

/// Returns the target that holds all bytes of the stream's file, or [`NO_TARGET`] if there are several or none is known.
pub(super) fn only_target(layouts: &[Option<FileLayout>], stream: &Stream) -> u32 {
    let layout = layouts.get(stream.file.index()).and_then(Option::as_ref).filter(|_| stream.storage);
    let one = layout.and_then(|layout| match layout.layout.components.as_slice() {
        [component] => <[u32; 1]>::try_from(component.targets.as_slice()).ok(),
        _ => None,
    });
    one.map_or(NO_TARGET, |[target]| target)
}
