//! Sums over the calls of one process or file, used for rankings.

use super::about::OTHER_FILES;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of files with their own sums; beyond it, half of the files share one sum.
const MOST_FILES: usize = 10_000;
/// Maximum total length of the names of files with their own sums, in bytes.
const MOST_BYTES: usize = 8 << 20;

/// Sums over the calls of one process or file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of calls of the process or on the file.
    pub calls: u64,
    /// Bytes that the calls read and wrote.
    pub bytes: u64,
    /// Total time in the calls, in ns.
    pub time_ns: u64,
    /// Duration of the longest call, in ns.
    pub longest_ns: u64,
}

impl Tally {
    /// Returns the sums of a single call.
    #[must_use]
    pub const fn of(length: u64, duration_ns: u64) -> Self {
        Self { calls: 1, bytes: length, time_ns: duration_ns, longest_ns: duration_ns }
    }

    /// Adds the sums of other calls.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Sums over the calls of all processes, by file.
#[derive(Clone, Debug, Default)]
pub struct Files {
    all: BTreeMap<Arc<str>, Tally>,
    /// Total length of the file names in the map, in bytes.
    bytes: usize,
    /// Sums over all files that were dropped from the map.
    others: Tally,
}

impl Files {
    /// Adds the sums `more` of further calls to those of `file`.
    pub fn add(&mut self, file: &Arc<str>, more: &Tally) {
        match self.all.get_mut(file) {
            Some(tally) => tally.merge(more),
            None => {
                self.bytes += file.len();
                self.all.insert(file.clone(), *more);
                self.bound();
            }
        }
    }

    /// Iterates over file names and their sums. All dropped files are one item, with one name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tally)> {
        let others = (self.others.calls > 0).then_some((OTHER_FILES, &self.others));
        self.all.iter().map(|(file, tally)| (&**file, tally)).chain(others)
    }

    /// Drops the half of the files with the least I/O time if a limit is exceeded.
    fn bound(&mut self) {
        if self.all.len() > MOST_FILES || self.bytes > MOST_BYTES {
            let mut times: Vec<u64> = self.all.values().map(|tally| tally.time_ns).collect();
            let middle = times.len() / 2;
            let (_, least, _) = times.select_nth_unstable(middle);
            let least = *least;
            let others = &mut self.others;
            self.all.retain(|_, tally| {
                let stays = tally.time_ns > least;
                if !stays {
                    others.merge(tally);
                }
                stays
            });
            self.bytes = self.all.keys().map(|file| file.len()).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_cost_most_stay() {
        let mut files = Files::default();
        let most = MOST_FILES as u64;
        for number in (0..=most).rev() {
            files.add(&format!("/{number}").into(), &Tally::of(2, number + 1));
        }
        let kept: Vec<&Tally> = files.all.values().collect();
        assert!(kept.len() <= MOST_FILES / 2 + 1 && kept.len() >= MOST_FILES / 2 - 1, "{}", kept.len());
        assert!(kept.contains(&&Tally { calls: 1, bytes: 2, time_ns: most + 1, longest_ns: most + 1 }));
        let others = files.iter().last().unwrap();
        assert_eq!((others.0, others.1.calls as usize + kept.len()), (OTHER_FILES, MOST_FILES + 1));
        assert_eq!(files.iter().map(|(_, tally)| tally.bytes).sum::<u64>(), 2 * (most + 1));
    }

    #[test]
    fn long_names_take_no_more_room_than_short_ones() {
        let mut files = Files::default();
        for number in 0..MOST_FILES as u64 {
            files.add(&format!("/{}/{number}", "x".repeat(4000)).into(), &Tally::of(1, number));
            assert!(files.bytes <= MOST_BYTES);
        }
        assert_eq!(files.iter().map(|(_, tally)| tally.calls).sum::<u64>(), MOST_FILES as u64);
    }
}
