//! Counts of values in buckets with 0.1 % resolution: the buckets of an HDR histogram with three digits. The histogram of the crate
//! `hdrhistogram` takes several times as many steps per value; counts are converted to it for queries only.

use hdrhistogram::Histogram;

/// Base-2 logarithm of the number of buckets per octave (factor of 2).
const OCTAVE: u32 = 10;
/// Upper limit of the values of the HDR histogram, whose last bucket also takes values somewhat above it ([`COUNTED`]); all larger values
/// count as this limit.
const LARGEST: u64 = 1 << 62;
/// Largest value that the last bucket of the HDR histogram counts.
const COUNTED: u64 = 2 * LARGEST - 1;
const BUCKETS: usize = ((LARGEST.ilog2() - OCTAVE + 2) as usize) << OCTAVE;
const DIGITS: u8 = 3;

#[derive(Clone, Debug)]
pub(super) struct Buckets(Box<[u64]>);

impl Default for Buckets {
    fn default() -> Self {
        Self(vec![0; BUCKETS].into_boxed_slice())
    }
}

/// Returns the bucket index of `value`: values in the lowest two octaves have a bucket each; above, the highest bits decide.
#[inline]
fn bucket(value: u64) -> usize {
    let value = if value > COUNTED { LARGEST } else { value };
    let shift = (value | 1).ilog2().saturating_sub(OCTAVE);
    ((shift as usize) << OCTAVE) + (value >> shift) as usize
}

/// Returns the smallest value of a bucket.
fn least(bucket: usize) -> u64 {
    let shift = (bucket >> OCTAVE).saturating_sub(1);
    ((bucket - (shift << OCTAVE)) as u64) << shift
}

impl Buckets {
    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        if let Some(count) = self.0.get_mut(bucket(value)) {
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
    }

    /// Converts the counts to an HDR histogram, given the smallest and largest value counted; `None` if the histogram cannot be created.
    pub(super) fn histogram(&self, min: u64, max: u64) -> Option<Histogram<u64>> {
        let mut histogram = Histogram::new_with_bounds(1, LARGEST, DIGITS).ok()?;
        let highest = bucket(max);
        for (bucket, &count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            let value = if bucket == highest { max } else { least(bucket).max(min) };
            histogram.saturating_record_n(value, count);
        }
        Some(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_a_histogram() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LARGEST, DIGITS).unwrap();
        let mut buckets = Buckets::default();
        let mut values: Vec<u64> =
            (0..5000).chain([u64::MAX, LARGEST, LARGEST - 1, LARGEST + 1, COUNTED, COUNTED + 1]).collect();
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            values.push(state >> ((state >> 40) % 64));
        }
        for octave in 0..63 {
            values.extend([(1 << octave) - 1, 1 << octave, (1 << octave) + 1]);
        }
        values.retain(|value| *value > 3);
        for &value in &values {
            histogram.saturating_record(value);
            buckets.add(value);
            assert!(least(bucket(value)) <= value && bucket(least(bucket(value))) == bucket(value), "{value}");
        }
        let (min, max) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let made = buckets.histogram(min, max).unwrap();
        assert_eq!((made.min(), made.len()), (histogram.min(), histogram.len()));
        let steps = |of: &Histogram<u64>| {
            of.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect::<Vec<_>>()
        };
        assert_eq!(steps(&made), steps(&histogram));
        for part in 0..=1000 {
            let q = f64::from(part) / 1000.0;
            assert_eq!(made.value_at_quantile(q), histogram.value_at_quantile(q));
        }
        let mut twice = buckets.clone();
        twice.merge(&buckets);
        assert_eq!(twice.histogram(min, max).unwrap().len(), 2 * histogram.len());
    }
}
