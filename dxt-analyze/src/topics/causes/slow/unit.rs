//! Units that can be slow.

use crate::model::{FileId, ProcessId};
use crate::topics::causes::grid::regions::Region;
use crate::topics::causes::grid::{Entry, Grid};

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
    /// A folder with several files ([`crate::topics::causes::grid::folders`]).
    Folder(u32),
    /// Index into [`crate::model::Run::files`].
    File(FileId),
    /// Part of a file.
    Region(Region),
}

impl Unit {
    /// True if a cell belongs to the unit.
    #[must_use]
    pub fn has(self, grid: &Grid<'_>, entry: &Entry) -> bool {
        match self {
            Self::Target(target) => entry.targets.contains(&target),
            Self::Node(node) => grid.run.process(entry.process).is_some_and(|of| of.node == node),
            Self::Process(process) => entry.process == process,
            Self::Moment(from, until) => (from..=until).contains(&entry.slot),
            Self::Folder(folder) => grid.folders.of(entry.file) == Some(folder),
            Self::File(file) => entry.file == file,
            Self::Region(_) => self.share(grid, entry) > 0.0,
        }
    }

    /// Returns the part of a cell's time that belongs to the unit.
    #[must_use]
    pub fn share(self, grid: &Grid<'_>, entry: &Entry) -> f64 {
        match self {
            Self::Region(region) if region.file == entry.file => {
                grid.regions.share(region, entry.process, entry.stream)
            }
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
