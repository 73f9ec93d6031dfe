//! Placement of files on storage targets: number of targets in use at a time, and if the file system seems to have further targets.

use crate::cube::Cube;
use crate::model::{Class, FileId, ProcessId};
use crate::thresholds::Thresholds;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the stripe count of the files with most of the time of a class of calls (reads, writes, ...); `None` if no single count has
/// `most_share` of it.
pub(super) fn stripes_of_most(cube: &Cube<'_>, class: Class) -> Option<u32> {
    let (mut by, mut all) = (BTreeMap::<u32, f64>::new(), 0.0);
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class && !cell.targets.is_empty()) {
        all += cell.time_ns();
        if let Some(count) = cube.stripes.get(&cell.file) {
            *by.entry(*count).or_default() += cell.time_ns();
        }
    }
    by.into_iter().find(|(_, ns)| *ns >= all * cube.run.thresholds.most_share).map(|(count, _)| count)
}

/// Storage targets that hold the files used by one class of calls (reads, writes, ...).
pub(super) struct Placed {
    /// Number of targets in use in a phase (from one synchronization or pause to the next), mean over phases weighted by time in calls.
    pub(super) at_once: f64,
    /// True if each file is used by one process only.
    own: bool,
    files: BTreeMap<u32, BTreeSet<FileId>>,
    /// Number of storage targets that calls of any class (reads, writes, ...) reach in the run.
    known: usize,
}

impl Placed {
    pub(super) fn of(cube: &Cube<'_>, class: Class) -> Self {
        let mut phases: BTreeMap<usize, (f64, BTreeMap<u32, f64>)> = BTreeMap::new();
        let mut files: BTreeMap<u32, BTreeSet<FileId>> = BTreeMap::new();
        let mut users: BTreeMap<FileId, ProcessId> = BTreeMap::new();
        let mut known: BTreeSet<u32> = BTreeSet::new();
        let mut own = true;
        for cell in cube.cells.iter().filter(|cell| cell.leaf && !cell.targets.is_empty()) {
            known.extend(&cell.targets);
            if cell.class != class {
                continue;
            }
            let phase = phases.entry(cube.phase(cell)).or_default();
            phase.0 += cell.time_ns();
            for target in &cell.targets {
                *phase.1.entry(*target).or_default() += cell.time_ns() / cell.targets.len() as f64;
                files.entry(*target).or_default().insert(cell.file);
            }
            own &= *users.entry(cell.file).or_insert(cell.process) == cell.process;
        }
        let used = |(all, of): &(f64, BTreeMap<u32, f64>)| {
            of.values().filter(|ns| **ns >= all * cube.run.thresholds.barely_share).count() as f64
        };
        let time: f64 = phases.values().map(|phase| phase.0).sum();
        let at_once = phases.values().map(|phase| phase.0 * used(phase)).sum::<f64>() / time.max(1.0);
        Self { at_once, own, files, known: known.len() }
    }

    /// True if the file system seems to have only the `used` targets: each file is on one target, many files lie evenly on the used ones,
    /// and no call reaches any other.
    pub(super) fn is_all_there_is(&self, thresholds: &Thresholds, used: usize) -> bool {
        let counts = || self.files.values().map(BTreeSet::len);
        let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        used > 1
            && self.known == used
            && self.own
            && least >= (thresholds.several_min as usize)
            && most <= least.saturating_mul(2)
    }
}
