//! Single calls that are far longer than their peers (outliers) and that no slow unit (rank, node, storage target, file, ...) explains:
//! what is left when all effects are found. A few such calls are stalls, many are the tail of a distribution, unless they have a trait in
//! common.
//!
//! * [`first_calls`]: first calls of processes or bursts; [`stand_still`]: outliers of most processes at once; [`held_lock`]: waits for a
//!   lock whose holder stalls.

pub mod first_calls;
pub mod held_lock;
pub mod stand_still;

use super::queue::Queues;
use super::residuals::Residuals;
use super::unit::Unit;
use crate::cube::kind_of_file::dearest;
use crate::cube::{Cell, Cube};
use crate::model::class::{CLASSES, Class};
use crate::model::{FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::outlier_test::FEWEST;
use crate::shared::ratio::share;
use crate::shared::significance::binomial_tail;
use crate::thresholds::Thresholds;
use first_calls::{FirstCalls, first_calls};
use stand_still::{StandStill, stand_still};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Outliers (calls far longer than their peers) of one class of calls, or of several classes.
#[derive(Clone, Debug)]
pub struct Tail {
    /// Class of calls (read, write, open and so on) to which the outliers belong.
    pub class: Class,
    /// Further classes whose outliers were merged into the tail.
    pub also: Vec<Class>,
    /// Number of outliers (calls far longer than their peers).
    pub far: u64,
    /// Number of all calls of these classes, outliers or not.
    pub calls: u64,
    /// Time of the outliers above that of their peers, ns, summed over processes.
    pub extra_ns: f64,
    /// Index of the cell (similar calls of one process) with the longest outlier, in the cube's list of cells.
    pub longest: u32,
    /// Common trait of the outliers.
    pub of: Common,
    /// Time saved if outliers took as long as their peers, by cell (similar calls of one process), ns.
    pub savings: Savings,
}

/// Common trait of outliers (calls far longer than their peers).
#[derive(Clone, Debug)]
pub enum Common {
    /// The outliers are the first calls of processes, or of bursts of I/O.
    First(FirstCalls),
    /// The outliers of most processes coincide: storage stands still.
    StandStill(StandStill),
    /// Nearly every file of a process has exactly one outlier (number of such files given): the first call fetches the file from where it
    /// lies.
    EachFile(u64),
    /// Nearly all outliers are on one process, node or storage target: (unit, number of its outliers, number of its calls).
    Unit(Unit, u64, u64),
    /// Nearly all outliers are on one kind of file, as text: `files in DIR` or `files *.END`.
    Files(String),
    /// The outliers are two or three calls in a row with no fast call between: storage was slow for a while. Indexes of their cells, in
    /// order of time.
    InARow(Vec<u32>),
    /// A few outliers have most of the excess time: indexes of their cells; cells of simultaneous calls are in one list.
    Stalls(Vec<Vec<u32>>),
    /// The outliers have nothing in common: they are the tail of a distribution.
    Nothing,
}

impl Tail {
    /// Returns the classes of the calls.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        std::iter::once(self.class).chain(self.also.iter().copied()).collect()
    }

    fn has(&self, class: Class) -> bool {
        self.class == class || self.also.contains(&class)
    }
}

/// Returns the outliers that no effect (slow unit) explains, one tail for each class of calls; tails of several classes that have nothing
/// in common are merged into one.
#[must_use]
pub fn tails(cube: &Residuals<'_, '_>) -> Vec<Tail> {
    joined(cube, CLASSES.into_iter().filter_map(|class| tail(cube, class)).collect())
}

