//! Distributions of the bandwidth or duration of single operations, one per group of operations.

use crate::scan::{Analysis, Block};
use crate::shared::groups::{bandwidth, group_of};
use crate::shared::stats::Sample;
use clap::ValueEnum;
use serde::Serialize;

/// Value to compare
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Bytes per second; slow is low
    #[default]
    Bandwidth,
    /// Nanoseconds; slow is high
    Duration,
}

impl Metric {
    /// Returns the bandwidth (bytes/s) or duration (ns) of one operation; `None` for the bandwidth of an operation that moved no bytes.
    #[inline]
    #[must_use]
    pub fn of(self, length: u64, duration_ns: u64) -> Option<u64> {
        match self {
            Self::Bandwidth => bandwidth(length, duration_ns),
            Self::Duration => Some(duration_ns),
        }
    }
}

/// Pass that samples the bandwidth or duration of the operations in each group.
#[derive(Clone, Debug)]
pub struct Distribution<'a, T> {
    /// Groups of operations, indexed by [`crate::shared::groups::group_index`].
    pub groups: &'a [Option<T>],
    /// Value that is sampled: bandwidth or duration.
    pub metric: Metric,
}

/// Sample of the values in one group of operations.
#[derive(Clone, Debug, Default)]
pub struct GroupSample {
    /// Sampled bandwidths or durations of the operations in the group.
    pub sample: Sample,
    /// Number of operations that have no bandwidth because they moved no bytes.
    pub without_value: u64,
    /// Time in all operations of the group, summed over processes, ns.
    pub time_ns: u64,
}

impl<T: Sync> Analysis for Distribution<'_, T> {
    type Partial = Vec<GroupSample>;

    fn start(&self) -> Self::Partial {
        vec![GroupSample::default(); self.groups.len()]
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let Some(group) = group_of(self.groups, stream).and_then(|group| partial.get_mut(group)) else { continue };
            for row in stretch.rows() {
                group.time_ns = group.time_ns.saturating_add(row.duration_ns());
                match self.metric.of(row.length, row.duration_ns()) {
                    Some(value) => group.sample.add(value),
                    None => group.without_value += 1,
                }
            }
        }
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        for (mine, theirs) in into.iter_mut().zip(other) {
            mine.sample.merge(theirs.sample);
            mine.without_value += theirs.without_value;
            mine.time_ns = mine.time_ns.saturating_add(theirs.time_ns);
        }
    }
}
