//! Candidates: units (ranks, nodes, storage targets and so on), or sets of units of one sort, whose calls of some class are slower than
//! their peers' by more than chance.

use super::Effect;
use super::candidate::Candidate;
use super::of_class::OfClass;
use super::residuals::Residuals;
use super::terms::{Term, terms};
use super::total::by_total_time;
use super::unit::{Member, Slowdowns, Unit};
use super::windows::slow_ranges;
use crate::cube::reading::usual::FAR;
use crate::model::Class;
use crate::replay::Savings;
use crate::shared::outlier_test::{Odd, SlowSet, against, clearly_slower, slow_sets};
use crate::thresholds::fixed::TESTS;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the slow units found in the unexplained time of `cube`, as effects among which the next one is chosen. `known`: units and
/// classes of calls of the effects chosen so far; `least_ns`: least time that an effect explains, ns.
pub(super) fn candidates(
    cube: &Residuals<'_, '_>,
    classes: &[OfClass],
    known: &BTreeSet<(Unit, Class)>,
    least_ns: f64,
) -> Vec<Effect> {
    let classes: Vec<Vec<Candidate>> =
        classes.par_iter().with_max_len(1).map(|of| of_class(cube, of, least_ns)).collect();
    let mut by: BTreeMap<Vec<Unit>, Effect> = BTreeMap::new();
    for mut one in classes.into_iter().flatten() {
        one.units.sort_by_key(|(unit, _)| *unit);
        let Some(&(class, ..)) = one.by.first() else { continue };
        if one.units.iter().any(|(unit, _)| known.contains(&(*unit, class))) {
            continue;
        }
        let soon = answering_soon(cube, &one.units, class);
        one.units.retain(|(unit, _)| !soon.contains(unit));
        let units: Vec<Unit> = one.units.iter().map(|(unit, _)| *unit).collect();
        let Some((&unit, more)) = units.split_first().filter(|(unit, _)| !is_of_window(cube, known, **unit, class))
        else {
            continue;
        };
        let (more, slowdowns) = (more.to_vec(), Slowdowns::default());
        let empty = || Effect { unit, more, by: Vec::new(), slowdowns, grows: false, savings: Savings::new() };
        let effect = by.entry(units.clone()).or_insert_with(empty);
        // By the typical call before by total time.
        if effect.by.iter().all(|(of, ..)| *of != class) {
            one.units.iter().for_each(|(unit, above)| effect.slowdowns.add(class, *unit, *above));
            effect.savings.extend(one.savings.unwrap_or_else(|| savings(cube, class, &effect.slowdowns)));
            effect.by.extend(one.by);
            effect.grows |= one.grows;
        }
    }
    by.into_values().collect()
}

/// Returns the candidates (slow units) found by the calls of one class.
fn of_class(cube: &Residuals<'_, '_>, of: &OfClass, least_ns: f64) -> Vec<Candidate> {
    let (least, class) = (&cube.run.thresholds, of.class);
    let p = least.false_discovery_rate / TESTS;
    let mut out = Vec::new();
    for term in terms(cube, of, least_ns) {
        let Some(first) = term.members.first().map(|member| member.unit).or(term.of_two.map(|(member, _)| member.unit))
        else {
            continue;
        };
        let factor = match first {
            Unit::Process(_) | Unit::Node(_) | Unit::Moment(..) => least.min_slowdown,
            Unit::Folder(_) => least.min_slowdown.max(least.double_ratio),
            _ => least.min_slowdown.max(least.slower_ratio),
        };
        match first {
            Unit::Moment(..) => {
                let ranges = slow_ranges(cube, class, &term.members, p, factor.ln());
                out.extend(ranges.into_iter().map(|range| Candidate {
                    units: vec![(range.unit, range.odd.above)],
                    by: vec![(class, range.odd, term.members.len(), range.calls)],
                    grows: range.grows,
                    savings: None,
                }));
            }
            _ => out.extend(
                slow_of(of, &term, p, least.log_gap)
                    .into_iter()
                    .filter(|(odd, _)| odd.above >= factor.ln())
                    .flat_map(|(odd, slow)| sets(of, &term, odd, slow))
                    .filter(|set| set.by.iter().all(|(_, odd, ..)| odd.above >= factor.ln())),
            ),
        }
        if matches!(first, Unit::Process(_)) {
            out.extend(whole_nodes(cube, class, &term.members, p));
        }
        if let Some((member, odd)) = term.of_two.map(|(member, odd)| (member, odd.among(2)))
            && odd.p <= p
            && odd.above >= if matches!(first, Unit::Target(_)) { factor.max(least.double_ratio) } else { factor }.ln()
        {
            out.push(one(class, member.unit, odd, (2, member.calls)));
        }
    }
    if matches!(class, Class::Read | Class::Write) {
        out.extend(by_total_time(cube, of, p));
    }
    out
}

