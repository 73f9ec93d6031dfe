//! The element that is reduced: all of a rank's sums in one, so that one call brings them together. It has three tables, each a
//! bounded set of keys in order, with a record of fixed size for each key:
//!
//!     notes: their number, then a count of each
//!     nodes: hashes of their names, no record
//!     streams: key and counters
//!     pairs of file and layer: key, profile and spread
//!
//! Two elements become one by the union of their tables; records of one key are merged. Of too many keys the smallest stay, and
//! the table says so. Such a table is exact for the keys that are left, in whatever order elements are merged: a key among
//! the smallest of all is among the smallest of any part.

use super::words::{COUNTERS, FILE, counters, file, put_counters, put_file};

/// Words in front of a table's keys: how many have room, how many there are, whether there were more.
const TABLE_HEAD: usize = 3;

/// Room in an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) notes: usize,
    pub(super) nodes: usize,
    pub(super) streams: usize,
    pub(super) pairs: usize,
}

/// Bytes of the largest element.
const MOST_BYTES: usize = 1 << 28;

impl Room {
    /// Words of an element; `None` if it would be too large.
    pub(super) fn words(&self) -> Option<usize> {
        let table = |room: usize, record: usize| room.checked_mul(1 + record)?.checked_add(TABLE_HEAD);
        let tables = [table(self.nodes, 0)?, table(self.streams, COUNTERS)?, table(self.pairs, FILE)?];
        let words = tables.into_iter().try_fold(1 + self.notes, usize::checked_add)?;
        (words <= MOST_BYTES / 8).then_some(words)
    }
}

/// A table: keys, sorted and different, each with its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<const N: usize> {
    room: usize,
    pub(super) rows: Vec<(u64, [u64; N])>,
    /// Whether there were more than had room.
    pub(super) more: bool,
}

impl<const N: usize> Table<N> {
    /// Of rows in order.
    pub(super) fn new(room: usize, rows: impl IntoIterator<Item = (u64, [u64; N])>) -> Self {
        let mut table = Self { room, rows: rows.into_iter().collect(), more: false };
        table.cut();
        table
    }

    fn cut(&mut self) {
        self.more |= self.rows.len() > self.room;
        self.rows.truncate(self.room);
    }

    fn put(&self, out: &mut Vec<u64>) {
        out.extend([self.room as u64, self.rows.len() as u64, u64::from(self.more)]);
        let end = out.len() + self.room * (1 + N);
        for (key, record) in &self.rows {
            out.push(*key);
            out.extend_from_slice(record);
        }
        out.resize(end, 0);
    }

    /// The table at the beginning of `words`, and what is behind it.
    fn take(words: &[u64]) -> (Self, &[u64]) {
        let word = |at: usize| words.get(at).copied().unwrap_or(0) as usize;
        let (room, used, more) = (word(0), word(1), word(2) != 0);
        let (own, behind) =
            words.get(TABLE_HEAD..).unwrap_or_default().split_at_checked(room * (1 + N)).unwrap_or_default();
        let rows = own.chunks_exact(1 + N).take(used);
        let rows = rows.map(|row| (row[0], std::array::from_fn(|i| row.get(1 + i).copied().unwrap_or(0)))).collect();
        (Self { room, rows, more }, behind)
    }

    fn unite(&mut self, other: Self, merge: impl Fn(&mut [u64; N], &[u64; N])) {
        let (mut own, mut more) =
            (std::mem::take(&mut self.rows).into_iter().peekable(), other.rows.into_iter().peekable());
        while let Some(next) = match (own.peek(), more.peek()) {
            (Some(one), Some(other)) if one.0 <= other.0 => own.next(),
            (Some(_), None) => own.next(),
            (_, Some(_)) => more.next(),
            (None, None) => None,
        } {
            match self.rows.last_mut().filter(|last| last.0 == next.0) {
                Some(last) => merge(&mut last.1, &next.1),
                None => self.rows.push(next),
            }
        }
        self.more |= other.more;
        self.cut();
    }
}

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) notes: Vec<u64>,
    pub(super) nodes: Table<0>,
    pub(super) streams: Table<COUNTERS>,
    pub(super) pairs: Table<FILE>,
}

impl Sums {
    /// As words.
    pub(super) fn put(&self) -> Vec<u64> {
        let mut out = vec![self.notes.len() as u64];
        out.extend_from_slice(&self.notes);
        self.nodes.put(&mut out);
        self.streams.put(&mut out);
        self.pairs.put(&mut out);
        out
    }

