//! Terms of the model: log slowdowns of ranks, nodes, storage targets, time windows, folders, files and file regions. A unit counts by a
//! median: a rank by that over its time windows, a node over its ranks, all others over the ranks with calls there. So a slow rank makes no
//! node, target or window slow, and one long call nothing.

use super::mean::{ByProcess, Mean};
use super::of_class::OfClass;
use super::residuals::{LeftOf, Residuals};
use super::unit::{Member, Unit};
use crate::cube::reading::usual::Kind;
use crate::cube::regions::{Region, Seen};
use crate::cube::{Cell, Cube, weighted_quantile};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::outlier_test::{FEWEST, Odd, all_above, clearly_slower};
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Units of one sort, compared by calls of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Term {
    pub(super) members: Vec<Member>,
    /// The slower unit and its distance from the other, if there are only two and the processes that use them show which is slower.
    pub(super) of_two: Option<(Member, Odd)>,
}

/// Compares the calls of a class by each sort of unit: one term for ranks, one for nodes and so on. `least_ns`: least unexplained time of a
/// file whose regions are compared.
pub(super) fn terms(cube: &Residuals<'_, '_>, of: &OfClass, least_ns: f64) -> Vec<Term> {
    let class = of.class;
    let theirs = cube.cells().filter(|cell| of.has(cell));
    let by_window = ByProcess::of(theirs.map(|cell| ((cell.slot, cell.process), cell.above, cell.sums.calls as f64)));
    let windows = crossed(cube, &by_window, |slot| Unit::Moment(slot, slot)).into_values().collect();
    let mut of_process: BTreeMap<ProcessId, Vec<Mean>> = BTreeMap::new();
    for ((_, process), mean) in by_window.iter() {
        of_process.entry(process).or_default().push(mean);
    }
    let of_process = of_process.iter();
    let processes: Vec<Member> = of_process
        .filter_map(|(&process, means)| member(cube, Unit::Process(process), means, |mean| mean.weight()))
        .collect();
    let [nodes, ranks, windows] =
        [nodes(cube, &processes), processes, windows].map(|members| Term { members, of_two: None });
    let all = [targets(cube, of), nodes, ranks, windows, folders(cube, of), files(cube, of)];
    let enough = |mut term: Term| {
        let fewest = |unit| {
            if matches!(unit, Unit::Region(_)) {
                cube.run.thresholds.calls_min
            } else {
                cube.run.thresholds.several_min
            }
        };
        term.members.retain(|member| member.calls >= fewest(member.unit));
        term
    };
    all.into_iter().chain(regions(cube, class, least_ns)).map(enough).collect()
}

/// Describes a unit for the comparison with others: its log slowdown is the median of `means`, each of which counts by `weight`. `None`
/// without means.
fn member(cube: &Cube<'_>, unit: Unit, means: &[Mean], weight: impl Fn(&Mean) -> f64) -> Option<Member> {
    let mut values: Vec<(f64, f64)> = means.iter().map(|mean| (mean.get(), weight(mean))).collect();
    let calls = means.iter().map(|mean| mean.weight()).sum::<f64>() as u64;
    // Standard error of a median.
    let error = 1.25 * cube.spread / (calls.max(1) as f64).sqrt();
    Some(Member { unit, above: weighted_quantile(&mut values, 0.5)?, error, calls })
}

/// Describes each unit for the comparison with others: its log slowdown is the median over the processes with calls on it.
fn crossed<K: Ord + Copy>(cube: &Cube<'_>, by: &ByProcess<K>, unit: impl Fn(K) -> Unit) -> BTreeMap<K, Member> {
    let mut of: BTreeMap<K, Vec<Mean>> = BTreeMap::new();
    for ((one, _), mean) in by.iter() {
        of.entry(one).or_default().push(mean);
    }
    of.into_iter().filter_map(|(one, means)| Some((one, member(cube, unit(one), &means, |_| 1.0)?))).collect()
}

/// Compares units by their log slowdowns, each the median over the processes with calls on the unit.
fn compared<K: Ord + Copy>(cube: &Cube<'_>, by: &ByProcess<K>, unit: impl Fn(K) -> Unit) -> Term {
    let members = crossed(cube, by, unit);
    let of_two = of_two(cube, by, &members);
    Term { members: members.into_values().collect(), of_two }
}

