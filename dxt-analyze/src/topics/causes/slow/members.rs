//! Log slowdowns of ranks, nodes, storage targets and time windows, as medians: a rank over its time windows, a node over its ranks, a target or
//! window over the ranks with calls there. So a slow rank makes no node, target or window slow, and one long call nothing.

use super::at_once::AtOnce;
use super::by_folder::folders;
use super::load::{Loads, OVERLOADED};
use super::mean::Mean;
use super::remaining::{LeftOf, Remaining};
use super::served;
use super::unit::{Member, Unit};
use crate::cube::regions::{Region, Seen};
use crate::cube::steps::steps;
use crate::cube::{Cube, weighted_quantile};
use crate::model::class::{CLASSES, Class};
use crate::model::{FileId, ProcessId};
use crate::shared::outlier_test::FEWEST;
use crate::sum::Sum;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Minimum calls per unit; file regions need more because there are many of them (multiple testing).
const FEWEST_CALLS: u64 = 3;
const FEWEST_OF_REGION: u64 = 8;

/// Returns the weighted median of means.
fn middle<'m>(means: impl Iterator<Item = &'m Mean>, weight: impl Fn(&Mean) -> f64) -> Option<f64> {
    let mut values: Vec<(f64, f64)> = means.map(|mean| (mean.get(), weight(mean))).collect();
    weighted_quantile(&mut values, 0.5)
}

/// Members of each sort, by class of calls.
pub type Sorts = Vec<(Class, Vec<Vec<Member>>)>;

/// Computes the members once for all rules.
#[must_use]
pub fn sorts(cube: &Remaining<'_, '_>) -> Sorts {
    CLASSES.into_par_iter().with_max_len(1).map(|class| (class, members(cube, class))).collect()
}

/// Returns the members of each sort, by calls of one class.
#[must_use]
fn members(cube: &Remaining<'_, '_>, class: Class) -> Vec<Vec<Member>> {
    let mut by_moment: BTreeMap<(ProcessId, u16), Mean> = BTreeMap::new();
    let mut by_target: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    let mut of_fastest: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class) {
        let weight = cell.sums.calls as f64;
        by_moment.entry((cell.process, cell.slot)).or_default().add(cell.above, weight);
        for target in &cell.targets {
            by_target.entry((*target, cell.process)).or_default().add(cell.above, weight);
            if cell.sums.shortest_ns > 0 {
                let fastest = (cell.sums.shortest_ns as f64 / cell.usual_ns.max(1.0)).ln();
                of_fastest.entry(*target).or_default().push((fastest, weight));
            }
        }
    }
    let (loads, at_once) = (Loads::of(cube, &[class]), AtOnce::of(cube, class));
    let fastest = served::fastest(cube, &mut of_fastest);
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
    let calls = |means: &[Mean]| means.iter().map(|mean| mean.weight()).sum::<f64>() as u64;
    let error = |calls: u64| 1.25 * cube.spread / (calls.max(1) as f64).sqrt();
    let member = |unit, means: &[Mean], weight: &dyn Fn(&Mean) -> f64| {
        let calls = calls(means);
        Some(Member { unit, above: middle(means.iter(), weight)?, error: error(calls), calls })
    };
    let by_calls = |mean: &Mean| mean.weight();
    let each_once = |_: &Mean| 1.0;
    let processes: Vec<Member> =
        of_process.iter().filter_map(|(&process, means)| member(Unit::Process(process), means, &by_calls)).collect();
    let targets = of_target.iter().filter_map(|(&target, means)| {
        let member = member(Unit::Target(target), means, &each_once)?;
        let above = served::not_only_busy(member.above, fastest.get(&target).copied(), &loads, target);
        let only_busy = loads.asked(target) < OVERLOADED && at_once.is_only_busy(target);
        let above = if only_busy { above.min(0.0) } else { above };
        Some(Member { above, ..member })
    });
    let moments = of_slot.iter().filter_map(|(&slot, means)| member(Unit::Moment(slot, slot), means, &each_once));
    let nodes = nodes(cube, &processes);
    let files = files(cube, class, &|unit, means| member(unit, means, &each_once));
    let regions = regions(cube, class, &|unit, means| member(unit, means, &each_once));
    let folders = folders(cube, class, &|unit, means| member(unit, means, &each_once));
    let sorts = [targets.collect(), nodes, processes, moments.collect::<Vec<Member>>(), folders, files];
    let fewest = |unit: Unit| if matches!(unit, Unit::Region(_)) { FEWEST_OF_REGION } else { FEWEST_CALLS };
    let enough = |sort: Vec<Member>| sort.into_iter().filter(|member| member.calls >= fewest(member.unit)).collect();
    sorts.into_iter().chain(regions).map(enough).collect()
}

