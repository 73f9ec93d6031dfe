//! What ranks, nodes, storage targets and moments differ by from their like. A rank counts by the median over the moments in which it had
//! calls; a node by the median of its ranks; a target, and a moment, by the median of the ranks that had calls there: so a
//! slow rank makes no node, target or moment slow, and one long call nothing.

use super::class::Class;
use super::grid::{Entry, Grid, weighted_quantile};
use super::odd::FEW;
use super::regions::{Region, Seen};
use crate::model::{FileId, ProcessId};
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Something that can be slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Storage target.
    Target(u32),
    /// Index into [`crate::model::Run::nodes`].
    Node(u32),
    /// Index into [`crate::model::Run::processes`].
    Process(ProcessId),
    /// Slots from one up to the other.
    Moment(u16, u16),
    /// A folder with several files ([`super::folders`]).
    Folder(u32),
    /// Index into [`crate::model::Run::files`].
    File(FileId),
    /// Part of a file.
    Region(Region),
}

impl Unit {
    /// Whether it has a cell.
    #[must_use]
    pub fn has(self, grid: &Grid<'_>, entry: &Entry) -> bool {
        match self {
            Self::Target(target) => entry.targets.contains(&target),
            Self::Node(node) => grid.run.process(entry.process).is_some_and(|of| of.node == node),
            Self::Process(process) => entry.process == process,
            Self::Moment(from, until) => (from..=until).contains(&entry.slot),
            Self::Folder(folder) => grid.folders.of(entry.file) == Some(folder),
            Self::File(file) => entry.file == file,
            Self::Region(_) => self.share(grid, entry) > 0.0,
        }
    }
}

impl Unit {
    /// Part of the time of a cell that it has which is its own.
    #[must_use]
    pub fn share(self, grid: &Grid<'_>, entry: &Entry) -> f64 {
        match self {
            Self::Region(region) if region.file == entry.file => {
                grid.regions.share(region, entry.process, entry.stream)
            }
            Self::Region(_) => 0.0,
            _ => 1.0,
        }
    }
}

/// A member of a group of units of one sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Which.
    pub unit: Unit,
    /// How far the logarithm of its calls' times is above that of their like.
    pub above: f64,
    /// Its error by chance.
    pub error: f64,
    /// Its calls.
    pub calls: u64,
}

/// Quantile of the fastest calls of a target's cells that tells how fast it serves.
const FASTEST: f64 = 0.03;
/// Of calls that begin on a target together one is served first: part of these that does the same there.
const FIRST: f64 = 0.3;
/// Part of what all its calls take longer that its fastest do at least if it is slow.
const AS_SLOW: f64 = 0.6;
/// Fewest calls that a member is judged by; and a part of a file, since there are many that may be odd by chance.
const FEWEST_CALLS: u64 = 3;
const FEWEST_OF_REGION: u64 = 8;

/// A weighted mean that grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Its value.
    #[must_use]
    pub fn get(self) -> f64 {
        self.sum / self.weight.max(1.0)
    }

    /// Its weight: calls.
    #[must_use]
    pub fn weight(self) -> f64 {
        self.weight
    }
}

/// Median of the means of several, weighted as told.
fn middle<'m>(means: impl Iterator<Item = &'m Mean>, weight: impl Fn(&Mean) -> f64) -> Option<f64> {
    let mut values: Vec<(f64, f64)> = means.map(|mean| (mean.get(), weight(mean))).collect();
    weighted_quantile(&mut values, 0.5)
}

