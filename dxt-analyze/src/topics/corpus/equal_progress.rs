//! Compares repeated runs of one program at equal progress: the calls of each kind are divided into pieces of equal call count, so piece i
//! is the same work in every run, whenever the run reaches it.

use super::pace::{Course, Does, Kind, Paces};
use super::pieces::{Piece, cut};
use super::slow_run::{Known, SlowCalls, SlowRun, sentence};
use crate::shared::outlier_test::{FEW, odd};
use crate::shared::stats::median;
use crate::thresholds::Thresholds;
use std::ops::Range;

/// Minimum number of repeated runs to compare: with two, either could be the slow one.
pub(super) const FEWEST: usize = 3;
/// Minimum number of calls per piece of a run (consecutive calls of one kind); fewer pieces are made if there are few calls.
const CALLS_OF_PART: u64 = 4;
/// Maximum number of pieces into which a run's calls of one kind are divided.
const PARTS: usize = 16;
/// Minimum share of a run's I/O time, in at least one run, for a kind of calls to be compared.
const MATTERS: f64 = 0.05;
/// Minimum slowdown factor at which a run counts as slow.
const SLOWER: f64 = 1.5;
/// Minimum slowdown factor of a slow run that is compared with few others: two, or at most [`FEW`] after slow runs were excluded.
const SLOWER_OF_FEW: f64 = 2.0;
/// Minimum slowdown factor at which the reads, writes or syncs of a slow run are named.
const NAMED: f64 = 1.2;
/// Minimum share of the run's total lost time at which reads, writes or syncs are named as slow.
const LOST: f64 = 0.01;
/// Maximum share of the time lost in reads, writes or syncs that may lie before the slow span's start, and after its end.
const OUTSIDE: f64 = 0.05;
/// Cap on the slowdown factor of a piece (consecutive calls of one kind) in the search for the slow span: very slow reads must not hide
/// when slow writes began.
const MOST: f64 = 2.0;
/// Minimum distance of a slow run's mean log duration above those of the other runs, as a multiple of their range (maximum - minimum).
const RANGES: f64 = 1.0;
/// Multiple in place of [`RANGES`] (minimum distance above the other runs, in ranges) if the other runs are few: two, or at most [`FEW`]
/// after slow runs were excluded.
const RANGES_OF_FEW: f64 = 3.0;
/// Minimum distance of a slow run's mean log duration above the upper quartile of the other runs, in interquartile ranges: Tukey,
/// Exploratory Data Analysis, 1977 ("far out").
const FENCE: f64 = 3.0;
/// Minimum number of other runs for which quartiles are used.
const FENCED: usize = 15;
/// Maximum number of runs (evenly sampled) from which the random scatter is estimated.
const MEASURED: usize = 128;
/// Assumed standard error of the mean log duration of a run's calls.
const ERROR: f64 = 0.05;

pub(super) struct HeldAgainst<'a> {
    group: &'a [(Known, Paces)],
    /// Pieces (consecutive calls of one kind) of each run, in the same order for all runs.
    pieces: Vec<Vec<Piece>>,
    /// Sorted values of each piece over all runs: mean log durations, and times in ns.
    usual: Vec<[Usual; 2]>,
    lengths: Usual,
    /// Random scatter of log durations between pieces of runs (see `noise()`), computed once for all runs if there are many.
    noise: Option<f64>,
    ranks: u64,
    least: &'a Thresholds,
}

