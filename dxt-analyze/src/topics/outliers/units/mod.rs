//! Ranks, nodes, storage targets or files compared with each other, group by group and, if that is asked for, window by
//! window of time.
//!
//! * [`work`]: what each did, by size of the request: the pass over the segments.
//! * [`compare`]: how long that should have taken, and who is slower than the rest by more than chance.
//! * [`met`]: who is slow only because of slow storage targets, and not to blame.
//! * [`windows`]: spans of time, and who held the others up in each.

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

/// Key of a unit without a rank: behind all ranks.
pub(super) const WITHOUT_RANK: u64 = 1 << 32;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// Ranks; processes without one stand for themselves.
    Rank,
    /// Nodes.
    Node,
    /// Files.
    File,
    /// Storage targets.
    Target,
}

impl UnitKind {
    /// The unit that a process is part of; `None` if it is of none, or its operations are of several.
    #[must_use]
    pub(crate) fn of_process(self, number: ProcessId, process: &Process) -> Option<u64> {
        // A record that stands for several ranks is none of them, and what is on no known node is on none.
        let alone = process.reduction.is_none();
        match self {
            Self::Rank => alone.then(|| u64::try_from(process.rank).unwrap_or(WITHOUT_RANK + u64::from(number.0))),
            Self::Node => alone.then_some(u64::from(process.node)),
            Self::File | Self::Target => None,
        }
    }

    /// Name of the unit with `key`.
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

    /// What it is called, in the singular.
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
