//! Stripes that are written in part, and whether by more than one process. A write that covers a whole stripe shares it
//! with nobody (unless the bytes themselves overlap), so each write touches two stripes here at most.
//!
//! The table is bounded by adaptive sampling (Flajolet, "On adaptive sampling", Computing 43, 1990; the idea is Wegman's):
//! when it grows too large, only stripes whose hash begins with one more zero bit stay. What is kept is counted exactly,
//! which stripes are kept depends on their names alone, and the share that is kept is known: 1 in 2^bits.

use crate::limits::FOLLOWED_STRIPES;
use rustc_hash::FxHashMap;

/// A stripe of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripeKey {
    /// Index into the run's files.
    pub file: u32,
    /// First byte of the stripe.
    pub start: u64,
}

impl StripeKey {
    /// Spreads the key over 64 bits: the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
    fn hash(self) -> u64 {
        let mut z = self.start ^ u64::from(self.file).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn is_in(self, bits: u32) -> bool {
        self.hash().leading_zeros() >= bits
    }
}

/// Who wrote a part of a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writers {
    /// One of the processes.
    pub process: u32,
    /// Whether there is another.
    pub several: bool,
    /// Node of one of the processes.
    pub node: u32,
    /// Whether another wrote from another node.
    pub several_nodes: bool,
    /// Writes.
    pub writes: u64,
    /// Their time, ns.
    pub time_ns: u64,
}

/// Sums over contested stripes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContestedSums {
    /// Written in part by more than one process.
    pub stripes: u64,
    /// Of these, by processes of more than one node.
    pub between_nodes: u64,
    /// Writes to the latter.
    pub writes_between_nodes: u64,
}

/// The stripes that are followed.
#[derive(Clone, Debug)]
pub struct Followed {
    stripes: FxHashMap<StripeKey, Writers>,
    /// The stripe that was written to last, not in the table yet: a process often writes to one stripe many times in a row.
    open: Option<(StripeKey, Writers)>,
    bits: u32,
    limit: usize,
}

impl Default for Followed {
    fn default() -> Self {
        Self::with_limit(FOLLOWED_STRIPES)
    }
}

