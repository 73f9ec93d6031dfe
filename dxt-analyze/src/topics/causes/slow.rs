//! The units that are slow, the one that explains most time first; what it explains is taken away before the next is looked for.

use super::apart::{apart, for_a_while, growing};
use super::class::{CLASSES, Class};
use super::grid::{Entry, Grid};
use super::members::{Member, Unit, members};
use super::odd::{FEW, Odd, odd};
use super::of_two;
use super::replay::Shortened;
use super::slow_metadata::QUICK_NS;
use super::usual::FAR;
use crate::sum::Sum;
use std::collections::{BTreeMap, BTreeSet};

/// Most units that are looked for.
const ROUNDS: usize = 12;
/// Share of the time in calls that a unit must explain to be taken.
const LEAST_SHARE: f64 = 0.001;
/// Fewest slots of a slow moment, and the part of the run that it takes: what is shorter belongs to how bursts begin and end.
const LONG_ENOUGH: (u16, f64) = (2, 0.02);
/// Times longer that calls take on a storage target that happens to be asked by several at once: what is less is no property of it.
const ONLY_BUSY: f64 = 1.4;
/// Times longer that calls on a file may take by how it is used.
const FILES_DIFFER: f64 = 1.5;
/// The same of folders: what lies in one is mostly of one kind.
const FOLDERS_DIFFER: f64 = 2.0;
/// Part of what a region explains that counts when it stands against others.
const OF_REGION: f64 = 0.8;
/// Part of the calls on a part of a file that are made in slow moments from which it is slow by those.
const MOSTLY: f64 = 0.5;
/// Most slow moments of a run.
const MOMENTS: usize = 4;
/// Moments that are slow by themselves and so many slots apart are one.
const APART: u16 = 1;
/// Fewest slow targets that may be most of all.
const SEVERAL: usize = 2;

/// A slow unit.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Which.
    pub unit: Unit,
    /// Others of its sort that are slow too.
    pub more: Vec<Unit>,
    /// By class of calls: how it stands, among how many, and its calls.
    pub by: Vec<(Class, Odd, usize, u64)>,
    /// Of a moment: whether calls take longer and longer to its end.
    pub grows: bool,
    /// What its calls would save if they took what their like take.
    pub shortened: Shortened,
}

impl Slow {
    /// Time that it explains, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.shortened.iter().map(|(_, ns)| ns).sum()
    }

    /// What it is compared with others by. Who goes through a file in order is at one part of it at a time: then the moment is the better guess.
    fn weight(&self) -> f64 {
        self.time_ns() * if matches!(self.unit, Unit::Region(_)) { OF_REGION } else { 1.0 }
    }
}

/// All of them, taken from what is left of the cells' times. More slow targets than others are no slow targets: what they share is how they are
/// used.
pub fn slow_units(grid: &mut Grid<'_>) -> Vec<Slow> {
    if targets(grid) < SEVERAL {
        return search(grid, true);
    }
    let before: Vec<(f64, f64, f64)> =
        grid.entries.iter().map(|entry| (entry.left_ns, entry.above, entry.above_kind)).collect();
    let regions = grid.regions.clone();
    let found = search(grid, true);
    let slow: BTreeSet<Unit> = found.iter().flat_map(|slow| slow.more.iter().copied().chain([slow.unit])).collect();
    let slow = slow.iter().filter(|unit| matches!(unit, Unit::Target(_))).count();
    if slow < SEVERAL || slow * 2 <= targets(grid) {
        return found;
    }
    for (entry, (left_ns, above, above_kind)) in grid.entries.iter_mut().zip(before) {
        (entry.left_ns, entry.above, entry.above_kind) = (left_ns, above, above_kind);
    }
    grid.regions = regions;
    search(grid, false)
}

/// All targets that calls reach.
fn targets(grid: &Grid<'_>) -> usize {
    let all: BTreeSet<u32> =
        grid.entries.iter().filter(|entry| entry.leaf).flat_map(|entry| entry.targets.iter().copied()).collect();
    all.len()
}

/// One after the other, storage targets among them or not.
fn search(grid: &mut Grid<'_>, with_targets: bool) -> Vec<Slow> {
    let least: f64 =
        grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.left_ns).sum::<f64>() * LEAST_SHARE;
    let looked_at = |slow: &Slow| with_targets || !matches!(slow.unit, Unit::Target(_));
    let mut out: Vec<Slow> = Vec::new();
    let mut known: BTreeSet<(Unit, Class)> = BTreeSet::new();
    while out.len() < ROUNDS {
        // Only where none is odd is it a half: what is odd on one side looks like halves on another. Parts of a file that all go through in order
        // look like moments.
        let half = |grid: &Grid<'_>| most(halves(grid).into_iter().filter(looked_at), least);
        let best = match most(candidates(grid, &known).into_iter().chain(several_of_few(grid)).filter(looked_at), least)
        {
            Some(best) if matches!(best.unit, Unit::Region(_)) => {
                half(grid).filter(|half| half.weight() >= best.weight()).or(Some(best))
            }
            best => best.or_else(|| half(grid)),
        };
        let Some(best) = best else { break };
        take(grid, &best);
        let units = best.more.iter().chain([&best.unit]);
        known.extend(units.flat_map(|unit| best.by.iter().map(move |(class, ..)| (*unit, *class))));
        out.push(best);
    }
    out
}

