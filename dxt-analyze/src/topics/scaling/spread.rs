//! Distribution of a measure over repeated runs.

use serde::Serialize;

/// Median, mean and range of one measure (such as the run time) over repeated runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Median of the measure over the runs; for an even number of runs, the mean of the two middle values.
    pub median: f64,
    /// Mean of the measure over the runs.
    pub mean: f64,
    /// Minimum of the measure over the runs.
    pub least: f64,
    /// Maximum of the measure over the runs.
    pub most: f64,
    /// Number of runs for which the measure is known.
    pub runs: u64,
}

impl Spread {
    /// Computes the distribution of a measure from its value in each run: only known, finite values count. `None` if there are none.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let mut known: Vec<f64> = values.into_iter().flatten().filter(|value| value.is_finite()).collect();
        let median = crate::shared::stats::median(&mut known)?;
        let fold = |pick: fn(f64, f64) -> f64| known.iter().copied().reduce(pick);
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        Some(Self { median, mean, least: fold(f64::min)?, most: fold(f64::max)?, runs: known.len() as u64 })
    }

    /// True if all runs have the same value of the measure.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.least >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_does_not_count() {
        let spread = Spread::of([Some(3.0), None, Some(1.0), Some(f64::NAN), Some(8.0)]).unwrap();
        assert_eq!((spread.median, spread.mean, spread.least, spread.most, spread.runs), (3.0, 4.0, 1.0, 8.0, 3));
        assert_eq!((Spread::of([None, None]), Spread::of([Some(2.0)]).unwrap().is_one()), (None, true));
    }
}