/// The members of each sort, by what the calls of one class tell.
#[must_use]
pub fn members(grid: &Grid<'_>, class: Class) -> Vec<Vec<Member>> {
    let mut by_moment: BTreeMap<(ProcessId, u16), Mean> = BTreeMap::new();
    let mut by_target: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    let mut served: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == class) {
        let weight = entry.cell.calls as f64;
        by_moment.entry((entry.process, entry.slot)).or_default().add(entry.above, weight);
        for target in &entry.targets {
            by_target.entry((*target, entry.process)).or_default().add(entry.above, weight);
            if entry.cell.shortest_ns > 0 {
                let fastest = (entry.cell.shortest_ns as f64 / entry.usual_ns.max(1.0)).ln();
                served.entry(*target).or_default().push((fastest, weight));
            }
        }
    }
    // A target that is slow serves even its fastest calls slowly; one that is only busy serves those like others.
    let fastest = fastest(grid, &mut served);
    let mut of_process: BTreeMap<ProcessId, Vec<Mean>> = BTreeMap::new();
    let mut of_slot: BTreeMap<u16, Vec<Mean>> = BTreeMap::new();
    for ((process, slot), mean) in &by_moment {
        of_process.entry(*process).or_default().push(*mean);
        of_slot.entry(*slot).or_default().push(*mean);
    }
    let mut of_target: BTreeMap<u32, Vec<Mean>> = BTreeMap::new();
    for ((target, _), mean) in &by_target {
        of_target.entry(*target).or_default().push(*mean);
    }
    let calls = |means: &[Mean]| means.iter().map(|mean| mean.weight).sum::<f64>() as u64;
    let error = |calls: u64| 1.25 * grid.spread / (calls.max(1) as f64).sqrt();
    let member = |unit, means: &[Mean], weight: &dyn Fn(&Mean) -> f64| {
        let calls = calls(means);
        Some(Member { unit, above: middle(means.iter(), weight)?, error: error(calls), calls })
    };
    let by_calls = |mean: &Mean| mean.weight;
    let each_once = |_: &Mean| 1.0;
    let processes: Vec<Member> =
        of_process.iter().filter_map(|(&process, means)| member(Unit::Process(process), means, &by_calls)).collect();
    let targets = of_target.iter().filter_map(|(&target, means)| {
        let member = member(Unit::Target(target), means, &each_once)?;
        // Of sums of calls nothing is known of the fastest.
        let by_fastest = fastest.get(&target).copied().unwrap_or(member.above);
        let above = if member.above < 0.0 {
            // Nor is one fast that is only less busy.
            member.above.max(by_fastest.min(0.0))
        } else if by_fastest >= member.above * AS_SLOW {
            member.above
        } else {
            member.above.min(by_fastest)
        };
        Some(Member { above, ..member })
    });
    let moments = of_slot.iter().filter_map(|(&slot, means)| member(Unit::Moment(slot, slot), means, &each_once));
    let nodes = nodes(grid, &processes);
    let files = files(grid, class, &|unit, means| member(unit, means, &each_once));
    let regions = regions(grid, class, &|unit, means| member(unit, means, &each_once));
    let folders = folders(grid, class, &|unit, means| member(unit, means, &each_once));
    let sorts = [targets.collect(), nodes, processes, moments.collect::<Vec<Member>>(), folders, files];
    let fewest = |unit: Unit| if matches!(unit, Unit::Region(_)) { FEWEST_OF_REGION } else { FEWEST_CALLS };
    let enough = |sort: Vec<Member>| sort.into_iter().filter(|member| member.calls >= fewest(member.unit)).collect();
    sorts.into_iter().chain(regions).map(enough).collect()
}

/// By target: how far the logarithm of its fastest calls is above that of others' fastest. Where many begin together, few are served first, or none if all are
/// served at once: then it is no more than above those of others where as many do, and than so many may wait for each other where there is no other.
fn fastest(grid: &Grid<'_>, served: &mut BTreeMap<u32, Vec<(f64, f64)>>) -> BTreeMap<u32, f64> {
    let octave_of = |target: &u32| {
        let together = grid.begin_together.get(target).copied().unwrap_or(1.0).max(1.0);
        together.log2().round() as u32
    };
    let mut by_begin: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    served.keys().for_each(|target| by_begin.entry(octave_of(target)).or_default().push(*target));
    let mut out: BTreeMap<u32, f64> = BTreeMap::new();
    for (octave, theirs) in by_begin {
        let quantile = FASTEST.min(FIRST / f64::from(octave).exp2());
        let at = |(target, of): (&u32, &mut Vec<(f64, f64)>)| Some((*target, weighted_quantile(of, quantile)?));
        let all: BTreeMap<u32, f64> = served.iter_mut().filter_map(at).collect();
        let median = |mut values: Vec<(f64, f64)>| weighted_quantile(&mut values, 0.5);
        let usual = median(all.values().map(|value| (*value, 1.0)).collect()).unwrap_or(0.0);
        let many = all.iter().filter(|(target, _)| octave_of(target) + 1 >= octave);
        let many: Vec<(u32, f64)> = many.map(|(target, fastest)| (*target, *fastest)).collect();
        let of_many = median(many.iter().map(|(_, value)| (*value, 1.0)).collect());
        for target in theirs {
            let Some(fastest) = all.get(&target).copied() else { continue };
            let above = fastest - usual;
            if quantile >= FASTEST {
                out.insert(target, above);
                continue;
            }
            let calls: f64 = served.get(&target).into_iter().flatten().map(|(_, weight)| weight).sum();
            let error = grid.spread / (calls * quantile).max(1.0).sqrt();
            // One of many hardly moves what is usual for them.
            let others = if many.len() > FEW {
                of_many
            } else {
                median(many.iter().filter(|(other, _)| *other != target).map(|(_, value)| (*value, 1.0)).collect())
            };
            let against = others.map_or_else(|| above - f64::from(octave).exp2().ln(), |others| fastest - others);
            out.insert(target, above.min(against) - error);
        }
    }
    out
}

