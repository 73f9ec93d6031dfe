//! Small cache of sums in front of a large table. Successive items often add to a few alternating keys, such as a file's storage targets.
//! The cache collects many additions per key; the table is updated only when a key is evicted, or at the end.

const PLACES: usize = 16;

/// Direct-mapped cache of sums by key.
#[derive(Clone, Debug)]
pub struct InTurn<K, V>([Option<(K, V)>; PLACES]);

impl<K: Copy, V: Copy> Default for InTurn<K, V> {
    fn default() -> Self {
        Self([None; PLACES])
    }
}

impl<K: PartialEq, V> InTurn<K, V> {
    /// Adds `value` to the cached sum of `key`, using `add`. `number` selects the cache slot, so alternating keys should have different
    /// numbers. Returns the sum that was evicted from the slot, if any; the caller adds it to the table.
    #[inline]
    pub fn add(&mut self, number: usize, key: K, value: V, add: impl FnOnce(&mut V, V)) -> Option<(K, V)> {
        match self.find(number, &key) {
            Some(sum) => {
                add(sum, value);
                None
            }
            None => self.put(number, key, value),
        }
    }

    /// Returns the cached sum of `key`; `None` if `key` is not in the cache.
    #[inline]
    pub fn find(&mut self, number: usize, key: &K) -> Option<&mut V> {
        match self.0.get_mut(number % PLACES) {
            Some(Some((same, sum))) if same == key => Some(sum),
            _ => None,
        }
    }

    /// Starts a sum for a `key` that is not in the cache. Returns the evicted sum, if any, as [`Self::add`] does.
    #[inline]
    pub fn put(&mut self, number: usize, key: K, value: V) -> Option<(K, V)> {
        self.0.get_mut(number % PLACES)?.replace((key, value))
    }

    /// Returns all sums that are still in the cache; the caller adds them to the table.
    pub fn rest(self) -> impl Iterator<Item = (K, V)> {
        self.0.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn nothing_is_lost_on_the_way_to_the_table() {
        let (mut table, mut open) = (BTreeMap::<u64, u64>::new(), InTurn::default());
        let mut put = |(key, sum): (u64, u64)| *table.entry(key).or_default() += sum;
        for step in 0..1000_u64 {
            let key = if step < 500 { step % 3 } else { step * step % 97 };
            open.add(key as usize, key, step, |sum, more| *sum += more).into_iter().for_each(&mut put);
        }
        open.rest().for_each(&mut put);
        assert_eq!(table.values().sum::<u64>(), 999 * 500);
        assert_eq!(
            table.get(&1),
            Some(&(0..1000).filter(|s| if *s < 500 { s % 3 == 1 } else { s * s % 97 == 1 }).sum())
        );
    }
}
