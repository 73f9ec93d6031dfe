//! Ordered map from first byte to strided ranges ([`Comb`]), in chunks that fit the processor's cache. An insert at the end is nearly free;
//! elsewhere it takes two short searches. A `BTreeMap` is three times as slow at 100,000 entries.

use super::strided_ranges::Comb;

/// Maximum number of entries per chunk of the map; a full chunk is split.
const CHUNK: usize = 64;
/// Step of the first scan in a chunk: compares every 8th key, then the keys in between.
const STEP: usize = 8;

/// Key (first byte) and value, stored together because each search for a key is followed by a read of its value.
type Entry = (u64, Comb);

#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    /// Lowest key (first byte of a strided range) of each chunk; no chunk is empty.
    lowest: Vec<u64>,
    chunks: Vec<Vec<Entry>>,
    len: usize,
}

/// Position of an entry of the map, valid until the map is modified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    chunk: usize,
    index: usize,
}

/// Returns the index of the last chunk whose lowest key is at most `key`; `None` if no chunk has one.
#[inline]
fn last_at_most(lowest: &[u64], key: u64) -> Option<usize> {
    if lowest.last().is_some_and(|last| *last <= key) {
        return Some(lowest.len() - 1);
    }
    lowest.partition_point(|one| *one <= key).checked_sub(1)
}

/// Returns the index of the last entry of `chunk` whose key is at most `key`; `None` if there is none. Not by binary search: not all chunks
/// fit a cache, so each step would wait for memory, while the loads of this scan are independent and overlap.
#[inline]
fn last_in(chunk: &[Entry], key: u64) -> Option<usize> {
    if chunk.last().is_some_and(|last| last.0 <= key) {
        return Some(chunk.len() - 1);
    }
    let is_at_most = |one: &Entry| usize::from(one.0 <= key);
    let steps: usize = chunk.iter().step_by(STEP).map(is_at_most).sum();
    let from = steps.checked_sub(1)? * STEP;
    let near: usize = chunk.iter().skip(from).take(STEP).map(is_at_most).sum();
    Some(from + near - 1)
}

impl Sorted {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the position of the last entry whose key is at most `key`; `None` if no entry has one.
    #[inline]
    pub(super) fn floor(&self, key: u64) -> Option<Position> {
        let chunk = last_at_most(&self.lowest, key)?;
        let index = last_in(self.chunks.get(chunk)?, key)?;
        Some(Position { chunk, index })
    }

    #[inline]
    pub(super) fn last(&self) -> Option<(Position, Entry)> {
        let entries = self.chunks.last()?;
        let place = Position { chunk: self.chunks.len() - 1, index: entries.len().checked_sub(1)? };
        Some((place, *entries.last()?))
    }

    #[inline]
    pub(super) fn get(&self, place: Position) -> Option<Entry> {
        self.chunks.get(place.chunk)?.get(place.index).copied()
    }

    #[inline]
    pub(super) fn before(&self, place: Position) -> Option<Position> {
        if let Some(index) = place.index.checked_sub(1) {
            return Some(Position { index, ..place });
        }
        let chunk = place.chunk.checked_sub(1)?;
        Some(Position { chunk, index: self.chunks.get(chunk)?.len().checked_sub(1)? })
    }

    #[inline]
    pub(super) fn behind(&self, place: Position) -> Option<Position> {
        if place.index + 1 < self.chunks.get(place.chunk)?.len() {
            return Some(Position { index: place.index + 1, ..place });
        }
        (place.chunk + 1 < self.chunks.len()).then_some(Position { chunk: place.chunk + 1, index: 0 })
    }

    /// Replaces the entry at `place` by the given key and value; the new key must lie between the keys of its neighbours.
    #[inline]
    pub(super) fn set(&mut self, place: Position, key: u64, run: Comb) {
        let chunk = self.chunks.get_mut(place.chunk);
        chunk.and_then(|chunk| chunk.get_mut(place.index)).into_iter().for_each(|old| *old = (key, run));
        if let (0, Some(lowest)) = (place.index, self.lowest.get_mut(place.chunk)) {
            *lowest = key;
        }
    }

    /// Adds an entry (`key`: first byte); `key` must not be in the map yet.
    pub(super) fn insert(&mut self, key: u64, run: Comb) {
        self.insert_behind(self.floor(key), key, run);
    }

    /// Adds the entry `key`, `run` behind `place`, or before all others if `place` is `None`; returns its position.
    pub(super) fn insert_behind(&mut self, place: Option<Position>, key: u64, run: Comb) -> Position {
        self.len += 1;
        let mut at = match place {
            Some(place) => Position { index: place.index + 1, ..place },
            None => Position { chunk: 0, index: 0 },
        };
        let full = self.chunks.get(at.chunk).is_none_or(|chunk| chunk.len() >= CHUNK);
        if full {
            at = self.make_room(at);
        }
        if let Some(chunk) = self.chunks.get_mut(at.chunk) {
            chunk.insert(at.index.min(chunk.len()), (key, run));
        }
        if let (0, Some(lowest)) = (at.index, self.lowest.get_mut(at.chunk)) {
            *lowest = key;
        }
        at
    }

