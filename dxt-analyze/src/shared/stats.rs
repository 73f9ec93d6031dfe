//! Statistics of samples: quantiles, robust estimators, outlier scores and tests, each with its source.
//!
//! * Samples of up to [`EXACT_VALUES`] values keep every value. Larger samples become an HDR histogram with three significant digits: every
//!   quantile is within 0.1 % of the sample's value at that rank. Histograms hold integers, so results do not depend on the order of merges.
//! * Quartiles by linear interpolation between order statistics: definition 7 of Hyndman & Fan, "Sample quantiles in statistical
//!   packages", The American Statistician 50, 1996 (the default of R and NumPy).
//! * Modified z-scores: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993.
//!
//! Every function here returns a number for any float, never NaN. Only this file calls the crate `statrs`, whose functions panic outside
//! their domains.

use super::buckets::Buckets;
use serde::Serialize;
use statrs::function::beta::checked_beta_reg;

/// Standard deviations of a normal distribution between its first quartile and its median.
pub const QUARTILE: f64 = 0.6745;

/// Maximum sample size for which all values are kept, so that quantiles are exact; larger samples become histograms.
pub const EXACT_VALUES: usize = 1 << 16;
/// Factor from the median absolute deviation to the standard deviation of normal data: 1 / 0.6745.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Factor from the mean absolute deviation to the standard deviation of normal data: sqrt(pi / 2).
const MEAN_AD_TO_SIGMA: f64 = 1.253_314;

/// Sample of any number of integers, in bounded memory.
#[derive(Clone, Debug)]
pub struct Sample {
    values: Values,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

#[derive(Clone, Debug)]
enum Values {
    Exact(Vec<u64>),
    Counted(Buckets),
}

impl Default for Sample {
    fn default() -> Self {
        Self { values: Values::Exact(Vec::new()), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Sample {
    /// Adds `value` to the sample.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        match &mut self.values {
            Values::Counted(buckets) => buckets.add(value),
            Values::Exact(values) => {
                values.push(value);
                if values.len() > EXACT_VALUES {
                    self.compress();
                }
            }
        }
    }

    /// Adds all values of the sample `other`.
    pub fn merge(&mut self, mut other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if let (Values::Exact(mine), Values::Exact(theirs)) = (&mut self.values, &other.values) {
            mine.extend_from_slice(theirs);
            if mine.len() > EXACT_VALUES {
                self.compress();
            }
            return;
        }
        self.compress();
        other.compress();
        if let (Values::Counted(mine), Values::Counted(theirs)) = (&mut self.values, &other.values) {
            mine.merge(theirs);
        }
    }

    fn compress(&mut self) {
        let Values::Exact(values) = &self.values else { return };
        let mut buckets = Buckets::default();
        values.iter().for_each(|&value| buckets.add(value));
        self.values = Values::Counted(buckets);
    }

    /// Returns true if the sample still holds every value, so that quantiles are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self.values, Values::Exact(_))
    }

    /// Returns the values in ascending order, each with its count. If `exact` is false, values are rounded to histogram bins, so that the
    /// sample can be compared with a histogram at equal resolution.
    #[must_use]
    pub fn steps(&self, exact: bool) -> Vec<(u64, u64)> {
        let mut work = self.clone();
        if !exact {
            work.compress();
        }
        match work.values {
            Values::Exact(mut values) => {
                values.sort_unstable();
                values.into_iter().map(|value| (value, 1)).collect()
            }
            Values::Counted(buckets) => {
                let histogram = buckets.histogram(self.min, self.max);
                let steps = histogram.iter().flat_map(|histogram| histogram.iter_recorded());
                steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
            }
        }
    }

    /// Returns the number of values in the sample.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest value; `None` if the sample is empty.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value; `None` if the sample is empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the arithmetic mean; `None` if the sample is empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns quartiles, range, mean and fences, `fence_iqr` interquartile ranges outside the quartiles; `None` if the sample is empty.
    #[must_use]
    pub fn box_plot(&self, fence_iqr: f64) -> Option<BoxPlot> {
        let mean = self.mean()?;
        let (exact, quartiles) = match &self.values {
            Values::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                (true, [0.25, 0.5, 0.75].map(|q| quantile_of_sorted(&sorted, q)))
            }
            Values::Counted(buckets) => {
                let histogram = buckets.histogram(self.min, self.max)?;
                (false, [0.25, 0.5, 0.75].map(|q| histogram.value_at_quantile(q).clamp(self.min, self.max) as f64))
            }
        };
        let [q1, median, q3] = quartiles;
        let reach = fence_iqr * (q3 - q1);
        let (min, max) = (self.min as f64, self.max as f64);
        Some(BoxPlot { mean, min, q1, median, q3, max, low_fence: q1 - reach, high_fence: q3 + reach, exact })
    }
}

