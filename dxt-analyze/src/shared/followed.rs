//! A table of bounded size over keys without number, by adaptive sampling (Flajolet, "On adaptive sampling", Computing 43, 1990; the idea
//! is Wegman's): when it grows too large, only keys whose hash begins with one more zero bit stay. What is kept is exact, which keys
//! are kept depends on the keys alone, so threads that saw different parts agree, and the share that is kept is known: 1 in 2^bits.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// What is followed under a key.
pub trait Value {
    /// Adds what is known under the same key.
    fn join(&mut self, other: Self);
}

/// A key.
pub trait Key: Copy + Eq + Hash {
    /// Two numbers that are no key's but this one's.
    fn parts(self) -> (u64, u64);

    /// Spread over 64 bits: the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
    #[inline]
    fn spread(self) -> u64 {
        let (major, minor) = self.parts();
        let mut z = minor ^ major.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Whether it is among those that are followed: one in two to the power of `bits`.
    #[inline]
    fn is_followed(self, bits: u32) -> bool {
        bits == 0 || self.spread().leading_zeros() >= bits
    }
}

/// One key in how many is followed where their hash begins with `bits` zero bits.
pub(super) fn one_in(bits: u32) -> u64 {
    1_u64.checked_shl(bits).unwrap_or(u64::MAX)
}

/// The table.
#[derive(Clone, Debug)]
pub struct Followed<K, V> {
    map: FxHashMap<K, V>,
    bits: u32,
    limit: usize,
}

impl<K: Key, V: Value> Followed<K, V> {
    /// Follows `limit` keys at most.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { map: FxHashMap::default(), bits: 0, limit }
    }

    /// Whether a key is among those followed now.
    #[inline]
    #[must_use]
    pub fn follows(&self, key: K) -> bool {
        key.is_followed(self.bits)
    }

    /// Adds to what is known under `key`, if it is followed.
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

    /// Changes what is known under `key` in its place, if it is followed.
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

    /// Adds what another thread followed.
    pub fn merge(&mut self, other: Self) {
        self.follow_fewer(other.bits);
        other.map.into_iter().for_each(|(key, value)| self.add(key, value));
    }

    /// One key in how many is followed.
    #[must_use]
    pub fn one_in(&self) -> u64 {
        one_in(self.bits)
    }

    /// Those followed, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.map.iter()
    }
}

impl<K: Key + Ord, V> Followed<K, V> {
    /// Those followed, by key.
    #[must_use]
    pub fn sorted(self) -> Vec<(K, V)> {
        let mut all: Vec<(K, V)> = self.map.into_iter().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }
}
