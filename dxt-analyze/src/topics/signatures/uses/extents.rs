//! Simulated cache with LRU eviction that stores byte ranges of a file. Costs grow with the number of ranges, not of bytes, so requests of
//! gigabytes cost as much as small ones.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of ranges per cache, which bounds the memory of the simulation (about 100 bytes per range).
const MOST_RANGES: usize = 1 << 20;

/// Byte range of a file in the simulated cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// File offset of the range's first byte.
    pub start: u64,
    /// File offset of the range's end, exclusive.
    pub end: u64,
    /// Time at which the bytes arrive in the cache, ns.
    pub arrives_ns: u64,
    /// True if the bytes were prefetched and have not been used since.
    pub unused: bool,
    /// Sequence number of the last use; the range with the lowest is evicted first.
    stamp: u64,
}

impl Extent {
    /// Returns the length of the range in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Cache contents: disjoint byte ranges with bounded total length.
#[derive(Clone, Debug)]
pub struct Extents {
    by_start: BTreeMap<u64, Extent>,
    /// (Sequence number of last use, start of the range): the first entry is evicted next.
    by_use: BTreeSet<(u64, u64)>,
    bytes: u64,
    capacity_bytes: u64,
    uses: u64,
}

impl Extents {
    /// Creates an empty cache with a capacity of `capacity_bytes`.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        Self { by_start: BTreeMap::new(), by_use: BTreeSet::new(), bytes: 0, capacity_bytes, uses: 0 }
    }

    /// Removes the cached parts of `start..end`, and returns them in order of offsets.
    pub fn take(&mut self, start: u64, end: u64) -> Vec<Extent> {
        let mut taken = Vec::new();
        if start >= end {
            return taken;
        }
        let before = self.by_start.range(..start).next_back().map(|(_, extent)| *extent);
        let touched: Vec<Extent> = before
            .into_iter()
            .filter(|extent| extent.end > start)
            .chain(self.by_start.range(start..end).map(|(_, extent)| *extent))
            .collect();
        for extent in touched {
            self.remove(&extent);
            self.insert(Extent { end: start.min(extent.end), ..extent });
            self.insert(Extent { start: end.max(extent.start), ..extent });
            taken.push(Extent { start: extent.start.max(start), end: extent.end.min(end), ..extent });
        }
        taken
    }

    /// Returns the parts of `start..end` that are not cached.
    #[must_use]
    pub fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = self.by_start.range(..start).next_back().map_or(start, |(_, extent)| extent.end.max(start));
        if start >= end {
            return gaps;
        }
        for extent in self.by_start.range(start..end).map(|(_, extent)| extent) {
            if extent.start > at {
                gaps.push((at, extent.start));
            }
            at = at.max(extent.end);
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    /// Inserts `start..end` as the most recently used range, replacing parts of it that were already cached. `arrives_ns`: time at which
    /// its bytes arrive; `unused`: true if they are prefetched. Returns the evicted ranges, least recently used first; they may include
    /// parts of the inserted range itself.
    pub fn put(&mut self, start: u64, end: u64, arrives_ns: u64, unused: bool) -> Vec<Extent> {
        if start >= end {
            return Vec::new();
        }
        self.take(start, end);
        self.uses = self.uses.saturating_add(1);
        self.insert(Extent { start, end, arrives_ns, unused, stamp: self.uses });
        self.make_room()
    }

    fn make_room(&mut self) -> Vec<Extent> {
        let mut gone = Vec::new();
        while self.bytes > self.capacity_bytes || self.by_start.len() > MOST_RANGES {
            let Some(extent) = self.by_use.first().and_then(|(_, start)| self.by_start.get(start)).copied() else {
                break;
            };
            self.remove(&extent);
            // Evicts no more than necessary: the rest of the least recently used range stays.
            let excess = self.bytes.saturating_add(extent.length()).saturating_sub(self.capacity_bytes);
            let cut = if excess == 0 { extent.end } else { extent.start.saturating_add(excess).min(extent.end) };
            gone.push(Extent { end: cut, ..extent });
            self.insert(Extent { start: cut, ..extent });
        }
        gone
    }

    fn insert(&mut self, extent: Extent) {
        if extent.start < extent.end {
            self.bytes = self.bytes.saturating_add(extent.length());
            self.by_use.insert((extent.stamp, extent.start));
            self.by_start.insert(extent.start, extent);
        }
    }

    fn remove(&mut self, extent: &Extent) {
        if self.by_start.remove(&extent.start).is_some() {
            self.bytes = self.bytes.saturating_sub(extent.length());
            self.by_use.remove(&(extent.stamp, extent.start));
        }
    }

    /// Returns the number of cached bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(extents: &[Extent]) -> Vec<(u64, u64)> {
        extents.iter().map(|extent| (extent.start, extent.end)).collect()
    }

    #[test]
    fn parts_are_cut_out_and_the_rest_stays() {
        let mut cache = Extents::new(1_000);
        cache.put(0, 100, 0, true);
        assert_eq!(ranges(&cache.take(40, 60)), [(40, 60)]);
        assert_eq!(cache.gaps(0, 200), [(40, 60), (100, 200)]);
        assert_eq!(cache.bytes(), 80);
        assert_eq!(ranges(&cache.take(30, 70)), [(30, 40), (60, 70)]);
    }

    #[test]
    fn the_least_recently_used_goes_and_no_more_of_it_than_needed() {
        let mut cache = Extents::new(100);
        cache.put(0, 50, 0, true);
        cache.put(100, 150, 0, false);
        assert_eq!(ranges(&cache.put(0, 50, 0, false)), []);
        assert_eq!(ranges(&cache.put(200, 210, 0, false)), [(100, 110)]);
        assert_eq!(ranges(&cache.put(300, 500, 0, false)), [(110, 150), (0, 50), (200, 210), (300, 400)]);
        assert_eq!(cache.bytes(), 100);
    }

    /// Compares the cache with an array of one flag per byte, under random operations.
    #[test]
    fn the_bytes_are_those_of_a_map_of_bytes() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut cache = Extents::new(120);
        let mut bytes = [false; 256];
        for _ in 0..20_000 {
            let start = next(256);
            let end = (start + next(40)).min(256);
            if next(3) == 0 {
                for extent in cache.take(start, end) {
                    assert!(bytes[extent.start as usize..extent.end as usize].iter().all(|there| *there));
                }
                bytes[start as usize..end as usize].fill(false);
            } else {
                bytes[start as usize..end as usize].fill(true);
                for gone in cache.put(start, end, 0, false) {
                    bytes[gone.start as usize..gone.end as usize].fill(false);
                }
            }
            let mut missing = [false; 256];
            for (from, to) in cache.gaps(0, 256) {
                missing[from as usize..to as usize].fill(true);
            }
            assert!(bytes.iter().zip(missing).all(|(there, missing)| *there != missing));
            assert_eq!(cache.bytes(), bytes.iter().filter(|there| **there).count() as u64);
            assert!(cache.bytes() <= 120);
        }
    }

    #[test]
    fn nothing_panics_at_the_ends_of_the_numbers() {
        for capacity in [0, 1, u64::MAX] {
            let mut cache = Extents::new(capacity);
            cache.put(0, u64::MAX, u64::MAX, true);
            cache.put(u64::MAX - 1, u64::MAX, 0, true);
            cache.put(5, 5, 0, true);
            cache.put(9, 3, 0, true);
            cache.take(u64::MAX, 0);
            assert!(cache.gaps(9, 3).is_empty());
            assert!(cache.bytes() <= capacity);
        }
    }
}