/// The one that explains most, if it explains enough.
fn most(all: impl IntoIterator<Item = Slow>, least: f64) -> Option<Slow> {
    let best = all.into_iter().max_by(|a, b| {
        // Of two that explain the same, the one that says more: the earlier sort.
        a.weight().total_cmp(&b.weight()).then_with(|| b.unit.cmp(&a.unit))
    });
    best.filter(|best| best.time_ns() > least)
}

/// Takes what a unit explains away.
fn take(grid: &mut Grid<'_>, slow: &Slow) {
    let above: BTreeMap<Class, f64> = slow.by.iter().map(|(class, odd, ..)| (*class, odd.above)).collect();
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    for &(index, ns) in &slow.shortened {
        let share = grid.entries.get(index as usize).map_or(1.0, |entry| slow.unit.share(grid, entry));
        if let Some(entry) = grid.entries.get_mut(index as usize) {
            entry.left_ns -= ns;
            let above = above.get(&entry.class).copied().unwrap_or_default() * share;
            entry.above_kind -= above;
            if !(entry.by_file && matches!(slow.unit, Unit::File(_) | Unit::Folder(_))) {
                entry.above -= above;
            }
        }
    }
    if let Unit::Region(region) = slow.unit {
        grid.regions.take(region, &classes);
    }
}

/// All units that are slow by the calls of some class, with all such classes, but for what is `known` already: what a target's calls take is not all
/// taken away where its fastest ones are not as slow.
fn candidates(grid: &Grid<'_>, known: &BTreeSet<(Unit, Class)>) -> Vec<Slow> {
    let least = &grid.run.thresholds;
    let mut by: BTreeMap<Unit, Vec<(Class, Odd, usize, u64)>> = BTreeMap::new();
    for class in CLASSES {
        let sorts = members(grid, class);
        if let Some((unit, odd, calls)) = of_two::nodes(grid, &sorts)
            && odd.above >= least.min_slowdown.ln()
            && odd.p <= least.false_discovery_rate / 8.0
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        if let Some((unit, odd, calls)) = of_two::folders(grid, class)
            && odd.above >= least.min_slowdown.max(FOLDERS_DIFFER).ln()
            && odd.p <= least.false_discovery_rate / 8.0
        {
            by.entry(unit).or_default().push((class, odd, 2, calls));
        }
        for sort in sorts {
            let values: Vec<f64> = sort.iter().map(|member| member.above).collect();
            let errors: Vec<f64> = sort.iter().map(|member| member.error).collect();
            let tests = (sort.len() * 4) as f64;
            let slow: Vec<(usize, Member, Odd)> = sort
                .iter()
                .copied()
                .zip(odd(&values, &errors))
                .enumerate()
                .map(|(at, (member, odd))| (at, member, odd))
                .filter(|(_, member, odd)| {
                    let busy = match member.unit {
                        Unit::Target(_) => ONLY_BUSY,
                        Unit::Folder(_) => FOLDERS_DIFFER,
                        Unit::File(_) | Unit::Region(_) => FILES_DIFFER,
                        _ => 1.0,
                    };
                    odd.above >= least.min_slowdown.max(busy).ln() && odd.p * tests <= least.false_discovery_rate
                })
                .collect();
            // What comes again and again is how the program works.
            let found = joined(&slow);
            if found.len() > MOMENTS && matches!(found.first(), Some((Unit::Moment(..), ..))) {
                continue;
            }
            for (unit, odd, calls) in
                found.into_iter().filter(|(unit, ..)| lasts(grid, *unit) && moves_less(grid, *unit, class))
            {
                if known.contains(&(unit, class))
                    || is_of_moment(grid, known, unit, class)
                    || answers_soon(grid, unit, class)
                {
                    continue;
                }
                by.entry(unit).or_default().push((class, odd, sort.len(), calls));
            }
        }
    }
    by.into_iter()
        .map(|(unit, by)| Slow { shortened: shortened(grid, unit, &by), unit, more: Vec::new(), by, grows: false })
        .collect()
}

