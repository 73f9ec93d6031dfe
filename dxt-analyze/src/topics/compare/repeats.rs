//! Compares both sides (before, after) at job level: interfaces used, and the measures of `scaling` with their variation over repeated
//! runs, if any.

use super::interfaces::{Direction, directions};
use crate::shared::significance::false_discovery_rates;
use crate::shared::stats::upper_tail_t;
use crate::thresholds::Thresholds;
use crate::topics::scaling::measure::RunRow;
use crate::topics::scaling::measures::{self, Measure};
use crate::topics::scaling::spread::Spread;
use serde::Serialize;

/// Job-level measure, such as the run time, compared between the two sides.
#[derive(Clone, Debug, Serialize)]
pub struct NumberRow {
    /// Measure that is compared, such as the run time.
    pub measure: Measure,
    /// Mean and range of the measure over the runs of the first side; `None` if unknown.
    pub before: Option<Spread>,
    /// Mean and range of the measure over the runs of the second side; `None` if unknown.
    pub after: Option<Spread>,
    /// Relative change of the measure: mean of the second side / mean of the first - 1.
    pub change: Option<f64>,
    /// False discovery rate of the difference of means (Welch's test, two-sided), over all measures; `None` without repeats on both sides.
    pub q: Option<f64>,
    /// True if the difference exceeds the variation between repeats: `q` ≤ `compare_q`, and the ranges of both sides do not overlap. `None`
    /// without repeats on both sides.
    pub beyond_scatter: Option<bool>,
}

/// Comparison of both sides (before, after) as whole jobs.
#[derive(Clone, Debug, Serialize)]
pub struct Job {
    /// Number of repeated runs of the first side.
    pub runs_before: u64,
    /// Number of repeated runs of the second side.
    pub runs_after: u64,
    /// Interface, time and bandwidth of reads and of writes.
    pub directions: Vec<Direction>,
    /// Measures that were compared, one row each.
    pub numbers: Vec<NumberRow>,
}

impl Job {
    /// Compares the runs of both sides; one [`RunRow`] per run.
    #[must_use]
    pub fn of(before: &[RunRow], after: &[RunRow], least: &Thresholds) -> Self {
        let mut numbers: Vec<NumberRow> =
            measures::ALL.iter().filter_map(|measure| row(*measure, before, after)).collect();
        let mut tested: Vec<&mut NumberRow> = numbers.iter_mut().filter(|row| row.q.is_some()).collect();
        let p: Vec<f64> = tested.iter().filter_map(|row| row.q).collect();
        for (row, q) in tested.iter_mut().zip(false_discovery_rates(&p)) {
            row.q = Some(q);
            let apart =
                row.before.zip(row.after).is_some_and(|(one, two)| one.most < two.least || two.most < one.least);
            row.beyond_scatter = Some(apart && q <= least.compare_q);
        }
        Self {
            runs_before: before.len() as u64,
            runs_after: after.len() as u64,
            // Interfaces are compared by the time spent in them, which is unknown in runs without times.
            directions: if before.iter().chain(after).any(|run| run.untimed) {
                Vec::new()
            } else {
                directions(before, after)
            },
            numbers,
        }
    }

    /// True if at least one side (before or after) consists of several runs.
    #[must_use]
    pub const fn has_repeats(&self) -> bool {
        self.runs_before > 1 || self.runs_after > 1
    }

    /// Returns the row of `measure`; `None` if it was not compared.
    #[must_use]
    pub fn number(&self, measure: &Measure) -> Option<&NumberRow> {
        self.numbers.iter().find(|row| row.measure == *measure)
    }
}

fn row(measure: Measure, before: &[RunRow], after: &[RunRow]) -> Option<NumberRow> {
    let values = |runs: &[RunRow]| runs.iter().filter_map(|run| measure.of(run)).collect::<Vec<f64>>();
    let (one, two) = (values(before), values(after));
    let spread = |values: &[f64]| Spread::of(values.iter().map(|value| Some(*value)));
    let (before, after) = (spread(&one), spread(&two));
    // A measure that is 0 in all runs cannot differ.
    if [before, after].into_iter().flatten().all(|spread| spread.most <= 0.0) {
        return None;
    }
    let change = before.zip(after).filter(|(one, _)| one.mean > 0.0).map(|(one, two)| two.mean / one.mean - 1.0);
    Some(NumberRow { measure, before, after, change, q: welch(&one, &two), beyond_scatter: None })
}

/// Returns the two-sided p-value of Welch's test of two means (Welch, Biometrika 34, 1947); `None` with fewer than two values on a side.
fn welch(one: &[f64], two: &[f64]) -> Option<f64> {
    let (m, n) = (one.len() as f64, two.len() as f64);
    if one.len() < 2 || two.len() < 2 {
        return None;
    }
    let mean = |values: &[f64], count: f64| values.iter().sum::<f64>() / count;
    let (a, b) = (mean(one, m), mean(two, n));
    let error = |values: &[f64], mean: f64, count: f64| {
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0) / count
    };
    let (of_one, of_two) = (error(one, a, m), error(two, b, n));
    let sum = of_one + of_two;
    if sum <= 0.0 {
        // Counts are usually identical in all repeats, so their variance is 0.
        return Some(if (a - b).abs() > 0.0 { 0.0 } else { 1.0 });
    }
    let freedom = sum * sum / (of_one * of_one / (m - 1.0) + of_two * of_two / (n - 1.0));
    Some((2.0 * upper_tail_t((a - b).abs() / sum.sqrt(), freedom)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::welch;

    #[test]
    fn the_scatter_decides() {
        // Expected values from R: t.test(c(10, 11, 12), c(13, 14, 15))$p.value, and so on.
        let close = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-4;
        assert!(
            close(welch(&[10.0, 11.0, 12.0], &[13.0, 14.0, 15.0]), 0.02131),
            "{:?}",
            welch(&[10.0, 11.0, 12.0], &[13.0, 14.0, 15.0])
        );
        assert!(close(welch(&[10.0, 11.0, 12.0], &[10.0, 11.0, 12.0]), 1.0));
        assert!(welch(&[1.00, 1.01, 0.99], &[1.5, 1.51, 1.49]).unwrap() < 1e-5);
        assert_eq!((welch(&[3.0, 3.0], &[4.0, 4.0]), welch(&[3.0, 3.0], &[3.0, 3.0])), (Some(0.0), Some(1.0)));
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
    }
}
