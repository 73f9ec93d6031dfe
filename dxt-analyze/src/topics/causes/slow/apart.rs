//! Splits members into a fast and a slow group: if half of all are slow, none of them is an outlier.

use crate::shared::outlier_test::Odd;
use crate::shared::stats::upper_tail_t;
use std::ops::Range;

/// Fewest members of each group.
const FEWEST: usize = 2;
/// Fewest members in all.
const FEWEST_IN_ALL: usize = 4;
/// Least slowdown of the last quarter of time windows against the first, for calls to get slower and slower; least part of it from each quarter
/// to the next; least Kendall's tau of the windows' values.
const GROWS: f64 = 1.5;
const LEAST_STEP: f64 = 0.12;
const IN_ORDER: f64 = 0.75;
/// Least share of members, or calls, in each group: smaller groups are outliers.
const SHARE: f64 = 0.25;
/// Least slowdown of the slow group, mean against mean.
const SLOWER: f64 = 1.5;
/// Least gap between the groups, as multiples of the spread within them.
const GAP: f64 = 3.0;
/// Least spread of the logarithm.
const LEAST_SPREAD: f64 = 0.03;
/// Least slowdown of a shorter slow period that is clear of all other windows.
const FAR_SLOWER: f64 = 3.0;
/// Least part of all calls before a slow period, if few time windows precede it.
const BEGINNING: f64 = 0.15;
/// Part of the slow windows, from their fast end, and of the others, from their slow end, that may overlap.
const OTHERWISE: f64 = 0.1;

