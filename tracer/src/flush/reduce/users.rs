//! Who uses which files, of those that rank 0 has not told: a bounded table of their hashes, in which all ranks find the same. Of more files than have
//! room some are not in it, whoever uses them; they stay with their ranks.

use super::operators::Element;
use super::table::{TABLE_HEAD, Table};

/// Words of a file's record.
const USER: usize = 2;
/// Fewest and most files that a table has room for.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 13;
/// Files of a rank's own that are reckoned with where rank 0 has hardly any.
const SOME: usize = 16;

/// Any odd number with its bits well spread (2^64 over the golden ratio), and its inverse modulo 2^64.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const INVERSE: u64 = 0xf1de_83e1_9937_733d;

/// A hash's key. Hashes of names that begin alike have their first bits in common: as they are, files of one directory would keep all those of
/// another out.
const fn key(hash: u64) -> u64 {
    (hash ^ hash >> 32).wrapping_mul(ODD)
}

const fn hash(key: u64) -> u64 {
    let hash = key.wrapping_mul(INVERSE);
    hash ^ hash >> 32
}

/// The table, by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Users(Table<USER>);

/// Files for which there is room where rank 0 has told `files` of them: about as many as there may be on all ranks.
pub(super) fn room(files: usize, ranks: usize) -> usize {
    (files + SOME).saturating_mul(ranks).clamp(LEAST, MOST).next_power_of_two()
}

/// Words of a table.
pub(super) const fn words(room: usize) -> usize {
    TABLE_HEAD + room * (1 + USER)
}

impl Users {
    /// What one rank uses: different hashes, and whether it can tell the file's name.
    pub(super) fn of(rank: u32, room: usize, files: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let record = |can: bool| [1, u64::from(rank) << 1 | u64::from(!can)];
        let mut rows: Vec<_> = files.into_iter().map(|(hash, can)| (key(hash), record(can))).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        Self(Table::new(room, rows))
    }

    /// The files that several ranks use, all of which can tell the name: hashes in order, each with the lowest of these ranks.
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
        // As MPI does it: from words to words.
        order[1..].iter().for_each(|&next| sum.merge(Users::take(&all[next].put())));
        sum
    }

    #[test]
    fn all_find_the_same_in_any_order() {
        // By key, from the least on.
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
        // The first cannot be told by one of its ranks, the third and fourth are of one rank, the seventh finds no room.
        assert_eq!(sum.shared(), [(two, 1)]);
        assert!(sum.0.more);
        assert_eq!(Users::length(|at| sum.put()[at]), sum.put().len());
    }

    #[test]
    fn names_that_begin_alike_are_apart() {
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
