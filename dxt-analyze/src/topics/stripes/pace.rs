//! Estimates the cost of misalignment: compares the durations of aligned and unaligned operations of similar size, per file, separately for
//! reads and writes. Only an estimate, since the duration of an unaligned operation if it were aligned is unknown.

use crate::thresholds::Thresholds;
pub use crate::words::stripes::PacePart;

/// Number and durations of operations of one kind (aligned or unaligned).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    count: u64,
    sum_ns: u64,
    /// Sum of the squared durations of the operations, ns²; an integer, so that the order of additions does not matter.
    squares: u128,
}

impl Sample {
    #[inline]
    fn add(&mut self, duration_ns: u64) {
        self.merge(&Self { count: 1, sum_ns: duration_ns, squares: u128::from(duration_ns) * u128::from(duration_ns) });
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }

    fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    /// Returns the square of the standard error of the mean duration, ns².
    fn variance_of_mean(&self) -> f64 {
        let (count, mean) = (self.count as f64, self.mean_ns());
        let variance = (self.squares as f64 / count - mean * mean).max(0.0) * count / (count - 1.0);
        variance / count
    }
}

/// Durations of aligned and of unaligned operations, by direction and size class. Lookup is a linear search, since a file has few classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace(Vec<(Class, [Sample; 2])>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    is_write: bool,
    /// Base-2 logarithm of the class's smallest size; the class contains sizes in [2^log2, 2^(log2 + 1)) bytes.
    log2: u32,
}

impl Pace {
    /// Adds an operation of `length` bytes that took `duration_ns` and is unaligned to stripes if `is_unaligned`.
    #[inline]
    pub fn add(&mut self, is_write: bool, length: u64, is_unaligned: bool, duration_ns: u64) {
        let class = Class { is_write, log2: length.max(1).ilog2() };
        self.samples(class)[usize::from(is_unaligned)].add(duration_ns);
    }

    #[inline]
    fn samples(&mut self, class: Class) -> &mut [Sample; 2] {
        let index = self.0.iter().position(|(known, _)| *known == class).unwrap_or_else(|| {
            // A job may have a million files, most of them with calls of one size.
            self.0.reserve_exact(1);
            self.0.push((class, [Sample::default(); 2]));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    /// Adds samples of aligned and unaligned operations to a size class.
    #[inline(never)]
    fn put(&mut self, class: Class, samples: &[Sample; 2]) {
        self.samples(class).iter_mut().zip(samples).for_each(|(mine, more)| mine.merge(more));
    }

    /// Adds the samples that another thread of the analyzer collected.
    pub fn merge(&mut self, other: &Self) {
        for (class, theirs) in &other.0 {
            let mine = self.samples(*class);
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }

    /// Returns the comparisons of aligned with unaligned operations for size classes with enough of both; reads first, then by size.
    #[must_use]
    pub fn comparisons(&self, least: &Thresholds) -> Vec<PacePart> {
        let mut classes = self.0.clone();
        classes.sort_unstable_by_key(|(class, _)| *class);
        classes.iter().filter_map(|(class, [aligned, unaligned])| compare(*class, aligned, unaligned, least)).collect()
    }
}

/// Collector of consecutive operations of one size class, for which the class is looked up only once.
#[derive(Clone, Debug, Default)]
pub struct InARow {
    class: Option<Class>,
    samples: [Sample; 2],
}

impl InARow {
    /// Adds an operation, as [`Pace::add`] does. First moves the collected samples to `pace` if the operation's class is another one.
    #[inline]
    pub fn add(&mut self, pace: &mut Pace, is_write: bool, length: u64, is_unaligned: bool, duration_ns: u64) {
        let class = Some(Class { is_write, log2: length.max(1).ilog2() });
        if self.class != class {
            std::mem::take(self).put(pace);
            self.class = class;
        }
        self.samples[usize::from(is_unaligned)].add(duration_ns);
    }

    /// Moves the collected samples to `pace`; must be called after the last operation.
    pub fn put(self, pace: &mut Pace) {
        self.class.into_iter().for_each(|class| pace.put(class, &self.samples));
    }
}

fn compare(class: Class, aligned: &Sample, unaligned: &Sample, least: &Thresholds) -> Option<PacePart> {
    if aligned.count.min(unaligned.count) < least.pace_min_sample.max(2) {
        return None;
    }
    let difference = unaligned.mean_ns() - aligned.mean_ns();
    let error = (aligned.variance_of_mean() + unaligned.variance_of_mean()).sqrt();
    let is_clear = difference > 0.0 && difference >= least.pace_clear_errors * error;
    Some(PacePart {
        op: if class.is_write { "write" } else { "read" },
        from_bytes: 1 << class.log2,
        aligned: aligned.count,
        aligned_mean_ns: aligned.mean_ns() as u64,
        unaligned: unaligned.count,
        unaligned_mean_ns: unaligned.mean_ns() as u64,
        standard_error_ns: error as u64,
        is_clear,
        cost_ns: if is_clear { (difference * unaligned.count as f64) as u64 } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(aligned: &[u64], unaligned: &[u64]) -> Pace {
        let mut pace = Pace::default();
        aligned.iter().for_each(|&ns| pace.add(true, 5000, false, ns));
        unaligned.iter().for_each(|&ns| pace.add(true, 8191, true, ns));
        pace
    }

    #[test]
    fn the_difference_times_the_count_is_the_cost() {
        let least = Thresholds::default();
        let (fast, slow): (Vec<u64>, Vec<u64>) = ((0..40).map(|i| 990 + i % 21).collect(), vec![1500; 25]);
        let found = filled(&fast, &slow).comparisons(&least);
        let [part] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((part.op, part.from_bytes, part.aligned, part.unaligned), ("write", 4096, 40, 25));
        let mean = fast.iter().sum::<u64>() as f64 / 40.0;
        assert!(part.is_clear && part.cost_ns == ((1500.0 - mean) * 25.0) as u64, "{part:?}");
        // Merging two halves of the operations gives the same result as adding all of them.
        let mut halves = filled(&fast[..20], &slow[..5]);
        halves.merge(&filled(&fast[20..], &slow[5..]));
        assert_eq!(halves.comparisons(&least), found);
        // Collecting operations in a row gives the same result as adding each one.
        let (mut in_a_row, mut row) = (Pace::default(), InARow::default());
        fast.iter().for_each(|&ns| row.add(&mut in_a_row, true, 5000, false, ns));
        row.add(&mut in_a_row, true, 50_000, false, 7);
        slow.iter().for_each(|&ns| row.add(&mut in_a_row, true, 8191, true, ns));
        row.put(&mut in_a_row);
        assert_eq!(in_a_row.comparisons(&least), found);
    }

    #[test]
    fn what_may_be_chance_or_rests_on_few_costs_nothing() {
        let least = Thresholds::default();
        let noisy: Vec<u64> = (0..30).map(|i| if i % 10 == 0 { 20_000 } else { 1000 }).collect();
        let slower: Vec<u64> = noisy.iter().map(|ns| ns + 100).collect();
        let found = filled(&noisy, &slower).comparisons(&least);
        assert!(!found[0].is_clear && found[0].cost_ns == 0);
        assert!(filled(&noisy, &slower[..19]).comparisons(&least).is_empty());
        // Operations of another size or direction are not compared.
        let mut pace = filled(&noisy, &[]);
        (0..30).for_each(|_| pace.add(false, 5000, true, 9000));
        (0..30).for_each(|_| pace.add(true, 9000, true, 9000));
        assert!(pace.comparisons(&least).is_empty());
    }
}
