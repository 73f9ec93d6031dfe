//! Element of the MPI reduction: all counts of one rank together, so that a single MPI call merges them. Layout:
//!
//!     notes: their number, then a count of each
//!     nodes: hashes of node names, no record
//!     streams: key and counters
//!     (file, layer) pairs: key, profile and spread
//!     datatypes: index of the file among the shared files, counts by kind and extent
//!     descriptions of files that rank 0 lacks: index among the shared files and description, each from one rank

use super::described::DESCRIBED;
use super::operators::Element;
use super::table::{TABLE_HEAD, Table};
use super::words::{COUNTERS, FILE, counters, file, put_counters, put_file};
use crate::registry::DATATYPE_COUNTS;

/// Number of streams (operations, flags) that an element has room for, per file that rank 0 lacks: more than twice the five streams of a
/// file that is opened, sought, read, written and closed. Files that do not fit are not reduced: each rank writes its own record.
const STREAMS_PER_FILE: usize = 12;
/// Number of (file, I/O layer) pairs that an element has room for, per file that rank 0 lacks: a file used through more layers may not fit
/// and is then not reduced.
const PAIRS_PER_FILE: usize = 3;

/// Capacity of a reduction element (data of one rank, or merged): number of entries of each kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) notes: usize,
    pub(super) nodes: usize,
    pub(super) streams: usize,
    pub(super) pairs: usize,
    pub(super) datatypes: usize,
    pub(super) described: usize,
}

/// Maximum size of a reduction element (data of one rank, or merged), in bytes.
const MOST_BYTES: usize = 1 << 28;

impl Room {
    /// Returns this capacity of a reduction element, with room for `files` more files, which rank 0 does not have.
    pub(super) const fn with_files(self, files: usize) -> Self {
        Self {
            streams: self.streams.saturating_add(STREAMS_PER_FILE * files),
            pairs: self.pairs.saturating_add(PAIRS_PER_FILE * files),
            datatypes: self.datatypes.saturating_add(files),
            described: files,
            ..self
        }
    }

    /// Returns the number of 64-bit words of a reduction element with this capacity; `None` if the element would be too large.
    pub(super) fn words(&self) -> Option<usize> {
        let table = |room: usize, record: usize| room.checked_mul(1 + record)?.checked_add(TABLE_HEAD);
        let tables = [
            table(self.nodes, 0)?,
            table(self.streams, COUNTERS)?,
            table(self.pairs, FILE)?,
            table(self.datatypes, DATATYPE_COUNTS)?,
            table(self.described, DESCRIBED)?,
        ];
        let words = tables.into_iter().try_fold(1 + self.notes, usize::checked_add)?;
        (words <= MOST_BYTES / 8).then_some(words)
    }
}

/// Counts of one rank, or the merged counts of several ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) notes: Vec<u64>,
    pub(super) nodes: Table<0>,
    pub(super) streams: Table<COUNTERS>,
    pub(super) pairs: Table<FILE>,
    pub(super) datatypes: Table<DATATYPE_COUNTS>,
    pub(super) described: Table<DESCRIBED>,
}

impl Element for Sums {
    fn put(&self) -> Vec<u64> {
        let mut out = vec![self.notes.len() as u64];
        out.extend_from_slice(&self.notes);
        self.nodes.put(&mut out);
        self.streams.put(&mut out);
        self.pairs.put(&mut out);
        self.datatypes.put(&mut out);
        self.described.put(&mut out);
        out
    }

    fn take(words: &[u64]) -> Self {
        let (count, rest) = words.split_first().unwrap_or((&0, &[]));
        let (notes, rest) = rest.split_at_checked(*count as usize).unwrap_or_default();
        let (nodes, rest) = Table::take(rest);
        let (streams, rest) = Table::take(rest);
        let (pairs, rest) = Table::take(rest);
        let (datatypes, rest) = Table::take(rest);
        let (described, _) = Table::take(rest);
        Self { notes: notes.to_vec(), nodes, streams, pairs, datatypes, described }
    }

    fn length(word: impl Fn(usize) -> u64) -> usize {
        let mut at = 1 + word(0) as usize;
        for record in [0, COUNTERS, FILE, DATATYPE_COUNTS, DESCRIBED] {
            at += TABLE_HEAD + word(at) as usize * (1 + record);
        }
        at
    }

    fn merge(&mut self, other: Self) {
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
        self.datatypes.unite(other.datatypes, |one, other| {
            one.iter_mut().zip(other).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        });
        self.described.unite(other.described, |_, _| {});
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use trace_format::counters::Counters;
    use trace_format::profile::Profile;
    use trace_format::spread::{RankShare, Spread};

    pub(in super::super) const ROOM: Room =
        Room { notes: 2, nodes: 3, streams: 4, pairs: 2, datatypes: 1, described: 1 };

    /// Builds, for tests, an element of rank `rank` with one entry for each of these keys of streams and of (file, layer) pairs.
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
            datatypes: Table::new(ROOM.datatypes, (rank > 2).then_some((5, [u64::from(rank); DATATYPE_COUNTS]))),
            described: Table::new(ROOM.described, (rank == 2).then_some((9, [7; DESCRIBED]))),
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
            let reported: Vec<(u64, u64, u64)> = sum
                .streams
                .rows
                .iter()
                .map(|(key, words)| (*key, counters(words).segments, counters(words).bytes))
                .collect();
            assert_eq!(reported, [(0, 1, 4), (1, 2, 4), (2, 3, 6), (3, 1, 1)]);
            assert_eq!((sum.streams.more, sum.pairs.more, sum.nodes.more), (true, true, false));
            assert_eq!((sum.notes.as_slice(), sum.nodes.rows.len()), (&[4, 10][..], 2));
            let reported: Vec<(u64, u64)> =
                sum.pairs.rows.iter().map(|(key, words)| (*key, file(words).0.accesses)).collect();
            assert_eq!(reported, [(1, 6), (2, 3)]);
            assert_eq!(sum.datatypes.rows, [(5, [7; DATATYPE_COUNTS])]);
            assert_eq!(sum.described.rows, [(9, [7; DESCRIBED])]);
        }
    }

    #[test]
    fn an_element_too_large_is_none() {
        assert!(Room { pairs: 1 << 20, ..ROOM }.words().is_none());
        assert!(Room { streams: usize::MAX / 2, ..ROOM }.words().is_none());
        assert!(Room { streams: usize::MAX, ..ROOM }.with_files(9).words().is_none());
    }

    #[test]
    fn every_file_more_has_its_room() {
        let more = ROOM.with_files(2);
        assert_eq!((more.streams, more.pairs, more.datatypes, more.described), (28, 8, 3, 2));
        let words = 24 * (1 + COUNTERS) + 6 * (1 + FILE) + 2 * (1 + DATATYPE_COUNTS) + (1 + DESCRIBED);
        assert_eq!(more.words(), ROOM.words().map(|room| room + words));
    }
}