impl<'a> HeldAgainst<'a> {
    pub(super) fn new(group: &'a [(Known, Paces)], ranks: u64, least: &'a Thresholds) -> Self {
        let kinds: Vec<Kind> =
            group.first().map_or(&[][..], |(_, paces)| &paces.courses).iter().map(|one| one.kind).collect();
        let matters = |kind: &Kind| {
            let share = |(_, paces): &(Known, Paces)| {
                let all: f64 = paces.work.iter().map(|(_, sum)| sum.time_ns as f64).sum();
                paces.course(*kind).map_or(0.0, |course| course.all().time_ns as f64 / all.max(1.0))
            };
            group.iter().any(|run| share(run) >= MATTERS)
        };
        let mut pieces: Vec<Vec<Piece>> = group.iter().map(|_| Vec::new()).collect();
        for kind in kinds.into_iter().filter(matters) {
            let courses: Vec<(&Course, u64)> =
                group.iter().filter_map(|(_, paces)| Some((paces.course(kind)?, paces.length_ns))).collect();
            let fewest = courses.iter().map(|(course, _)| course.all().calls).min().unwrap_or(0);
            let parts = usize::try_from(fewest / CALLS_OF_PART).unwrap_or(PARTS).min(PARTS);
            // A kind of calls that a run lacks or hardly uses cannot be compared.
            if courses.len() < group.len() || parts == 0 {
                continue;
            }
            for (of_run, (course, length_ns)) in pieces.iter_mut().zip(courses) {
                of_run.extend(cut(course, length_ns, parts));
            }
        }
        let column = |piece: usize, what: fn(&Piece) -> f64| {
            Usual::of(pieces.iter().filter_map(|of_run| of_run.get(piece)).map(what).collect())
        };
        let count = pieces.first().map_or(0, Vec::len);
        let usual: Vec<[Usual; 2]> =
            (0..count).map(|piece| [column(piece, |piece| piece.mean), column(piece, |piece| piece.time_ns)]).collect();
        let lengths = Usual::of(group.iter().map(|(_, paces)| paces.length_ns as f64).collect());
        let noise = (group.len() > FEW).then(|| noise_of_many(&pieces));
        Self { group, pieces, usual, lengths, noise, ranks, least }
    }

    /// True if the group has so many runs that no single run shifts the median.
    pub(super) const fn is_many(&self) -> bool {
        self.noise.is_some()
    }

    /// Returns the slow calls of a run, given by its index; `None` if the run is not slow.
    pub(super) fn slow(&self, run: usize) -> Option<SlowRun> {
        let mine = self.pieces.get(run)?;
        let mut order: Vec<usize> = (0..mine.len()).collect();
        order.sort_by(|a, b| mine[*a].from_ns.total_cmp(&mine[*b].from_ns));
        let above = |piece: &usize| {
            let mean = mine.get(*piece)?.mean;
            Some(mean - self.usual.get(*piece)?[0].without(mean)?)
        };
        let usual_time = |piece: &usize| self.usual.get(*piece)?[1].without(mine.get(*piece)?.time_ns);
        let above: Vec<f64> = order.iter().map(|piece| above(piece).unwrap_or(0.0)).collect();
        let lost = |piece: &usize| Some(mine.get(*piece)?.time_ns - usual_time(piece)?);
        let lost: Vec<(Does, f64)> =
            order.iter().map(|piece| (mine[*piece].kind.0, lost(piece).unwrap_or(0.0))).collect();
        let range = where_it_is_lost(span(&above)?, &lost);
        let reaches_the_end = range.end == order.len();
        let all_the_time = reaches_the_end && range.start == 0;
        let slow = order.get(range)?;
        let mut calls: Vec<SlowCalls> = Vec::new();
        for does in [Does::Read, Does::Write, Does::Sync] {
            let of: Vec<usize> = slow.iter().copied().filter(|piece| mine[*piece].kind.0 == does).collect();
            let time: f64 = of.iter().map(|piece| mine[*piece].time_ns).sum();
            let expected: f64 = of.iter().filter_map(usual_time).sum();
            let begins = |piece: &usize| {
                let usual = self.usual.get(*piece)?[0].without(mine[*piece].mean)?;
                Some(mine[*piece].begins_to_exceed(usual + NAMED.ln(), &self.group.get(run)?.1))
            };
            let from_ns = of.iter().filter_map(begins).fold(f64::INFINITY, f64::min) as u64;
            let (time_ns, usual_ns) = (time as u64, expected as u64);
            calls.push(SlowCalls { does, from_ns, time_ns, usual_ns, slower: time / expected.max(1.0) });
        }
        let longer_ns: u64 = calls.iter().map(|one| one.time_ns.saturating_sub(one.usual_ns)).sum();
        calls.retain(|one| {
            one.slower >= NAMED && one.time_ns.saturating_sub(one.usual_ns) as f64 >= longer_ns as f64 * LOST
        });
        calls.sort_by_key(|one| one.from_ns);
        let (known, paces) = self.group.get(run)?;
        let usual_length = self.lengths.without(paces.length_ns as f64)?;
        let matters = longer_ns as f64 >= usual_length * self.ranks.max(1) as f64 * self.least.least_run_share;
        let time: u64 = calls.iter().map(|one| one.time_ns).sum();
        let expected: u64 = calls.iter().map(|one| one.usual_ns).sum();
        if !matters || (time as f64) < expected as f64 * SLOWER || !self.is_odd(run, slow) {
            return None;
        }
        let from_ns = calls.first()?.from_ns;
        let until = slow.iter().map(|piece| mine[*piece].until_ns).fold(0.0, f64::max);
        let mut slow = SlowRun {
            job: known.job.clone(),
            source: known.source.clone(),
            program: known.program.clone(),
            others: self.group.len() as u64 - 1,
            all_the_time,
            from_ns,
            from_unix_ns: known.start_unix_ns.saturating_add_unsigned(from_ns),
            until_ns: (!reaches_the_end).then_some(until as u64),
            calls,
            longer_ns,
            run_longer_ns: paces.length_ns.saturating_sub(usual_length as u64),
            sentence: String::new(),
        };
        slow.sentence = sentence(&slow);
        Some(slow)
    }

