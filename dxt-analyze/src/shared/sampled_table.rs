//! Table of bounded size over an unbounded set of keys, by adaptive sampling (Flajolet, "On adaptive sampling", Computing 43, 1990; the
//! idea is Wegman's). When the table grows too large, it keeps only keys whose hash starts with one more zero bit. Values of kept keys stay
//! exact. The sample depends on keys alone, so threads that saw different data agree on it. The sampling rate is known: 1 in 2^bits.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Value that a sampling table stores for a key.
pub trait Value {
    /// Combines this value with another value of the same key.
    fn join(&mut self, other: Self);
}

/// Key of a sampling table.
pub trait Key: Copy + Eq + Hash {
    /// Returns two numbers that identify the key.
    fn parts(self) -> (u64, u64);

    /// Hashes the key to 64 bits with the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
    #[inline]
    fn spread(self) -> u64 {
        let (major, minor) = self.parts();
        let mut z = minor ^ major.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns true if the key is in a sample of one in 2^`bits` keys.
    #[inline]
    fn is_followed(self, bits: u32) -> bool {
        bits == 0 || self.spread().leading_zeros() >= bits
    }
}

/// Returns 2^`bits`: one key in this many is sampled.
pub(super) fn one_in(bits: u32) -> u64 {
    1_u64.checked_shl(bits).unwrap_or(u64::MAX)
}

/// Hash table of bounded size: if there are too many keys, the table keeps a sample of them, chosen by hash.
#[derive(Clone, Debug)]
pub struct Followed<K, V> {
    map: FxHashMap<K, V>,
    bits: u32,
    limit: usize,
}

impl<K: Key, V: Value> Followed<K, V> {
    /// Creates a table that keeps at most `limit` keys.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { map: FxHashMap::default(), bits: 0, limit }
    }

    /// Returns true if `key` belongs to the current sample, so that its value is kept.
    #[inline]
    #[must_use]
    pub fn follows(&self, key: K) -> bool {
        key.is_followed(self.bits)
    }

    /// Combines `value` with the entry of `key`, if `key` is in the sample.
    pub fn add(&mut self, key: K, value: V) {
        if self.follows(key) {
            self.join(key, value);
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        while self.map.len() > self.limit && self.bits < u64::BITS {
            self.follow_fewer(self.bits + 1);
        }
    }

    /// Changes the entry of `key` in place, if `key` is in the sample; a new entry starts with the default value.
    pub fn change(&mut self, key: K, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        if self.follows(key) {
            change(self.map.entry(key).or_default());
            self.shrink();
        }
    }

    fn join(&mut self, key: K, value: V) {
        match self.map.entry(key) {
            Entry::Vacant(place) => {
                place.insert(value);
            }
            Entry::Occupied(mut place) => place.get_mut().join(value),
        }
    }

    fn follow_fewer(&mut self, bits: u32) {
        if bits > self.bits {
            self.bits = bits;
            self.map.retain(|key, _| key.is_followed(bits));
        }
    }

    /// Merges another thread's table into this one.
    pub fn merge(&mut self, other: Self) {
        self.follow_fewer(other.bits);
        other.map.into_iter().for_each(|(key, value)| self.add(key, value));
    }

    /// Returns n if one key in n is in the sample (sampling rate 1/n).
    #[must_use]
    pub fn one_in(&self) -> u64 {
        one_in(self.bits)
    }

    /// Iterates over the sampled entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.map.iter()
    }
}

impl<K: Key + Ord, V> Followed<K, V> {
    /// Returns the sampled entries, sorted by key.
    #[must_use]
    pub fn sorted(self) -> Vec<(K, V)> {
        let mut all: Vec<(K, V)> = self.map.into_iter().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }
}
