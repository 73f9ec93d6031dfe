//! Ranks that reach a synchronization point a whole round (calls, then a pause) before the last rank. A rank that waits for messages of
//! others in each round, as in a halo exchange, cannot be so far ahead. A delay of a rank that is ahead prolongs the run only by the part
//! that exceeds its wait at the synchronization point.

use crate::cube::Cube;
use crate::model::ProcessId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum rounds (calls, then a pause) of a process that show how long its rounds are.
const FEWEST: usize = 3;
/// Minimum length of a pause that separates two rounds of calls, relative to the longest pause between two calls.
const PAUSE: f64 = 0.5;
/// Maximum relative difference of two ranks' numbers of rounds (or of calls, if pauses are uneven): a rank with more has additional work at
/// the end, for which others may wait.
const AS_MANY: f64 = 0.2;

/// Ranks that reach a synchronization point a whole round of calls before the last rank: (phase that the point ends, rank's process).
#[derive(Clone, Debug, Default)]
pub struct Ahead(BTreeSet<(usize, ProcessId)>);

impl Ahead {
    /// Finds the ranks that are a whole round of calls ahead at a synchronization point. Only points long after the previous one are
    /// examined: between others, there is at most about a round.
    #[must_use]
    pub fn of(cube: &Cube<'_>) -> Self {
        // By time window: latest end of the longest calls that begin there, ns, and number of calls.
        let mut slots: FxHashMap<ProcessId, BTreeMap<u16, (u64, u64)>> = FxHashMap::default();
        let far: Vec<_> = cube.sync_points.far().collect();
        if !far.is_empty() {
            for cell in cube.cells.iter().filter(|cell| cell.leaf) {
                let until = cell.sums.longest_began().map_or(0, |began| began.saturating_add(cell.sums.longest_ns));
                let (end, calls) = slots.entry(cell.process).or_default().entry(cell.slot).or_default();
                *end = until.max(*end);
                *calls = calls.saturating_add(cell.sums.calls);
            }
        }
        let mut out = BTreeSet::new();
        for (end, (first, waits)) in far {
            let phases = first..=end;
            let rounds = |process: ProcessId| {
                let of = slots.get(&process)?.iter().map(|(slot, (until, calls))| (usize::from(*slot), *until, *calls));
                let within = || of.clone().filter(|(slot, ..)| phases.contains(&cube.slots.phase(*slot)));
                let spans: Vec<(u64, u64)> =
                    within().filter_map(|(slot, until, _)| Some((cube.slots.begin(slot)?, until))).collect();
                let calls = within().fold(0_u64, |sum, (.., calls)| sum.saturating_add(calls));
                Some(Rounds { calls, ..Rounds::of(&spans)? })
            };
            let last = waits.iter().min_by(|a, b| a.1.total_cmp(b.1).then(a.0.cmp(b.0))).map(|(process, _)| *process);
            let Some(of_last) = last.and_then(rounds) else { continue };
            let is = |(process, ns): (&ProcessId, &f64)| {
                rounds(*process).is_some_and(|mine| mine.is_ahead(&of_last, *ns)).then_some((end, *process))
            };
            out.extend(waits.iter().filter_map(is));
        }
        Self(out)
    }

    /// Returns true if a rank is a whole round of calls ahead at the synchronization point that ends phase `end`.
    #[must_use]
    pub fn is(&self, process: ProcessId, end: usize) -> bool {
        self.0.contains(&(end, process))
    }
}

/// Rounds of one process: each is some calls, then a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rounds {
    count: usize,
    calls: u64,
    /// Longest time from the first call of a round to that of the next round, or to the process's last call, ns.
    longest_ns: u64,
}

impl Rounds {
    /// Splits a process's calls (start and end in ns, ascending) into rounds at long pauses; `None` for fewer than [`FEWEST`] rounds.
    fn of(calls: &[(u64, u64)]) -> Option<Self> {
        let apart = |two: &[(u64, u64)]| two[1].0.saturating_sub(two[0].1.max(two[0].0));
        let pause = (calls.windows(2).map(apart).max()? as f64 * PAUSE) as u64;
        let mut begins: Vec<u64> = calls.first().map(|call| call.0).into_iter().collect();
        begins.extend(calls.windows(2).filter(|two| apart(two) >= pause).map(|two| two[1].0));
        let count = begins.len();
        begins.extend(calls.last().map(|call| call.0));
        let longest_ns = begins.windows(2).map(|two| two[1].saturating_sub(two[0])).max()?;
        (count >= FEWEST).then_some(Self { count, calls: calls.len() as u64, longest_ns })
    }

    /// Returns true if a rank that waits for `ns` at a synchronization point is ahead of the rank `last` by at least the longest round of
    /// `last`, and both make about as many rounds or calls.
    fn is_ahead(&self, last: &Self, ns: f64) -> bool {
        let as_many = |mine: u64, theirs: u64| mine.abs_diff(theirs) as f64 <= mine.max(theirs) as f64 * AS_MANY;
        let similar = as_many(self.count as u64, last.count as u64) || as_many(self.calls, last.calls);
        ns >= last.longest_ns as f64 && similar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(begins_ms: &[u64]) -> Option<Rounds> {
        Rounds::of(&begins_ms.iter().map(|ms| (ms * MS, (ms + 1) * MS)).collect::<Vec<_>>())
    }

    fn rounds(each_ms: u64, count: u64) -> Rounds {
        let calls: Vec<u64> = (0..count).flat_map(|round| [0, 5].map(|at| round * each_ms + at)).collect();
        of(&calls).expect("rounds")
    }

    #[test]
    fn who_is_a_round_ahead_of_the_last_is_tied_to_nobody() {
        let (mine, last) = (rounds(400, 8), rounds(550, 8));
        assert_eq!(mine, Rounds { count: 8, calls: 16, longest_ns: 400 * MS });
        assert!(mine.is_ahead(&last, 0.6e9));
        // Within a round, the rank may have waited for the other in each.
        assert!(!mine.is_ahead(&last, 0.5e9));
        // The last rank does more at the end, while the others wait.
        assert!(!mine.is_ahead(&rounds(400, 12), 1.6e9));
        // Pauses are too uneven to show rounds, but all make as many calls.
        assert!(Rounds { count: 5, ..mine }.is_ahead(&last, 0.6e9));
        let writes_at_the_end: Vec<u64> = (0..8).map(|round| round * 400).chain((3200..5000).step_by(50)).collect();
        assert!(!mine.is_ahead(&of(&writes_at_the_end).expect("rounds"), 1.6e9));
    }

    #[test]
    fn a_few_calls_tell_no_rounds_and_a_long_one_is_no_pause() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1, 400]), None);
        let calls: Vec<(u64, u64)> =
            [(0, 1), (400, 2900), (3300, 3301), (3700, 3701)].map(|(from, to)| (from * MS, to * MS)).into();
        assert_eq!(Rounds::of(&calls), Some(Rounds { count: 4, calls: 4, longest_ns: 2900 * MS }));
    }
}
