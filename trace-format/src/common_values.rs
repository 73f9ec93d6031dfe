//! Most common values of a sequence, in bounded memory. Counting and merging do not allocate.
//!
//! Counting: Metwally, Agrawal & El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams" (Space-Saving), ICDT
//! 2005. Merging: Agarwal et al., "Mergeable Summaries", PODS 2012.

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of distinct values tracked. With at most this many distinct values, every count is exact.
pub const TRACKED: usize = 16;
/// Number of most common values that reports show of a sequence.
pub const REPORTED: usize = 4;

/// Value and bounds of the number of its occurrences: at most `count`, at least `count - over`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonValue {
    /// Value that occurred, such as an access size in bytes.
    pub value: i64,
    /// Upper bound of the number of occurrences of the value.
    pub count: u64,
    /// Maximum error of `count`: the value occurred at least `count - over` times; 0 if `count` is exact.
    pub over: u64,
}

/// Most common values of a sequence. In a sequence of *n* values, each value that occurs more than *n* / [`TRACKED`] times is tracked, and
/// no `over` (maximum error of a count) exceeds *n* / [`TRACKED`]; after merging, *n* is the sum of the lengths of both sequences.
#[derive(Clone, Copy, Debug)]
pub struct CommonValues {
    // Separate arrays, so that a value is found by a few vector comparisons.
    values: [i64; TRACKED],
    counts: [u64; TRACKED],
    overs: [u64; TRACKED],
    used: usize,
    /// Index of the tracked value counted last, with which the next value is compared first, because it is usually equal.
    last: usize,
    /// Index of the value replaced last, from which the search for the next rarest value continues.
    hand: usize,
    /// Lower bound of all counts: the count of the value replaced last, when it was replaced.
    least: u64,
}

impl Default for CommonValues {
    fn default() -> Self {
        Self::new()
    }
}

impl CommonValues {
    /// Creates an empty set of most common values.
    #[must_use]
    pub const fn new() -> Self {
        Self { values: [0; TRACKED], counts: [0; TRACKED], overs: [0; TRACKED], used: 0, last: 0, hand: 0, least: 0 }
    }

    /// Counts one occurrence of a value.
    #[inline]
    pub fn add(&mut self, value: i64) {
        if self.last < self.used && self.values[self.last] == value {
            self.counts[self.last] += 1;
            return;
        }
        self.add_other(value);
    }

    /// Counts `times` occurrences of a value.
    #[inline]
    pub fn add_times(&mut self, value: i64, times: u64) {
        if let Some(more) = times.checked_sub(1) {
            self.add(value);
            self.counts[self.last] += more;
        }
    }

    fn add_other(&mut self, value: i64) {
        let used = self.used.min(TRACKED);
        let at = match self.values[..used].iter().position(|&known| known == value) {
            Some(at) => at,
            None if used < TRACKED => {
                self.values[used] = value;
                self.used = used + 1;
                used
            }
            None => {
                let at = self.next_rarest();
                self.values[at] = value;
                self.overs[at] = self.counts[at];
                at
            }
        };
        self.counts[at] += 1;
        self.last = at;
    }

    /// Returns the index of a value with the lowest count, in a few steps if many values have that count. No count is below `least`.
    fn next_rarest(&mut self) -> usize {
        let found = (1..=TRACKED).map(|step| (self.hand + step) % TRACKED).find(|&at| self.counts[at] == self.least);
        let at = found.unwrap_or_else(|| self.rarest());
        (self.hand, self.least) = (at, self.counts[at]);
        at
    }

    fn rarest(&self) -> usize {
        let mut at = 0;
        for i in 1..TRACKED {
            if self.counts[i] < self.counts[at] {
                at = i;
            }
        }
        at
    }

    /// Returns the tracked values, most common first and ties in ascending order, and the number of values in use; later elements of the
    /// array are empty.
    #[must_use]
    pub fn sorted(&self) -> ([CommonValue; TRACKED], usize) {
        let mut all = [CommonValue::default(); TRACKED];
        for (i, place) in all.iter_mut().enumerate().take(self.used) {
            *place = CommonValue { value: self.values[i], count: self.counts[i], over: self.overs[i] };
        }
        all[..self.used].sort_unstable_by_key(|common| (std::cmp::Reverse(common.count), common.value));
        (all, self.used)
    }

    /// Returns the most common values for reports. As in Darshan, the value 0 is omitted: other counters count calls that moved no bytes
    /// (size 0), and accesses that begin where the previous access ended (stride 0).
    #[must_use]
    pub fn top(&self) -> Vec<CommonValue> {
        self.top_of(|value| value != 0)
    }

    /// Returns the [`REPORTED`] most common values for which `shown` returns true.
    #[must_use]
    pub fn top_of(&self, shown: impl Fn(i64) -> bool) -> Vec<CommonValue> {
        let (all, used) = self.sorted();
        all[..used].iter().filter(|common| shown(common.value)).take(REPORTED).copied().collect()
    }

    /// Builds a set from entries in the order of [`Self::sorted`]; entries beyond [`TRACKED`] are dropped.
    #[must_use]
    pub fn from_entries(entries: &[CommonValue]) -> Self {
        let mut out = Self::new();
        for (i, entry) in entries.iter().take(TRACKED).enumerate() {
            (out.values[i], out.counts[i], out.overs[i]) = (entry.value, entry.count, entry.over);
            out.used = i + 1;
        }
        out
    }

