//! Spans of time that are compared apart, and what held the job up in each.

use super::compare::UnitGroup;
use crate::model::Run;
use crate::shared::groups::Group;
use serde::Serialize;
use std::borrow::Cow;

/// Spans of time, in order and without gaps; ns since the job's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Where each begins, and where the last ends.
    bounds: Cow<'static, [u64]>,
}

impl Windows {
    /// One, of all time.
    pub const WHOLE: &'static Self = {
        static WHOLE: Windows = Windows { bounds: Cow::Borrowed(&[0, u64::MAX]) };
        &WHOLE
    };

    /// `count` of equal length over what is on record of the run.
    #[must_use]
    pub fn equal(run: &Run, count: u32) -> Self {
        let (from, until) = run.span();
        let (length, count) = (until.saturating_sub(from), u64::from(count.max(1)));
        let bound = |number: u64| from + (u128::from(length) * u128::from(number) / u128::from(count)) as u64;
        let mut bounds: Vec<u64> = (0..=count).map(bound).collect();
        bounds.dedup();
        if let Some(last) = bounds.last_mut() {
            *last = last.saturating_add(1);
        }
        if bounds.len() < 2 { Self::WHOLE.clone() } else { Self { bounds: bounds.into() } }
    }

    /// One from each of ascending `starts` to the next, the first from the job's start, the last without end.
    #[must_use]
    pub fn beginning_at(starts: impl Iterator<Item = u64>) -> Self {
        let mut bounds = vec![0];
        bounds.extend(starts.skip(1).filter(|start| *start > 0));
        bounds.push(u64::MAX);
        bounds.dedup();
        Self { bounds: bounds.into() }
    }

    /// Number of the one that `time` lies in.
    #[inline]
    #[must_use]
    pub fn of(&self, time: u64) -> Option<u32> {
        if self.bounds.len() == 2 {
            return (self.bounds.first()? <= &time && &time < self.bounds.last()?).then_some(0);
        }
        let next = self.bounds.partition_point(|bound| *bound <= time);
        (next > 0 && next < self.bounds.len()).then(|| (next - 1) as u32)
    }

    /// Beginning and end of one.
    #[must_use]
    pub fn span(&self, number: u32) -> (u64, u64) {
        let at = |index: usize| self.bounds.get(index).copied().unwrap_or(u64::MAX);
        (at(number as usize), at(number as usize + 1))
    }
}

/// Who was slowest in one span of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// What is compared.
    #[serde(flatten)]
    pub group: Group,
    /// Beginning of the span, ns since the job's start.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
    /// Units that did something in it.
    pub sample: u64,
    /// The slowest for what it did.
    pub unit: String,
    /// How many times slower than the median it was.
    pub slower: f64,
    /// Time beyond what the same work takes at the median, ns.
    pub extra_ns: i64,
    /// Whether that is more than chance.
    pub outlier: bool,
    /// Outliers in the span.
    pub outliers: u64,
    /// (most - least time in calls) / most, over the units: 0 if all were busy for the same time.
    pub imbalance: f64,
    /// (most - least time in calls) / sum over the units, as Drishti measures stragglers.
    pub share_of_total: f64,
}

/// One for each group and window.
#[must_use]
pub fn stragglers(groups: &[UnitGroup]) -> Vec<Straggler> {
    let one = |group: &UnitGroup| {
        let slowest = group.rows.first()?;
        let (from_ns, until_ns) = group.window?;
        let spread = group.most_ns.saturating_sub(group.least_ns) as f64;
        let share = |whole: u64| if whole > 0 { spread / whole as f64 } else { 0.0 };
        Some(Straggler {
            group: group.group.clone(),
            from_ns,
            until_ns,
            sample: group.sample,
            unit: slowest.unit.clone(),
            slower: slowest.slower,
            extra_ns: slowest.extra_ns,
            outlier: slowest.outlier,
            outliers: group.outliers,
            imbalance: share(group.most_ns),
            share_of_total: share(group.total_ns),
        })
    };
    groups.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_one_window() {
        let windows = Windows { bounds: vec![10, 20, 30, 41].into() };
        assert_eq!(
            [9, 10, 19, 20, 40, 41].map(|time| windows.of(time)),
            [None, Some(0), Some(0), Some(1), Some(2), None]
        );
        assert_eq!(windows.span(2), (30, 41));
        assert_eq!([0, u64::MAX - 1].map(|time| Windows::WHOLE.of(time)), [Some(0), Some(0)]);
    }
}
