//! Table of the files that rank 0 lacks, with the number of ranks that use each file. Bounded, keyed by file hash, with equal content on
//! all ranks. If the table overflows, some files are dropped regardless of their users; each rank then writes its own record of them.

use super::operators::Element;
use super::table::{TABLE_HEAD, Table};

/// Number of 64-bit words per file in the table of files that rank 0 lacks, without the file's key.
const USER: usize = 2;
/// Minimum capacity of a rank's table of files that rank 0 lacks, in files.
const LEAST: usize = 1 << 8;
/// Maximum capacity of a rank's table of files that rank 0 lacks, in files.
const MOST: usize = 1 << 13;
/// Number of files, assumed to be used by one rank each, for which the table has room even if rank 0 has hardly any files.
const SOME: usize = 16;

/// Odd multiplier with well-distributed bits (2^64 over the golden ratio), with which hashes are scrambled.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Inverse of [`ODD`] modulo 2^64, with which a hash is restored from its sort key.
const INVERSE: u64 = 0xf1de_83e1_9937_733d;

/// Returns the sort key of a file name's hash. Names with a common prefix share leading hash bits: without scrambling, the files of one
/// directory would displace the files of all others.
const fn key(hash: u64) -> u64 {
    (hash ^ hash >> 32).wrapping_mul(ODD)
}

const fn hash(key: u64) -> u64 {
    let hash = key.wrapping_mul(INVERSE);
    hash ^ hash >> 32
}

/// Table of the files that rank 0 lacks and the ranks that use them, sorted by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Users(Table<USER>);

/// Returns the capacity of the table of users, in files: an estimate of the number of different files of all `ranks` ranks together, from
/// the `files` files of rank 0.
pub(super) fn room(files: usize, ranks: usize) -> usize {
    (files + SOME).saturating_mul(ranks).clamp(LEAST, MOST).next_power_of_two()
}

pub(super) const fn words(room: usize) -> usize {
    TABLE_HEAD + room * (1 + USER)
}

impl Users {
    /// Builds the table of rank `rank`, with capacity for `room` files, from distinct name hashes, each with a flag that is true if the
    /// rank can send the file's name.
    pub(super) fn of(rank: u32, room: usize, files: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let record = |can: bool| [1, u64::from(rank) << 1 | u64::from(!can)];
        let mut rows: Vec<_> = files.into_iter().map(|(hash, can)| (key(hash), record(can))).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        Self(Table::new(room, rows))
    }

    /// Returns the files that several ranks use and whose name all of these ranks can send: sorted hashes, each with the lowest such rank.
    pub(super) fn shared(&self) -> Vec<(u64, u32)> {
        let shared = self.0.rows.iter().filter(|(_, [ranks, lowest])| *ranks > 1 && lowest & 1 == 0);
        let mut shared: Vec<_> = shared.map(|(key, [_, lowest])| (hash(*key), (lowest >> 1) as u32)).collect();
        shared.sort_unstable();
        shared
    }
}

impl Element for Users {
    fn put(&self) -> Vec<u64> {
        let mut out = Vec::new();
        self.0.put(&mut out);
        out
    }

    fn take(words: &[u64]) -> Self {
        Self(Table::take(words).0)
    }

    fn length(word: impl Fn(usize) -> u64) -> usize {
        words(word(0) as usize)
    }

    fn merge(&mut self, other: Self) {
        self.0.unite(other.0, |[ranks, lowest], [more, others]| {
            *ranks = ranks.saturating_add(*more);
            let cannot = (*lowest | others) & 1;
            *lowest = (*lowest >> 1).min(others >> 1) << 1 | cannot;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::path_hash;

    fn merged(all: &[Users], order: &[usize]) -> Users {
        let mut sum = all[order[0]].clone();
        // Encodes and decodes each table, as MPI does.
        order[1..].iter().for_each(|&next| sum.merge(Users::take(&all[next].put())));
        sum
    }

    #[test]
    fn all_find_the_same_in_any_order() {
        let [one, two, three, four, five, six, seven] = std::array::from_fn(|i| hash(i as u64 + 1));
        let all = [
            Users::of(3, 4, [(one, true), (two, true), (five, true), (six, true), (seven, true)]),
            Users::of(1, 4, [(two, true), (three, true), (seven, true)]),
            Users::of(2, 4, [(one, false), (four, true), (seven, true)]),
            Users::of(9, 4, []),
            Users::of(8, 4, [(two, true), (hash(u64::MAX), true)]),
        ];
        let sum = merged(&all, &[0, 1, 2, 3, 4]);
        for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 1, 4, 0, 2]] {
            assert_eq!(merged(&all, &order), sum, "{order:?}");
        }
        let mut halves = merged(&all, &[4, 0]);
        halves.merge(merged(&all, &[3, 1, 2]));
        assert_eq!(halves, sum);
        // One of the ranks with the first file cannot send its name, the third and fourth file have one rank each, and the seventh file does not fit.
        assert_eq!(sum.shared(), [(two, 1)]);
        assert!(sum.0.more);
        assert_eq!(Users::length(|at| sum.put()[at]), sum.put().len());
    }

    #[test]
    fn names_that_begin_similar_are_apart() {
        let name = |i: u32| path_hash(format!("/scratch/project/user/run/output/file.{i}").as_bytes());
        let keys: Vec<u64> = (0..4096).map(|i| key(name(i))).collect();
        assert!((0..4096).zip(&keys).all(|(i, key)| hash(*key) == name(i)));
        for eighth in 0..8 {
            let found = keys.iter().filter(|key| **key >> 61 == eighth).count();
            assert!((400..620).contains(&found), "{found} of 4096 in the {eighth}th eighth");
        }
    }

    #[test]
    fn there_is_room_for_what_all_ranks_have_within_bounds() {
        assert_eq!([room(0, 2), room(100, 16), room(100_000, 2), room(usize::MAX / 2, 9)], [256, 2048, 8192, 8192]);
        assert_eq!(room(0, 1 << 20), MOST);
    }
}
