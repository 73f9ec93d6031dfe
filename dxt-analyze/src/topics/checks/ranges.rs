//! Set of the bytes of a file that a process has touched, as disjoint ranges. Ranges of equal length at a constant distance (strided
//! access) are stored as one entry (a run), regardless of their number. The set is exact until memory runs out: then the runs with the
//! fewest bytes are forgotten, and counted. Overlaps can be missed, but never invented.

use super::deferred_inserts::PutOff;
use super::sorted::{Position, Sorted};
use super::strided_ranges::Comb;
use crate::scan::Stretch;
use std::ops::RangeInclusive;

/// Set of bytes as disjoint ranges that do not touch. They are stored as runs (equally spaced ranges of equal length); no run has a range
/// between two ranges of another run.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    runs: Sorted,
    /// Start of the range that contains the bytes inserted last.
    newest: u64,
    /// Number of bytes in ranges that were forgotten to limit memory.
    forgotten_bytes: u64,
    /// Randomness score, at least 0: number of runs (strided sequences of ranges) created by inserts, minus number of inserts that
    /// continued a run.
    apart: usize,
    /// Inserts that are deferred because `apart` reached [`AT_RANDOM`] and not in `runs` yet.
    put_off: Option<Box<PutOff>>,
    /// True if inserts must not be deferred any more, since a caller needed sorted ranges.
    at_once: bool,
}

/// Value of `apart` at which offsets count as random, and inserts are deferred.
const AT_RANDOM: usize = 64;

impl Ranges {
    /// Returns an upper bound of the number of stored runs (strided sequences of ranges), the measure of memory use.
    #[must_use]
    pub fn len(&self) -> usize {
        // A deferred range may split a run in which it falls between two ranges: three runs instead of one.
        self.runs.len() + self.put_off.as_ref().map_or(0, |put_off| put_off.len() * 2)
    }

    /// True if the set contains no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the number of bytes in ranges that were forgotten to limit memory.
    #[must_use]
    pub fn forgotten_bytes(&self) -> u64 {
        self.forgotten_bytes
    }

