//! Units (ranks, nodes, storage targets, time windows, folders, files, parts of files) that can be slow, and their log slowdowns.

use crate::cube::regions::Region;
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId, ProcessId};
use std::collections::BTreeMap;

/// Part of the machine, of the run or of the files whose calls can be slower than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Storage target.
    Target(u32),
    /// Index into [`crate::model::Run::nodes`].
    Node(u32),
    /// Index into [`crate::model::Run::processes`].
    Process(ProcessId),
    /// Range of time windows of the run, first to last.
    Moment(u16, u16),
    /// A folder with several files ([`crate::cube::folders`]).
    Folder(u32),
    /// Index into [`crate::model::Run::files`].
    File(FileId),
    /// Part of a file.
    Region(Region),
}

impl Unit {
    /// True if calls of `cell` (similar calls of one process) are on the unit, at least in part.
    #[must_use]
    pub fn has(self, cube: &Cube<'_>, cell: &Cell) -> bool {
        match self {
            Self::Target(target) => cell.targets.contains(&target),
            Self::Node(node) => cube.run.process(cell.process).is_some_and(|of| of.node == node),
            Self::Process(process) => cell.process == process,
            Self::Moment(from, until) => (from..=until).contains(&cell.slot),
            Self::Folder(folder) => cube.folders.of(cell.file) == Some(folder),
            Self::File(file) => cell.file == file,
            Self::Region(_) => self.share(cube, cell) > 0.0,
        }
    }

    /// Returns the part of the time of `cell` (similar calls of one process) that is on the unit, 0 to 1.
    #[must_use]
    pub fn share(self, cube: &Cube<'_>, cell: &Cell) -> f64 {
        match self {
            Self::Region(region) if region.file == cell.file => cube.regions.share(region, cell.process, cell.stream),
            Self::Region(_) => 0.0,
            _ => 1.0,
        }
    }

    /// Returns the number of facts that make up the unit: 2 for a file region (file and place in it), else 1. Fewer are preferred.
    #[must_use]
    pub(super) const fn parts(self) -> usize {
        if matches!(self, Self::Region(_)) { 2 } else { 1 }
    }
}

/// Log slowdowns of units, by class of calls.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns {
    by: BTreeMap<(Class, Unit), f64>,
    /// Log slowdowns of ranges of time windows and of file regions, which may overlap.
    ranges: Vec<(Class, Unit, f64)>,
}

impl Slowdowns {
    pub(super) fn add(&mut self, class: Class, unit: Unit, above: f64) {
        if matches!(unit, Unit::Moment(..) | Unit::Region(_)) {
            self.ranges.push((class, unit, above));
        } else {
            self.by.insert((class, unit), above);
        }
    }

    /// Returns the log slowdown of a cell's calls by the slowest unit to which they belong, and the part of the cell's time on that unit, 0
    /// to 1. `None` if they belong to no slow unit.
    #[must_use]
    pub fn of(&self, cube: &Cube<'_>, cell: &Cell) -> Option<(f64, f64)> {
        let get = |unit: Unit| self.by.get(&(cell.class, unit)).map(|above| (*above, 1.0));
        let node = || cube.run.process(cell.process).and_then(|process| get(Unit::Node(process.node)));
        let folder = || cube.folders.of(cell.file).and_then(|folder| get(Unit::Folder(folder)));
        let targets = || cell.targets.iter().filter_map(|target| get(Unit::Target(*target)));
        let ranges = self.ranges.iter().filter(|(class, unit, _)| *class == cell.class && unit.has(cube, cell));
        let ranges = ranges.map(|(_, unit, above)| (*above, unit.share(cube, cell)));
        let own = [get(Unit::Process(cell.process)), get(Unit::File(cell.file)), node(), folder()];
        own.into_iter().flatten().chain(targets()).chain(ranges).max_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1)))
    }
}

/// A unit (rank, node, storage target, ...) with the numbers by which it is compared with other units of its sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The unit.
    pub unit: Unit,
    /// Log slowdown of the unit's calls.
    pub above: f64,
    /// Standard error of `above`.
    pub error: f64,
    /// Number of the unit's calls.
    pub calls: u64,
}