    /// Adds two entries behind `place`, as two calls of [`Self::insert_behind`] do, but usually moves later entries only once. Returns the
    /// position of the first.
    pub(super) fn insert_two_behind(&mut self, place: Option<Position>, two: [Entry; 2]) -> Position {
        if let Some(place) = place
            && let Some(chunk) = self.chunks.get_mut(place.chunk).filter(|chunk| chunk.len() + two.len() <= CHUNK)
        {
            let at = (place.index + 1).min(chunk.len());
            chunk.splice(at..at, two);
            self.len += two.len();
            return Position { index: at, ..place };
        }
        let [first, second] = two;
        let behind = self.insert_behind(place, second.0, second.1);
        let place = self.before(behind);
        self.insert_behind(place, first.0, first.1)
    }

    /// Makes room for one entry at `at`, in a full chunk or past the last chunk; returns the position to use.
    fn make_room(&mut self, at: Position) -> Position {
        let Some(chunk) = self.chunks.get_mut(at.chunk) else {
            self.lowest.push(0);
            self.chunks.push(Vec::new());
            return at;
        };
        // An insert at the end starts a new chunk, so chunks filled in ascending order stay full.
        let middle = if at.index >= CHUNK { CHUNK } else { CHUNK / 2 };
        let upper = chunk.split_off(middle);
        self.lowest.insert(at.chunk + 1, upper.first().map_or(0, |(key, _)| *key));
        self.chunks.insert(at.chunk + 1, upper);
        if at.index < middle { at } else { Position { chunk: at.chunk + 1, index: at.index - middle } }
    }

    pub(super) fn remove(&mut self, place: Position) {
        let Some(chunk) = self.chunks.get_mut(place.chunk) else { return };
        if place.index >= chunk.len() {
            return;
        }
        chunk.remove(place.index);
        self.len -= 1;
        let lowest = chunk.first().map(|(key, _)| *key);
        match (lowest, place.index) {
            (None, _) => {
                self.chunks.remove(place.chunk);
                self.lowest.remove(place.chunk);
            }
            (Some(key), 0) => {
                if let Some(lowest) = self.lowest.get_mut(place.chunk) {
                    *lowest = key;
                }
            }
            _ => {}
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.chunks.iter().flatten().copied()
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(u64, &Comb) -> bool) {
        let mut rest = Self::default();
        let mut last = None;
        for (key, run) in self.iter().filter(|(key, run)| keep(*key, run)) {
            last = Some(rest.insert_behind(last, key, run));
        }
        *self = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_an_ordered_map() {
        let (mut sorted, mut map) = (Sorted::default(), BTreeMap::new());
        let mut state = 5_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for step in 0..20_000_u64 {
            let key = if step < 2000 { step * 5 } else { random(10_000) };
            let run = Comb::single(step, 0);
            let place = sorted.floor(key);
            assert_eq!(
                place.and_then(|place| sorted.get(place)),
                map.range(..=key).next_back().map(|(key, run)| (*key, *run))
            );
            let behind = match place {
                Some(place) => sorted.behind(place),
                None => sorted.floor(u64::MAX).map(|_| Position { chunk: 0, index: 0 }),
            };
            assert_eq!(
                behind.and_then(|place| sorted.get(place)).map(|found| found.0),
                map.range(key + 1..).next().map(|(key, _)| *key)
            );
            match place.filter(|place| sorted.get(*place).is_some_and(|found| found.0 == key)) {
                Some(place) if step % 3 > 0 => {
                    map.remove(&key);
                    sorted.remove(place);
                }
                Some(place) => {
                    map.insert(key, run);
                    sorted.set(place, key, run);
                }
                None => {
                    map.insert(key, run);
                    sorted.insert(key, run);
                }
            }
            assert_eq!(sorted.len(), map.len());
        }
        assert!(sorted.iter().eq(map.iter().map(|(key, run)| (*key, *run))));
        sorted.retain(|key, _| key % 2 == 0);
        map.retain(|key, _| key % 2 == 0);
        assert!(sorted.iter().eq(map.into_iter()) && !sorted.is_empty());
    }

    #[test]
    fn two_at_once_stand_where_one_after_the_other_would() {
        let (mut sorted, mut map) = (Sorted::default(), BTreeMap::new());
        let mut state = 11_u64;
        for step in 0..5000_u64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = (state >> 40) * 10;
            if map.contains_key(&key) {
                continue;
            }
            let two = [(key, Comb::single(step, 0)), (key + 1, Comb::single(step, 1))];
            let place = sorted.insert_two_behind(sorted.floor(key), two);
            assert_eq!(sorted.get(place), Some(two[0]));
            assert_eq!(sorted.behind(place).and_then(|place| sorted.get(place)), Some(two[1]));
            map.extend(two);
        }
        assert_eq!(sorted.len(), map.len());
        assert!(sorted.iter().eq(map.iter().map(|(key, run)| (*key, *run))));
        assert!(
            map.keys().all(|key| sorted.floor(*key).and_then(|place| sorted.get(place)).map(|one| one.0) == Some(*key))
        );
    }
}
