//! Finds slow ranges of time windows: sets of windows that are outliers, or the range of windows whose calls are furthest above those of
//! all other windows.

use super::unit::{Member, Unit};
use crate::cube::{Cell, Cube, weighted_quantile};
use crate::model::{Class, FileId};
use crate::shared::outlier_test::{Odd, PrefixSums, against, slow_sets};
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use std::collections::BTreeMap;
use std::ops::Range;

/// A slow range of time windows.
#[derive(Clone, Debug)]
pub(super) struct SlowRange {
    pub(super) unit: Unit,
    pub(super) odd: Odd,
    pub(super) calls: u64,
    /// True if calls get slower and slower until the range ends, at the end of the run.
    pub(super) grows: bool,
}

/// Returns the slow ranges among the time windows `members`, in order of time, by calls of a class. `p`: largest probability by chance;
/// `least`: least log slowdown of a set of windows.
pub(super) fn slow_ranges(cube: &Cube<'_>, class: Class, members: &[Member], p: f64, least: f64) -> Vec<SlowRange> {
    let thresholds = &cube.run.thresholds;
    let values: Vec<f64> = members.iter().map(|member| member.above).collect();
    let errors: Vec<f64> = members.iter().map(|member| member.error).collect();
    let calls: Vec<u64> = members.iter().map(|member| member.calls).collect();
    let mut ranges: Vec<(Range<usize>, Odd)> = Vec::new();
    // Largest set of windows first: a window is a member of one range only.
    if let Some(set) = slow_sets(&values, &errors, p, thresholds.log_gap).into_iter().find(|set| set.odd.above >= least)
    {
        let mut slow = set.slow.clone();
        slow.sort_unstable();
        let runs = slow.chunk_by(|a, b| b - a <= 1);
        let ranges_of: Vec<Range<usize>> = runs.filter_map(|run| Some(*run.first()?..run.last()? + 1)).collect();
        // So many slow periods are the program's way of working.
        if ranges_of.len() <= cube.run.thresholds.few_min as usize {
            let odd = |range: &Range<usize>| {
                let theirs = values.get(range.clone()).unwrap_or_default();
                Odd { above: theirs.iter().sum::<f64>() / theirs.len() as f64 - set.others, ..set.odd }
            };
            ranges.extend(ranges_of.into_iter().map(|range| (range.clone(), odd(&range))));
        }
    }
    let rises = || growing(thresholds, &values).map(|range| (range.clone(), from_the_begin(&values, range)));
    let slowest =
        slowest_range(thresholds, &values, &calls).map(|(range, odd)| (range, odd.among(values.len() * values.len())));
    let found = slowest.filter(|(_, odd)| odd.p <= p).or_else(rises);
    ranges.extend(found.filter(|(_, odd)| odd.p <= p));
    let slow = |(range, odd): (Range<usize>, Odd)| {
        let unit = Unit::Moment(slot(members, range.start), slot(members, range.end - 1));
        let at_the_end = range.end == values.len();
        let grows = at_the_end
            && (in_order(values.get(range.clone())?) >= cube.run.thresholds.most_share && range.len() >= 4
                || growing(thresholds, &values).is_some());
        let part = if grows { cube.run.thresholds.most_share } else { cube.run.thresholds.majority_share };
        let calls = calls.get(range)?.iter().sum();
        let is = lasts(cube, unit) && does_less(cube, unit, class, part) && has_peers(cube, unit, class);
        is.then_some(SlowRange { unit, odd, calls, grows })
    };
    ranges.into_iter().filter_map(slow).collect()
}