/// Whether a part of a file is only reached in a slow moment: who goes through a file in order is at one part of it then.
fn is_of_moment(grid: &Grid<'_>, known: &BTreeSet<(Unit, Class)>, unit: Unit, class: Class) -> bool {
    let Unit::Region(region) = unit else { return false };
    let moments: Vec<Unit> = known.iter().filter(|(_, its)| *its == class).map(|(unit, _)| *unit).collect();
    let moments = || moments.iter().filter(|unit| matches!(unit, Unit::Moment(..)));
    let Some((from, until)) = grid.regions.range(region).filter(|_| moments().next().is_some()) else { return false };
    let reaches = |entry: &&Entry| {
        entry.leaf
            && entry.class == class
            && entry.file == region.file
            && entry.cell.range.0 < until
            && from < entry.cell.range.1
    };
    let (mut within, mut outside) = (0.0, 0.0);
    for entry in grid.entries.iter().filter(reaches) {
        let at_all = (entry.cell.range.1 - entry.cell.range.0).max(1) as f64;
        let there = (entry.cell.range.1.min(until) - entry.cell.range.0.max(from)) as f64;
        let calls = entry.cell.calls as f64 * there / at_all;
        *(if moments().any(|unit| unit.has(grid, entry)) { &mut within } else { &mut outside }) += calls;
    }
    within >= (within + outside) * MOSTLY
}

/// Several slow nodes or targets of few: each by itself is not odd, since the others that are slow are among those that it is compared with.
fn several_of_few(grid: &Grid<'_>) -> Vec<Slow> {
    // The others are what they are slower than: they are no fewer.
    let few = |slow: &Slow| {
        let fewest = |among: usize| among <= FEW && (slow.more.len() + 1) * 2 <= among;
        matches!(slow.unit, Unit::Node(_) | Unit::Target(_)) && slow.by.iter().all(|(_, _, among, _)| fewest(*among))
    };
    halves(grid).into_iter().filter(few).collect()
}

/// All slow halves.
fn halves(grid: &Grid<'_>) -> Vec<Slow> {
    let rate = grid.run.thresholds.false_discovery_rate;
    let of_class = |class: Class| {
        let sorts = members(grid, class);
        sorts.into_iter().filter_map(move |sort| half(grid, class, &sort, rate / (sort.len() * 4) as f64))
    };
    CLASSES.into_iter().flat_map(of_class).collect()
}

/// Where none is odd: the slow half of ranks or nodes, or all for a while or from a moment on.
fn half(grid: &Grid<'_>, class: Class, sort: &[Member], least_p: f64) -> Option<Slow> {
    let values: Vec<f64> = sort.iter().map(|member| member.above).collect();
    let mut grows = false;
    let (units, odd, of) = match sort.first()?.unit {
        // Half of many targets differ by what lies on them.
        Unit::Target(_) if sort.len() > FEW => return None,
        Unit::Process(_) | Unit::Node(_) | Unit::Target(_) => {
            let (slow, odd) = apart(&values)?;
            let mut of: Vec<&Member> = slow.into_iter().filter_map(|at| sort.get(at)).collect();
            of.sort_by_key(|member| member.unit);
            let units: Vec<Unit> = of.iter().map(|member| member.unit).collect();
            (node_of(grid, sort, &units).map_or(units, |node| vec![node]), odd, of)
        }
        Unit::Moment(..) => {
            let calls: Vec<u64> = sort.iter().map(|member| member.calls).collect();
            let (range, odd) = for_a_while(&values, &calls).or_else(|| {
                grows = true;
                growing(&values)
            })?;
            let of: Vec<&Member> = sort.get(range)?.iter().collect();
            let (Unit::Moment(from, _), Unit::Moment(_, until)) = (of.first()?.unit, of.last()?.unit) else {
                return None;
            };
            let unit = Unit::Moment(from, until);
            (vec![unit], odd, of)
        }
        Unit::Folder(_) | Unit::File(_) | Unit::Region(_) => return None,
    };
    let (unit, more) = units.split_first()?;
    if matches!(unit, Unit::Target(_)) && units.len() * 2 > sort.len() {
        return None;
    }
    if odd.p > least_p || !lasts(grid, *unit) || !moves_less(grid, *unit, class) {
        return None;
    }
    let calls = of.iter().map(|member| member.calls).sum::<Sum>().get();
    let by = vec![(class, odd, sort.len(), calls)];
    let shortened = units.iter().flat_map(|unit| shortened(grid, *unit, &by)).collect();
    Some(Slow { unit: *unit, more: more.to_vec(), by, grows, shortened })
}

/// The node whose ranks `units` are, all of them and no others, if it has several and is one of several: then it is the node.
fn node_of(grid: &Grid<'_>, sort: &[Member], units: &[Unit]) -> Option<Unit> {
    let node = |unit: &Unit| match unit {
        Unit::Process(process) => grid.run.process(*process).map(|process| process.node),
        _ => None,
    };
    let first = node(units.first()?)?;
    let its = sort.iter().filter(|member| node(&member.unit) == Some(first)).count();
    let all_its = units.iter().all(|unit| node(unit) == Some(first)) && its == units.len();
    (all_its && its > 1 && its < sort.len()).then_some(Unit::Node(first))
}