    /// From words.
    pub(super) fn take(words: &[u64]) -> Self {
        let (count, rest) = words.split_first().unwrap_or((&0, &[]));
        let (notes, rest) = rest.split_at_checked(*count as usize).unwrap_or_default();
        let (nodes, rest) = Table::take(rest);
        let (streams, rest) = Table::take(rest);
        let (pairs, _) = Table::take(rest);
        Self { notes: notes.to_vec(), nodes, streams, pairs }
    }

    /// Words of the element whose words begin with what `word` gives.
    pub(super) fn length(word: impl Fn(usize) -> u64) -> usize {
        let mut at = 1 + word(0) as usize;
        for record in [0, COUNTERS, FILE] {
            at += TABLE_HEAD + word(at) as usize * (1 + record);
        }
        at
    }

    /// Takes the other's in.
    pub(super) fn merge(&mut self, other: Self) {
        self.notes.iter_mut().zip(other.notes).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.nodes.unite(other.nodes, |_, _| {});
        self.streams.unite(other.streams, |one, other| {
            let mut sum = counters(one);
            sum.merge(&counters(other));
            put_counters(&sum, one);
        });
        self.pairs.unite(other.pairs, |one, other| {
            let ((mut profile, mut spread), (more, others)) = (file(one), file(other));
            profile.merge(&more);
            spread.merge(&others);
            put_file(&profile, &spread, one);
        });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use trace_format::counters::Counters;
    use trace_format::profile::Profile;
    use trace_format::spread::{RankShare, Spread};

    pub(in super::super) const ROOM: Room = Room { notes: 2, nodes: 3, streams: 4, pairs: 2 };

    /// Of a rank with these keys.
    pub(in super::super) fn of(rank: u32, streams: &[u64], pairs: &[u64]) -> Sums {
        let mut counters = [0; COUNTERS];
        put_counters(&Counters { segments: 1, bytes: u64::from(rank), ..Counters::default() }, &mut counters);
        let mut file = [0; FILE];
        let share = RankShare { rank, time_ns: 1, bytes: 1 };
        put_file(&Profile { accesses: 3, ..Profile::default() }, &Spread::of(share), &mut file);
        Sums {
            notes: vec![1, u64::from(rank)],
            nodes: Table::new(ROOM.nodes, [(u64::from(rank % 2), [])]),
            streams: Table::new(ROOM.streams, streams.iter().map(|&key| (key, counters))),
            pairs: Table::new(ROOM.pairs, pairs.iter().map(|&key| (key, file))),
        }
    }

    #[test]
    fn elements_come_back_from_their_words() {
        let one = of(7, &[3, 9], &[1]);
        let words = one.put();
        assert_eq!(Some(words.len()), ROOM.words());
        assert_eq!(Sums::length(|at| words[at]), words.len());
        assert_eq!(Sums::take(&words), one);
        for cut in 0..words.len() {
            Sums::take(&words[..cut]);
        }
    }

    #[test]
    fn what_is_left_is_exact_in_any_order() {
        let all =
            [of(1, &[1, 2, 3, 4], &[1, 2]), of(2, &[2, 9, 10], &[3]), of(3, &[1, 2, 5, 6], &[1]), of(4, &[0], &[])];
        let whole: Vec<Sums> = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]
            .iter()
            .map(|order| {
                let mut sum = all[order[0]].clone();
                order[1..].iter().for_each(|&next| sum.merge(all[next].clone()));
                sum
            })
            .collect();
        let mut halves = [all[0].clone(), all[2].clone()];
        halves[0].merge(all[1].clone());
        halves[1].merge(all[3].clone());
        let [mut both, other] = halves;
        both.merge(other);
        for sum in whole.iter().chain([&both]) {
            let told: Vec<(u64, u64, u64)> = sum
                .streams
                .rows
                .iter()
                .map(|(key, words)| (*key, counters(words).segments, counters(words).bytes))
                .collect();
            assert_eq!(told, [(0, 1, 4), (1, 2, 4), (2, 3, 6), (3, 1, 1)]);
            assert_eq!((sum.streams.more, sum.pairs.more, sum.nodes.more), (true, true, false));
            assert_eq!((sum.notes.as_slice(), sum.nodes.rows.len()), (&[4, 10][..], 2));
            let told: Vec<(u64, u64)> =
                sum.pairs.rows.iter().map(|(key, words)| (*key, file(words).0.accesses)).collect();
            assert_eq!(told, [(1, 6), (2, 3)]);
        }
    }

    #[test]
    fn an_element_too_large_is_none() {
        assert!(Room { pairs: 1 << 20, ..ROOM }.words().is_none());
        assert!(Room { streams: usize::MAX / 2, ..ROOM }.words().is_none());
    }
}