fn one(class: Class, unit: Unit, odd: Odd, (among, calls): (usize, u64)) -> Candidate {
    Candidate { units: vec![(unit, odd.above)], by: vec![(class, odd, among, calls)], grows: false, savings: None }
}

/// Returns the sets of units in `term` that are slower than the others by more than chance: slowdown of the set, and its units with their
/// log slowdowns. `p`: largest probability by chance; `least_gap`: least gap in log
/// slowdown that distinguishes units without a test.
fn slow_of(of: &OfClass, term: &Term, p: f64, least_gap: f64) -> Vec<(Odd, Vec<(Member, f64)>)> {
    let values: Vec<f64> = term.members.iter().map(|member| member.above).collect();
    let errors: Vec<f64> = term.members.iter().map(|member| member.error).collect();
    let with = |set: &SlowSet, slow: &[usize]| {
        let member = |at: &usize| term.members.get(*at).map(|member| (*member, member.above - set.others));
        (set.odd, slow.iter().filter_map(member).collect())
    };
    // If calls reach several targets, the one with most calls may explain the others of its set.
    let are_targets = matches!(term.members.first().map(|member| member.unit), Some(Unit::Target(_)));
    let most = |set: &SlowSet| {
        let calls = |at: &usize| term.members.get(*at).map(|member| member.calls);
        let is = are_targets && of.reach_several && set.slow.len() > 1;
        set.slow.iter().copied().filter(|_| is).max_by_key(calls).map(|at| vec![at])
    };
    let of = |set: SlowSet| {
        std::iter::once(set.slow.clone()).chain(most(&set)).map(|slow| with(&set, &slow)).collect::<Vec<_>>()
    };
    slow_sets(&values, &errors, p, least_gap).into_iter().flat_map(of).collect()
}

/// Splits a set of slow units into candidates: storage targets into overloaded ones and the rest, file regions into ranges of neighbours.
/// Units of other sorts stay one candidate.
fn sets(of: &OfClass, term: &Term, odd: Odd, mut slow: Vec<(Member, f64)>) -> Vec<Candidate> {
    let is_overloaded = |unit: Unit| matches!(unit, Unit::Target(target) if of.queues.is_overloaded(target));
    slow.sort_by_key(|(member, _)| (is_overloaded(member.unit), member.unit));
    let candidate = |slow: &[(Member, f64)]| {
        let mut units: Vec<(Unit, f64)> = slow.iter().map(|(member, above)| (member.unit, *above)).collect();
        let calls = slow.iter().map(|(member, _)| member.calls).fold(0, u64::saturating_add);
        let above = units.iter().map(|(_, above)| above).sum::<f64>() / units.len().max(1) as f64;
        if let (Unit::Region(mut region), Some((Unit::Region(last), _))) = (units.first()?.0, units.last()) {
            region.until = last.until;
            units = vec![(Unit::Region(region), above)];
        }
        let by = vec![(of.class, Odd { above, ..odd }, term.members.len(), calls)];
        Some(Candidate { units, by, grows: false, savings: None })
    };
    let together = |a: &(Member, f64), b: &(Member, f64)| match (a.0.unit, b.0.unit) {
        (Unit::Region(a), Unit::Region(b)) => b.from <= a.until + 1,
        (a, b) => is_overloaded(a) == is_overloaded(b),
    };
    slow.chunk_by(together).filter_map(candidate).collect()
}

