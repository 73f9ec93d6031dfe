//! Time windows of a run that are compared separately.

use crate::model::Run;
use std::borrow::Cow;

/// Time windows in order, without gaps; times are ns since the job's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Start of each time window, followed by the end of the last one, ns since the job's start.
    bounds: Cow<'static, [u64]>,
}

/// Time window found by the last lookup: a cache, since lookups are mostly in order of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    window: u32,
    from: u64,
    until: u64,
}

impl Near {
    /// Returns the index of the window that contains `time`, as [`Windows::of`] does.
    #[inline]
    pub fn of(&mut self, windows: &Windows, time: u64) -> Option<u32> {
        if !(self.from..self.until).contains(&time) {
            let window = windows.of(time)?;
            let (from, until) = windows.span(window);
            *self = Self { window, from, until };
        }
        Some(self.window)
    }
}

impl Windows {
    /// Single window that covers all time.
    pub const WHOLE: &'static Self = {
        static WHOLE: Windows = Windows { bounds: Cow::Borrowed(&[0, u64::MAX]) };
        &WHOLE
    };

    /// Creates `count` windows of equal length that cover the recorded time of the run.
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

    /// Creates windows that begin at `starts` (ns, ascending). The first window is extended to the job's start, the last has no end.
    #[must_use]
    pub fn beginning_at(starts: impl Iterator<Item = u64>) -> Self {
        let mut bounds = vec![0];
        bounds.extend(starts.skip(1).filter(|start| *start > 0));
        bounds.push(u64::MAX);
        bounds.dedup();
        Self { bounds: bounds.into() }
    }

    /// Returns the index of the window that contains `time` (ns since the job's start); `None` if no window does.
    #[inline]
    #[must_use]
    pub fn of(&self, time: u64) -> Option<u32> {
        if self.bounds.len() == 2 {
            return (self.bounds.first()? <= &time && &time < self.bounds.last()?).then_some(0);
        }
        let next = self.bounds.partition_point(|bound| *bound <= time);
        (next > 0 && next < self.bounds.len()).then(|| (next - 1) as u32)
    }

    /// Returns start and end of the window with this index, ns since the job's start.
    #[must_use]
    pub fn span(&self, number: u32) -> (u64, u64) {
        let at = |index: usize| self.bounds.get(index).copied().unwrap_or(u64::MAX);
        (at(number as usize), at(number as usize + 1))
    }
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
