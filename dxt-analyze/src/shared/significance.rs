//! Tests if two samples differ by more than chance, without assumptions on the distribution of their values.
//!
//! * Rank-sum test: Mann & Whitney, "On a test of whether one of two random variables is stochastically larger than the other", Annals of
//!   Mathematical Statistics 18, 1947; normal approximation with the corrections for ties and continuity (Hollander & Wolfe,
//!   Nonparametric Statistical Methods, chapter 4).
//! * Probability of superiority: Vargha & Delaney, Journal of Educational and Behavioral Statistics 25, 2000.
//! * Signed-rank test of pairs: Wilcoxon, Biometrics Bulletin 1, 1945; exact up to [`EXACT_PAIRS`] pairs, ties included.
//! * Multiple testing: Benjamini & Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.

use serde::Serialize;

/// Maximum number of pairs for an exact signed-rank test.
const EXACT_PAIRS: usize = 30;

/// Result of a rank-sum test of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankSum {
    /// Two-sided p-value of the rank-sum test.
    pub p: f64,
    /// Probability that a value of the second sample is larger than one of the first: P(second > first) + P(second = first) / 2.
    pub larger: f64,
}

/// Compares two samples by the rank-sum test. Samples are lists of (value, count) in ascending order; `None` if one is empty.
#[must_use]
pub fn rank_sum(first: &[(u64, u64)], second: &[(u64, u64)]) -> Option<RankSum> {
    let size = |sample: &[(u64, u64)]| sample.iter().map(|(_, count)| *count as f64).sum::<f64>();
    let (m, n) = (size(first), size(second));
    if m == 0.0 || n == 0.0 {
        return None;
    }
    let (mut one, mut two) = (first.iter().peekable(), second.iter().peekable());
    let (mut below, mut u, mut ties) = (0.0, 0.0, 0.0);
    while let Some(value) = one.peek().into_iter().chain(two.peek()).map(|(value, _)| *value).min() {
        let mut a = 0.0;
        while let Some((_, count)) = one.next_if(|(next, _)| *next == value) {
            a += *count as f64;
        }
        let mut b = 0.0;
        while let Some((_, count)) = two.next_if(|(next, _)| *next == value) {
            b += *count as f64;
        }
        u += b * (below + a / 2.0);
        below += a;
        let t = a + b;
        ties += t * t * t - t;
    }
    let all = m + n;
    let variance = m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)).max(1.0));
    Some(RankSum { p: two_sided((u - m * n / 2.0).abs(), variance), larger: u / (m * n) })
}

/// Returns the two-sided p-value of a statistic that lies `distance` from its mean, by the normal approximation. Applies a continuity
/// correction for statistics whose steps are at least one half.
fn two_sided(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// Returns the two-sided p-value of the signed-rank test on the differences of pairs. Zero differences are ignored; the result is 1 if all are zero.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite() && *d != 0.0).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Ranks are doubled, so that the mean ranks of ties are integers as well.
    let mut ranks: Vec<u64> = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let first = ranks.len() as u64 + 1;
        let twice = first + first + tied.len() as u64 - 1;
        ranks.extend(std::iter::repeat_n(twice, tied.len()));
    }
    let total: u64 = ranks.iter().sum();
    let positive: u64 = sorted.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| *rank).sum();
    if ranks.is_empty() {
        1.0
    } else if ranks.len() <= EXACT_PAIRS {
        exact(&ranks, positive.min(total - positive))
    } else {
        let squares: f64 = ranks.iter().map(|rank| (*rank as f64 / 2.0).powi(2)).sum();
        two_sided((positive as f64 - total as f64 / 2.0).abs() / 2.0, squares / 4.0)
    }
}

/// Returns twice the probability that the positive ranks sum to at most `smaller` if `ranks` have random signs.
fn exact(ranks: &[u64], smaller: u64) -> f64 {
    let mut ways = vec![0.0_f64; smaller as usize + 1];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    for rank in ranks {
        for sum in (*rank as usize..ways.len()).rev() {
            let more = ways.get(sum - *rank as usize).copied().unwrap_or(0.0);
            if let Some(way) = ways.get_mut(sum) {
                *way += more;
            }
        }
    }
    (2.0 * ways.iter().sum::<f64>() / 2.0_f64.powi(ranks.len() as i32)).min(1.0)
}

/// Converts p-values to q-values: among all tests with q <= x, the expected share of false discoveries is at most x.
#[must_use]
pub fn false_discovery_rates(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    let value = |index: usize| p.get(index).copied().unwrap_or(1.0);
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    let (mut out, mut least) = (vec![1.0; p.len()], 1.0_f64);
    for (place, &index) in order.iter().enumerate() {
        least = least.min(value(index) * p.len() as f64 / (p.len() - place) as f64);
        if let Some(q) = out.get_mut(index) {
            *q = least;
        }
    }
    out
}

