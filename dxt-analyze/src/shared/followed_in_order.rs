//! Variant of the sampling table in [`super::sampled_table`] for millions of keys: a sorted list, and a short buffer of recent entries that
//! is sorted and merged into the list when full. Processes mostly access their files in order, so list and buffer are read sequentially,
//! while a hash table would cause a cache miss for each key.

use super::sampled_table::{Key, Value, one_in};

/// Maximum recent entries in the buffer before they are merged into the sorted list.
const WAITING: usize = 1 << 15;
/// Number of list entries searched for a key, starting at the last hit: the next key of a process is mostly near.
const NEAR: usize = 64;
/// After this many successive misses, keys seem to be unordered: from then on, only every `IN_VAIN`-th key is searched for near the last
/// hit.
const IN_VAIN: u32 = 16;

/// Sorted table of values by key, of bounded size: if there are too many keys, the table keeps a sample of them, chosen by hash.
#[derive(Clone, Debug)]
pub struct FollowedInOrder<K, V> {
    /// Sampled entries, sorted by key; each key occurs once.
    known: Vec<(K, V)>,
    /// Recent entries that are not in the list yet, in order of arrival.
    waiting: Vec<(K, V)>,
    /// Scratch buffers of [`Self::settle`]: keys with their position among the recent entries, and the recent entries sorted by key.
    order: Vec<(K, u32)>,
    new: Vec<(K, V)>,
    /// Position of the last hit in the sorted list.
    near: usize,
    /// Number of successive misses since the last hit.
    in_vain: u32,
    bits: u32,
    limit: usize,
}

impl<K: Key + Ord, V: Value + Copy> FollowedInOrder<K, V> {
    /// Creates a table that keeps at most `limit` keys, plus the keys in the buffer of recent entries.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            known: Vec::new(),
            waiting: Vec::new(),
            order: Vec::new(),
            new: Vec::new(),
            near: 0,
            in_vain: 0,
            bits: 0,
            limit,
        }
    }

    /// Returns true if `key` belongs to the current sample, so that its value is kept.
    #[inline]
    #[must_use]
    pub fn follows(&self, key: K) -> bool {
        key.is_followed(self.bits)
    }

    /// Combines `value` with the entry of `key`, if `key` is in the sample.
    #[inline]
    pub fn add(&mut self, key: K, value: V) {
        if self.follows(key) {
            if let Some(mine) = self.near(key) {
                return mine.join(value);
            }
            self.waiting.push((key, value));
            if self.waiting.len() >= WAITING.min(self.limit.max(1)) {
                self.settle();
            }
        }
    }

    /// Searches for `key` in the sorted list near the last hit, or else at the list's beginning. Most keys are found if processes access a
    /// file's regions one after another.
    #[inline]
    fn near(&mut self, key: K) -> Option<&mut V> {
        if self.in_vain >= IN_VAIN && !self.in_vain.is_multiple_of(IN_VAIN) {
            self.in_vain = self.in_vain.wrapping_add(1);
            return None;
        }
        let goes_on = self.known.get(self.near).is_some_and(|(last, _)| *last <= key);
        let from = if goes_on { self.near } else { 0 };
        let few = self.known.get_mut(from..).unwrap_or_default();
        let few = few.get_mut(..NEAR.min(few.len())).unwrap_or_default();
        let at = first_from(few, 0, |(known, _)| *known < key);
        match few.get_mut(at).filter(|(known, _)| *known == key) {
            Some((_, mine)) => {
                (self.near, self.in_vain) = (from + at, 0);
                Some(mine)
            }
            None => {
                self.in_vain = self.in_vain.wrapping_add(1);
                None
            }
        }
    }

    /// Merges the buffer of recent entries into the sorted list. Call this before any query.
    pub fn settle(&mut self) {
        let (mut order, mut new) = (std::mem::take(&mut self.order), std::mem::take(&mut self.new));
        // Sorts keys with positions: entries with values are more than twice as large to move.
        order.extend(self.waiting.iter().zip(0_u32..).map(|((key, _), place)| (*key, place)));
        order.sort_by_key(|(key, _)| *key);
        for similar in order.chunk_by(|(one, _), (next, _)| one == next) {
            let mut values = similar.iter().filter_map(|(_, place)| self.waiting.get(*place as usize));
            if let Some(mut first) = values.next().copied() {
                values.for_each(|(_, value)| first.1.join(*value));
                new.push(first);
            }
        }
        self.waiting.clear();
        self.take_in(&mut new);
        order.clear();
        new.clear();
        (self.order, self.new) = (order, new);
    }

    /// Merges `new`, a sorted list with unique keys, into the table's sorted list; leaves `new` in an unspecified state.
    fn take_in(&mut self, new: &mut Vec<(K, V)>) {
        let mut at = 0;
        new.retain(|(key, value)| {
            at = first_from(&self.known, at, |(known, _)| known < key);
            match self.known.get_mut(at).filter(|(known, _)| known == key) {
                Some((_, mine)) => {
                    mine.join(*value);
                    false
                }
                None => true,
            }
        });
        // Merges from the end, so that each entry moves once, to its final position.
        let (mut from, mut to) = (self.known.len(), self.known.len() + new.len());
        self.known.extend_from_slice(new);
        while let Some(entry) = new.last() {
            to -= 1;
            match from.checked_sub(1).and_then(|before| self.known.get(before)).filter(|before| before.0 > entry.0) {
                Some(before) => {
                    self.known[to] = *before;
                    from -= 1;
                }
                None => {
                    self.known[to] = *entry;
                    new.pop();
                }
            }
        }
        while self.known.len() > self.limit && self.bits < u64::BITS {
            self.follow_fewer(self.bits + 1);
        }
    }

    fn follow_fewer(&mut self, bits: u32) {
        if bits > self.bits {
            self.bits = bits;
            self.known.retain(|(key, _)| key.is_followed(bits));
        }
    }

    /// Merges another thread's table into this one.
    pub fn merge(&mut self, mut other: Self) {
        other.settle();
        self.settle();
        self.follow_fewer(other.bits);
        other.follow_fewer(self.bits);
        self.take_in(&mut other.known);
    }

    /// Returns n if one key in n is in the sample (sampling rate 1/n).
    #[must_use]
    pub fn one_in(&self) -> u64 {
        one_in(self.bits)
    }

    /// Iterates over the sampled entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.known.iter()
    }
}

