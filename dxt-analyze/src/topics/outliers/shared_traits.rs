//! Finds traits that slow operations share: rank, node, storage target, file or time. A shared trait points to a cause, such as a bad node,
//! a bad disk or a busy hour.

use super::row::OutlierRow;
use crate::model::{FileId, FileLayout, Run, Users};
use crate::shared::groups::{Group, group_of};
use crate::thresholds::Thresholds;
use crate::words::outliers::Shared;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Numbers of ranks, nodes, targets and files among all compared operations, from which the chance of a shared trait follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Population {
    /// Number of ranks that made compared operations.
    pub ranks: u64,
    /// Number of nodes on which compared operations were made.
    pub nodes: u64,
    /// Number of storage targets on which the files of the compared operations lie; 0 if unknown.
    pub targets: u64,
    /// Number of files accessed by compared operations.
    pub files: u64,
    /// Length of the run, ns, with which time spans of slow operations are compared.
    pub span_ns: u64,
}

/// Ranks, nodes and files of the operations of one group.
type Sets = (Users, FxHashSet<u32>, FxHashSet<FileId>);

/// Returns the numbers of ranks, nodes, targets and files for each group of operations.
#[must_use]
pub fn populations(run: &Run, layouts: &[Option<FileLayout>], groups: &[Option<Group>]) -> BTreeMap<Group, Population> {
    let mut all: Vec<Sets> = vec![Default::default(); groups.len()];
    for (number, process) in run.numbered_processes() {
        for stream in &process.streams {
            let Some((ranks, nodes, files)) = group_of(groups, stream).and_then(|index| all.get_mut(index)) else {
                continue;
            };
            ranks.add(run, number, stream.file, run.op(stream).layer);
            if (process.node as usize) < run.nodes.len() {
                nodes.insert(process.node);
            }
            files.insert(stream.file);
        }
    }
    let (from, until) = run.span();
    let of = |(ranks, nodes, files): Sets| {
        let layouts = files.iter().filter_map(|file| layouts.get(file.index())?.as_ref());
        let components = layouts.flat_map(|layout| &layout.layout.components);
        let targets: FxHashSet<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
        Population {
            ranks: ranks.count(),
            nodes: nodes.len() as u64,
            targets: targets.len() as u64,
            files: files.len() as u64,
            span_ns: until.saturating_sub(from),
        }
    };
    groups.iter().zip(all).filter_map(|(group, sets)| Some((group.clone()?, of(sets)))).collect()
}

/// Returns the traits that the slow operations in `rows` share: for each kind of trait (rank, node, ...) the most frequent value, if it is
/// more frequent than by chance.
#[must_use]
pub(crate) fn shared_traits(rows: &[OutlierRow], population: &Population, least: &Thresholds) -> Vec<Shared> {
    if (rows.len() as u64) < least.shared_trait_min {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut add = |what: &'static str, names: Vec<String>, of: u64| {
        if let Some((name, count)) = most_common(names) {
            let share = count as f64 / rows.len() as f64;
            if of > 1 && share >= least.shared_trait_share && share * of as f64 >= least.shared_trait_excess {
                out.push(Shared::Unit { what, name, count });
            }
        }
    };
    let of = |value: fn(&OutlierRow) -> Option<String>| rows.iter().filter_map(value).collect::<Vec<String>>();
    add("rank", of(|row| (row.rank >= 0).then(|| row.rank.to_string())), population.ranks);
    add("node", of(|row| Some(row.node.clone())), population.nodes);
    add("OST", of(|row| row.ost.map(|ost| ost.to_string())), population.targets);
    add("file", of(|row| Some(row.file.clone())), population.files);
    out.extend(moment(rows, population.span_ns, least));
    out
}

fn most_common(names: Vec<String>) -> Option<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
}

/// Returns the shortest time span in which the required share of the slow operations began; `None` if the span is too long to mean
/// anything.
fn moment(rows: &[OutlierRow], span_ns: u64, least: &Thresholds) -> Option<Shared> {
    let mut starts: Vec<u64> = rows.iter().map(|row| row.start_ns).collect();
    starts.sort_unstable();
    let enough = (starts.len() as f64 * least.shared_trait_share).ceil() as usize;
    let spans = starts.windows(enough.max(1)).filter_map(|part| Some((*part.first()?, *part.last()?)));
    let (from, until) = spans.min_by_key(|(from, until)| until - from)?;
    let is = span_ns > 0 && (until - from) as f64 <= span_ns as f64 * least.shared_moment_share;
    is.then_some(Shared::Moment { from_ns: from, until_ns: until, count: enough })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: i32, node: &str, ost: u32, start_ns: u64) -> OutlierRow {
        OutlierRow {
            rank,
            node: node.into(),
            pid: 1,
            file: "/f".into(),
            offset: 0,
            length: 1,
            start_ns,
            end_ns: start_ns + 1,
            bandwidth: None,
            stripe: None,
            ost: Some(ost),
        }
    }

    #[test]
    fn only_what_is_more_than_chance_is_said() {
        let all = Population { ranks: 8, nodes: 2, targets: 4, files: 1, span_ns: 1_000_000_000 };
        let rows: Vec<OutlierRow> =
            (0..8).map(|i| row(i, if i < 4 { "a" } else { "b" }, 3, i as u64 * 100_000_000)).collect();
        let unit = |what, name: &str| Shared::Unit { what, name: name.into(), count: 8 };
        assert_eq!(shared_traits(&rows, &all, &Thresholds::default()), [unit("OST", "3")]);
        let rows: Vec<OutlierRow> = (0..8).map(|i| row(5, "b", i, 400_000_000 + u64::from(i))).collect();
        let said = shared_traits(&rows, &all, &Thresholds::default());
        assert_eq!(said[..2], [unit("rank", "5"), unit("node", "b")]);
        assert!(matches!(said[2], Shared::Moment { from_ns: 400_000_000..500_000_000, count: 4, .. }), "{said:?}");
        assert!(shared_traits(&rows[..3], &all, &Thresholds::default()).is_empty());
    }
}