/// Files, by all calls of a kind and size, whatever file they are on. Where each process has one of its own nothing tells the file from it.
fn files(grid: &Grid<'_>, class: Class, member: &dyn Fn(Unit, &[Mean]) -> Option<Member>) -> Vec<Member> {
    let mut by: BTreeMap<(FileId, ProcessId), Mean> = BTreeMap::new();
    let is = |entry: &&Entry| entry.leaf && entry.class == class && !grid.lists(entry);
    for entry in grid.entries.iter().filter(is) {
        by.entry((entry.file, entry.process)).or_default().add(entry.above_kind, entry.cell.calls as f64);
    }
    let (mut of_file, mut of_process) = (BTreeMap::<FileId, Vec<Mean>>::new(), BTreeMap::<ProcessId, u32>::new());
    for ((file, process), mean) in by {
        of_file.entry(file).or_default().push(mean);
        *of_process.entry(process).or_default() += 1;
    }
    if of_process.values().all(|files| *files == 1) {
        return Vec::new();
    }
    of_file.iter().filter_map(|(&file, means)| member(Unit::File(file), means)).collect()
}

/// What the calls of `class` in each folder differ by from those of their kind and size, by process.
pub fn folders_by_process(grid: &Grid<'_>, class: Class) -> BTreeMap<(u32, ProcessId), Mean> {
    let mut by: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    // How long the list of a folder takes is a matter of what is in it.
    let is = |entry: &&Entry| entry.leaf && entry.class == class && !grid.lists(entry);
    for entry in grid.entries.iter().filter(is) {
        if let Some(folder) = grid.folders.of(entry.file) {
            by.entry((folder, entry.process)).or_default().add(entry.above_kind, entry.cell.calls as f64);
        }
    }
    by
}

/// Folders, by all calls of a kind and size, whatever file they are on. Where each process has a folder of its own nothing tells it from it,
/// unless several have the same.
fn folders(grid: &Grid<'_>, class: Class, member: &dyn Fn(Unit, &[Mean]) -> Option<Member>) -> Vec<Member> {
    let (mut of_folder, mut of_process) = (BTreeMap::<u32, Vec<Mean>>::new(), BTreeMap::<ProcessId, u32>::new());
    for ((folder, process), mean) in folders_by_process(grid, class) {
        of_folder.entry(folder).or_default().push(mean);
        *of_process.entry(process).or_default() += 1;
    }
    if of_process.values().all(|folders| *folders == 1) {
        of_folder.retain(|_, means| means.len() >= super::odd::FEWEST);
        if !across_nodes(grid, class) {
            return Vec::new();
        }
    }
    of_folder.iter().filter_map(|(&folder, means)| member(Unit::Folder(folder), means)).collect()
}

/// Whether folders are no matter of nodes, where each process uses one: some node has processes that use one folder and others that use another.
pub fn across_nodes(grid: &Grid<'_>, class: Class) -> bool {
    let mut of_node: BTreeMap<u32, u32> = BTreeMap::new();
    let used = folders_by_process(grid, class);
    used.keys().any(|(folder, process)| {
        let node = grid.run.process(*process).map_or(u32::MAX, |process| process.node);
        *of_node.entry(node).or_insert(*folder) != *folder
    })
}

/// The parts of each file. A process counts by how they differ for it.
fn regions(grid: &Grid<'_>, class: Class, member: &dyn Fn(Unit, &[Mean]) -> Option<Member>) -> Vec<Vec<Member>> {
    let mut out: BTreeMap<FileId, Vec<Member>> = BTreeMap::new();
    for ((file, part), seen) in grid.regions.seen(grid.run, class) {
        let mean = |seen: &Seen| Mean { sum: seen.above * seen.calls as f64, weight: seen.calls as f64 };
        let means: Vec<Mean> = seen.iter().map(mean).collect();
        out.entry(file).or_default().extend(member(Unit::Region(Region { file, from: part, until: part }), &means));
    }
    out.into_values().collect()
}

/// Nodes with several ranks: of one rank nothing tells its node from it.
fn nodes(grid: &Grid<'_>, processes: &[Member]) -> Vec<Member> {
    let mut of: FxHashMap<u32, Vec<&Member>> = FxHashMap::default();
    for member in processes {
        let Unit::Process(process) = member.unit else { continue };
        if let Some(process) = grid.run.process(process) {
            of.entry(process.node).or_default().push(member);
        }
    }
    let mut out: Vec<Member> = of
        .into_iter()
        .filter_map(|(node, members)| {
            let mut values: Vec<(f64, f64)> = members.iter().map(|member| (member.above, 1.0)).collect();
            let squares: f64 = members.iter().map(|member| member.error.powi(2)).sum();
            let calls = members.iter().map(|member| member.calls).sum::<Sum>().get();
            let error = squares.sqrt() / members.len() as f64;
            Some(Member {
                unit: Unit::Node(node), // The lower of two middle values: a node of two ranks is slow only if both are.
                above: weighted_quantile(&mut values, 0.5)?,
                error,
                calls,
            })
        })
        .collect();
    out.sort_by_key(|member| member.unit);
    // Where every node has one rank, nodes are ranks.
    if out.len() == processes.len() { Vec::new() } else { out }
}