/// Returns the indices of the slow `values` and their slowdown; `None` if there are not two separate groups.
#[must_use]
pub fn apart(values: &[f64]) -> Option<(Vec<usize>, Odd)> {
    if values.len() < FEWEST_IN_ALL {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    let value = |at: &usize| values.get(*at).copied().unwrap_or_default();
    order.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let sorted: Vec<f64> = order.iter().map(value).collect();
    let widest = sorted.windows(2).enumerate().max_by(|(_, a), (_, b)| (a[1] - a[0]).total_cmp(&(b[1] - b[0])))?;
    let (gap, first) = (widest.1[1] - widest.1[0], widest.0 + 1);
    let (fast, slow) = sorted.split_at(first);
    let odd = between(fast, slow)?;
    let spread = deviation(fast).max(deviation(slow)).max(LEAST_SPREAD);
    (gap >= spread * GAP).then(|| (order.split_off(first), odd))
}

/// Returns the range of `values`, in time order, that gets slower and slower after the first quarter, and its slowdown against that quarter.
#[must_use]
pub fn growing(values: &[f64]) -> Option<(Range<usize>, Odd)> {
    let quarter = values.len() / 4;
    let part = |number: usize| values.get(number * quarter..(number + 1) * quarter).filter(|part| part.len() >= FEWEST);
    let [first, second, third] = [mean(part(0)?), mean(part(1)?), mean(part(2)?)];
    let last = mean(values.get(3 * quarter..)?);
    let all = last - first;
    // A rise at one time only is no growth.
    let throughout = [second - first, third - second, last - third].iter().all(|step| *step >= all * LEAST_STEP);
    if all < GROWS.ln() || !throughout || in_order(values) < IN_ORDER {
        return None;
    }
    // Compared with the first quarter.
    let from = quarter;
    Some((from..values.len(), against(values.get(..from)?, values.get(from..)?)))
}

/// Kendall's tau: part of all pairs of values with a larger later value, less the part with a smaller later value.
fn in_order(values: &[f64]) -> f64 {
    let pairs =
        || values.iter().enumerate().flat_map(|(at, one)| values.iter().skip(at + 1).map(move |later| later - one));
    let (mut sum, mut count) = (0.0, 0.0);
    for difference in pairs() {
        sum += f64::from(i8::from(difference > 0.0) - i8::from(difference < 0.0));
        count += 1.0;
    }
    sum / f64::max(count, 1.0)
}

/// True if a range reaches the end of `values` and gets slower and slower.
#[must_use]
pub fn grows_to_the_end(values: &[f64], range: Range<usize>) -> bool {
    let theirs = values.get(range.clone()).unwrap_or_default();
    range.end == values.len() && theirs.len() >= FEWEST_IN_ALL && in_order(theirs) >= IN_ORDER
}

/// Returns the range of slow `values`, in time order, and its slowdown. A slow start does not count: programs begin slowly. `calls`: number of
/// calls per value; slow calls fill more time windows, so calls count, too.
#[must_use]
pub fn for_a_while(values: &[f64], calls: &[u64]) -> Option<(Range<usize>, Odd)> {
    let sums = Sums::of(values);
    let mut best: Option<(Range<usize>, f64)> = None;
    let all: u64 = calls.iter().sum();
    // Fast calls take few time windows, so calls count, too.
    let begins = |from: usize| {
        let before: u64 = calls.iter().take(from).sum();
        from >= FEWEST_IN_ALL || before as f64 >= all as f64 * BEGINNING
    };
    for from in (FEWEST..values.len().saturating_sub(FEWEST_IN_ALL - 1)).filter(|from| begins(*from)) {
        for until in from + FEWEST_IN_ALL..=values.len() {
            let score = sums.score(from..until);
            if score.is_some_and(|score| best.as_ref().is_none_or(|(_, most)| score > *most)) {
                best = score.map(|score| (from..until, score));
            }
        }
    }
    let (range, _) = best?;
    let slow = values.get(range.clone())?;
    let (before, after) = (values.get(..range.start)?, values.get(range.end..)?);
    let fast = [before, after].concat();
    let theirs: u64 = calls.get(range.clone())?.iter().sum();
    let enough = |calls: u64| calls as f64 >= all as f64 * SHARE;
    // If the run stays slow, its fast part may be short: calls count.
    let stays = after.is_empty() && fast.len() >= FEWEST_IN_ALL && enough(theirs) && enough(all - theirs);
    let odd = match between(&fast, slow) {
        Some(odd) => odd,
        None if stays => held_against(&fast, slow)?,
        // With variable times, a short slow period is found by its distance instead of the spread.
        None => held_against(&fast, slow).filter(|odd| {
            odd.above >= FAR_SLOWER.ln() && quantile(slow, 0.0) > quantile(&fast, 1.0) && fast.len() > slow.len()
        })?,
    };
    let clear = quantile(slow, OTHERWISE) > quantile(&fast, 1.0 - OTHERWISE);
    clear.then_some((range, odd))
}

/// Prefix sums of values, and of their squares.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Self {
        let mut sum = (0.0, 0.0);
        let more = values.iter().map(|value| {
            sum = (sum.0 + value, sum.1 + value * value);
            sum
        });
        Self(std::iter::once((0.0, 0.0)).chain(more).collect())
    }

    /// Returns the difference of means of a range and of the others over its standard error, if the range is slower.
    fn score(&self, range: Range<usize>) -> Option<f64> {
        let (all, from, until) = (self.0.last()?, self.0.get(range.start)?, self.0.get(range.end)?);
        let (count, inside) = ((self.0.len() - 1) as f64, range.len() as f64);
        let error = |sum: f64, squares: f64, count: f64| {
            let mean = sum / count;
            ((squares / count - mean * mean).max(0.0).max(LEAST_SPREAD.powi(2)) / count, mean)
        };
        let (slow, outside) = ((until.0 - from.0, until.1 - from.1), count - inside);
        let (slow_error, slow_mean) = error(slow.0, slow.1, inside);
        let (fast_error, fast_mean) = error(all.0 - slow.0, all.1 - slow.1, outside);
        (outside >= 1.0 && slow_mean > fast_mean).then(|| (slow_mean - fast_mean) / (slow_error + fast_error).sqrt())
    }
}

/// Returns Welch's t of the slow against the fast values, if both groups are large enough and the slow ones slow enough.
fn between(fast: &[f64], slow: &[f64]) -> Option<Odd> {
    let all = fast.len() + slow.len();
    let least = FEWEST.max((all as f64 * SHARE).ceil() as usize);
    if fast.len() < least || slow.len() < least { None } else { held_against(fast, slow) }
}

/// Like `between`, for groups of any size.
fn held_against(fast: &[f64], slow: &[f64]) -> Option<Odd> {
    Some(against(fast, slow)).filter(|odd| odd.above >= SLOWER.ln())
}