    /// Returns the random scatter of single pieces (consecutive calls of one kind) in `runs`: the standard deviation of log durations after
    /// subtracting the means of each run and of each piece.
    fn noise(&self, runs: &[usize]) -> f64 {
        if let Some(noise) = self.noise {
            return noise;
        }
        let runs: Vec<&Vec<Piece>> = runs.iter().filter_map(|run| self.pieces.get(*run)).collect();
        let count = runs.first().map_or(0, |pieces| pieces.len());
        let levels: Vec<f64> = runs.iter().map(|pieces| level(pieces)).collect();
        let mut squares = 0.0;
        for piece in 0..count {
            let of_piece: Vec<f64> =
                runs.iter().zip(&levels).filter_map(|(pieces, level)| Some(pieces.get(piece)?.mean - level)).collect();
            let middle = mean(of_piece.iter().copied());
            squares += of_piece.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
        }
        let freedom = runs.len().saturating_sub(1) * count.saturating_sub(1);
        (squares / freedom.max(1) as f64).sqrt()
    }

    /// True if a run is an outlier: its mean log duration over the pieces `slow` exceeds that of other runs by more than these differ among
    /// themselves. The other runs are one of:
    ///
    /// - all others,
    /// - the fast majority, if a gap separates it from the rest,
    /// - the middle half, if there are many runs.
    ///
    /// These choices keep slow runs from hiding each other.
    fn is_odd(&self, run: usize, slow: &[usize]) -> bool {
        let level = |run: usize| {
            let pieces = self.pieces.get(run).map_or(&[][..], Vec::as_slice);
            mean(slow.iter().map(|piece| pieces.get(*piece).map_or(0.0, |piece| piece.mean)))
        };
        let mine = level(run);
        let all = self.group.len();
        let measured = all.min(MEASURED);
        let others = (0..measured).map(|at| at * all / measured).filter(|other| *other != run);
        let mut others: Vec<(f64, usize)> = others.map(|other| (level(other), other)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some((low, _)) = others.first().copied() else { return false };
        let is_all = |fast: usize| fast == others.len();
        // Compares with the `fast` fastest others if there is a gap above them.
        let stands_apart = |fast: usize| {
            let top = others[fast - 1].0;
            let few = all <= FEWEST || !is_all(fast) && fast <= FEW;
            let gap = NAMED.ln().max((top - low) * if few { RANGES_OF_FEW } else { RANGES });
            let next = others.get(fast).map_or(mine, |(value, _)| mine.min(*value));
            next - top >= gap && self.is_above(run, mine, &others[..fast], slow, few)
        };
        let majority = (others.len().midpoint(1) + 1).max(FEWEST).min(others.len());
        if (majority..=others.len()).rev().any(stands_apart) {
            return true;
        }
        let at = |share: f64| others[((others.len() - 1) as f64 * share).round() as usize].0;
        let (lower, upper) = (at(0.25), at(0.75));
        let fence = NAMED.ln().max((upper - lower) * FENCE);
        others.len() >= FENCED && mine - upper >= fence && self.is_above(run, mine, &others, slow, false)
    }

    /// True if the run's value `mine` exceeds the values of `others` by more than chance allows: by the minimum factor (larger if `few`
    /// other runs), and significantly after correction for all runs and pieces that were tested. Values are means over the pieces
    /// (consecutive calls of one kind) with the indices `slow`.
    fn is_above(&self, run: usize, mine: f64, others: &[(f64, usize)], slow: &[usize], few: bool) -> bool {
        // The correction for multiple tests is needed since the slow span was chosen as the slowest: some short span is always above the median.
        let runs: Vec<usize> = others.iter().map(|(_, run)| *run).collect();
        let error = libm::hypot(ERROR, self.noise(&runs) / (slow.len() as f64).sqrt());
        let values: Vec<f64> = others.iter().map(|(value, _)| *value).chain([mine]).collect();
        let Some(found) = odd(&values, &vec![error; values.len()]).last().copied() else { return false };
        let tests = (self.group.len() * self.pieces.get(run).map_or(1, Vec::len)) as f64;
        found.above >= if few { SLOWER_OF_FEW } else { SLOWER }.ln()
            && found.p * tests <= self.least.false_discovery_rate
    }
}

/// Sorted values of one piece (consecutive calls of one kind) in all runs; gives the median over all runs but one.
#[derive(Debug)]
struct Usual(Vec<f64>);

impl Usual {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the median over all runs except the run with this value; `None` if there is no other run.
    fn without(&self, value: f64) -> Option<f64> {
        let own = self.0.partition_point(|other| other.total_cmp(&value).is_lt());
        let at = |place: usize| self.0.get(place + usize::from(place >= own)).copied();
        let others = self.0.len().checked_sub(1).filter(|others| *others > 0)?;
        Some((at((others - 1) / 2)? + at(others / 2)?) / 2.0)
    }
}

fn level(pieces: &[Piece]) -> f64 {
    mean(pieces.iter().map(|piece| piece.mean))
}

/// Returns the random scatter of single pieces (consecutive calls of one kind) in many runs, as [`HeldAgainst::noise`] does for few, but
/// with medians instead of means, which a few slow runs do not shift.
fn noise_of_many(pieces: &[Vec<Piece>]) -> f64 {
    let measured = pieces.len().min(MEASURED);
    let runs: Vec<&Vec<Piece>> = (0..measured).map(|at| &pieces[at * pieces.len() / measured]).collect();
    let count = runs.first().map_or(0, |pieces| pieces.len());
    let levels: Vec<f64> = runs.iter().map(|pieces| level(pieces)).collect();
    let mut squares = vec![0.0; runs.len()];
    for piece in 0..count {
        let above: Vec<f64> = runs.iter().zip(&levels).map(|(pieces, level)| pieces[piece].mean - level).collect();
        let middle = median(&mut above.clone()).unwrap_or_default();
        squares.iter_mut().zip(above).for_each(|(sum, above)| *sum += (above - middle).powi(2));
    }
    (median(&mut squares).unwrap_or_default() / count.saturating_sub(1).max(1) as f64).sqrt()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Returns the slow span of a run as a range of pieces in time order: the range with the largest sum of (log slowdown - `ln(NAMED)`);
/// `None` if no sum is positive. Other runs define normal here, so the span may cover more than half of the run, unlike in `causes`.
/// `above`: log slowdown of each piece.
fn span(above: &[f64]) -> Option<Range<usize>> {
    let (mut best, mut most, mut from, mut sum) = (None, 0.0, 0, 0.0);
    for (at, value) in above.iter().enumerate() {
        if sum <= 0.0 {
            (from, sum) = (at, 0.0);
        }
        sum += value.clamp(-MOST.ln(), MOST.ln()) - NAMED.ln();
        if sum > most {
            (best, most) = (Some(from..at + 1), sum);
        }
    }
    best
}

/// Trims a span of pieces (`range`) at both ends by the parts in which hardly any time is lost in reads, writes or syncs. `lost`: type of
/// call and time lost, by piece. Otherwise, calls that chance makes slightly slow before the very slow ones would set the start.
fn where_it_is_lost(range: Range<usize>, lost: &[(Does, f64)]) -> Range<usize> {
    let within = &lost[range.clone()];
    let mut kept = None::<Range<usize>>;
    for does in [Does::Read, Does::Write, Does::Sync] {
        let of = || within.iter().enumerate().filter(|(_, one)| one.0 == does).map(|(at, one)| (at, one.1.max(0.0)));
        let outside = of().map(|(_, lost)| lost).sum::<f64>() * OUTSIDE;
        let begins = first_beyond(of(), outside);
        let ends = first_beyond(of().rev(), outside);
        if let (Some(begins), Some(ends)) = (begins, ends) {
            let so_far = kept.unwrap_or(begins..ends + 1);
            kept = Some(so_far.start.min(begins)..so_far.end.max(ends + 1));
        }
    }
    kept.map_or(range.clone(), |kept| range.start + kept.start..range.start + kept.end)
}

/// Returns the first index at which the running sum of `values` exceeds `bound`; `None` if it never does.
fn first_beyond(mut values: impl Iterator<Item = (usize, f64)>, bound: f64) -> Option<usize> {
    let mut sum = 0.0;
    let found = values.find(|(_, value)| {
        sum += value;
        sum > bound
    });
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::super::pace::{SLOTS, Sum};
    use super::*;

    /// Reproducible generator of random numbers, uniform in [0, 1).
    struct Chance(u64);

    impl Chance {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Returns an approximately normally distributed random number (mean 0, variance 1).
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.next()).sum::<f64>() - 6.0
        }
    }

