//! Totals of calls by rank and operation, for one of the two runs.

use crate::model::Run;
use crate::shared::groups::{Group, group_of};
use crate::shared::totals::StreamTotal;
use std::collections::BTreeMap;

/// Totals over the calls of one unit (operation, rank or file).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitSum {
    /// Number of calls of the operation, rank or file.
    pub operations: u64,
    /// Bytes that the calls of the operation, rank or file read and wrote.
    pub bytes: u64,
    /// Time in the calls of the operation, rank or file, summed over processes, ns.
    pub time_ns: u64,
}

impl UnitSum {
    /// Adds the totals of another operation, rank or file.
    pub fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Base of the keys of processes without a rank, larger than any rank number.
const WITHOUT_RANK: u64 = 1 << 32;

/// Returns totals per operation and rank. Processes without a rank get keys of their own; records that stand for several ranks are omitted.
#[must_use]
pub fn by_rank(run: &Run, groups: &[Option<Group>], totals: &[StreamTotal]) -> BTreeMap<Group, BTreeMap<u64, UnitSum>> {
    let mut out: BTreeMap<Group, BTreeMap<u64, UnitSum>> = BTreeMap::new();
    for total in totals {
        let Some(process) = run.process(total.process) else { continue };
        let Some(stream) = process.stream(total.stream) else { continue };
        let group = group_of(groups, stream).and_then(|index| groups.get(index)?.clone());
        let (Some(group), true) = (group, process.reduction.is_none()) else { continue };
        let rank = u64::try_from(process.rank).unwrap_or(WITHOUT_RANK + u64::from(total.process.0));
        let sum = UnitSum { operations: total.all.segments, bytes: total.all.bytes, time_ns: total.all.duration };
        out.entry(group).or_default().entry(rank).or_default().merge(&sum);
    }
    out
}
