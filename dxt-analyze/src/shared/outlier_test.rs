//! Outlier test: finds members of a group that differ from the others by more than chance.

use crate::shared::stats::{QUARTILE, upper_tail_t};

/// Largest group whose members are each compared with the mean of the others; in larger ones, with the median and the spread of the fast half.
pub const FEW: usize = 7;
/// Fewest members that are compared.
pub const FEWEST: usize = 3;
/// Least spread between members' logarithms: differences below 3 % are never outliers.
const LEAST_SPREAD: f64 = 0.03;
/// Degrees of freedom that the spread of the calls themselves adds.
const FROM_CALLS: f64 = 4.0;
/// Degrees of freedom of a large group.
const MANY: f64 = 1e3;

/// Distance of a member from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    /// Log slowdown.
    pub above: f64,
    /// `above` as multiples of the spread.
    pub score: f64,
    /// Probability of at least this score by chance, for one member.
    pub p: f64,
}

/// Tests each of `values`, which have standard `errors`; returns nothing for fewer than `FEWEST`.
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
}