fn tail(cube: &Residuals<'_, '_>, class: Class) -> Option<Tail> {
    let (mut calls, mut far, mut extra_ns) = (0_u64, 0_u64, 0.0);
    let mut savings = Savings::new();
    let mut longest: Vec<(u64, u32)> = Vec::new();
    let [mut processes, mut nodes, mut targets] = [const { BTreeMap::<Unit, (u64, u64)>::new() }; 3];
    for (index, cell) in (0_u32..).zip(cube.cells()).filter(|(_, cell)| cell.leaf && cell.class == class) {
        let unexplained = cell.left_ns >= cell.sums.time_ns as f64 * (1.0 - cube.run.thresholds.third_share);
        let far_calls = if unexplained { cell.sums.far_calls } else { 0 };
        calls = calls.saturating_add(cell.sums.calls);
        far = far.saturating_add(far_calls);
        let node = cube.run.process(cell.process).map_or(u32::MAX, |process| process.node);
        let count = |by: &mut BTreeMap<Unit, (u64, u64)>, unit: Unit| {
            let of = by.entry(unit).or_default();
            *of = (of.0.saturating_add(far_calls), of.1.saturating_add(cell.sums.calls));
        };
        count(&mut processes, Unit::Process(cell.process));
        count(&mut nodes, Unit::Node(node));
        cell.targets.iter().for_each(|target| count(&mut targets, Unit::Target(*target)));
        if far_calls > 0 {
            let more = cell.beyond_ns(1.0);
            extra_ns += more;
            savings.push((index, more));
            longest.push((cell.sums.longest_ns, index));
        }
    }
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let few = || longest.iter().take(cube.run.thresholds.several_min as usize);
    let are_few = few().map(|(ns, _)| *ns as f64).sum::<f64>() >= extra_ns * cube.run.thresholds.most_share;
    let stalls: Vec<u32> = few().filter(|_| are_few).map(|(_, index)| *index).collect();
    let cell = |index: u32| cube.cells.get(index as usize);
    let in_buffers = |(index, _): &&(u32, f64)| {
        let layer = cell(*index)
            .filter(|cell| cell.is_below(cube.run.thresholds.small_bytes))
            .and_then(|cell| cube.layer(cell));
        layer == Some(Layer::Stdio)
    };
    let is_buffered =
        savings.iter().filter(in_buffers).map(|(_, ns)| ns).sum::<f64>() >= extra_ns * cube.run.thresholds.most_share;
    // Some waits find their operation complete and others do not: only a single far longer one is an outlier.
    if stalls.is_empty() && (matches!(class, Class::Wait | Class::HandOver) || is_buffered) {
        return None;
    }
    let longest = longest.first()?.1;
    let mut tail = Tail { class, also: Vec::new(), far, calls, extra_ns, longest, of: Common::Nothing, savings };
    let unit =
        [&processes, &nodes, &targets].into_iter().find_map(|by| nearly_all(&cube.run.thresholds, by, far, calls));
    // Long calls that wait in a target's queue are left to findings about queues.
    let is_loaded =
        matches!(unit, Some((Unit::Target(target), ..)) if !Queues::of(cube, class).is_slow_by_itself(target));
    let unit = unit.filter(|_| !is_loaded);
    // Lock waits of several processes, and system calls inside collective calls, overlap in any case.
    let inside = |(index, _): &(u32, f64)| cell(*index).is_some_and(|cell| cell.inside);
    let by_nature = matches!(class, Class::Lock | Class::Wait | Class::HandOver) || tail.savings.iter().any(inside);
    let still =
        || if unit.is_some() || by_nature { None } else { stand_still(cube, class, &tail.savings, processes.len()) };
    let kind = dearest(cube, &tail.savings, |cell| cell.leaf && cell.class == class);
    let is_of_two_ways =
        calls >= cube.run.thresholds.hundred_calls_min && far as f64 > calls as f64 * cube.run.thresholds.some_share;
    let of = if let Some(first) = first_calls(cube, &tail) {
        Common::First(first)
    } else if let Some(still) = still().filter(|_| kind.is_none()) {
        Common::StandStill(still)
    } else if let Some(files) = once_each(cube, &tail).filter(|_| kind.is_none()) {
        Common::EachFile(files)
    } else if let Some(row) = in_a_row(cube, &tail, &stalls) {
        Common::InARow(row)
    } else if !stalls.is_empty() {
        Common::Stalls(at_once(cube, &stalls))
    } else if let Some((unit, far, calls)) = unit {
        Common::Unit(unit, far, calls)
    } else if let Some(kind) = kind {
        Common::Files(kind)
    } else if is_of_two_ways || is_loaded {
        return None;
    } else {
        Common::Nothing
    };
    tail.of = of;
    Some(tail)
}

