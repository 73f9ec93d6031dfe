//! Result of `scaling`: one row per group of runs.

use super::groups::{GroupBy, order_all};
use super::measure::RunRow;
use super::measures::{self, Measure};
use super::spread::Spread;
use crate::load::corpus::LeftOut;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::SIZE_BINS;

/// Group of runs that are repeats of each other.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Values of the grouping keys that the runs have in common, separated by commas.
    pub group: String,
    /// Name of the program that the group's runs executed.
    pub program: String,
    /// Number of repeated runs in the group.
    pub runs: u64,
    /// Distribution of each measure over the runs, in the order of [`measures::ALL`]; `None` if the measure is unknown for all runs.
    #[serde(rename = "measures", serialize_with = "by_name")]
    values: Vec<Option<Spread>>,
    /// Bandwidth per rank (bytes per second of run time) / bandwidth per rank of the program's first group of runs, from medians; `None` if
    /// no bytes were moved. 1 means perfect scaling, strong or weak.
    pub efficiency: Option<f64>,
    /// Bandwidth (bytes per second of run time) / bandwidth of the program's first group of runs, from medians; `None` if no bytes were
    /// moved.
    pub speedup: Option<f64>,
    /// Number of reads and writes by request size, for each layer.
    pub sizes: Vec<Sizes>,
}

/// Number of reads or writes of one layer by request size, summed over the runs of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// Name of the I/O layer, such as `POSIX`.
    pub layer: String,
    /// Direction of the calls: `read` or `write`.
    pub direction: &'static str,
    /// Number of reads (or writes) of the layer, summed over the runs of the group.
    pub calls: u64,
    /// Number of calls by request size, in the bins of [`trace_format::counters::SIZE_BOUNDS`].
    pub sizes: [u64; SIZE_BINS],
}

fn by_name<S: Serializer>(values: &[Option<Spread>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(measures::ALL.iter().map(|measure| measure.name).zip(values))
}

impl Group {
    /// Returns the distribution of a measure over the group's runs; `None` if the measure is unknown.
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
            program: runs.first().map(|run| run.job.program.clone()).unwrap_or_default(),
            runs: runs.len() as u64,
            values: values.collect(),
            efficiency: None,
            speedup: None,
            sizes: sizes.into_values().filter(|row| row.sizes.iter().any(|calls| *calls > 0)).collect(),
        }
    }

    /// Returns (bytes per second of run time, number of ranks), from medians over the runs; `None` if either is unknown or 0.
    fn work(&self) -> Option<(f64, f64)> {
        let median = |measure: &Measure| self.get(measure).map(|spread| spread.median);
        let bytes = median(&measures::BYTES_READ)? + median(&measures::BYTES_WRITTEN)?;
        let (time, ranks) = (median(&measures::RUN_TIME)?, median(&measures::RANKS)?);
        (bytes > 0.0 && time > 0.0 && ranks > 0.0).then(|| (bytes / time, ranks))
    }
}

/// Result of `scaling`.
#[derive(Clone, Debug, Serialize)]
pub struct Scaling {
    /// Grouping keys, as the user gave them.
    pub group_by: String,
    /// Groups of repeated runs, sorted by the values of the grouping keys.
    pub groups: Vec<Group>,
    /// Measured runs, in the order in which they were found.
    pub runs: Vec<RunRow>,
    /// Files that could not be read, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// Remarks about the result for the user.
    pub remarks: Vec<String>,
}

