//! Outlier test: finds members of a group that differ from the others by more than chance.

use crate::shared::stats::{QUARTILE, upper_tail_t};
use std::ops::Range;

/// Largest size of a small group, in which each member is compared with the mean of the others. In larger groups, it is compared with the
/// median and the spread of the faster half.
pub const FEW: usize = 7;
/// Least number of members (ranks, nodes, files, ...) of a group in which outliers are looked for.
pub const FEWEST: usize = 3;
/// Least spread assumed between the members' log durations: differences below 3 % are never outliers.
const LEAST_SPREAD: f64 = 0.03;
/// Degrees of freedom that are added to those of a small group in the t-test, because the many calls of each member also show how durations
/// vary.
const FROM_CALLS: f64 = 4.0;
/// Degrees of freedom that are assumed for a large group.
const MANY: f64 = 1e3;

/// Distance of a member (rank, node, file, ...) of a group from the other members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    /// Difference of log durations: logarithm of the slowdown against the others.
    pub above: f64,
    /// `above` in units of the members' spread.
    pub score: f64,
    /// Probability of at least this score by chance.
    pub p: f64,
}

impl Odd {
    /// Returns the distance with the probability that chance shows such a distance in any of `tests` tests, of which this is the best
    /// (Bonferroni).
    #[must_use]
    pub fn among(self, tests: usize) -> Self {
        Self { p: (self.p * tests as f64).min(1.0), ..self }
    }
}

/// Tests each member of a group against the others. `values`: log durations of the members; `errors`: their standard errors. Empty for
/// fewer than [`FEWEST`] members.
#[must_use]
pub fn odd(values: &[f64], errors: &[f64]) -> Vec<Odd> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let low = place.floor() as usize;
        let next = (low + 1).min(sorted.len() - 1);
        sorted[low] + (sorted[next] - sorted[low]) * (place - place.floor())
    };
    let (centre, fast) = (at(0.5), (at(0.5) - at(0.25)) / QUARTILE);
    values
        .iter()
        .zip(errors)
        .enumerate()
        .map(|(index, (&value, &error))| {
            let (above, spread, freedom) = if values.len() > FEW {
                (value - centre, fast, MANY)
            } else {
                let others: Vec<f64> =
                    values.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, value)| *value).collect();
                let count = others.len() as f64;
                let mean = others.iter().sum::<f64>() / count;
                let squares: f64 = others.iter().map(|value| (value - mean).powi(2)).sum();
                let deviation = (squares / (count - 1.0).max(1.0)).sqrt() * (1.0 + 1.0 / count).sqrt();
                (value - mean, deviation, count - 1.0 + FROM_CALLS)
            };
            let score = above / (spread.max(LEAST_SPREAD).powi(2) + error.powi(2)).sqrt();
            Odd { above, score, p: upper_tail_t(score, freedom) }
        })
        .collect()
}

/// Slow members of a group (slowest last), and their distance from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowSet {
    /// Indices of the slow members, slowest last.
    pub slow: Vec<usize>,
    /// Distance of the slow members' mean from the others' mean. Its `p` is the probability that chance makes any member as slow as the
    /// least slow of these.
    pub odd: Odd,
    /// Mean log duration of the other members.
    pub others: f64,
}

