//! Means of log slowdowns, also by unit and process.

use crate::model::ProcessId;
use std::collections::BTreeMap;

/// Running weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Makes a mean from its value and weight.
    #[must_use]
    pub(super) fn of(value: f64, weight: f64) -> Self {
        Self { sum: value * weight, weight }
    }

    /// Returns the mean.
    #[must_use]
    pub(super) fn get(self) -> f64 {
        self.sum / self.weight.max(1.0)
    }

    /// Returns the weight: number of calls.
    #[must_use]
    pub(super) fn weight(self) -> f64 {
        self.weight
    }
}

/// Mean log slowdown of calls by process and by what is compared (`K`, such as a storage target or a time window), sorted by `K` first.
#[derive(Clone, Debug)]
pub(super) struct ByProcess<K>(Vec<((K, ProcessId), Mean)>);

impl<K: Ord + Copy> ByProcess<K> {
    /// Averages the values of each unit and process. `all`: unit and process, log slowdown, weight.
    pub(super) fn of(all: impl Iterator<Item = ((K, ProcessId), f64, f64)>) -> Self {
        let mut all: Vec<((K, ProcessId), Mean)> =
            all.map(|(key, value, weight)| (key, Mean::of(value, weight))).collect();
        all.sort_by_key(|(key, _)| *key);
        all.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            if is_same {
                first.1.sum += next.1.sum;
                first.1.weight += next.1.weight;
            }
            is_same
        });
        Self(all)
    }

    /// Returns the means of a map; for keys that are far fewer than the values.
    pub(super) fn of_map(all: BTreeMap<(K, ProcessId), Mean>) -> Self {
        Self(all.into_iter().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ((K, ProcessId), Mean)> {
        self.0.iter().copied()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = (K, ProcessId)> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// Returns the mean of a unit and process; `None` without calls.
    pub(super) fn get(&self, key: (K, ProcessId)) -> Option<Mean> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        self.0.get(at).map(|(_, mean)| *mean)
    }

    /// Keeps the units for which `is` is true.
    pub(super) fn retain(&mut self, is: impl Fn(K) -> bool) {
        self.0.retain(|((unit, _), _)| is(*unit));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