/// Compares storage targets. A call reaches a list of targets; a target has the smallest slowdown of all lists that contain it, since all
/// calls that reach a slow target are slow. Calls of a kind (operation and size, of one file if compared by file) that is hardly made
/// without the target show nothing: the target's own calls are their peers.
fn targets(cube: &Residuals<'_, '_>, of: &OfClass) -> Term {
    let cells = || cube.cells().filter(|cell| of.has(cell));
    let mut of_kind: FxHashMap<(Kind, FileId), (f64, FxHashMap<u32, f64>)> = FxHashMap::default();
    for cell in cells() {
        let Some(kind) = cube.peers(&cell) else { continue };
        let (all, on) = of_kind.entry(kind).or_default();
        *all += cell.sums.calls as f64;
        of.targets_of(&cell.cell().targets).for_each(|target| *on.entry(target).or_default() += cell.sums.calls as f64);
    }
    let mut by_list: BTreeMap<((u32, &[u32]), ProcessId), Mean> = BTreeMap::new();
    let mut by_target: BTreeMap<(u32, ProcessId), Mean> = BTreeMap::new();
    for cell in cells() {
        let Some((all, on)) = cube.peers(&cell).and_then(|kind| of_kind.get(&kind)) else { continue };
        let (list, weight) = (cell.cell().targets.as_slice(), cell.sums.calls as f64);
        for target in of.targets_of(list) {
            let here = on.get(&target).copied().unwrap_or_default();
            if all - here >= here * cube.run.thresholds.quarter_share {
                by_list.entry(((target, list), cell.process)).or_default().add(cell.above, weight);
            }
        }
        let mut reached = of.targets_of(list);
        if let (Some(target), None) = (reached.next(), reached.next()) {
            by_target.entry((target, cell.process)).or_default().add(cell.above, weight);
        }
    }
    let (by_list, by_target) = (ByProcess::of_map(by_list), ByProcess::of_map(by_target));
    let mut members: BTreeMap<u32, Member> = BTreeMap::new();
    for ((target, _), here) in crossed(cube, &by_list, |(target, _)| Unit::Target(target)) {
        let known = members.entry(target).or_insert(Member { calls: 0, ..here });
        let calls = known.calls.saturating_add(here.calls);
        // A list of few calls shows little.
        *known = if here.above + here.error < known.above + known.error { here } else { *known };
        known.calls = calls;
    }
    // A target on which processes begin calls together may still be the slower one of two.
    let is_alone = |target: u32| of.queues.is_asked_as_much(target) && !of.queues.is_only_busy(target);
    let of_two = of_two(cube, &by_target, &members)
        .filter(|(member, _)| matches!(member.unit, Unit::Target(target) if is_alone(target)));
    let without_waits =
        |(target, member): (u32, Member)| Member { above: of.queues.without_waits(target, member.above), ..member };
    Term { members: members.into_iter().map(without_waits).collect(), of_two }
}

/// Returns the slower one of two units, and its distance from the other: by processes that use both, else by all that use either. `None` if
/// there are not two, or neither is clearly slower.
fn of_two<K: Ord + Copy>(cube: &Cube<'_>, by: &ByProcess<K>, members: &BTreeMap<K, Member>) -> Option<(Member, Odd)> {
    let [(&a, first), (&b, second)] = <[_; 2]>::try_from(members.iter().collect::<Vec<_>>()).ok()?;
    let of = |(odd, is_first): (Odd, bool)| (if is_first { *first } else { *second }, odd);
    let mine = || by.iter().filter(|((one, _), _)| *one == a);
    let other = |process: ProcessId| by.get((b, process)).map(Mean::get);
    let differences: Vec<f64> = mine().filter_map(|((_, process), mean)| Some(mean.get() - other(process)?)).collect();
    if differences.len() >= FEWEST {
        let turned: Vec<f64> = differences.iter().map(|difference| -difference).collect();
        return all_above(&differences).map(|odd| (odd, true)).or_else(|| Some((all_above(&turned)?, false))).map(of);
    }
    let only = |one: K, other: K| -> Vec<f64> {
        let of = by.iter().filter(|((of, process), _)| *of == one && by.get((other, *process)).is_none());
        of.map(|(_, mean)| mean.get()).collect()
    };
    if !across_nodes(cube, by.keys().map(|(one, process)| (one == a, process))) {
        return None;
    }
    let (mine, theirs) = (only(a, b), only(b, a));
    clearly_slower(&theirs, &mine)
        .map(|odd| (odd, true))
        .or_else(|| Some((clearly_slower(&mine, &theirs)?, false)))
        .map(of)
}