    /// Returns a synthetic run that writes in its first half and reads in its second. Calls in each time window take `times(window)` times
    /// their usual duration.
    fn run(number: usize, times: impl Fn(usize) -> f64) -> (Known, Paces) {
        let text = format!("run-{number}");
        let (job, source) = (text.clone(), text);
        let known = Known { is_new: true, was_slow: false, job, source, program: "app".into(), start_unix_ns: 0 };
        let course = |does, from: usize, usual: f64| {
            let sum = |slot: usize| {
                let each = usual * times(slot);
                let logs = (each.ln() * f64::from(1 << 16)) as i64;
                Sum { calls: 4, bytes: 4 << 20, time_ns: (each * 4.0) as u64, logs: logs * 4 }
            };
            Course { kind: (does, 21), slots: (from..from + 32).map(|slot| (slot as u8, sum(slot))).collect() }
        };
        let courses = vec![course(Does::Write, 0, 2e6), course(Does::Read, 32, 5e5)];
        let work = courses.iter().map(|course| (course.kind.0, course.all())).collect();
        (known, Paces { length_ns: 1_000_000_000, courses, work, place: "/scratch".into() })
    }

    fn blamed(group: &[(Known, Paces)]) -> Vec<usize> {
        let least = Thresholds::default();
        let judge = HeldAgainst::new(group, 2, &least);
        (0..group.len()).filter(|run| judge.slow(*run).is_some()).collect()
    }