/// Returns the first index >= `at` for whose element `before` is false. Uses a galloping search, which takes few steps if the index is near `at`.
#[inline]
#[must_use]
pub fn first_from<T>(sorted: &[T], at: usize, before: impl Fn(&T) -> bool) -> usize {
    let (mut from, mut step) = (at, 1);
    while sorted.get(from + step - 1).is_some_and(&before) {
        from += step;
        step *= 2;
    }
    let until = (from + step - 1).min(sorted.len());
    from + sorted.get(from..until).map_or(0, |few| few.partition_point(before))
}

#[cfg(test)]
mod tests {
    use super::super::sampled_table::Followed;
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Sum(u64);

    impl Value for Sum {
        fn join(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Number(u64);

    impl Key for Number {
        fn parts(self) -> (u64, u64) {
            (3, self.0)
        }
    }

    #[test]
    fn it_follows_what_a_hash_table_follows() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for limit in [1, 10, 100, 5000, usize::MAX] {
            let (mut hashed, mut listed) = (Followed::with_limit(limit), FollowedInOrder::with_limit(limit));
            for part in 0..3 {
                let (mut more_hashed, mut more) = (Followed::with_limit(limit), FollowedInOrder::with_limit(limit));
                for step in 0..40_000 {
                    let key = Number(if step % 3 == 0 { random(20_000) } else { step / 5 * 7 + part });
                    more_hashed.add(key, Sum(step));
                    more.add(key, Sum(step));
                }
                hashed.merge(more_hashed);
                listed.merge(more);
            }
            listed.settle();
            assert_eq!(listed.one_in(), hashed.one_in());
            assert_eq!(listed.iter().copied().collect::<Vec<_>>(), hashed.sorted(), "{limit}");
        }
    }
}