/// Size of a term relative to the sum, below which the remaining terms of a series are ignored.
const NEGLIGIBLE: f64 = 1e-12;

/// Returns P(X >= `many`) for the binomial distribution with `all` trials and success probability `part`.
#[must_use]
pub fn binomial_tail(many: usize, all: usize, part: f64) -> f64 {
    let (ln, ln_not) = (part.clamp(f64::MIN_POSITIVE, 1.0).ln(), (1.0 - part).max(f64::MIN_POSITIVE).ln());
    let ways = |of: usize| libm::lgamma(of as f64 + 1.0);
    let of = |k: usize| ways(all) - ways(k) - ways(all - k) + k as f64 * ln + (all - k) as f64 * ln_not;
    let mut sum = 0.0;
    for k in many..=all {
        let more = of(k).exp();
        sum += more;
        // Beyond the mode of the distribution, terms decrease.
        if k as f64 > all as f64 * part && more <= sum * NEGLIGIBLE {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_so_many_of_some_are_by_chance() {
        assert!((binomial_tail(5, 8, 0.25) - 0.0273).abs() < 1e-4 && (binomial_tail(0, 8, 0.25) - 1.0).abs() < 1e-9);
        assert!((binomial_tail(6, 6, 0.125) * 8.0 - 3.05e-5).abs() < 1e-6);
    }

    fn sample(values: &[u64]) -> Vec<(u64, u64)> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().map(|value| (value, 1)).collect()
    }

    #[test]
    fn a_rank_sum_worked_out_by_hand() {
        // U = number of pairs whose second value is larger: 4 exceeds 3 values, 5 exceeds 3, 2 exceeds 1, no ties: 7 of 9.
        let found = rank_sum(&sample(&[1, 3, 3]), &sample(&[2, 4, 5])).unwrap();
        assert!((found.larger - 7.0 / 9.0).abs() < 1e-12);
        // Variance 3 * 3 / 12 * (7 - 6 / 30) = 5.1; z = (7 - 4.5 - 0.5) / sqrt(5.1) = 0.8856; p = 0.3758.
        assert!((found.p - 0.3758).abs() < 1e-3, "{}", found.p);
        let twice: Vec<(u64, u64)> = vec![(1, 1), (3, 2)];
        assert_eq!(rank_sum(&twice, &sample(&[2, 4, 5])).unwrap(), found);
        let same = rank_sum(&sample(&[5, 5]), &sample(&[5, 5])).unwrap();
        assert_eq!((same.p, same.larger), (1.0, 0.5));
        assert_eq!(rank_sum(&[], &sample(&[1])), None);
    }

    #[test]
    fn signed_ranks_agree_with_counting_every_choice_of_signs() {
        for differences in [vec![1.0, 2.0, -3.0, 4.0, 5.5], vec![1.0, 1.0, 1.0, -1.0, 2.0, 2.0], vec![0.0, 3.0, -3.0]] {
            let sizes: Vec<f64> = differences.iter().filter(|d| **d != 0.0).map(|d: &f64| d.abs()).collect();
            let rank = |of: f64| {
                let below = sizes.iter().filter(|size| **size < of).count() as f64;
                below + (sizes.iter().filter(|size| **size == of).count() as f64 + 1.0) / 2.0
            };
            let half: f64 = sizes.iter().map(|size| rank(*size)).sum::<f64>() / 2.0;
            let seen: f64 = differences.iter().filter(|d| **d > 0.0).map(|d| rank(*d)).sum();
            let choices = 1_u32 << sizes.len();
            let far = (0..choices).filter(|choice| {
                let sum: f64 =
                    sizes.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1).map(|(_, s)| rank(*s)).sum();
                (sum - half).abs() >= (seen - half).abs() - 1e-9
            });
            let expected = far.count() as f64 / f64::from(choices);
            assert!((signed_rank(&differences) - expected).abs() < 1e-12, "{differences:?}");
        }
        assert_eq!(signed_rank(&[0.0, 0.0]), 1.0);
        assert!((signed_rank(&[1.0; 8]) - 2.0 / 256.0).abs() < 1e-12);
        assert!(signed_rank(&vec![1.0; 1000]) < 1e-100);
    }

    #[test]
    fn rates_of_the_original_paper() {
        // Benjamini & Hochberg's example of 15 tests: at 0.05 the four smallest p-values are discoveries.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let q = false_discovery_rates(&p);
        assert_eq!(q.iter().filter(|q| **q <= 0.05).count(), 4);
        assert!((q[0] - 0.0015).abs() < 1e-12 && q.is_sorted());
    }
}
