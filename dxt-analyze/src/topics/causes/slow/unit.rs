//! What can be slow.

use crate::model::{FileId, ProcessId};
use crate::topics::causes::grid::regions::Region;
use crate::topics::causes::grid::{Entry, Grid};

/// Something that can be slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Storage target.
    Target(u32),
    /// Index into [`crate::model::Run::nodes`].
    Node(u32),
    /// Index into [`crate::model::Run::processes`].
    Process(ProcessId),
    /// Slots from one up to the other.
    Moment(u16, u16),
    /// A folder with several files ([`crate::topics::causes::grid::folders`]).
    Folder(u32),
    /// Index into [`crate::model::Run::files`].
    File(FileId),
    /// Part of a file.
    Region(Region),
}

impl Unit {
    /// Whether it has a cell.
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

    /// Part of the time of a cell that it has which is its own.
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

/// A member of a group of units of one sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Which.
    pub unit: Unit,
    /// How far the logarithm of its calls' times is above that of their peers.
    pub above: f64,
    /// Its error by chance.
    pub error: f64,
    /// Its calls.
    pub calls: u64,
}
