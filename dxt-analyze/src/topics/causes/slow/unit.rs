//! Units that can be slow.

use crate::cube::regions::Region;
use crate::cube::{Cell, Cube};
use crate::model::{FileId, ProcessId};

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
