//! Compares units (ranks, nodes, storage targets or files) per group of operations and, if requested, per time window.
//!
//! * [`work`]: pass over the segments, which adds up operations, bytes and time of each unit by request size.
//! * [`compare`]: expected times, and units that are slower than the others by more than chance.
//! * [`compare::on_slow_targets`]: units that are slow only because of slow storage targets.
//! * [`windows`], [`stragglers`]: time windows, and the slowest unit in each.

pub mod compare;
mod one_target;
pub mod stragglers;
pub mod windows;
pub mod work;

pub use compare::on_slow_targets::Met;
pub(crate) use compare::{Comparison, compare};
pub use compare::{UnitGroup, UnitRow, Verdict};
pub use windows::Windows;
pub use work::{ByProcess, UnitWork, Work};

use crate::findings::{About, Code, Finding};
use crate::model::{Process, ProcessId, Run};
use std::collections::BTreeSet;

/// Base of the keys of processes without a rank, larger than any rank number.
pub(super) const WITHOUT_RANK: u64 = 1 << 32;

/// Kind of the units that are compared: ranks, nodes, files or storage targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// MPI ranks; a process without a rank is a unit of its own.
    Rank,
    /// Compute nodes, identified by host name.
    Node,
    /// Files, identified by path.
    File,
    /// Storage targets (OSTs), identified by their index.
    Target,
}

impl UnitKind {
    /// Returns the key of the unit (rank or node) to which all operations of a process belong; `None` if units are files or targets, or for
    /// a record of several ranks.
    #[must_use]
    pub(crate) fn of_process(self, number: ProcessId, process: &Process) -> Option<u64> {
        // A reduced record stands for several ranks, so it is no unit. Ranks on unknown nodes are removed later: they belong to no node.
        let alone = process.reduction.is_none();
        match self {
            Self::Rank => alone.then(|| u64::try_from(process.rank).unwrap_or(WITHOUT_RANK + u64::from(number.0))),
            Self::Node => alone.then_some(u64::from(process.node)),
            Self::File | Self::Target => None,
        }
    }

    /// Returns the code of findings on slow units (ranks, nodes, targets or files) of this kind.
    pub(crate) fn code(self) -> Code {
        match self {
            Self::Rank => Code::SLOW_RANK,
            Self::Node => Code::SLOW_NODE,
            Self::Target => Code::SLOW_TARGET,
            Self::File => Code::SLOW_FILE,
        }
    }

    /// Returns the names of the units (ranks, nodes, targets or files) that `findings` call slow.
    pub(crate) fn named(self, findings: &[Finding]) -> BTreeSet<String> {
        let name = |about: &About| match self {
            Self::Rank => about.rank.map(|rank| rank.to_string()),
            Self::Node => about.node.clone(),
            Self::Target => about.ost.map(|ost| ost.to_string()),
            Self::File => about.file.clone().filter(|_| about.offset.is_none()),
        };
        let slow = findings.iter().flat_map(|finding| &finding.evidence).map(|evidence| &evidence.about);
        slow.chain(findings.iter().map(|finding| &finding.about)).filter_map(name).collect()
    }

    /// Returns the name of the unit (rank, node, file or target) with this `key`: rank, host name, path or target number.
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
}