impl Followed {
    /// Follows `limit` stripes at most.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { stripes: FxHashMap::default(), open: None, bits: 0, limit }
    }

    /// One write of a part of `stripe`. [`Self::settle`] before the next question.
    #[inline]
    pub fn add(&mut self, stripe: StripeKey, process: u32, node: u32, time_ns: u64) {
        match &mut self.open {
            Some((same, writers)) if *same == stripe && writers.process == process => {
                writers.writes = writers.writes.saturating_add(1);
                writers.time_ns = writers.time_ns.saturating_add(time_ns);
            }
            _ => {
                self.settle();
                if self.bits == 0 || stripe.is_in(self.bits) {
                    let writers = Writers { process, several: false, node, several_nodes: false, writes: 1, time_ns };
                    self.open = Some((stripe, writers));
                }
            }
        }
    }

    /// Puts the stripe that was written to last into the table.
    pub fn settle(&mut self) {
        if let Some((stripe, writers)) = self.open.take() {
            self.join(stripe, writers);
            self.shrink();
        }
    }

    fn join(&mut self, stripe: StripeKey, writers: Writers) {
        match self.stripes.entry(stripe) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(writers);
            }
            std::collections::hash_map::Entry::Occupied(mut place) => {
                let mine = place.get_mut();
                mine.several |= writers.several || mine.process != writers.process;
                mine.process = mine.process.min(writers.process);
                mine.several_nodes |= writers.several_nodes || mine.node != writers.node;
                mine.node = mine.node.min(writers.node);
                mine.writes = mine.writes.saturating_add(writers.writes);
                mine.time_ns = mine.time_ns.saturating_add(writers.time_ns);
            }
        }
    }

    fn shrink(&mut self) {
        while self.stripes.len() > self.limit && self.bits < u64::BITS {
            self.bits += 1;
            let bits = self.bits;
            self.stripes.retain(|stripe, _| stripe.is_in(bits));
        }
    }

    /// Adds what another thread followed.
    pub fn merge(&mut self, mut other: Self) {
        other.settle();
        self.settle();
        if other.bits > self.bits {
            self.bits = other.bits;
            let bits = self.bits;
            self.stripes.retain(|stripe, _| stripe.is_in(bits));
        }
        for (stripe, writers) in other.stripes {
            if stripe.is_in(self.bits) {
                self.join(stripe, writers);
            }
        }
        self.shrink();
    }

    /// One stripe in this many was followed.
    #[must_use]
    pub fn one_in(&self) -> u64 {
        1_u64.checked_shl(self.bits).unwrap_or(u64::MAX)
    }

    /// How many stripes that are followed were written in part by more than one process, and how often.
    #[must_use]
    pub fn contested_sums(&self) -> ContestedSums {
        let mut out = ContestedSums::default();
        for writers in self.stripes.values().filter(|writers| writers.several) {
            out.stripes += 1;
            if writers.several_nodes {
                out.between_nodes += 1;
                out.writes_between_nodes = out.writes_between_nodes.saturating_add(writers.writes);
            }
        }
        out
    }

    /// Stripes written in part by more than one process: the most written-to time first.
    #[must_use]
    pub fn contested(&self) -> Vec<(StripeKey, Writers)> {
        let several = self.stripes.iter().filter(|(_, writers)| writers.several);
        let mut out: Vec<(StripeKey, Writers)> = several.map(|(stripe, writers)| (*stripe, *writers)).collect();
        out.sort_by_key(|(stripe, writers)| (std::cmp::Reverse(writers.time_ns), *stripe));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(start: u64) -> StripeKey {
        StripeKey { file: 1, start }
    }

    #[test]
    fn only_stripes_of_several_processes_are_contested() {
        let mut followed = Followed::default();
        followed.add(key(0), 1, 0, 10);
        followed.add(key(0), 1, 0, 10);
        followed.add(key(100), 1, 0, 5);
        followed.add(key(100), 2, 0, 7);
        followed.settle();
        assert_eq!(followed.contested_sums(), ContestedSums { stripes: 1, between_nodes: 0, writes_between_nodes: 0 });
        followed.add(key(200), 1, 0, 1);
        followed.add(key(200), 3, 1, 1);
        followed.settle();
        assert_eq!(followed.contested_sums(), ContestedSums { stripes: 2, between_nodes: 1, writes_between_nodes: 2 });
        followed.stripes.remove(&key(200));
        let contested = followed.contested();
        assert_eq!(contested.len(), 1);
        assert_eq!((contested[0].0, contested[0].1.writes, contested[0].1.time_ns), (key(100), 2, 12));
        assert_eq!(followed.one_in(), 1);
    }

    #[test]
    fn a_bounded_table_keeps_the_same_stripes_in_any_order() {
        let writes: Vec<(u64, u32)> = (0..4000_u64).map(|i| (i % 1000, (i / 1000) as u32)).collect();
        let fill = |order: &mut dyn Iterator<Item = &(u64, u32)>| {
            let mut followed = Followed::with_limit(100);
            order.for_each(|&(start, process)| followed.add(key(start), process, process, 1));
            followed.settle();
            followed
        };
        let whole = fill(&mut writes.iter());
        assert!(whole.one_in() >= 8 && !whole.contested().is_empty());
        let mut backwards = fill(&mut writes.iter().rev().take(2500));
        backwards.merge(fill(&mut writes.iter().take(1500)));
        assert_eq!(backwards.contested(), whole.contested());
        assert_eq!(backwards.one_in(), whole.one_in());
        assert!(whole.contested().iter().all(|(_, writers)| writers.writes == 4));
    }
}