/// Returns Welch's t of the slow against the fast values, for groups of any size and any slowdown.
pub(super) fn against(fast: &[f64], slow: &[f64]) -> Odd {
    let all = fast.len() + slow.len();
    let error = |values: &[f64]| deviation(values).max(LEAST_SPREAD).powi(2) / values.len() as f64;
    let above = mean(slow) - mean(fast);
    let score = above / (error(fast) + error(slow)).sqrt();
    Odd { above, score, p: upper_tail_t(score, all.saturating_sub(2).max(1) as f64) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (share * sorted.len().saturating_sub(1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_is_found_and_what_varies_is_not() {
        let slow = |values: &[f64]| apart(values).map(|(slow, _)| slow);
        assert_eq!(slow(&[0.0, 0.9, 0.02, 0.95]), Some(vec![1, 3]));
        assert_eq!(slow(&[0.9, 0.92, 0.95, 0.01, 0.0]), Some(vec![0, 1, 2]));
        assert_eq!(slow(&[0.0, 0.01, 0.9]), None, "too few");
        assert_eq!(slow(&[0.0, 0.2, 0.02, 0.22]), None, "hardly slower");
        assert_eq!(slow(&[0.0, 0.3, 0.6, 0.9, 1.2, 1.5]), None, "no two groups");
        assert_eq!(slow(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9]), None, "one odd one");
    }

    #[test]
    fn what_grows_is_found_and_what_begins_slowly_is_not() {
        let from = |of: &dyn Fn(f64) -> f64| {
            let values: Vec<f64> = (0..32).map(|k| of(f64::from(k) / 32.0) + f64::from(k * 7 % 5) * 0.03).collect();
            growing(&values).map(|(range, odd)| (range.start, range.end, odd.p < 1e-6))
        };
        assert_eq!(from(&|time| 1.6 * time), Some((8, 32, true)));
        assert_eq!(from(&|time| (1.0 + 5.0 * time).ln()), Some((8, 32, true)));
        assert_eq!(from(&|time| 0.5 * time), None, "hardly");
        assert_eq!(from(&|time| if time < 0.1 { 0.0 } else { 1.5 }), None, "a step");
        assert_eq!(from(&|time| (time * 20.0).sin()), None, "up and down");
        assert_eq!(growing(&[0.0, 1.0, 2.0, 3.0]), None, "too few");
    }

    #[test]
    fn what_stays_slow_is_found_and_what_comes_and_goes_is_not() {
        let with =
            |values: &[f64], calls: &[u64]| for_a_while(values, calls).map(|(range, _)| (range.start, range.end));
        let at = |values: &[f64]| with(values, &vec![1; values.len()]);
        let step = |slow: &[usize], count: usize| -> Vec<f64> {
            (0..count).map(|k| f64::from(u8::from(slow.contains(&k))) + (k % 3) as f64 * 0.02).collect()
        };
        assert_eq!(at(&step(&(4..12).collect::<Vec<_>>(), 12)), Some((4, 12)));
        assert_eq!(at(&step(&(6..12).collect::<Vec<_>>(), 12)), Some((6, 12)));
        assert_eq!(at(&step(&(5..14).collect::<Vec<_>>(), 24)), Some((5, 14)));
        assert_eq!(at(&step(&[0, 2, 4, 6, 8, 10], 12)), None);
        assert_eq!(at(&step(&(0..6).collect::<Vec<_>>(), 12)), None, "slow at first");
        assert_eq!(at(&[0.0; 12]), None);
        // A tenth of the run is at least three times as slow as all the others, which form two groups.
        let uneven = |far: f64| -> Vec<f64> {
            let level = |k: usize| if (8..13).contains(&k) { far } else { f64::from(u8::from(k > 20)) };
            (0..45).map(|k| level(k) + (k % 3) as f64 * 0.05).collect()
        };
        assert_eq!(at(&uneven(2.3)), Some((8, 13)));
        assert_eq!(at(&uneven(1.05)), None, "no longer than the others");
        // Slow to the end: the first half of the calls took a short time.
        let values = step(&(5..40).collect::<Vec<_>>(), 40);
        assert_eq!(at(&values), None, "a few quick calls at first");
        let calls: Vec<u64> = (0..40).map(|k| if k < 5 { 30 } else { 5 }).collect();
        assert_eq!(with(&values, &calls), Some((5, 40)));
    }
}