/// True if most of the time of the class's calls in the window range `unit` is on files, or in folders, that have such calls at other times,
/// too, and most of the calls at other times are on these. A program without ranks mostly does one kind of work after another: its calls on files of a later step are no peers of those at its start.
fn has_peers(cube: &Cube<'_>, unit: Unit, class: Class) -> bool {
    if cube.run.ranks() > 0 {
        return true;
    }
    let place = |cell: &Cell| cube.folders.of(cell.file).ok_or(cell.file);
    let mut inside: BTreeMap<Result<u32, FileId>, f64> = BTreeMap::new();
    let mut outside: BTreeMap<Result<u32, FileId>, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
        if unit.has(cube, cell) {
            *inside.entry(place(cell)).or_default() += cell.time_ns();
        } else {
            add(outside.entry(place(cell)).or_default(), cell.sums.calls);
        }
    }
    let half = cube.run.thresholds.half_share;
    let time: f64 = inside.values().sum();
    let with_peers: f64 = inside.iter().filter(|(place, _)| outside.contains_key(place)).map(|(_, ns)| ns).sum();
    let calls = outside.values().fold(0, |sum: u64, calls| sum.saturating_add(*calls));
    let peers = outside.iter().filter(|(place, _)| inside.contains_key(place));
    let peers = peers.fold(0, |sum: u64, (_, calls)| sum.saturating_add(*calls));
    with_peers >= time * half && peers as f64 >= calls as f64 * half
}

fn slot(members: &[Member], at: usize) -> u16 {
    match members.get(at).map(|member| member.unit) {
        Some(Unit::Moment(slot, _)) => slot,
        _ => 0,
    }
}

/// Returns the range of values with the largest distance from all other values, if nearly all of its values are above nearly all others. A
/// slow start does not count: programs begin slowly. `calls`: number of calls per value. A range with few values and few calls must be
/// slower than a long one to count.
fn slowest_range(thresholds: &Thresholds, values: &[f64], calls: &[u64]) -> Option<(Range<usize>, Odd)> {
    let sums = PrefixSums::of(values);
    let all: u64 = calls.iter().sum();
    let mut before = 0_u64;
    let mut best: Option<(Range<usize>, Odd)> = None;
    for from in 0..values.len() {
        let begun = from >= 4 || before as f64 >= all as f64 * thresholds.some_share;
        before += calls.get(from).copied().unwrap_or_default();
        let ends = from + 4..=values.len();
        for range in ends.map(|until| from..until).filter(|range| begun && from >= 2 && range.len() < values.len() - 1)
        {
            let odd = sums.outside(range.clone()).against(&sums.range(range.clone()));
            if odd.above > 0.0 && best.as_ref().is_none_or(|(_, best)| odd.score > best.score) {
                best = Some((range, odd));
            }
        }
    }
    let (range, odd) = best?;
    let slow = values.get(range.clone())?;
    let fast = [values.get(..range.start)?, values.get(range.end..)?].concat();
    let theirs: u64 = calls.get(range.clone())?.iter().sum();
    // Slow calls fill many windows: a part of the run is one by windows or by calls. A shorter range is far slower than all others.
    let share = |count: usize, calls: u64| (count as f64 / values.len() as f64).max(calls as f64 / all.max(1) as f64);
    let is_part = |count: usize, calls: u64| count >= 4 && share(count, calls) >= thresholds.quarter_share;
    let (is_long, least) = (
        is_part(slow.len(), theirs),
        if slow.len() < fast.len() { thresholds.slower_ratio * thresholds.slower_ratio } else { f64::MAX },
    );
    let quantile = |values: &[f64], part: f64| {
        weighted_quantile(&mut values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>(), part)
    };
    let clear = |part: f64| quantile(slow, part) > quantile(&fast, 1.0 - part);
    let is = if is_long { clear(thresholds.some_share) } else { clear(0.0) && odd.above >= least.ln() };
    (odd.above >= thresholds.slower_ratio.ln() && is_part(fast.len(), all - theirs) && is).then_some((range, odd))
}

/// Returns the range after the first quarter, if values rise from each quarter to the next; else `None`.
fn growing(thresholds: &Thresholds, values: &[f64]) -> Option<Range<usize>> {
    let quarter = values.len() / 4;
    let sums = PrefixSums::of(values);
    let mean = |number: usize| {
        sums.range(number * quarter..if number == 3 { values.len() } else { (number + 1) * quarter }).mean
    };
    let all = mean(3) - mean(0);
    // A rise at one time only is no growth: a ninth of it is a third of an even step.
    let throughout = (0..3).all(|number| mean(number + 1) - mean(number) >= all / 9.0);
    (quarter >= 2 && all >= thresholds.slower_ratio.ln() && throughout && in_order(values) >= thresholds.most_share)
        .then_some(quarter..values.len())
}

fn from_the_begin(values: &[f64], range: Range<usize>) -> Odd {
    against(values.get(..range.start).unwrap_or_default(), values.get(range).unwrap_or_default())
}