/// True if some node has processes that use different items (such as folders). If each process uses one item, slow items are otherwise
/// indistinguishable from slow nodes. `used`: item, process.
fn across_nodes<K: PartialEq + Copy>(cube: &Cube<'_>, mut used: impl Iterator<Item = (K, ProcessId)>) -> bool {
    let mut of_node: BTreeMap<u32, K> = BTreeMap::new();
    used.any(|(one, process)| {
        let node = cube.run.process(process).map_or(u32::MAX, |process| process.node);
        *of_node.entry(node).or_insert(one) != one
    })
}

/// Returns the mean log slowdown by item (folder or file) and process. Leaves out items used in one time step only. If each process uses a
/// single item, items of few processes are left out, too. `at_the_time`: log slowdown of all items together by time window, which is
/// subtracted.
fn items<K: Ord + Copy>(
    cube: &Residuals<'_, '_>,
    of: &OfClass,
    item: impl Fn(FileId) -> Option<K>,
    steps: &BTreeSet<K>,
    at_the_time: &BTreeMap<u16, f64>,
) -> ByProcess<K> {
    let theirs = cube.cells().filter(|cell| is_no_list(cube, of, cell));
    let mut by = ByProcess::of(theirs.filter_map(|cell| {
        let above = cell.above_kind - at_the_time.get(&cell.slot).copied().unwrap_or_default();
        Some(((item(cell.file)?, cell.process), above, cell.sums.calls as f64))
    }));
    let (mut of_process, mut users) = (BTreeMap::<ProcessId, u32>::new(), BTreeMap::<K, usize>::new());
    for (item, process) in by.keys() {
        *of_process.entry(process).or_default() += 1;
        *users.entry(item).or_default() += 1;
    }
    if of_process.values().all(|items| *items == 1) {
        by.retain(|item| users.get(&item).is_some_and(|users| *users >= FEWEST));
    }
    by.retain(|item| !steps.contains(&item));
    by
}

/// True for calls of the class that list no folder: the time to list a folder depends on its content.
fn is_no_list(cube: &Cube<'_>, of: &OfClass, cell: &Cell) -> bool {
    of.has(cell) && !cube.lists(cell)
}

fn folders(cube: &Residuals<'_, '_>, of: &OfClass) -> Term {
    let by = items(cube, of, |file| cube.folders.of(file), &of.steps.0, &BTreeMap::new());
    let one_each = by.keys().map(|(_, process)| process).collect::<BTreeSet<_>>().len() == by.len();
    let shown = !one_each || across_nodes(cube, by.keys());
    let mut term = if shown { compared(cube, &by, Unit::Folder) } else { Term::default() };
    term.of_two = term.of_two.or_else(|| folders_by_file(cube, of));
    term
}

/// Returns the slower of two folders between which processes alternate, if each of its files is slower than each of the other's.
fn folders_by_file(cube: &Residuals<'_, '_>, of: &OfClass) -> Option<(Member, Odd)> {
    let moves = |cell: &LeftOf<'_>| of.has(cell) && cell.sums.bytes > 0;
    let cells = || cube.cells().filter(moves).filter_map(|cell| Some((cell, cube.folders.of(cell.file)?)));
    let mut by: BTreeMap<u32, BTreeMap<FileId, Mean>> = BTreeMap::new();
    for (cell, folder) in cells() {
        by.entry(folder).or_default().entry(cell.file).or_default().add(cell.above_kind, cell.sums.calls as f64);
        if by.len() > 2 {
            return None;
        }
    }
    let alternate = || {
        let mut calls: Vec<_> = cells().map(|(cell, folder)| (cell.process, cell.sums.first_at, folder)).collect();
        calls.sort_unstable();
        calls.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[0].2 != pair[1].2).count()
            >= cube.run.thresholds.few_min as usize
    };
    let values = |files: &BTreeMap<FileId, Mean>| files.values().map(|mean| mean.get()).collect::<Vec<f64>>();
    let by: Vec<(u32, Vec<f64>)> = by.iter().map(|(folder, files)| (*folder, values(files))).collect();
    let [(a, mine), (b, theirs)] = by.as_slice() else { return None };
    let slower = |slow: &[f64], fast: &[f64], folder: u32| {
        let odd = clearly_slower(fast, slow).filter(|_| alternate())?;
        Some((Member { unit: Unit::Folder(folder), above: odd.above, error: 0.0, calls: slow.len() as u64 }, odd))
    };
    slower(mine, theirs, *a).or_else(|| slower(theirs, mine, *b))
}