/// Merges tails (outliers of a class of calls) with nothing in common into one, unless a few calls have most of the excess of all.
fn joined(cube: &Cube<'_>, tails: Vec<Tail>) -> Vec<Tail> {
    let thresholds = &cube.run.thresholds;
    let is_loose = |tail: &Tail| {
        let kinds = [Class::Read, Class::Write, Class::Open, Class::Metadata];
        matches!(tail.of, Common::Nothing | Common::Stalls(_)) && kinds.contains(&tail.class)
    };
    let all: f64 = tails.iter().filter(|tail| is_loose(tail)).map(|tail| tail.extra_ns).sum();
    let (mut parts, mut out): (Vec<Tail>, Vec<Tail>) =
        tails.into_iter().partition(|tail| is_loose(tail) && tail.extra_ns >= all * thresholds.some_share);
    parts.sort_by(|a, b| b.extra_ns.total_cmp(&a.extra_ns));
    let mut each: Savings = parts.iter().flat_map(|tail| tail.savings.iter().copied()).collect();
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let sum = |count: usize| each.iter().take(count).map(|(_, ns)| ns).sum::<f64>();
    let process = |(index, _): &(u32, f64)| Some(cube.cells.get(*index as usize)?.process);
    let processes = each.iter().filter_map(process).collect::<BTreeSet<ProcessId>>().len();
    let all = sum(each.len());
    let is_tail = sum(thresholds.several_min as usize) < all * thresholds.most_share
        && sum(1) <= all * thresholds.third_share
        && processes >= FEWEST;
    if parts.len() < 2 || !is_tail {
        out.extend(parts);
        return out;
    }
    let took = |index: u32| cube.cells.get(index as usize).map_or(0, |cell| cell.sums.longest_ns);
    let joined = parts.into_iter().reduce(|mut first, other| {
        first.of = Common::Nothing;
        first.also.push(other.class);
        first.far = first.far.saturating_add(other.far);
        first.calls = first.calls.saturating_add(other.calls);
        first.extra_ns += other.extra_ns;
        first.savings.extend(other.savings);
        first.longest = if took(other.longest) > took(first.longest) { other.longest } else { first.longest };
        first
    });
    out.extend(joined);
    out
}

/// Returns the number of files (counted per process) with exactly one outlier, if nearly all files have one and none has more; else `None`.
fn once_each(cube: &Cube<'_>, tail: &Tail) -> Option<u64> {
    let thresholds = &cube.run.thresholds;
    let mut by: BTreeMap<(ProcessId, FileId), (u64, u64)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == tail.class) {
        let of = by.entry((cell.process, cell.file)).or_default();
        *of = (of.0.saturating_add(cell.sums.far_calls), of.1.saturating_add(cell.sums.calls));
    }
    let long = by.values().filter(|(far, _)| *far > 0).count();
    let is = long >= thresholds.few_min as usize
        && by.values().all(|(far, _)| *far <= 1)
        && long as f64 >= by.len() as f64 * thresholds.most_share
        && tail.calls >= (by.len() as u64).saturating_mul(thresholds.repeated_min);
    is.then_some(long as u64)
}

/// Returns all stalls of a tail (outliers of a class) in order of time, if they are consecutive, similar, and with no fast call of their
/// class between; else `None`.
fn in_a_row(cube: &Cube<'_>, tail: &Tail, stalls: &[u32]) -> Option<Vec<u32>> {
    let mut of = stalls
        .iter()
        .map(|index| Some((span(cube.cells.get(*index as usize)?)?, *index)))
        .collect::<Option<Vec<_>>>()?;
    of.sort_unstable();
    let (from, until) = (of.first()?.0.0, of.last()?.0.1);
    let lengths = || of.iter().map(|((from, until), _)| until - from);
    let long = lengths().fold(0_u64, u64::saturating_add).saturating_mul(2) >= until.saturating_sub(from);
    let similar = lengths().max()? as f64 <= lengths().min()? as f64 * cube.run.thresholds.treble_ratio;
    let (first, last) = (cube.slots.of(from), cube.slots.of(until));
    let is_quick = |cell: &Cell| {
        let meanwhile = (first..=last).contains(&usize::from(cell.slot));
        cell.leaf && cell.class == tail.class && meanwhile && cell.sums.far_calls < cell.sums.calls
    };
    let is = of.len() > 1 && tail.far as usize == of.len() && long && similar && !cube.cells.iter().any(is_quick);
    is.then(|| of.into_iter().map(|(_, index)| index).collect())
}

