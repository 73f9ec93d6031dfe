//! The result: a row a group of runs.

use super::groups::{GroupBy, order};
use super::measure::RunRow;
use super::measures::{self, Measure};
use super::spread::Spread;
use crate::load::corpus::LeftOut;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use trace_format::counters::SIZE_BINS;

/// Runs that are repeats of each other.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// What they have in common.
    pub group: String,
    /// How many.
    pub runs: u64,
    /// Their numbers, in the order of [`measures::ALL`]; `None` where no run has it.
    #[serde(rename = "measures", serialize_with = "by_name")]
    values: Vec<Option<Spread>>,
    /// Bytes per second of run time and rank, over those of the first group; medians. 1 is perfect scaling, be the work of all
    /// ranks together or that of each the same. `None` without bytes, and of different programs.
    pub efficiency: Option<f64>,
    /// Bytes per second of run time over those of the first group.
    pub speedup: Option<f64>,
    /// Calls by size.
    pub sizes: Vec<Sizes>,
}

/// Reads or writes of a layer by size, over the runs of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Layer.
    pub layer: String,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Calls.
    pub calls: u64,
    /// Calls by length: [`trace_format::counters::SIZE_BOUNDS`].
    pub sizes: [u64; SIZE_BINS],
}

fn by_name<S: Serializer>(values: &[Option<Spread>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(measures::ALL.iter().map(|measure| measure.name).zip(values))
}

impl Group {
    /// A number of the group.
    #[must_use]
    pub fn get(&self, measure: &Measure) -> Option<Spread> {
        let place = measures::ALL.iter().position(|known| known == measure)?;
        self.values.get(place).copied().flatten()
    }

    fn of(group: String, runs: &[&RunRow]) -> Self {
        let values = measures::ALL.iter().map(|measure| Spread::of(runs.iter().map(|run| measure.of(run))));
        let mut sizes: BTreeMap<(&str, &'static str), Sizes> = BTreeMap::new();
        for row in runs.iter().flat_map(|run| &run.accesses) {
            let sum = sizes.entry((&row.layer, row.direction)).or_insert_with(|| Sizes {
                layer: row.layer.clone(),
                direction: row.direction,
                calls: 0,
                sizes: [0; SIZE_BINS],
            });
            sum.calls = sum.calls.saturating_add(row.calls);
            sum.sizes.iter_mut().zip(row.sizes).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
        Self {
            group,
            runs: runs.len() as u64,
            values: values.collect(),
            efficiency: None,
            speedup: None,
            sizes: sizes.into_values().filter(|row| row.sizes.iter().any(|calls| *calls > 0)).collect(),
        }
    }

    /// Bytes per second of run time, and ranks; medians.
    fn work(&self) -> Option<(f64, f64)> {
        let median = |measure: &Measure| self.get(measure).map(|spread| spread.median);
        let bytes = median(&measures::BYTES_READ)? + median(&measures::BYTES_WRITTEN)?;
        let (time, ranks) = (median(&measures::RUN_TIME)?, median(&measures::RANKS)?);
        (bytes > 0.0 && time > 0.0 && ranks > 0.0).then(|| (bytes / time, ranks))
    }
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Scaling {
    /// What the runs were grouped by, as it was asked for.
    pub group_by: String,
    /// The groups, by number or name.
    pub groups: Vec<Group>,
    /// The runs, in the order in which they were found.
    pub runs: Vec<RunRow>,
    /// What could not be read.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub remarks: Vec<String>,
}

impl Scaling {
    /// Groups runs.
    #[must_use]
    pub fn of(group_by: String, runs: Vec<RunRow>, left_out: Vec<LeftOut>, mut remarks: Vec<String>) -> Self {
        let by = GroupBy::parse(&group_by);
        let mut keyed: Vec<(String, &RunRow)> = runs.iter().map(|run| (by.key(run), run)).collect();
        keyed.sort_by(|a, b| order(&a.0, &b.0));
        let mut groups: Vec<Group> = keyed
            .chunk_by(|a, b| a.0 == b.0)
            .map(|chunk| {
                let of: Vec<&RunRow> = chunk.iter().map(|(_, run)| *run).collect();
                Group::of(chunk.first().map(|(key, _)| key.clone()).unwrap_or_default(), &of)
            })
            .collect();
        // What another program does is no measure.
        let is_one = runs.windows(2).all(|two| matches!(two, [a, b] if a.job.program == b.job.program));
        if let (Some((first, ranks)), true) = (groups.first().and_then(Group::work), is_one) {
            for group in &mut groups {
                let work = group.work();
                group.speedup = work.map(|(work, _)| work / first);
                group.efficiency = work.map(|(work, of)| (work / of) / (first / ranks));
            }
        }
        if let ([only], true) = (groups.as_slice(), runs.len() > 1) {
            let text = "all runs are in one group, as repeats of each other: --group-by run shows each, and ranks, nodes, folder or an \
                        option of the program tell them apart";
            remarks.push(format!("{text} ({} = {})", group_by, only.group));
        }
        if matches!(by, GroupBy::Option(_) | GroupBy::Place(_))
            && keyed.iter().all(|(key, _)| key == "-")
            && !runs.is_empty()
        {
            remarks.push(format!("no run has {group_by} among its arguments"));
        }
        Self { group_by, groups, runs, left_out, remarks }
    }
}