    #[test]
    fn what_is_a_little_slow_before_does_not_tell_when_it_began() {
        let mut group: Vec<(Known, Paces)> = (0..5).map(|number| run(number, |_| 1.0)).collect();
        // Writes are slightly slow throughout, and very slow in their last quarter.
        group[1] = run(1, |slot| if slot < 24 { 1.3 } else { 47.0 });
        let least = Thresholds::default();
        let slow = HeldAgainst::new(&group, 2, &least).slow(1).expect("it is slow");
        let last_quarter = 1_000_000_000 * 24 / 64;
        assert!(slow.from_ns.abs_diff(last_quarter) <= 1_000_000_000 * 2 / 64, "{slow:?}");
        assert_eq!((slow.until_ns, slow.calls.len()), (None, 2), "{slow:?}");
    }

    #[test]
    fn calls_as_usual_before_a_slow_one_do_not_tell_when_it_began() {
        let mut group: Vec<(Known, Paces)> = (0..5).map(|number| run(number, |_| 1.0)).collect();
        // A piece covers two time windows; the second window of one piece is the first slow one.
        group[1] = run(1, |slot| if slot < 21 { 1.0 } else { 47.0 });
        let least = Thresholds::default();
        let slow = HeldAgainst::new(&group, 2, &least).slow(1).expect("it is slow");
        assert_eq!(slow.from_ns, 1_000_000_000 * 21 / 64, "{slow:?}");
    }