/// Five-number summary, mean and fences of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoxPlot {
    /// Arithmetic mean of the sample.
    pub mean: f64,
    /// Smallest value of the sample.
    pub min: f64,
    /// First quartile of the sample.
    pub q1: f64,
    /// Median of the sample.
    pub median: f64,
    /// Third quartile of the sample.
    pub q3: f64,
    /// Largest value of the sample.
    pub max: f64,
    /// Lower fence: Q1 - `fence_iqr` x IQR.
    pub low_fence: f64,
    /// Upper fence: Q3 + `fence_iqr` x IQR.
    pub high_fence: f64,
    /// True if the quartiles are exact; otherwise they are within 0.1 %.
    pub exact: bool,
}

/// Returns quantile `q` of sorted values, by linear interpolation (Hyndman & Fan, definition 7); 0 if there are no values.
#[must_use]
pub fn quantile_of_sorted(sorted: &[u64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    // NaN counts as the lowest quantile.
    let q = if q.is_nan() { 0.0 } else { q.clamp(0.0, 1.0) };
    let place = q * last as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let at = |index: usize| sorted.get(index.min(last)).map_or(0.0, |&value| value as f64);
    at(low) + part * (at(low + 1) - at(low))
}

/// Returns the median of the finite values in `values`, and sorts `values`; `None` if no value is finite.
#[must_use]
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    // Sorting by total order puts infinities and NaN at both ends.
    let values = finite(values);
    let middle = values.len() / 2;
    let high = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    let low = *values.get(middle.checked_sub(1)?)?;
    // Adds halves if the difference of the two middle values overflows.
    Some(if (high - low).is_finite() { low + (high - low) / 2.0 } else { low / 2.0 + high / 2.0 })
}

/// Returns the finite values of a list in total order (`f64::total_cmp`), as a slice.
fn finite(sorted: &[f64]) -> &[f64] {
    let from = sorted.iter().position(|value| value.is_finite()).unwrap_or(sorted.len());
    let until = sorted.iter().rposition(|value| value.is_finite()).map_or(from, |last| last + 1);
    sorted.get(from..until).unwrap_or_default()
}

/// Returns the median of `values`, the lower of the middle two for an even number; `None` if empty.
#[must_use]
pub fn median_i128(values: &mut [i128]) -> Option<i128> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// Location and scale of a sample by robust estimators, which a few outliers hardly change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Robust {
    /// Median of the sample.
    pub median: f64,
    /// Estimate of the standard deviation; 0 if all values are equal.
    pub sigma: f64,
    /// Estimator by which `sigma` was computed.
    pub scale: Scale,
}

/// Estimators of the standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// 1.4826 times the median absolute deviation from the median.
    MedianDeviation,
    /// 1.2533 times the mean absolute deviation from the median; used if more than half of the values are equal.
    MeanDeviation,
}

impl Robust {
    /// Computes median and scale of the finite values among `values`; `None` if no value is finite. All results are finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut work: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let median_value = median(&mut work)?;
        work.iter_mut().for_each(|value| *value = (*value - median_value).abs().min(f64::MAX));
        let mad = median(&mut work)?;
        let of = |sigma: f64, scale| Some(Self { median: median_value, sigma: sigma.min(f64::MAX), scale });
        if mad > 0.0 {
            return of(MAD_TO_SIGMA * mad, Scale::MedianDeviation);
        }
        let count = work.len() as f64;
        of(MEAN_AD_TO_SIGMA * work.iter().map(|value| value / count).sum::<f64>(), Scale::MeanDeviation)
    }

    /// Returns the modified z-score of `value`: its distance above the median in robust standard deviations (`sigma`); 0 for NaN.
    #[must_use]
    pub fn z(&self, value: f64) -> f64 {
        self.z_with(value, 0.0)
    }

    /// Returns the modified z-score of `value` (see [`Self::z`]) with a standard deviation of at least `error`.
    #[must_use]
    pub fn z_with(&self, value: f64, error: f64) -> f64 {
        let scale = self.sigma.max(error);
        let z = if scale > 0.0 { (value - self.median) / scale } else { 0.0 };
        if z.is_nan() { 0.0 } else { z.clamp(f64::MIN, f64::MAX) }
    }
}

