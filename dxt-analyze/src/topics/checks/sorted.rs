//! Runs of ranges by their first byte, in chunks that a processor's cache holds: a new one at the end costs nothing to speak of,
//! one anywhere two short searches. A `BTreeMap` takes three times as long at a hundred thousand entries.

use super::comb::Comb;

/// Entries of a chunk, at most.
const CHUNK: usize = 128;

/// An ordered map from first byte to run.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    /// The lowest key of each chunk. No chunk is empty.
    lowest: Vec<u64>,
    chunks: Vec<Chunk>,
    len: usize,
}

/// Keys apart from values: a search reads keys only.
#[derive(Clone, Debug, Default)]
struct Chunk {
    keys: Vec<u64>,
    runs: Vec<Comb>,
}

/// An entry, until the map changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    chunk: usize,
    index: usize,
}

/// Index of the last of ascending `keys` that is at most `key`.
fn last_at_most(keys: &[u64], key: u64) -> Option<usize> {
    if keys.last().is_some_and(|last| *last <= key) {
        return Some(keys.len() - 1);
    }
    keys.partition_point(|one| *one <= key).checked_sub(1)
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

    /// The last entry whose key is at most `key`.
    pub(super) fn floor(&self, key: u64) -> Option<Position> {
        let chunk = last_at_most(&self.lowest, key)?;
        let index = last_at_most(&self.chunks.get(chunk)?.keys, key)?;
        Some(Position { chunk, index })
    }

    pub(super) fn get(&self, place: Position) -> Option<(u64, Comb)> {
        let chunk = self.chunks.get(place.chunk)?;
        Some((*chunk.keys.get(place.index)?, *chunk.runs.get(place.index)?))
    }

    pub(super) fn before(&self, place: Position) -> Option<Position> {
        if let Some(index) = place.index.checked_sub(1) {
            return Some(Position { index, ..place });
        }
        let chunk = place.chunk.checked_sub(1)?;
        Some(Position { chunk, index: self.chunks.get(chunk)?.keys.len().checked_sub(1)? })
    }

    pub(super) fn behind(&self, place: Position) -> Option<Position> {
        if place.index + 1 < self.chunks.get(place.chunk)?.keys.len() {
            return Some(Position { index: place.index + 1, ..place });
        }
        (place.chunk + 1 < self.chunks.len()).then_some(Position { chunk: place.chunk + 1, index: 0 })
    }

    /// Replaces an entry by one with a key between the same neighbours.
    pub(super) fn set(&mut self, place: Position, key: u64, run: Comb) {
        let Some(chunk) = self.chunks.get_mut(place.chunk) else { return };
        if let (Some(old_key), Some(old_run)) = (chunk.keys.get_mut(place.index), chunk.runs.get_mut(place.index)) {
            (*old_key, *old_run) = (key, run);
        }
        if let (0, Some(lowest)) = (place.index, self.lowest.get_mut(place.chunk)) {
            *lowest = key;
        }
    }

    /// Adds an entry whose key there is not yet.
    pub(super) fn insert(&mut self, key: u64, run: Comb) {
        self.insert_behind(self.floor(key), key, run);
    }

    /// Adds an entry behind `place`, or before all others.
    pub(super) fn insert_behind(&mut self, place: Option<Position>, key: u64, run: Comb) -> Position {
        self.len += 1;
        let mut at = match place {
            Some(place) => Position { index: place.index + 1, ..place },
            None => Position { chunk: 0, index: 0 },
        };
        let full = self.chunks.get(at.chunk).is_none_or(|chunk| chunk.keys.len() >= CHUNK);
        if full {
            at = self.make_room(at);
        }
        if let Some(chunk) = self.chunks.get_mut(at.chunk) {
            chunk.keys.insert(at.index.min(chunk.keys.len()), key);
            chunk.runs.insert(at.index.min(chunk.runs.len()), run);
        }
        if let (0, Some(lowest)) = (at.index, self.lowest.get_mut(at.chunk)) {
            *lowest = key;
        }
        at
    }

    /// Room for one entry where `at` is, which is in a full chunk or in none.
    fn make_room(&mut self, at: Position) -> Position {
        let Some(chunk) = self.chunks.get_mut(at.chunk) else {
            self.lowest.push(0);
            self.chunks.push(Chunk::default());
            return at;
        };
        // At the end a new chunk begins, so that chunks filled in order are full.
        let middle = if at.index >= CHUNK { CHUNK } else { CHUNK / 2 };
        let upper = Chunk { keys: chunk.keys.split_off(middle), runs: chunk.runs.split_off(middle) };
        self.lowest.insert(at.chunk + 1, upper.keys.first().copied().unwrap_or(0));
        self.chunks.insert(at.chunk + 1, upper);
        if at.index < middle { at } else { Position { chunk: at.chunk + 1, index: at.index - middle } }
    }

    pub(super) fn remove(&mut self, place: Position) {
        let Some(chunk) = self.chunks.get_mut(place.chunk) else { return };
        if place.index >= chunk.keys.len() {
            return;
        }
        chunk.keys.remove(place.index);
        chunk.runs.remove(place.index);
        self.len -= 1;
        let lowest = chunk.keys.first().copied();
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

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Comb)> {
        self.chunks.iter().flat_map(|chunk| chunk.keys.iter().copied().zip(chunk.runs.iter().copied()))
    }

    /// Keeps the entries that `keep` says to.
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
}