/// Returns the nodes, at most half of all, all of whose ranks are slower than all other ranks; ranks within a node are the replicates.
fn whole_nodes(cube: &Residuals<'_, '_>, class: Class, ranks: &[Member], p: f64) -> Option<Candidate> {
    let mut by: BTreeMap<u32, Vec<&Member>> = BTreeMap::new();
    for member in ranks {
        if let Unit::Process(process) = member.unit {
            by.entry(cube.run.process(process)?.node).or_default().push(member);
        }
    }
    if by.values().any(|ranks| ranks.len() < 2) {
        return None;
    }
    let values = |ranks: &[&Member]| ranks.iter().map(|member| member.above).collect::<Vec<f64>>();
    let least = |ranks: &[&Member]| ranks.iter().map(|member| member.above).fold(f64::INFINITY, f64::min);
    let most = |ranks: &[&Member]| ranks.iter().map(|member| member.above).fold(f64::NEG_INFINITY, f64::max);
    let mut order: Vec<(u32, Vec<&Member>)> = by.into_iter().collect();
    order.sort_by(|a, b| least(&a.1).total_cmp(&least(&b.1)).then(a.0.cmp(&b.0)));
    let fastest = least(&order.first()?.1);
    let mut slowest_before = f64::NEG_INFINITY;
    for first in 0..order.len() {
        let (fast, slow) = order.split_at(first);
        let gap = least(&slow.first()?.1) - slowest_before;
        let is_apart =
            first >= order.len().div_ceil(2) && gap >= (slowest_before - fastest) * cube.run.thresholds.half_share;
        slowest_before = slowest_before.max(most(&slow.first()?.1));
        if !is_apart {
            continue;
        }
        let all = |of: &[(u32, Vec<&Member>)]| of.iter().flat_map(|(_, ranks)| values(ranks)).collect::<Vec<f64>>();
        let others = all(fast);
        let is = |odd: &Odd| odd.p <= p && odd.above >= cube.run.thresholds.min_slowdown.ln();
        let odd = clearly_slower(&others, &all(slow)).map(|odd| odd.among(order.len())).filter(is);
        let Some(odd) = odd else { continue };
        let above = |ranks: &[&Member]| against(&others, &values(ranks)).above;
        let units = slow.iter().map(|(node, ranks)| (Unit::Node(*node), above(ranks))).collect();
        let calls = slow.iter().flat_map(|(_, ranks)| ranks).map(|member| member.calls).fold(0, u64::saturating_add);
        return Some(Candidate { units, by: vec![(class, odd, order.len(), calls)], grows: false, savings: None });
    }
    None
}

/// Returns the time saved, by cell, ns, if calls of `class` on the units of `slowdowns` took as long as their peers.
fn savings(cube: &Residuals<'_, '_>, class: Class, slowdowns: &Slowdowns) -> Savings {
    let theirs = (0_u32..).zip(cube.cells()).filter(|(_, cell)| cell.leaf && cell.class == class);
    let of = theirs.filter_map(|(index, cell)| {
        let (above, share) = slowdowns.of(cube, &cell)?;
        let times = above.exp();
        // Calls that are outliers even within the unit have findings of their own.
        Some((index, (cell.left_ns - cell.beyond_ns(times * FAR)) * share * (1.0 - 1.0 / times)))
    });
    of.filter(|(_, ns)| *ns > 0.0).collect()
}

/// Returns those of the files or folders on which metadata calls are as fast as on an idle server: they only look slow because calls on
/// other files are answered from memory.
fn answering_soon(cube: &Residuals<'_, '_>, units: &[(Unit, f64)], class: Class) -> BTreeSet<Unit> {
    let are_files = matches!(units.first(), Some((Unit::File(_) | Unit::Folder(_), _)));
    if !are_files || !matches!(class, Class::Open | Class::Metadata) {
        return BTreeSet::new();
    }
    let mut sums: BTreeMap<Unit, (f64, f64)> = units.iter().map(|(unit, _)| (*unit, (0.0, 0.0))).collect();
    for cell in cube.cells().filter(|cell| cell.leaf && cell.class == class) {
        let folder = cube.folders.of(cell.file).map(Unit::Folder);
        for unit in folder.into_iter().chain([Unit::File(cell.file)]) {
            if let Some(sum) = sums.get_mut(&unit) {
                *sum = (sum.0 + cell.sums.calls as f64, sum.1 + cell.left_ns);
            }
        }
    }
    let is_soon = |(calls, time): &(f64, f64)| *time < calls * cube.run.thresholds.server_ns;
    sums.into_iter().filter(|(_, of)| is_soon(of)).map(|(unit, _)| unit).collect()
}

/// True if the unit is a file region that is mostly reached in slow time windows of the effects `known`: a process that reads in order is
/// in one region at a time, so the region itself is not slow.
fn is_of_window(cube: &Residuals<'_, '_>, known: &BTreeSet<(Unit, Class)>, unit: Unit, class: Class) -> bool {
    let Unit::Region(region) = unit else { return false };
    let moments: Vec<Unit> =
        known.iter().filter(|(of, its)| *its == class && matches!(of, Unit::Moment(..))).map(|of| of.0).collect();
    let Some((from, until)) = cube.regions.range(region).filter(|_| !moments.is_empty()) else { return false };
    let (mut within, mut all) = (0.0, 0.0);
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class && cell.file == region.file) {
        let (begin, end) = cell.sums.range;
        let part = end.min(until).saturating_sub(begin.max(from)) as f64 / end.saturating_sub(begin).max(1) as f64;
        all += cell.sums.calls as f64 * part;
        within += if moments.iter().any(|unit| unit.has(cube, cell)) { cell.sums.calls as f64 * part } else { 0.0 };
    }
    within >= all * cube.run.thresholds.half_share
}
