//! Finds the slowest unit (rank, node, storage target or file) in each time window.

use super::compare::UnitGroup;
use crate::shared::groups::Group;
use crate::shared::ratio::share;
use serde::Serialize;

/// Slowest unit (rank, node, target or file) of a group of operations in one time window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// Group of operations that is compared (layer, name, call variant).
    #[serde(flatten)]
    pub group: Group,
    /// Start of the time window, ns since the job's start.
    pub from_ns: u64,
    /// End of the time window, ns since the job's start.
    pub until_ns: u64,
    /// Number of units (ranks, nodes, targets or files) that made operations of the group in the window.
    pub sample: u64,
    /// Name of the slowest unit (rank, node, target or file), measured by the usual time of its operations.
    pub unit: String,
    /// Slowdown of the slowest unit (rank, node, target or file): its time / usual time of the same operations, relative to the median over
    /// units.
    pub slower: f64,
    /// Time that the slowest unit (rank, node, target or file) lost compared with the same operations at the median pace, ns; negative if
    /// it was faster.
    pub extra_ns: i64,
    /// True if the slowest unit (rank, node, target or file) is slower than the others by more than chance.
    pub outlier: bool,
    /// Number of units (ranks, nodes, targets or files) that are outliers in the window.
    pub outliers: u64,
    /// (maximum - minimum time in calls) / maximum, over the units (ranks, nodes, targets or files); 0 if all spent equal times in calls.
    pub imbalance: f64,
    /// (maximum - minimum time in calls) / sum, over the units (ranks, nodes, targets or files): Drishti's measure of stragglers.
    pub share_of_total: f64,
}

/// Returns the slowest unit (rank, node, target or file) of each group of operations in each time window.
#[must_use]
pub fn stragglers(groups: &[UnitGroup]) -> Vec<Straggler> {
    let one = |group: &UnitGroup| {
        let slowest = group.rows.first()?;
        let (from_ns, until_ns) = group.window?;
        let spread = group.most_ns.saturating_sub(group.least_ns);
        Some(Straggler {
            group: group.group.clone(),
            from_ns,
            until_ns,
            sample: group.sample,
            unit: slowest.unit.clone(),
            slower: slowest.slower,
            extra_ns: slowest.extra_ns,
            outlier: slowest.outlier,
            outliers: group.outliers,
            imbalance: share(spread, group.most_ns),
            share_of_total: share(spread, group.total_ns),
        })
    };
    groups.iter().filter_map(one).collect()
}