/// Returns up to two sets of slow members, each at most half of all. First: the largest set of which each member is an outlier compared
/// with the members outside of the set (Rosner, Technometrics 25, 1983: several outliers mask each other unless all are removed). Second:
/// all members above the widest gap between sorted values, if this gap is as wide as the range of the values below it (Dixon, Annals of
/// Mathematical Statistics 22, 1951), for any distribution. `errors`: standard errors of `values`; `p`: largest probability that chance
/// makes any member an outlier; `least_gap`: least width of the widest gap.
#[must_use]
pub fn slow_sets(values: &[f64], errors: &[f64], p: f64, least_gap: f64) -> Vec<SlowSet> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    let at = |of: &[f64], index: usize| of.get(index).copied().unwrap_or_default();
    order.sort_by(|a, b| at(values, *a).total_cmp(&at(values, *b)).then(a.cmp(b)));
    let sorted: Vec<f64> = order.iter().map(|index| at(values, *index)).collect();
    let sums = PrefixSums::of(&sorted);
    let set = |first: usize| {
        let (fast, slow) = (sums.range(0..first), sums.range(first..sorted.len()));
        let freedom = first as f64 - 1.0 + FROM_CALLS;
        let error = order.get(first).map_or(0.0, |index| at(errors, *index));
        let spread = (fast.deviation.max(LEAST_SPREAD).powi(2) * (1.0 + 1.0 / first as f64) + error.powi(2)).sqrt();
        let least = (at(&sorted, first) - fast.mean) / spread;
        let above = slow.mean - fast.mean;
        let odd = Odd { above, score: above / spread, p: upper_tail_t(least, freedom) }.among(values.len());
        SlowSet { slow: order.get(first..).unwrap_or_default().to_vec(), odd, others: fast.mean }
    };
    let firsts = values.len().div_ceil(2)..values.len();
    let clear = |first: &usize| set(*first).odd.p <= p;
    let gap = |first: &usize| at(&sorted, *first) - at(&sorted, first - 1);
    let widest = firsts.clone().max_by(|a, b| gap(a).total_cmp(&gap(b))).filter(|first| {
        let range = at(&sorted, first - 1) - at(&sorted, 0);
        values.len() > FEW && gap(first) >= range.max(least_gap)
    });
    let mut all: Vec<usize> = firsts.clone().find(clear).into_iter().chain(widest).collect();
    all.dedup();
    all.into_iter().map(set).collect()
}

/// Returns the distance of the mean of `slow` from that of `fast` values, with its probability by chance (Welch's t-test).
#[must_use]
pub fn against(fast: &[f64], slow: &[f64]) -> Odd {
    let (fast, slow) = (PrefixSums::of(fast).range(0..fast.len()), PrefixSums::of(slow).range(0..slow.len()));
    fast.against(&slow)
}

/// Returns the distance of `slow` from `fast` values, if each slow value is above each fast one, and there are at least [`FEWEST`] of each;
/// else `None`.
#[must_use]
pub fn clearly_slower(fast: &[f64], slow: &[f64]) -> Option<Odd> {
    let least = slow.iter().copied().fold(f64::INFINITY, f64::min);
    let most = fast.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (fast.len() >= FEWEST && slow.len() >= FEWEST && least > most).then(|| against(fast, slow))
}

/// Returns the distance of the mean of `differences` (of pairs) from 0, if there are at least [`FEWEST`] and all are positive; else `None`.
#[must_use]
pub fn all_above(differences: &[f64]) -> Option<Odd> {
    if differences.len() < FEWEST || differences.iter().any(|difference| *difference <= 0.0) {
        return None;
    }
    let of = PrefixSums::of(differences).range(0..differences.len());
    let score = of.mean / (of.deviation.max(LEAST_SPREAD) / of.count.sqrt());
    Some(Odd { above: of.mean, score, p: upper_tail_t(score, of.count - 1.0) })
}

/// Sums of the first n values and of their squares, for each n, from which mean and deviation of any range follow at once.
#[derive(Clone, Debug)]
pub struct PrefixSums(Vec<(f64, f64)>);

/// Mean and standard deviation of a range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfRange {
    /// Number of values.
    pub count: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Standard deviation of the values.
    pub deviation: f64,
}

