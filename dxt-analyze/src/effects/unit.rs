//! Units that can be slow, and their log slowdowns.

use crate::cube::regions::Region;
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId, ProcessId};
use std::collections::BTreeMap;

/// A unit that can be slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Storage target.
    Target(u32),
    /// Index into [`crate::model::Run::nodes`].
    Node(u32),
    /// Index into [`crate::model::Run::processes`].
    Process(ProcessId),
    /// Range of time windows, first to last.
    Moment(u16, u16),
    /// A folder with several files ([`crate::cube::folders`]).
    Folder(u32),
    /// Index into [`crate::model::Run::files`].
    File(FileId),
    /// Part of a file.
    Region(Region),
}

impl Unit {
    /// True if a cell belongs to the unit.
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

    /// Returns the part of a cell's time that belongs to the unit.
    #[must_use]
    pub fn share(self, cube: &Cube<'_>, cell: &Cell) -> f64 {
        match self {
            Self::Region(region) if region.file == cell.file => cube.regions.share(region, cell.process, cell.stream),
            Self::Region(_) => 0.0,
            _ => 1.0,
        }
    }

    /// Returns how many choices the unit is made of: a file region is a file and a place in it.
    #[must_use]
    pub(super) const fn parts(self) -> usize {
        if matches!(self, Self::Region(_)) { 2 } else { 1 }
    }
}

/// Log slowdowns of units, by class of calls.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns {
    by: BTreeMap<(Class, Unit), f64>,
    /// Ranges of time windows, and file regions.
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

    /// Returns the log slowdown of a cell's calls by the slowest unit that has them, and the part of the cell's time that is the unit's.
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

/// A unit, as compared with others of its sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The unit.
    pub unit: Unit,
    /// Log slowdown of the unit's calls.
    pub above: f64,
    /// Standard error of `above`.
    pub error: f64,
    /// Number of calls.
    pub calls: u64,
}
