//! Sums of one process or file, for rankings.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files that are told apart.
const MOST_FILES: usize = 10_000;

/// Sums of one process or file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in calls, in ns.
    pub time_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
}

impl Tally {
    /// One call.
    #[must_use]
    pub const fn of(length: u64, duration_ns: u64) -> Self {
        Self { calls: 1, bytes: length, time_ns: duration_ns, longest_ns: duration_ns }
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Sums by file.
#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<Arc<str>, Tally>);

impl Files {
    /// Adds to a file.
    pub fn add(&mut self, file: &Arc<str>, more: &Tally) {
        match self.0.get_mut(file) {
            Some(tally) => tally.merge(more),
            None => {
                self.0.insert(file.clone(), *more);
            }
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Tally)> {
        self.0.iter()
    }

    /// Where there are very many, those that cost least are forgotten.
    pub fn bound(&mut self) {
        if self.0.len() > MOST_FILES {
            let mut times: Vec<u64> = self.0.values().map(|tally| tally.time_ns).collect();
            let middle = times.len() / 2;
            let (_, least, _) = times.select_nth_unstable(middle);
            let least = *least;
            self.0.retain(|_, tally| tally.time_ns > least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_cost_most_stay() {
        let mut files = Files::default();
        for number in 0..=MOST_FILES as u64 {
            files.add(&format!("/{number}").into(), &Tally::of(1, number));
            files.add(&format!("/{number}").into(), &Tally::of(2, 1));
        }
        files.bound();
        let kept: Vec<&Tally> = files.iter().map(|(_, tally)| tally).collect();
        assert!(kept.len() <= MOST_FILES / 2 + 1 && kept.len() >= MOST_FILES / 2 - 1, "{}", kept.len());
        let most = MOST_FILES as u64;
        assert!(kept.contains(&&Tally { calls: 2, bytes: 3, time_ns: most + 1, longest_ns: most }));
    }
}
