//! Comparison of ranks, nodes, storage targets or files, per group of operations and, if requested, per time window.
//!
//! * [`work`]: pass over the segments; work of each unit by request size.
//! * [`compare`]: expected times, and units that are slower than the rest by more than chance.
//! * [`compare::met`]: units that are slow only because of slow storage targets, which are to blame instead.
//! * [`windows`], [`stragglers`]: time windows, and the slowest unit in each.

pub mod compare;
mod one_target;
pub mod stragglers;
pub mod windows;
pub mod work;

pub use compare::met::Met;
pub use compare::{UnitGroup, UnitRow, Verdict, compare};
pub use windows::Windows;
pub use work::{ByProcess, UnitWork, Work};

use crate::model::{Process, ProcessId, Run};

/// Base of the keys of processes without a rank, larger than any rank.
pub(super) const WITHOUT_RANK: u64 = 1 << 32;

/// Kind of the compared units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Ranks; a process without a rank is a unit of its own.
    Rank,
    /// Nodes.
    Node,
    /// Files.
    File,
    /// Storage targets.
    Target,
}

impl UnitKind {
    /// Returns the unit of a process; `None` if it has none, or if its operations belong to several.
    #[must_use]
    pub(crate) fn of_process(self, number: ProcessId, process: &Process) -> Option<u64> {
        // A record that represents several ranks is none of them, and ranks on unknown nodes are on none.
        let alone = process.reduction.is_none();
        match self {
            Self::Rank => alone.then(|| u64::try_from(process.rank).unwrap_or(WITHOUT_RANK + u64::from(number.0))),
            Self::Node => alone.then_some(u64::from(process.node)),
            Self::File | Self::Target => None,
        }
    }

    /// Returns the name of the unit with `key`.
    #[must_use]
    pub fn name(self, run: &Run, key: u64) -> String {
        let index = usize::try_from(key).unwrap_or(usize::MAX);
        match self {
            Self::Rank if key < WITHOUT_RANK => key.to_string(),
            Self::Rank => run.process_name(ProcessId((key - WITHOUT_RANK) as u32)),
            Self::Node => run.nodes.get(index).cloned().unwrap_or_default(),
            Self::File => run.files.get(index).map(|file| file.name.clone()).unwrap_or_default(),
            Self::Target => key.to_string(),
        }
    }

    /// Returns the word for such a unit, in the singular.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Node => "node",
            Self::File => "file",
            Self::Target => "OST",
        }
    }
}