fn files(cube: &Residuals<'_, '_>, of: &OfClass) -> Term {
    let is = |cell: &LeftOf<'_>| is_no_list(cube, of, cell);
    let by = items(cube, of, Some, &of.steps.1, &slow_windows(&cube.run.thresholds, cube.cells().filter(is)));
    let mut term = compared(cube, &by, Unit::File);
    // At different times, two files may differ because of the time.
    let mut windows: BTreeMap<(ProcessId, u16), BTreeSet<FileId>> = BTreeMap::new();
    for cell in cube.cells().filter(|cell| term.of_two.is_some() && is(cell)) {
        windows.entry((cell.process, cell.slot)).or_default().insert(cell.file);
    }
    let both = windows.values().filter(|files| files.len() > 1).count() as f64;
    term.of_two = term.of_two.filter(|_| both >= windows.len() as f64 * cube.run.thresholds.half_share);
    term
}

/// Returns, for time windows in which several files are used, the median log slowdown of these files, if above 0: a file that is used only
/// in a slow window is not slow itself.
fn slow_windows<'c>(thresholds: &Thresholds, cells: impl Iterator<Item = LeftOf<'c>>) -> BTreeMap<u16, f64> {
    let mut slots: BTreeMap<u16, BTreeMap<FileId, Mean>> = BTreeMap::new();
    for cell in cells {
        let of = slots.entry(cell.slot).or_default().entry(cell.file).or_default();
        of.add(cell.above_kind, cell.sums.calls as f64);
    }
    slots.retain(|_, files| files.len() >= thresholds.few_min as usize);
    let above = |files: &BTreeMap<FileId, Mean>| {
        let mut values: Vec<(f64, f64)> = files.values().map(|mean| (mean.get(), 1.0)).collect();
        weighted_quantile(&mut values, 0.5).filter(|above| *above > 0.0)
    };
    slots.iter().filter_map(|(slot, files)| Some((*slot, above(files)?))).collect()
}

/// Compares the parts of each file with at least `least_ns` of unexplained time, one term per file: log slowdown of each process's calls in
/// a part against its calls in the other parts.
fn regions(cube: &Residuals<'_, '_>, class: Class, least_ns: f64) -> Vec<Term> {
    let mut left: FxHashMap<FileId, f64> = FxHashMap::default();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class) {
        *left.entry(cell.file).or_default() += cell.left_ns;
    }
    let mut out: BTreeMap<FileId, Term> = BTreeMap::new();
    let enough = |((file, _), _): &((FileId, u8), Vec<Seen>)| left.get(file).is_some_and(|ns| *ns > least_ns);
    for ((file, part), seen) in cube.regions.seen(cube.run, class).into_iter().filter(enough) {
        let means: Vec<Mean> = seen.iter().map(|seen: &Seen| Mean::of(seen.above, seen.calls as f64)).collect();
        let unit = Unit::Region(Region { file, from: part, until: part });
        out.entry(file).or_default().members.extend(member(cube, unit, &means, |_| 1.0));
    }
    out.into_values().collect()
}

/// Returns the nodes by the median log slowdown of their ranks; empty if each has a single rank: node and rank are then indistinguishable.
fn nodes(cube: &Cube<'_>, processes: &[Member]) -> Vec<Member> {
    let mut of: FxHashMap<u32, Vec<&Member>> = FxHashMap::default();
    for member in processes {
        let Unit::Process(process) = member.unit else { continue };
        if let Some(process) = cube.run.process(process) {
            of.entry(process.node).or_default().push(member);
        }
    }
    let node = |(node, members): (u32, Vec<&Member>)| {
        let mut values: Vec<(f64, f64)> = members.iter().map(|member| (member.above, 1.0)).collect();
        let squares: f64 = members.iter().map(|member| member.error.powi(2)).sum();
        let calls = members.iter().map(|member| member.calls).sum::<Sum>().get();
        let error = squares.sqrt() / members.len() as f64;
        // The lower of two middle values: a node of two ranks is slow only if both are.
        Some(Member { unit: Unit::Node(node), above: weighted_quantile(&mut values, 0.5)?, error, calls })
    };
    let mut out: Vec<Member> = of.into_iter().filter_map(node).collect();
    out.sort_by_key(|member| member.unit);
    if out.len() == processes.len() { Vec::new() } else { out }
}