/// Degrees of freedom from which Student's t distribution is approximated by the normal one: tail probabilities differ by less than 1e-7.
const NORMAL_FREEDOM: f64 = 1e7;

/// Returns P(T >= `t`) for Student's t with `freedom` degrees of freedom; 1 if `t` is NaN or `freedom` is not positive. Abramowitz &
/// Stegun, Handbook of Mathematical Functions, 26.7.1.
#[must_use]
pub fn upper_tail_t(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    let normal = libm::erfc(t.abs() / std::f64::consts::SQRT_2) / 2.0;
    // The square of a large number may be infinite; `x` is 0 then.
    let x = freedom / (freedom + t * t);
    let beyond = match checked_beta_reg(freedom / 2.0, 0.5, x) {
        Ok(both) if freedom < NORMAL_FREEDOM && both.is_finite() => (both / 2.0).clamp(0.0, 0.5),
        _ => normal,
    };
    if t < 0.0 { 1.0 - beyond } else { beyond }
}

/// Returns the largest p-value in `all` that is a discovery at false discovery rate `rate`; negative if there is none. Benjamini &
/// Hochberg, "Controlling the false discovery rate", JRSS B 57, 1995.
#[must_use]
pub fn benjamini_hochberg(all: &[f64], rate: f64) -> f64 {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let passes = |(place, p): &(usize, &f64)| **p <= rate * (*place + 1) as f64 / count;
    sorted.iter().enumerate().rfind(passes).map_or(-1.0, |(_, p)| *p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quartiles_are_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8, 16, 32], [.25, .5, .75]) = [2.5, 6, 14]
        let mut sample = Sample::default();
        [32, 1, 16, 2, 8, 4].into_iter().for_each(|value| sample.add(value));
        let plot = sample.box_plot(1.5).unwrap();
        assert_eq!((plot.q1, plot.median, plot.q3, plot.mean), (2.5, 6.0, 14.0, 10.5));
        assert_eq!((plot.low_fence, plot.high_fence), (2.5 - 17.25, 14.0 + 17.25));
        assert!(plot.exact && Sample::default().box_plot(1.5).is_none());
    }

    #[test]
    fn large_samples_stay_within_the_stated_error_and_merge_in_any_order() {
        let values: Vec<u64> = (0..300_000_u64).map(|i| (i * 7919) % 300_007 * 1000 + 1).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let sample_of = |part: &[u64]| {
            let mut sample = Sample::default();
            part.iter().for_each(|&value| sample.add(value));
            sample
        };
        let whole = sample_of(&values).box_plot(1.5).unwrap();
        assert!(!whole.exact);
        for (q, found) in [(0.25, whole.q1), (0.5, whole.median), (0.75, whole.q3)] {
            let exact = quantile_of_sorted(&sorted, q);
            assert!((found / exact - 1.0).abs() <= 0.001, "{q}: {found} for {exact}");
        }
        let (a, b) = values.split_at(1000);
        for (first, second) in [(a, b), (b, a)] {
            let mut merged = sample_of(first);
            merged.merge(sample_of(second));
            assert_eq!(merged.box_plot(1.5).unwrap(), whole);
        }
    }

    #[test]
    fn a_bad_value_stands_out_and_does_not_move_the_scale() {
        // Iglewicz & Hoaglin's outlier rule on nine good values and two outliers.
        let values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3, 2.2];
        let robust = Robust::of(&values).unwrap();
        assert_eq!((robust.median, robust.scale), (2.4, Scale::MedianDeviation));
        assert!(robust.z(8.2) > 3.5 && robust.z(2.6).abs() < 3.5);
    }

    #[test]
    fn equal_values_fall_back_to_the_mean_deviation() {
        let robust = Robust::of(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 50.0]).unwrap();
        assert_eq!(robust.scale, Scale::MeanDeviation);
        assert!(robust.z(50.0) > 3.5, "{}", robust.z(50.0));
        assert_eq!(Robust::of(&[5.0; 8]).unwrap().z(5.0), 0.0);
        assert!(Robust::of(&[]).is_none());
    }

    #[test]
    fn false_discoveries_are_limited_as_in_the_paper() {
        // Example of Benjamini & Hochberg's section 3.2: four of fifteen hypotheses are rejected at 0.05.
        let paper = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        assert_eq!(benjamini_hochberg(&paper, 0.05), 0.0095);
        assert!(benjamini_hochberg(&[0.2, 0.9], 0.05) < 0.0 && benjamini_hochberg(&[], 0.05) < 0.0);
    }

    #[test]
    fn tails_of_t_are_those_of_tables() {
        assert!((upper_tail_t(2.015, 5.0) - 0.05).abs() < 1e-4);
        assert!((upper_tail_t(3.29, 1e6) - 0.0005).abs() < 1e-5);
    }

    /// Generates arbitrary floats, including NaN, infinities and values at which the formulas change.
    fn every_float() -> impl Strategy<Value = f64> {
        const EDGES: [f64; 14] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::MIN_POSITIVE,
            5e-324,
            f64::EPSILON,
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e7,
        ];
        prop_oneof![proptest::sample::select(EDGES.to_vec()), any::<u64>().prop_map(f64::from_bits), -1e3..1e3_f64]
    }

    proptest! {
        #[test]
        fn a_tail_is_a_probability_whatever_is_asked(t in every_float(), freedom in every_float()) {
            let p = upper_tail_t(t, freedom);
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
            if !t.is_nan() {
                prop_assert!(upper_tail_t(f64::INFINITY, freedom) <= p && p <= upper_tail_t(f64::NEG_INFINITY, freedom));
            }
        }

        #[test]
        fn medians_and_scales_are_finite_whatever_the_values(
            values in proptest::collection::vec(every_float(), 0..40),
            value in every_float(),
            error in every_float(),
        ) {
            let any_finite = values.iter().any(|value| value.is_finite());
            let found = median(&mut values.clone());
            prop_assert_eq!(found.is_some(), any_finite);
            prop_assert!(found.is_none_or(f64::is_finite));
            let robust = Robust::of(&values);
            prop_assert_eq!(robust.is_some(), any_finite);
            if let Some(robust) = robust {
                prop_assert!(robust.median.is_finite() && robust.sigma.is_finite() && robust.sigma >= 0.0, "{:?}", robust);
                prop_assert!(robust.z(value).is_finite() && robust.z_with(value, error).is_finite());
            }
            let limit = benjamini_hochberg(&values, value);
            prop_assert!(!limit.is_nan(), "{}", limit);
        }

        #[test]
        fn samples_say_only_numbers(
            values in proptest::collection::vec(any::<u64>(), 0..40),
            q in every_float(),
            fence in 0.0..1e300_f64,
        ) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            prop_assert!(quantile_of_sorted(&sorted, q).is_finite());
            let mut sample = Sample::default();
            values.iter().for_each(|value| sample.add(*value));
            let plot = sample.box_plot(fence);
            prop_assert!(plot.is_none_or(|plot| !plot.low_fence.is_nan() && plot.median.is_finite()));
        }
    }

    #[test]
    fn a_time_of_nothing_among_many_is_no_panic() {
        // Regression: a median time of 0 makes the logarithm of the slowest infinite and its score NaN.
        let logs = [708.0, 708.0, 708.0, 708.0, 708.0, f64::INFINITY, 708.0, 708.0];
        let robust = Robust::of(&logs).unwrap();
        assert_eq!((robust.median, robust.sigma), (708.0, 0.0));
        assert!(upper_tail_t(robust.z_with(f64::INFINITY, 0.5), 4.0) < 1e-9);
        assert_eq!(upper_tail_t(f64::NAN, 4.0), 1.0);
    }

    #[test]
    fn medians_of_few() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0]), Some(2.0));
        assert_eq!(median_i128(&mut [4, 1, 3, 2]), Some(2));
    }
}