impl PrefixSums {
    /// Computes the sums of the first n of `values`, and of their squares, for each n.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sum = (0.0, 0.0);
        let more = values.iter().map(|value| {
            sum = (sum.0 + value, sum.1 + value * value);
            sum
        });
        Self(std::iter::once((0.0, 0.0)).chain(more).collect())
    }

    /// Returns mean and deviation of the values in `range`.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> OfRange {
        let at = |index: usize| self.0.get(index).copied().unwrap_or_default();
        let (from, until) = (at(range.start), at(range.end));
        OfRange::of(until.0 - from.0, until.1 - from.1, range.len() as f64)
    }

    /// Returns mean and deviation of the values outside of `range`.
    #[must_use]
    pub fn outside(&self, range: Range<usize>) -> OfRange {
        let at = |index: usize| self.0.get(index).copied().unwrap_or_default();
        let (from, until, all) = (at(range.start), at(range.end), self.0.last().copied().unwrap_or_default());
        let count = self.0.len() - 1 - range.len();
        OfRange::of(all.0 - until.0 + from.0, all.1 - until.1 + from.1, count as f64)
    }
}

impl OfRange {
    fn of(sum: f64, squares: f64, count: f64) -> Self {
        let mean = sum / count.max(1.0);
        let deviation = ((squares - count * mean * mean).max(0.0) / (count - 1.0).max(1.0)).sqrt();
        Self { count, mean, deviation }
    }

    /// Returns the distance of the mean of `slow` from this mean, with its probability by chance (Welch's t-test).
    #[must_use]
    pub fn against(&self, slow: &Self) -> Odd {
        let error = |of: &Self| of.deviation.max(LEAST_SPREAD).powi(2) / of.count.max(1.0);
        let above = slow.mean - self.mean;
        let score = above / (error(self) + error(slow)).sqrt();
        Odd { above, score, p: upper_tail_t(score, (self.count + slow.count - 2.0).max(1.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[f64]) -> Vec<usize> {
        let errors = vec![0.02; values.len()];
        let all = odd(values, &errors);
        (0..all.len()).filter(|&at| all[at].p * (values.len() as f64) < 0.01 && all[at].above > 0.14).collect()
    }

    #[test]
    fn a_slow_member_of_few_and_of_many_is_found() {
        assert_eq!(found(&[0.0, 0.02, 0.7]), [2]);
        assert_eq!(found(&[0.0, 0.02, -0.03, 1.1]), [3]);
        let many: Vec<f64> = (0..32).map(|at| if at == 9 { 0.5 } else { f64::from(at % 5) * 0.01 }).collect();
        assert_eq!(found(&many), [9]);
    }

    #[test]
    fn what_varies_is_not_odd_and_two_members_give_no_verdict() {
        assert!(found(&[0.0, 0.5, 0.9, 1.4]).is_empty());
        assert!(found(&[0.0, 9.0]).is_empty());
        assert!(found(&(0..40).map(|at| f64::from(at % 7) * 0.1).collect::<Vec<f64>>()).is_empty());
    }

    #[test]
    fn several_slow_members_do_not_mask_each_other() {
        let sets = |values: &[f64]| -> Vec<Vec<usize>> {
            let mut all = slow_sets(values, &vec![0.02; values.len()], 0.01, 0.3);
            all.iter_mut().for_each(|set| set.slow.sort_unstable());
            all.into_iter().map(|set| set.slow).collect()
        };
        assert_eq!(sets(&[0.0, 0.9, 0.02, 0.95]), [[1, 3]]);
        assert_eq!(sets(&[0.0, 0.02, 0.7, -0.01, 1.9, 0.03]), [[2, 4]]);
        assert_eq!(sets(&[0.0, 0.02, 0.7]), [[2]]);
        assert!(sets(&[0.0, 9.0]).is_empty());
        let slope: Vec<f64> = (0..16).map(|at| f64::from(at) * 0.1).collect();
        assert!(sets(&slope).is_empty());
        let queue: Vec<f64> = (1..17).map(|at| f64::from(at).ln()).collect();
        assert!(sets(&queue).is_empty());
        // The others form two groups: the slow one is among the slower group, and alone above the widest gap.
        assert_eq!(sets(&[0.0, 0.49, 0.0, 1.25, 0.01, 0.48, 0.01, 0.49]), [vec![1, 3, 5, 7], vec![3]]);
    }
}
