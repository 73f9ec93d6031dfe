//! Ranks, nodes, storage targets or files compared with each other, group by group, by a robust statistic: one whose
//! centre and scale the slow ones themselves do not move.

use super::distribution::Metric;
use super::groups::Group;
use super::totals::StreamTotal;
use crate::load::Run;
use crate::stats::{Robust, Scale};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sums of a unit within a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitSum {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in them, ns.
    pub time_ns: u64,
}

impl UnitSum {
    /// Adds `other`.
    pub fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }

    /// Bytes per second, or mean duration in ns.
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Bandwidth => (self.bytes > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns.max(1) as f64),
            Metric::Duration => (self.operations > 0).then(|| self.time_ns as f64 / self.operations as f64),
        }
    }

    /// Time it would have taken at `median`, ns.
    fn usual_ns(&self, metric: Metric, median: f64) -> f64 {
        match metric {
            Metric::Bandwidth => self.bytes as f64 * 1e9 / median.max(f64::MIN_POSITIVE),
            Metric::Duration => self.operations as f64 * median,
        }
    }
}

/// Sums per group and unit; units in the order of their keys.
pub type UnitSums = BTreeMap<Group, BTreeMap<u64, UnitSum>>;

/// Key of a unit without a rank: behind all ranks.
const WITHOUT_RANK: u64 = 1 << 32;

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
    /// Name of the unit with `key`.
    #[must_use]
    pub fn name(self, run: &Run, key: u64) -> String {
        let index = usize::try_from(key).unwrap_or(usize::MAX);
        match self {
            Self::Rank if key < WITHOUT_RANK => key.to_string(),
            Self::Rank => run.process_name((key - WITHOUT_RANK) as u32),
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

/// Sums by rank, node or file from the streams' totals.
#[must_use]
pub fn sums(run: &Run, kind: UnitKind, groups: &[Option<Group>], totals: &[StreamTotal]) -> UnitSums {
    let mut out = UnitSums::new();
    for total in totals {
        let Some(process) = run.processes.get(total.process as usize) else { continue };
        let Some(stream) = process.streams.get(total.stream as usize) else { continue };
        // A record that stands for several ranks is none of them.
        if kind != UnitKind::File && !process.reduction.is_none() {
            continue;
        }
        let group = super::groups::group_of(groups, stream).and_then(|index| groups.get(index)?.clone());
        let Some(group) = group else { continue };
        let key = match kind {
            UnitKind::Rank => u64::try_from(process.rank).unwrap_or(WITHOUT_RANK + u64::from(total.process)),
            UnitKind::Node => u64::from(process.node),
            UnitKind::File => u64::from(stream.file),
            UnitKind::Target => continue,
        };
        let all = &total.all;
        let sum = UnitSum { operations: all.segments, bytes: all.bytes, time_ns: all.duration };
        out.entry(group).or_default().entry(key).or_default().merge(&sum);
    }
    out
}

/// A unit's place among its like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Rank, host, OST index or path.
    pub unit: String,
    /// Operations it rests on.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in them, ns.
    pub time_ns: u64,
    /// Bytes per second, or mean duration in ns.
    pub value: f64,
    /// How many times slower than the median; below 1 is faster.
    pub slower: f64,
    /// Modified z-score towards slow; `None` if there are too few to say.
    pub z: Option<f64>,
    /// Time beyond what the same work takes at the median, ns; negative if faster.
    pub extra_ns: i64,
    /// Whether it is an outlier.
    pub outlier: bool,
}

/// What can be said of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Too few to compare.
    TooFew,
    /// None stands out.
    None,
    /// Some stand out.
    Outliers,
}

/// The units of one group.
#[derive(Clone, Debug, Serialize)]
pub struct UnitGroup {
    /// What is compared.
    #[serde(flatten)]
    pub group: Group,
    /// Number of units: the sample.
    pub sample: u64,
    /// Median over units: bytes per second or ns.
    pub median: f64,
    /// Robust standard deviation over units.
    pub sigma: f64,
    /// How it was estimated.
    pub scale: Scale,
    /// What can be said.
    pub verdict: Verdict,
    /// Number of outliers.
    pub outliers: u64,
    /// The slowest units, slowest first.
    pub rows: Vec<UnitRow>,
}

/// Compares the units of every group; the `top` slowest are listed, and all outliers are counted.
#[must_use]
pub fn compare(run: &Run, kind: UnitKind, metric: Metric, sums: UnitSums, top: usize) -> Vec<UnitGroup> {
    sums.into_iter().filter_map(|(group, units)| one(run, kind, metric, group, units, top)).collect()
}

fn one(
    run: &Run,
    kind: UnitKind,
    metric: Metric,
    group: Group,
    units: BTreeMap<u64, UnitSum>,
    top: usize,
) -> Option<UnitGroup> {
    let valued: Vec<(u64, UnitSum, f64)> =
        units.into_iter().filter_map(|(key, sum)| Some((key, sum, sum.value(metric)?))).collect();
    let values: Vec<f64> = valued.iter().map(|(_, _, value)| *value).collect();
    let robust = Robust::of(&values)?;
    let least = &run.thresholds;
    let enough = values.len() as u64 >= least.units_min_sample;
    let mut rows: Vec<(u64, UnitSum, UnitRow)> = valued
        .into_iter()
        .map(|(key, sum, value)| {
            let (slower, z) = match metric {
                Metric::Bandwidth => (robust.median / value.max(f64::MIN_POSITIVE), -robust.z(value)),
                Metric::Duration => (value / robust.median.max(f64::MIN_POSITIVE), robust.z(value)),
            };
            let row = UnitRow {
                unit: String::new(),
                operations: sum.operations,
                bytes: sum.bytes,
                time_ns: sum.time_ns,
                value,
                slower,
                z: enough.then_some(z),
                extra_ns: (sum.time_ns as f64 - sum.usual_ns(metric, robust.median)) as i64,
                outlier: enough && z >= least.modified_z && slower >= least.min_slowdown,
            };
            (key, sum, row)
        })
        .collect();
    rows.sort_by(|a, b| b.2.slower.total_cmp(&a.2.slower).then(a.0.cmp(&b.0)));
    let outliers = rows.iter().filter(|(_, _, row)| row.outlier).count() as u64;
    rows.truncate(top);
    let named = |(key, _, row): (u64, UnitSum, UnitRow)| UnitRow { unit: kind.name(run, key), ..row };
    Some(UnitGroup {
        group,
        sample: values.len() as u64,
        median: robust.median,
        sigma: robust.sigma,
        scale: robust.scale,
        verdict: match (enough, outliers) {
            (false, _) => Verdict::TooFew,
            (true, 0) => Verdict::None,
            (true, _) => Verdict::Outliers,
        },
        outliers,
        rows: rows.into_iter().map(named).collect(),
    })
}
