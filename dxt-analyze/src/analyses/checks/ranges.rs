//! Which bytes of a file a process has touched: disjoint ranges, exact while there is room. Where room ends, the smallest
//! ranges are forgotten, so that an overlap can be missed and never made up, and what was forgotten is counted.

use std::collections::BTreeMap;

/// Disjoint ranges of bytes, none touching the next.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// First byte -> (byte behind the last, latest time given).
    map: BTreeMap<u64, (u64, u64)>,
    /// No range ends behind it.
    highest: u64,
    forgotten_bytes: u64,
}

impl Ranges {
    /// Number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Bytes in ranges that were forgotten.
    #[must_use]
    pub fn forgotten_bytes(&self) -> u64 {
        self.forgotten_bytes
    }

    /// The ranges, in order: first byte and the one behind the last.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.map.iter().map(|(&start, &(end, _))| (start, end))
    }

    /// Adds `start..end` at `time`; returns how many of its bytes were there already.
    pub fn insert(&mut self, start: u64, end: u64, time: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Behind all others, as in a file that is worked through from its start.
        if start > self.highest {
            self.highest = end;
            self.map.insert(start, (end, time));
            return 0;
        }
        self.highest = self.highest.max(end);
        // The last range that can touch this one. If it begins no later, no other can.
        match self.map.range_mut(..=end).next_back() {
            Some((&begin, (last, latest))) if *last >= start && begin <= start => {
                let known = (*last).min(end) - start;
                (*last, *latest) = ((*last).max(end), (*latest).max(time));
                known
            }
            Some((_, (last, _))) if *last >= start => self.join(start, end, time),
            _ => {
                self.map.insert(start, (end, time));
                0
            }
        }
    }

    /// Replaces all ranges that touch `start..end` by one.
    fn join(&mut self, start: u64, end: u64, time: u64) -> u64 {
        let (mut first, mut behind, mut latest, mut known) = (start, end, time, 0);
        while let Some((&begin, &(last, when))) =
            self.map.range(..=end).next_back().filter(|(_, (last, _))| *last >= start)
        {
            known += last.min(end).saturating_sub(begin.max(start));
            (first, behind, latest) = (first.min(begin), behind.max(last), latest.max(when));
            self.map.remove(&begin);
        }
        self.map.insert(first, (behind, latest));
        known
    }

    /// Bytes of `start..end` in ranges whose latest time is not after `until`.
    #[must_use]
    pub fn overlap(&self, start: u64, end: u64, until: u64) -> u64 {
        let touching = self.map.range(..end).rev().take_while(|(_, (last, _))| *last > start);
        touching
            .filter(|(_, (_, time))| *time <= until)
            .map(|(&begin, &(last, _))| last.min(end) - begin.max(start))
            .sum()
    }

    /// Takes `start..end` out.
    pub fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        while let Some((&begin, &(last, time))) =
            self.map.range(..end).next_back().filter(|(_, (last, _))| *last > start)
        {
            self.map.remove(&begin);
            if begin < start {
                self.map.insert(begin, (start, time));
            }
            if last > end {
                self.map.insert(end, (last, time));
            }
        }
    }

    /// Forgets all: the file has been emptied or replaced.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Forgets the smaller half of the ranges; of equal ones those at the lower offsets.
    pub fn forget_half(&mut self) {
        let mut all: Vec<(u64, u64)> = self.map.iter().map(|(&start, &(end, _))| (end - start, start)).collect();
        let keep = all.len() / 2;
        let cut = all.len() - keep;
        if keep > 0 {
            all.select_nth_unstable(cut);
        }
        for &(bytes, start) in all.iter().take(cut) {
            self.forgotten_bytes = self.forgotten_bytes.saturating_add(bytes);
            self.map.remove(&start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_agree_with_a_table_of_bytes() {
        let mut state = 3_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut ranges, mut table) = (Ranges::default(), [false; 100]);
            for step in 0..60 {
                let start = random(90);
                let end = start + random(11);
                let bytes = start as usize..end as usize;
                let known = table[bytes.clone()].iter().filter(|there| **there).count() as u64;
                assert_eq!(ranges.overlap(start, end, step), known);
                if random(4) == 0 {
                    ranges.remove(start, end);
                    table[bytes].fill(false);
                } else {
                    assert_eq!(ranges.insert(start, end, step), known);
                    table[bytes].fill(true);
                }
                let total: u64 = ranges.iter().map(|(start, end)| end - start).sum();
                assert_eq!(total, table.iter().filter(|there| **there).count() as u64);
            }
            let all: Vec<(u64, u64)> = ranges.iter().collect();
            assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0), "{all:?}");
        }
    }

    #[test]
    fn later_bytes_are_not_there_yet() {
        let mut ranges = Ranges::default();
        ranges.insert(0, 10, 50);
        assert_eq!((ranges.overlap(0, 20, 49), ranges.overlap(5, 20, 50)), (0, 5));
    }

    #[test]
    fn what_is_forgotten_is_counted_and_the_large_stay() {
        let mut ranges = Ranges::default();
        (0..10).for_each(|i| {
            ranges.insert(i * 100, i * 100 + 1 + i, 0);
        });
        ranges.forget_half();
        assert_eq!(ranges.iter().map(|(start, _)| start).collect::<Vec<_>>(), [500, 600, 700, 800, 900]);
        assert_eq!(ranges.forgotten_bytes(), 1 + 2 + 3 + 4 + 5);
        (0..4).for_each(|_| ranges.forget_half());
        assert!(ranges.is_empty());
    }
}