    /// Iterates over the ranges in order of offset as (first byte, end), end exclusive.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let put_off = self.put_off.as_ref().map(|put_off| put_off.ranges());
        let runs = if put_off.is_some() { None } else { Some(self.sorted_in()) };
        put_off.into_iter().flatten().chain(runs.into_iter().flatten())
    }

    /// Iterates over the ranges in `runs` in order of offset, without ranges whose insertion is still deferred.
    fn sorted_in(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().flat_map(|(first, run)| {
            (0..run.count).map(move |i| (first + i * run.stride, first + i * run.stride + run.length))
        })
    }

    /// Adds the bytes `start..end`, accessed at time `time`. Returns how many of these bytes were already in the set.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64, time: u64) -> u64 {
        if start >= end {
            return 0;
        }
        if self.apart >= AT_RANDOM && !self.at_once {
            if self.put_off.is_none() {
                self.put_off = PutOff::beside(self.runs.iter(), end - start).map(Box::new);
            }
            if let Some(known) = self.put_off.as_mut().and_then(|put_off| put_off.add(start, end, time)) {
                return known;
            }
            self.sort_in();
            self.at_once = true;
        }
        self.insert_now(start, end, time)
    }

    /// Inserts all deferred ranges, and ends deferral for good: a caller that needs sorted ranges once will need them again.
    pub fn sort_in(&mut self) {
        let Some(put_off) = self.put_off.take() else { return };
        self.at_once = true;
        for (start, end, time) in put_off.all() {
            self.insert_now(start, end, time);
        }
    }

    /// Adds the bytes `start..end` without deferral; returns how many were already in the set, as [`Self::insert`] does.
    fn insert_now(&mut self, start: u64, end: u64, time: u64) -> u64 {
        let before = self.runs.len();
        let known = self.insert_one(start, end, time);
        self.apart += self.runs.len().saturating_sub(before);
        known
    }

    fn insert_one(&mut self, start: u64, end: u64, time: u64) -> u64 {
        // In a file written or read sequentially, the last range grows.
        if let Some((place, (first, run))) = self.runs.last()
            && run.count == 1
            && start == first + run.length
        {
            self.newest = first;
            self.apart = self.apart.saturating_sub(1);
            self.runs.set(place, first, Comb { length: end - first, time: run.time.max(time), ..run });
            return 0;
        }
        // Run with the highest first byte that can touch the new range.
        let place = self.runs.floor(end);
        match place.and_then(|place| Some((place, self.runs.get(place)?))) {
            Some((place, (first, run))) if run.end(first) >= start => {
                self.insert_near(place, first, run, start, end, time)
            }
            // The next range of a strided pattern is by far the most frequent case.
            Some((place, (first, run)))
                if run.count > 1 && start == run.last(first) + run.stride && end - start == run.length =>
            {
                let count = run.count + 1;
                self.runs.set(place, first, Comb { count, time: run.time.max(time), ..run });
                self.newest = start;
                self.apart = self.apart.saturating_sub(1);
                if let Some(behind) = self.runs.behind(place) {
                    self.joined_before(behind);
                }
                0
            }
            _ => {
                self.insert_apart(place, start, Comb::single(end - start, time));
                0
            }
        }
    }

    /// Adds the first calls of `calls`, as [`Self::insert`] does, as long as they continue the last run of the file; returns how many were
    /// added. Stops at the first call that does not continue the run, or whose length is not in `lengths` (which must not contain 0). A
    /// call continues the run if it begins where the run's only range ends, or one stride after its last range: then it overlaps no other
    /// range, and no other run has to be looked up.
    pub fn go_on(&mut self, calls: Stretch<'_>, lengths: &RangeInclusive<u64>) -> usize {
        let Some((place, (first, mut run))) = self.runs.last().filter(|_| self.put_off.is_none()) else { return 0 };
        let mut taken = 0;
        let mut last = run.last(first);
        for ((&offset, &length), &end) in calls.offset.iter().zip(calls.length).zip(calls.end) {
            let behind = u64::try_from(offset).ok().and_then(|start| Some((start, start.checked_add(length)?)));
            let Some((start, behind)) = behind.filter(|_| lengths.contains(&length)) else { break };
            if run.count == 1 && start == first + run.length {
                run.length = behind - first;
            } else if run.count > 1 && length == run.length && last.checked_add(run.stride) == Some(start) {
                run.count += 1;
                last = start;
            } else {
                break;
            }
            run.time = run.time.max(end);
            taken += 1;
        }
        if taken > 0 {
            self.newest = last;
            self.apart = self.apart.saturating_sub(taken);
            self.runs.set(place, first, run);
        }
        taken
    }

    /// Adds the range or ranges of `run`, which begin at `start` and touch no other, as an entry behind the one at `place`; first of all
    /// entries if `None`.
    fn insert_apart(&mut self, place: Option<Position>, start: u64, run: Comb) {
        let place = place.and_then(|place| self.joined_before(place));
        let place = self.runs.insert_behind(place, start, run);
        self.join_around(place, start);
    }

    /// Merges the newest range, which begins at `start` in the entry at `place`, with the runs (strided sequences of ranges) before and
    /// behind it if they form one strided pattern.
    fn join_around(&mut self, place: Position, start: u64) {
        self.newest = start;
        if let Some(place) = self.joined_before(place)
            && let Some(behind) = self.runs.behind(place)
        {
            self.joined_before(behind);
        }
    }

    /// Adds the range `start..end`, which `run` (the entry at `place`, with first byte `first`) may touch: `run` begins at or before `end`,
    /// and ends at or after `start`. Returns how many of its bytes were already in the set.
    fn insert_near(&mut self, place: Position, first: u64, run: Comb, start: u64, end: u64, time: u64) -> u64 {
        let (from, behind) = run.touching(first, start, end);
        let begins = first + from * run.stride;
        if behind == from + 1 && begins <= start {
            self.newest = begins;
            if end <= begins + run.length {
                self.runs.set(place, first, Comb { time: run.time.max(time), ..run });
                return end - start;
            }
            if run.count == 1 {
                let known = first + run.length - start;
                self.runs.set(place, first, Comb { length: end - first, time: run.time.max(time), ..run });
                return known;
            }
        }
        // As usual for random offsets, the new range lies between two ranges of the run, which is split there.
        if let (true, Some((_, lower)), Some((begins, upper))) =
            (from == behind, run.part(first, 0, from), run.part(first, from, run.count))
        {
            self.runs.set(place, first, lower);
            let place = self.joined_before(place);
            let two = [(start, Comb::single(end - start, time)), (begins, upper)];
            let place = self.runs.insert_two_behind(place, two);
            self.join_around(place, start);
            return 0;
        }
        self.insert_among(start, end, time)
    }

    /// Adds the range `start..end`, accessed at `time`, and merges it with all ranges that it touches. Returns how many of its bytes were
    /// already in the set.
    fn insert_among(&mut self, start: u64, end: u64, time: u64) -> u64 {
        let (mut from_byte, mut behind_byte, mut latest, mut known) = (start, end, time, 0);
        while let Some((place, first, run)) = self.last_reaching(end, start) {
            let (from, behind) = run.touching(first, start, end);
            known += run.known(first, (from, behind), start, end);
            if let Some((begins, touched)) = run.part(first, from, behind) {
                from_byte = from_byte.min(begins);
                behind_byte = behind_byte.max(touched.end(begins));
                latest = latest.max(run.time);
            }
            self.runs.remove(place);
            for (begins, rest) in
                [run.part(first, 0, from), run.part(first, behind.max(from), run.count)].into_iter().flatten()
            {
                self.runs.insert(begins, rest);
            }
        }
        let place = self.runs.floor(from_byte);
        self.insert_apart(place, from_byte, Comb::single(behind_byte - from_byte, latest));
        known
    }

    /// Returns the last run (strided sequence of ranges) that begins at or before `last` and ends at or after `start`; `None` if no run
    /// does.
    fn last_reaching(&self, last: u64, start: u64) -> Option<(Position, u64, Comb)> {
        let place = self.runs.floor(last)?;
        let (first, run) = self.runs.get(place)?;
        (run.end(first) >= start).then_some((place, first, run))
    }

    /// Merges the run (strided sequence of ranges) at `place` with the run before it if both form one strided pattern. Returns the position
    /// of the resulting run.
    fn joined_before(&mut self, place: Position) -> Option<Position> {
        let Some(before) = self.runs.before(place) else { return Some(place) };
        let ((a, one), (b, two)) = (self.runs.get(before)?, self.runs.get(place)?);
        let stride = b - one.last(a);
        let fits = |run: &Comb| run.count == 1 || run.stride == stride;
        // Two single ranges form a pattern only if one is the newest: ranges that are neighbours by chance form none.
        let is_pattern = one.count > 1 || two.count > 1 || self.newest == a || self.newest == b;
        if one.length != two.length || !fits(&one) || !fits(&two) || !is_pattern {
            return Some(place);
        }
        let joined = Comb { length: one.length, stride, count: one.count + two.count, time: one.time.max(two.time) };
        self.runs.remove(place);
        self.runs.set(before, a, joined);
        Some(before)
    }

    /// Returns how many bytes of `start..end` are in runs (strided sequences of ranges) whose latest access was not after time `until`.
    #[must_use]
    pub fn overlap(&mut self, start: u64, end: u64, until: u64) -> u64 {
        self.sort_in();
        let Some(last) = end.checked_sub(1) else { return 0 };
        let mut sum = 0;
        let mut place = self.runs.floor(last);
        while let Some((first, run)) =
            place.and_then(|place| self.runs.get(place)).filter(|(first, run)| run.end(*first) > start)
        {
            if run.time <= until {
                sum += run.known(first, run.touching(first, start, end), start, end);
            }
            place = place.and_then(|place| self.runs.before(place));
        }
        sum
    }

    /// Removes the bytes `start..end` of the file from the set.
    pub fn remove(&mut self, start: u64, end: u64) {
        if start >= end || self.is_empty() {
            return;
        }
        self.sort_in();
        while let Some((place, first, run)) = self.last_reaching(end - 1, start + 1) {
            let (from, behind) = run.touching(first, start + 1, end - 1);
            let Some((begins, out)) = run.part(first, from, behind) else { return };
            self.runs.remove(place);
            let rests = [
                run.part(first, 0, from),
                (begins < start).then(|| (begins, Comb::single(start - begins, run.time))),
                out.end(begins)
                    .checked_sub(end)
                    .filter(|rest| *rest > 0)
                    .map(|rest| (end, Comb::single(rest, run.time))),
                run.part(first, behind, run.count),
            ];
            rests.into_iter().flatten().for_each(|(begins, rest)| self.runs.insert(begins, rest));
        }
    }

    /// Removes all ranges, since the file was truncated or replaced.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.put_off = None;
    }

    /// Forgets half of the runs (strided sequences of ranges): those with the fewest bytes, and of equal runs those at lower offsets.
    pub fn forget_half(&mut self) {
        self.sort_in();
        let mut all: Vec<(u64, u64)> = self.runs.iter().map(|(first, run)| (run.bytes(), first)).collect();
        let keep = all.len() / 2;
        let cut = all.len() - keep;
        if keep == 0 {
            self.forgotten_bytes = all.iter().fold(self.forgotten_bytes, |sum, (bytes, _)| sum.saturating_add(*bytes));
            return self.runs.clear();
        }
        let least = *all.select_nth_unstable(cut).1;
        let mut forgotten = self.forgotten_bytes;
        self.runs.retain(|first, run| {
            let stays = (run.bytes(), first) >= least;
            forgotten = forgotten.saturating_add(if stays { 0 } else { run.bytes() });
            stays
        });
        self.forgotten_bytes = forgotten;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_off_comes_to_the_same() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut put_off = 0;
        for round in 0..60 {
            let (mut later, mut now) = (Ranges::default(), Ranges { at_once: true, ..Ranges::default() });
            let blocks = 100 + random(4000);
            for step in 0..1000 {
                let start = random(blocks) * 8;
                let start = if round % 3 == 1 && random(300) == 0 { start + 3 } else { start };
                assert_eq!(later.insert(start, start + 8, step), now.insert(start, start + 8, step));
                assert!(later.len() >= now.len());
                if round % 3 == 2 && random(400) == 0 {
                    assert_eq!(later.overlap(start, start + 90, step / 2), now.overlap(start, start + 90, step / 2));
                    later.remove(start + 5, start + 40);
                    now.remove(start + 5, start + 40);
                }
            }
            put_off += later.put_off.iter().map(|put_off| put_off.len()).sum::<usize>();
            assert!(later.iter().eq(now.iter()));
            later.sort_in();
            assert_eq!(later.newest, now.newest);
            assert!(later.runs.iter().eq(now.runs.iter()));
        }
        assert!(put_off > 10_000, "{put_off}");
    }

    #[test]
    fn what_goes_on_is_added_as_one_by_one() {
        let mut state = 5_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let mut taken_of_all = 0;
        for round in 0..500 {
            let (mut one_by_one, mut at_once) = (Ranges::default(), Ranges::default());
            let (mut offset, mut length, mut end) = (Vec::new(), Vec::new(), Vec::new());
            let (mut at, mut stride) = (0_i64, 3);
            for step in 0..200 {
                if random(20) == 0 {
                    (at, stride) = (random(3000) as i64 - 1, random(9) as i64);
                }
                offset.push(at);
                length.push(if random(40) == 0 { 0 } else { 3 });
                end.push(step);
                at += 3 + stride;
            }
            let start = end.clone();
            let stream = crate::model::StreamIx::NONE;
            let all = Stretch { stream, offset: &offset, length: &length, start: &start, end: &end };
            let insert = |ranges: &mut Ranges, row: crate::scan::Row| {
                let Ok(start) = u64::try_from(row.offset) else { return 0 };
                ranges.insert(start, start + row.length, row.end)
            };
            let known = all.rows().map(|row| insert(&mut one_by_one, row)).sum::<u64>();
            let (mut rest, mut also_known, mut taken) = (all, 0, 0);
            while let Some(row) = rest.rows().next() {
                let some = at_once.go_on(rest, &(round % 4 + 1..=9));
                if some == 0 {
                    also_known += insert(&mut at_once, row);
                }
                taken += some;
                rest = rest.part(some.max(1), rest.start.len());
            }
            assert_eq!(also_known, known);
            assert!(round % 4 != 3 || taken == 0, "none is as long");
            taken_of_all += taken;
            assert_eq!(at_once.newest, one_by_one.newest);
            assert!(at_once.runs.iter().eq(one_by_one.runs.iter()));
        }
        assert!(taken_of_all > 500 * 20, "{taken_of_all}");
    }

    #[test]
    fn overlaps_agree_with_a_table_of_bytes() {
        let mut state = 3_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for round in 0..2000 {
            let (mut ranges, mut table) = (Ranges::default(), [false; 100]);
            // Half of the rounds use strided offsets, so that runs form, split and merge.
            let (stride, length) = (2 + random(9), 1 + random(6));
            for step in 0..60 {
                let start = if round % 2 == 0 { random(90) } else { (step + random(2)) * stride % 90 };
                let end = start + if round % 2 == 0 || random(8) == 0 { random(11) } else { length };
                let bytes = start as usize..end as usize;
                let known = table[bytes.clone()].iter().filter(|there| **there).count() as u64;
                assert_eq!(ranges.overlap(start, end, step), known);
                if random(if round % 3 == 0 { 4 } else { 40 }) == 0 {
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
    fn a_pattern_takes_the_room_of_one_range() {
        // Patterns: forwards, backwards, in alternating halves, and with the gaps filled afterwards.
        let mut ranges = Ranges::default();
        (0..1000).for_each(|i| assert_eq!(ranges.insert(i * 100, i * 100 + 10, i), 0));
        assert_eq!((ranges.len(), ranges.insert(500, 520, 5)), (1, 10));
        let mut ranges = Ranges::default();
        (0..1000).rev().for_each(|i| assert_eq!(ranges.insert(i * 100, i * 100 + 10, i), 0));
        assert_eq!((ranges.len(), ranges.iter().count()), (1, 1000));
        let mut ranges = Ranges::default();
        (0..2000).for_each(|i| assert_eq!(ranges.insert(i / 2 * 100 + i % 2 * 5, i / 2 * 100 + i % 2 * 5 + 5, i), 0));
        assert!(ranges.len() <= 2 && ranges.iter().count() == 1000, "{ranges:?}");
        (0..1000).for_each(|i| assert_eq!(ranges.insert(i * 100 + 30, i * 100 + 40, i), 0));
        assert_eq!(ranges.iter().count(), 2000);
        (0..1000).for_each(|i| assert_eq!(ranges.insert(i * 100, i * 100 + 100, i), 20));
        assert_eq!((ranges.len(), ranges.iter().collect::<Vec<_>>()), (1, vec![(0, 100_000)]));
        ranges.remove(100, 99_900);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 100), (99_900, 100_000)]);
    }

    #[test]
    fn the_ends_of_what_numbers_hold() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(u64::MAX - 10, u64::MAX, 0), 0);
        assert_eq!(ranges.insert(0, 10, 0), 0);
        assert_eq!((ranges.overlap(0, u64::MAX, 0), ranges.insert(0, u64::MAX, 0)), (20, 20));
        ranges.remove(0, u64::MAX);
        assert!(ranges.is_empty());
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