impl Scaling {
    /// Groups the runs by the keys in `group_by`.
    #[must_use]
    pub fn of(group_by: String, runs: Vec<RunRow>, left_out: Vec<LeftOut>, mut remarks: Vec<String>) -> Self {
        let by = keys(&group_by, &runs);
        let keyed = keyed(&by, &runs);
        let mut groups = Vec::new();
        for chunk in keyed.chunk_by(|a, b| a.0 == b.0) {
            let of: Vec<&RunRow> = chunk.iter().map(|(_, run)| *run).collect();
            let name = chunk.first().map(|(keys, _)| name_of(keys)).unwrap_or_default();
            remarks.extend(merged(&name, &of));
            groups.push(Group::of(name, &of));
        }
        let mut firsts: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for group in &mut groups {
            let Some((work, of)) = group.work() else { continue };
            let (first, ranks) = *firsts.entry(group.program.clone()).or_insert((work, of));
            group.speedup = Some(work / first);
            group.efficiency = Some((work / of) / (first / ranks));
        }
        if let ([only], true) = (groups.as_slice(), runs.len() > 1) {
            let text = "all runs are in one group, as repeats of each other: --group-by run shows each run; --group-by ranks, \
                        nodes, folder or an option of the program distinguish runs";
            remarks.push(format!("{text} ({} = {})", group_by, only.group));
        }
        for (place, key) in by.iter().enumerate() {
            let (GroupBy::Option(_) | GroupBy::Place(_)) = key else { continue };
            if !runs.is_empty() && keyed.iter().all(|(keys, _)| keys.get(place).is_some_and(|key| key == "-")) {
                remarks.push(format!("--group-by: no run has {key} among the arguments of its program"));
            }
        }
        Self { group_by, groups, runs, left_out, remarks }
    }

    /// Returns the runs, each with the name of its group, in the order of the groups.
    #[must_use]
    pub fn grouped(&self) -> Vec<(String, &RunRow)> {
        let keyed = keyed(&keys(&self.group_by, &self.runs), &self.runs);
        keyed.into_iter().map(|(keys, run)| (name_of(&keys), run)).collect()
    }
}

/// Returns the grouping keys that the user gave, preceded by the program's name if the runs are of several programs.
fn keys(group_by: &str, runs: &[RunRow]) -> Vec<GroupBy> {
    let mut by = GroupBy::parse_all(group_by);
    let is_one = runs.windows(2).all(|two| matches!(two, [a, b] if a.job.program == b.job.program));
    if !is_one && !by.contains(&GroupBy::Program) {
        by.insert(0, GroupBy::Program);
    }
    by
}

/// Returns each run with its values of the grouping keys, sorted by these values.
fn keyed<'a>(by: &[GroupBy], runs: &'a [RunRow]) -> Vec<(Vec<String>, &'a RunRow)> {
    let keys = |run| by.iter().map(|key| key.key(run)).collect();
    let mut keyed: Vec<(Vec<String>, &RunRow)> = runs.iter().map(|run| (keys(run), run)).collect();
    keyed.sort_by(|a, b| order_all(&a.0, &b.0));
    keyed
}

fn name_of(keys: &[String]) -> String {
    keys.join(", ")
}

type Of<'a> = &'a dyn Fn(&RunRow) -> String;

/// Returns a sentence about properties (ranks, nodes, MPI, arguments) in which a group's runs differ; `None` if they are equal.
fn merged(group: &str, runs: &[&RunRow]) -> Option<String> {
    let differs = |of: Of<'_>| {
        let found: BTreeSet<String> = runs.iter().map(|run| of(run)).collect();
        (found.len() > 1).then_some(found)
    };
    let known: [(&str, Of<'_>); 4] = [
        ("ranks", &|run| run.job.ranks.to_string()),
        ("nodes", &|run| GroupBy::Nodes.key(run)),
        ("mpi", &|run| GroupBy::Mpi.key(run)),
        ("arguments", &|run| run.args.join(" ")),
    ];
    let words: Vec<String> = known
        .into_iter()
        .filter_map(|(name, of)| {
            let values: Vec<String> = differs(of)?.into_iter().collect();
            Some(match (name, values.as_slice()) {
                ("arguments", values) => format!("{} different command lines", values.len()),
                (name, [first, .., last]) => format!("{name} from {first} to {last}"),
                (name, _) => name.to_owned(),
            })
        })
        .collect();
    let listed = words.join(", ");
    (!words.is_empty())
        .then(|| format!("{} runs of group {group} are merged although the runs differ: {listed}", runs.len()))
}