/// Kendall's tau: part of all pairs of values with a larger later value, less the part with a smaller later value.
fn in_order(values: &[f64]) -> f64 {
    let pairs =
        || values.iter().enumerate().flat_map(|(at, one)| values.iter().skip(at + 1).map(move |later| later - one));
    let sign = |difference: f64| f64::from(i8::from(difference > 0.0) - i8::from(difference < 0.0));
    let count = values.len() * values.len().saturating_sub(1) / 2;
    pairs().map(sign).sum::<f64>() / count.max(1) as f64
}

/// True for a range of at least two time windows and a minimum length: a shorter one may be the begin or end of a burst of I/O.
fn lasts(cube: &Cube<'_>, unit: Unit) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let length = cube.run.length_ns();
    let begin = |slot: u16| cube.slots.begin(usize::from(slot)).unwrap_or(length);
    until > from && (begin(until + 1) - begin(from)) as f64 >= length as f64 * cube.run.thresholds.barely_share
}

/// True if throughput in a range is below `part` of that at other times, over windows with calls of the class: otherwise calls are long because
/// of how many there are.
fn does_less(cube: &Cube<'_>, unit: Unit, class: Class, part: f64) -> bool {
    let Unit::Moment(from, until) = unit else { return true };
    let mut amounts: BTreeMap<u16, f64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
        let amount = if matches!(class, Class::Read | Class::Write) { cell.sums.bytes } else { cell.sums.calls } as f64;
        *amounts.entry(cell.slot).or_default() += amount;
    }
    let (mut inside, mut outside) = ((0.0, 0.0), (0.0, 0.0));
    for (slot, amount) in amounts {
        let of = if (from..=until).contains(&slot) { &mut inside } else { &mut outside };
        *of = (of.0 + amount, of.1 + cube.slots.busy(usize::from(slot)) as f64);
    }
    outside.1 <= 0.0 || inside.1 <= 0.0 || inside.0 / inside.1 < outside.0 / outside.1 * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_found_and_what_begins_slowly_is_not() {
        let from = |of: &dyn Fn(f64) -> f64| {
            let values: Vec<f64> = (0..32).map(|k| of(f64::from(k) / 32.0) + f64::from(k * 7 % 5) * 0.03).collect();
            growing(&Thresholds::default(), &values)
        };
        assert_eq!(from(&|time| 1.6 * time), Some(8..32));
        assert_eq!(from(&|time| (1.0 + 5.0 * time).ln()), Some(8..32));
        assert_eq!(from(&|time| 0.5 * time), None, "hardly");
        assert_eq!(from(&|time| if time < 0.1 { 0.0 } else { 1.5 }), None, "a step");
        assert_eq!(from(&|time| (time * 20.0).sin()), None, "up and down");
        assert_eq!(growing(&Thresholds::default(), &[0.0, 1.0, 2.0, 3.0]), None, "too few");
    }

    #[test]
    fn what_stays_slow_is_found_and_what_comes_and_goes_is_not() {
        let with = |values: &[f64], calls: &[u64]| {
            slowest_range(&Thresholds::default(), values, calls).map(|(range, _)| range)
        };
        let at = |values: &[f64]| with(values, &vec![1; values.len()]);
        let step = |slow: &[usize], count: usize| -> Vec<f64> {
            (0..count).map(|k| f64::from(u8::from(slow.contains(&k))) + (k % 3) as f64 * 0.02).collect()
        };
        assert_eq!(at(&step(&(4..12).collect::<Vec<_>>(), 12)), Some(4..12));
        assert_eq!(at(&step(&(5..14).collect::<Vec<_>>(), 24)), Some(5..14));
        assert_eq!(at(&step(&[0, 2, 4, 6, 8, 10], 12)), None);
        assert_eq!(at(&step(&(0..6).collect::<Vec<_>>(), 12)), None, "slow at first");
        assert_eq!(at(&[0.0; 12]), None);
        // Slow to the end: the first half of the calls took a short time.
        let calls: Vec<u64> = (0..40).map(|k| if k < 5 { 30 } else { 5 }).collect();
        assert_eq!(with(&step(&(5..40).collect::<Vec<_>>(), 40), &calls), Some(5..40));
    }
}