/// Returns begin and end of a cell's longest call, ns since the job's start.
#[must_use]
pub fn span(cell: &Cell) -> Option<(u64, u64)> {
    let began = cell.sums.longest_began()?;
    Some((began, began.saturating_add(cell.sums.longest_ns)))
}

/// Groups stalls (indexes of cells) that begin and end at about the same time: calls of a group wait for the same thing.
fn at_once(cube: &Cube<'_>, stalls: &[u32]) -> Vec<Vec<u32>> {
    let of = |index: u32| cube.cells.get(index as usize).and_then(span);
    let together = |one: u32, other: u32| {
        let (Some(mine), Some(theirs)) = (of(one), of(other)) else { return false };
        let within = ((mine.1 - mine.0).max(theirs.1 - theirs.0) as f64 * cube.run.thresholds.third_share) as u64;
        let overlap = mine.0 < theirs.1 && theirs.0 < mine.1;
        overlap && mine.1.abs_diff(theirs.1) <= within && mine.0.abs_diff(theirs.0) <= within
    };
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for &index in stalls {
        match groups.iter_mut().find(|group| group.iter().all(|other| together(index, *other))) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Returns the unit with nearly all of `far` outliers among `calls` calls, with the numbers of its outliers and calls; `None` if there is
/// none, or if this may be chance. `by`: outliers and calls of each unit.
fn nearly_all(
    thresholds: &Thresholds,
    by: &BTreeMap<Unit, (u64, u64)>,
    far: u64,
    calls: u64,
) -> Option<(Unit, u64, u64)> {
    // If these calls reach several targets, the one with fewest other calls.
    let with_most = by.iter().filter(|(_, of)| of.0 as f64 >= far as f64 * thresholds.most_share);
    let (unit, of) = with_most.min_by_key(|(unit, of)| (of.1, **unit))?;
    let is = by.len() >= FEWEST && far >= thresholds.few_min;
    // Each of a few units makes many calls: a few outliers may all be on one by chance.
    let by_chance = || binomial_tail(of.0 as usize, far as usize, share(of.1, calls)) * by.len() as f64;
    (is && by_chance() < thresholds.chance_p).then_some((*unit, of.0, of.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_long_calls_may_be_one_nodes_by_chance() {
        let of = |far: u64, nodes: u32| {
            let all = (0..nodes).map(|node| (Unit::Node(node), (if node == 1 { far } else { 0 }, 1000))).collect();
            nearly_all(&Thresholds::default(), &all, far, 1000 * u64::from(nodes)).map(|(unit, ..)| unit)
        };
        assert_eq!((of(4, 4), of(4, 64)), (None, Some(Unit::Node(1))));
        assert_eq!(of(40, 4), Some(Unit::Node(1)));
        // All calls reach all targets.
        let targets = (0..4).map(|target| (Unit::Target(target), (40, 1000))).collect();
        assert_eq!(nearly_all(&Thresholds::default(), &targets, 40, 1000), None);
        // Calls on a slow target also reach a target of all calls, whatever its number.
        for common in [0, 9] {
            let on = |target: u32| if target == common { (40, 1000) } else { (if target == 5 { 40 } else { 0 }, 120) };
            let targets = (0..10).map(|target| (Unit::Target(target), on(target))).collect();
            assert_eq!(nearly_all(&Thresholds::default(), &targets, 40, 1000), Some((Unit::Target(5), 40, 120)));
        }
    }
}