    #[test]
    fn runs_that_scatter_are_not_blamed_and_a_slow_one_among_them_is() {
        let mut chance = Chance(7);
        // Columns: log scatter of runs and of time windows; number of runs; maximum healthy runs blamed and maximum slow runs missed, in
        // 1,000 groups.
        let groups = [
            (0.03, 0.1, 5, 0, 10),
            (0.1, 0.3, 5, 5, 10),
            (0.3, 0.3, 5, 30, 1000),
            (0.3, 0.6, 8, 40, 1000),
            (0.1, 0.3, 3, 5, 100),
            (0.1, 0.3, 20, 5, 10),
            (0.3, 0.3, 20, 30, 1000),
        ];
        for (of_runs, of_slots, count, most, most_missed) in groups {
            let (mut wrong, mut missed) = (0, 0);
            for _ in 0..1000 {
                let mut group: Vec<(Known, Paces)> = Vec::new();
                for number in 0..count {
                    let by_run = chance.normal() * of_runs;
                    let by_slot: Vec<f64> = (0..SLOTS).map(|_| chance.normal() * of_slots).collect();
                    group.push(run(number, |slot| (by_run + by_slot[slot]).exp()));
                }
                wrong += blamed(&group).len();
                let by_slot: Vec<f64> = (0..SLOTS).map(|_| chance.normal() * of_slots).collect();
                group[1] = run(1, |slot| by_slot[slot].exp() * if slot < 20 { 1.0 } else { 8.0 });
                missed += usize::from(blamed(&group) != [1]);
            }
            assert!(wrong <= most, "{wrong} blamed: {of_runs} {of_slots} {count}");
            assert!(missed <= most_missed, "{missed} missed: {of_runs} {of_slots} {count}");
        }
    }

    /// Tests that slow runs are found for any number of them below half, and for any number of runs.
    #[test]
    fn slow_runs_do_not_hide_each_other() {
        let mut chance = Chance(11);
        let least = Thresholds::default();
        for (all, slow) in [(5, 1), (5, 2), (7, 3), (8, 2), (20, 1), (21, 2), (22, 3), (20, 9), (815, 15)] {
            let mut group: Vec<(Known, Paces)> = Vec::new();
            for number in 0..all {
                let by_run = chance.normal() * 0.03;
                let by_slot: Vec<f64> = (0..SLOTS).map(|_| chance.normal() * 0.1).collect();
                // Even-numbered runs are slow from the start, odd-numbered runs only later.
                let from = if number % 2 == 0 { 0 } else { 20 };
                let times = move |slot: usize| if number < slow && slot >= from { 8.0 } else { 1.0 };
                group.push(run(number, |slot| (by_run + by_slot[slot]).exp() * times(slot)));
            }
            let mut named: Vec<String> =
                super::super::repeated_runs::of_group(group, 2, &least).into_iter().map(|one| one.job).collect();
            named.sort();
            let mut expected: Vec<String> = (0..slow).map(|number| format!("run-{number}")).collect();
            expected.sort();
            assert_eq!(named, expected, "{slow} of {all}");
        }
    }

    #[test]
    fn a_span_is_what_is_slow_together() {
        let at = |values: &[f64]| span(values).map(|range| (range.start, range.end));
        assert_eq!(at(&[0.0, 0.1, 0.7, 5.0, 0.0, 5.0, 0.6]), Some((2, 7)));
        assert_eq!(at(&[0.9, 0.9, 0.0, 0.1]), Some((0, 2)));
        assert_eq!(at(&[0.5, 0.5]), Some((0, 2)));
        assert_eq!((at(&[0.0, 0.1, -3.0]), at(&[])), (None, None));
    }
}