/// Whether a moment is long enough to be one; all else is.
fn lasts(grid: &Grid<'_>, unit: Unit) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let length = super::phases::length(grid.run);
    let begin = |slot: u16| grid.slots.begin(usize::from(slot)).unwrap_or(length);
    until + 1 - from >= LONG_ENOUGH.0 && (begin(until + 1) - begin(from)) as f64 >= length as f64 * LONG_ENOUGH.1
}

/// Part of the rate at other times that a slow moment has at most: where more is moved than usual, calls take longer by their number.
const LESS: f64 = 0.7;

/// Whether less is moved in a moment than at other times in which calls of the class are made; true of all else.
fn moves_less(grid: &Grid<'_>, unit: Unit, class: Class) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let (mut amounts, mut mine) = (std::collections::BTreeMap::<u16, f64>::new(), 0.0);
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == class) {
        let amount =
            if matches!(class, Class::Read | Class::Write) { entry.cell.bytes } else { entry.cell.calls } as f64;
        *amounts.entry(entry.slot).or_default() += amount;
    }
    let (mut time, mut other, mut other_time) = (0.0, 0.0, 0.0);
    for (slot, amount) in amounts {
        let busy = grid.slots.busy(usize::from(slot)) as f64;
        if (from..=until).contains(&slot) {
            (mine, time) = (mine + amount, time + busy);
        } else {
            (other, other_time) = (other + amount, other_time + busy);
        }
    }
    other_time <= 0.0 || time <= 0.0 || mine / time < other / other_time * LESS
}

/// Whether metadata calls on a file or in a folder take no longer than of a server that is not busy, however quick others are: those are answered
/// from memory.
fn answers_soon(grid: &Grid<'_>, unit: Unit, class: Class) -> bool {
    if !matches!(unit, Unit::File(_) | Unit::Folder(_)) || !matches!(class, Class::Open | Class::Metadata) {
        return false;
    }
    let theirs = grid.entries.iter().filter(|entry| entry.leaf && entry.class == class && unit.has(grid, entry));
    let (calls, time) = theirs.fold((0.0, 0.0), |sum, entry| (sum.0 + entry.cell.calls as f64, sum.1 + entry.left_ns));
    time < calls * QUICK_NS
}

/// Slow members, each with its place among all of its sort; moments with no others between and neighbouring parts of a file as one.
fn joined(slow: &[(usize, Member, Odd)]) -> Vec<(Unit, Odd, u64)> {
    let mut out: Vec<(Unit, Odd, u64)> = Vec::new();
    let mut last = 0;
    for (at, member, odd) in slow {
        // In what lies between there may be no calls at all: then nothing tells that it was over meanwhile.
        let next = at - std::mem::replace(&mut last, *at) <= 1;
        match (out.last_mut(), member.unit) {
            (Some((Unit::Moment(_, until), all, calls)), Unit::Moment(from, to))
                if next || from <= *until + 1 + APART =>
            {
                *until = to;
                joined_with(all, calls, *odd, member.calls);
            }
            (Some((Unit::Region(of), all, calls)), Unit::Region(next))
                if of.file == next.file && next.from <= of.until + 1 =>
            {
                of.until = next.until;
                joined_with(all, calls, *odd, member.calls);
            }
            _ => out.push((member.unit, *odd, member.calls)),
        }
    }
    out
}

/// Adds what the calls of another member say.
fn joined_with(all: &mut Odd, calls: &mut u64, odd: Odd, others: u64) {
    let (mine, theirs) = (*calls as f64, others as f64);
    all.above = (all.above * mine + odd.above * theirs) / (mine + theirs).max(1.0);
    (all.score, all.p) = (all.score.max(odd.score), all.p.min(odd.p));
    *calls = calls.saturating_add(others);
}

fn shortened(grid: &Grid<'_>, unit: Unit, by: &[(Class, Odd, usize, u64)]) -> Shortened {
    let mut times: [f64; CLASSES.len()] = [1.0; CLASSES.len()];
    for (class, odd, ..) in by {
        times[*class as usize] = odd.above.exp();
    }
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| entry.leaf && unit.has(grid, entry));
    theirs
        .map(|(index, entry)| {
            let times = times[entry.class as usize];
            // What a call takes that is far even from the unit's others is no matter of the unit.
            let theirs = (entry.left_ns - entry.beyond_ns(times * FAR)) * unit.share(grid, entry);
            (index, theirs * (1.0 - 1.0 / times))
        })
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}
