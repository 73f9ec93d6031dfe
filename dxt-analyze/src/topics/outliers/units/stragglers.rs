//! Who was slowest in each span of time.

use super::compare::UnitGroup;
use crate::shared::groups::Group;
use crate::shared::ratio::share;
use serde::Serialize;

/// Who was slowest in one span of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// What is compared.
    #[serde(flatten)]
    pub group: Group,
    /// Beginning of the span, ns since the job's start.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
    /// Units that did something in it.
    pub sample: u64,
    /// The slowest for what it did.
    pub unit: String,
    /// How many times slower than the median it was.
    pub slower: f64,
    /// Time beyond what the same work takes at the median, ns.
    pub extra_ns: i64,
    /// Whether that is more than chance.
    pub outlier: bool,
    /// Outliers in the span.
    pub outliers: u64,
    /// (most - least time in calls) / most, over the units: 0 if all were busy for the same time.
    pub imbalance: f64,
    /// (most - least time in calls) / sum over the units, as Drishti measures stragglers.
    pub share_of_total: f64,
}

/// One for each group and window.
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