/// Returns files, compared by calls of a kind and size on any file. If each process uses one file, only files of several processes are
/// distinguishable.
fn files(cube: &Remaining<'_, '_>, class: Class, member: &dyn Fn(Unit, &[Mean]) -> Option<Member>) -> Vec<Member> {
    let mut by: BTreeMap<(FileId, ProcessId), Mean> = BTreeMap::new();
    let is = |cell: &LeftOf<'_>| cell.leaf && cell.class == class && !cube.lists(cell);
    let at_the_time = slow_moments(cube.cells().filter(is));
    for cell in cube.cells().filter(is) {
        let above = cell.above_kind - at_the_time.get(&cell.slot).copied().unwrap_or_default();
        by.entry((cell.file, cell.process)).or_default().add(above, cell.sums.calls as f64);
    }
    let (mut of_file, mut of_process) = (BTreeMap::<FileId, Vec<Mean>>::new(), BTreeMap::<ProcessId, u32>::new());
    for ((file, process), mean) in by {
        of_file.entry(file).or_default().push(mean);
        *of_process.entry(process).or_default() += 1;
    }
    if of_process.values().all(|files| *files == 1) {
        of_file.retain(|_, means| means.len() >= FEWEST);
    }
    let of_class = cube.cells.iter().filter(|cell| cell.leaf && cell.class == class);
    let steps = steps(of_class.map(|cell| (cell.slot, cell.file, cell.sums.calls)));
    of_file.retain(|file, _| !steps.contains(file));
    of_file.iter().filter_map(|(&file, means)| member(Unit::File(file), means)).collect()
}

/// Fewest files in a time window that show how slow the window is.
const FILES_AT_ONCE: usize = 4;

/// Returns the median log slowdown of files in each time window with several: a file that is used only then is not slow because of that.
fn slow_moments<'c>(cells: impl Iterator<Item = LeftOf<'c>>) -> BTreeMap<u16, f64> {
    let mut slots: BTreeMap<u16, BTreeMap<FileId, Mean>> = BTreeMap::new();
    for cell in cells {
        let of = slots.entry(cell.slot).or_default().entry(cell.file).or_default();
        of.add(cell.above_kind, cell.sums.calls as f64);
    }
    slots.retain(|_, files| files.len() >= FILES_AT_ONCE);
    let above = |files: &BTreeMap<FileId, Mean>| middle(files.values(), |_| 1.0).filter(|above| *above > 0.0);
    slots.iter().filter_map(|(slot, files)| Some((*slot, above(files)?))).collect()
}

/// Returns the parts of each file, with their log slowdown for each process.
fn regions(
    cube: &Remaining<'_, '_>,
    class: Class,
    member: &dyn Fn(Unit, &[Mean]) -> Option<Member>,
) -> Vec<Vec<Member>> {
    let mut out: BTreeMap<FileId, Vec<Member>> = BTreeMap::new();
    for ((file, part), seen) in cube.regions.seen(cube.run, class) {
        let mean = |seen: &Seen| Mean::of(seen.above, seen.calls as f64);
        let means: Vec<Mean> = seen.iter().map(mean).collect();
        out.entry(file).or_default().extend(member(Unit::Region(Region { file, from: part, until: part }), &means));
    }
    out.into_values().collect()
}

/// Returns nodes, unless each has a single rank: node and rank are then indistinguishable.
fn nodes(cube: &Cube<'_>, processes: &[Member]) -> Vec<Member> {
    let mut of: FxHashMap<u32, Vec<&Member>> = FxHashMap::default();
    for member in processes {
        let Unit::Process(process) = member.unit else { continue };
        if let Some(process) = cube.run.process(process) {
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
    // With one rank per node, nodes are ranks.
    if out.len() == processes.len() { Vec::new() } else { out }
}