    /// Adds the counts of `other`. With at most [`TRACKED`] distinct values in total, the result is exact and independent of the order of
    /// merging. With more values the bounds hold, but the order of merging may decide which rare values remain.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (self.floor(), other.floor());
        let mut all = [CommonValue::default(); 2 * TRACKED];
        let mut used = 0;
        let mut put = |entry: CommonValue| {
            all[used] = entry;
            used += 1;
        };
        for i in 0..self.used {
            // A value missing from a full table may have occurred as often as the table's rarest value.
            let (count, over) = other.of(self.values[i]).unwrap_or((theirs, theirs));
            put(CommonValue {
                value: self.values[i],
                count: self.counts[i].saturating_add(count),
                over: self.overs[i].saturating_add(over),
            });
        }
        for i in (0..other.used).filter(|&i| self.of(other.values[i]).is_none()) {
            put(CommonValue {
                value: other.values[i],
                count: other.counts[i].saturating_add(mine),
                over: other.overs[i].saturating_add(mine),
            });
        }
        all[..used].sort_unstable_by_key(|common| (std::cmp::Reverse(common.count), common.value));
        *self = Self::from_entries(&all[..used.min(TRACKED)]);
    }

    /// Returns the maximum number of occurrences of a value that is missing from the table.
    fn floor(&self) -> u64 {
        if self.used < TRACKED { 0 } else { self.counts[self.rarest()] }
    }

    fn of(&self, value: i64) -> Option<(u64, u64)> {
        let at = self.values[..self.used].iter().position(|&known| known == value)?;
        Some((self.counts[at], self.overs[at]))
    }
}

impl PartialEq for CommonValues {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Eq for CommonValues {}

impl Serialize for CommonValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (all, used) = self.sorted();
        serializer.collect_seq(&all[..used])
    }
}

impl<'de> Deserialize<'de> for CommonValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = CommonValues;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a list of common values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CommonValues, A::Error> {
                let (mut entries, mut used) = ([CommonValue::default(); TRACKED], 0);
                // A longer list of a newer writer is read to its end; the most common values come first.
                while let Some(entry) = list.next_element::<CommonValue>()? {
                    if let Some(place) = entries.get_mut(used) {
                        *place = entry;
                        used += 1;
                    }
                }
                Ok(CommonValues::from_entries(&entries[..used]))
            }
        }
        deserializer.deserialize_seq(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i64>) -> CommonValues {
        let mut common = CommonValues::new();
        values.into_iter().for_each(|value| common.add(value));
        common
    }

    fn common(value: i64, count: u64, over: u64) -> CommonValue {
        CommonValue { value, count, over }
    }

    #[test]
    fn up_to_sixteen_values_are_exact() {
        let values = of((0..16).flat_map(|value| (0..=value).map(move |_| value * 10)));
        assert_eq!(values.top(), [common(150, 16, 0), common(140, 15, 0), common(130, 14, 0), common(120, 13, 0)]);
        assert_eq!(of([5, -5, 5, -5]).top(), [common(-5, 2, 0), common(5, 2, 0)]);
        assert_eq!(of([]).top(), []);
        let with_none = of([0, 0, 0, 8, 8, -4, 12, 16, 20]);
        assert_eq!(with_none.top(), [common(8, 2, 0), common(-4, 1, 0), common(12, 1, 0), common(16, 1, 0)]);
        assert_eq!(with_none.top_of(|value| value > 0).last(), Some(&common(20, 1, 0)));
    }

    #[test]
    fn a_frequent_value_is_found_among_many_and_within_its_bounds() {
        // The value 7 makes up a fifth of the sequence; all other values occur once.
        let values: Vec<i64> = (0..10_000).map(|i| if i % 5 == 0 { 7 } else { 1000 + i }).collect();
        let first = of(values.iter().copied()).top()[0];
        assert_eq!(first.value, 7);
        assert!((first.count - first.over..=first.count).contains(&2000), "{first:?}");
        let (all, used) = of(values).sorted();
        assert!(all[..used].iter().all(|common| common.over <= 10_000 / TRACKED as u64));
    }

    #[test]
    fn halves_merge_to_the_whole_in_either_order() {
        let (a, b) = ((0..300).map(|i| i * i % 7), (0..200).map(|i| i % 9 + 3));
        let whole = of(a.clone().chain(b.clone()));
        let (mut one, mut other) = (of(a.clone()), of(b.clone()));
        one.merge(&of(b));
        other.merge(&of(a));
        assert_eq!((one, other), (whole, whole));
    }

    #[test]
    fn merged_full_tables_keep_their_bounds() {
        let lists: Vec<Vec<i64>> = (0..4)
            .map(|part| (0..4000_i64).map(|i| if i % 3 == 0 { 1 } else { i * 7919 % 997 + part * 10_000 }).collect())
            .collect();
        let mut merged = CommonValues::new();
        lists.iter().for_each(|list| merged.merge(&of(list.iter().copied())));
        let (all, used) = merged.sorted();
        for entry in &all[..used] {
            let really = lists.iter().flatten().filter(|&&value| value == entry.value).count() as u64;
            assert!((entry.count - entry.over..=entry.count).contains(&really), "{entry:?}: {really}");
            assert!(entry.over <= 16_000 / TRACKED as u64);
        }
        assert_eq!(all[0].value, 1);
    }
}
