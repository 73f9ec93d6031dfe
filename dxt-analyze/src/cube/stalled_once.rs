//! Finds single stalled calls in counter records. Such a record has only the total time and the duration of the longest call.

use crate::cube::reading::sums::Sums;
use crate::model::Run;
use crate::shared::stats::median;
use std::collections::BTreeMap;
use trace_format::counters::Counters;

/// Largest number of counter records with one call far longer than the rest, for these calls to be single stalls; if there are more, a
/// rank, target or file is slow.
const FEW_STALLS: usize = 3;
/// Largest mean duration of a record's other calls, relative to the operation's usual mean. Above it, all calls of the record are slow, not
/// one.
const LIKE_ALL: f64 = 3.0;

/// Usual durations, with which single stalled calls are found in a run's counter records.
pub struct Stalls {
    /// By operation: mean duration of a record's calls without the longest, ns; median over records.
    usual: BTreeMap<u16, f64>,
    few: bool,
}

impl Stalls {
    /// Prepares the search from all counter records of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut means: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
        let mut cells: Vec<(u16, Sums)> = Vec::new();
        for process in &run.processes {
            for missing in &process.missing {
                let stream = process.stream_index(missing.stream).and_then(|index| process.stream(index));
                let sums = counted_cell(&missing.counters);
                if let Some(stream) = stream.filter(|_| sums.calls > 0) {
                    means.entry(stream.op).or_default().push(sums.with_stall().mean_of_near_ns());
                    cells.push((stream.op, sums));
                }
            }
        }
        let usual = means.into_iter().filter_map(|(op, mut all)| Some((op, median(&mut all)?))).collect();
        let mut out = Self { usual, few: true };
        out.few = cells.iter().filter(|(op, sums)| out.has(*op, sums)).count() <= FEW_STALLS;
        out
    }

    /// True if the longest call of a counter record (`sums`, of operation `op`) stalled.
    #[must_use]
    pub fn has(&self, op: u16, sums: &Sums) -> bool {
        let usual = self.usual.get(&op).copied().unwrap_or_default();
        self.few && sums.has_stalled() && sums.with_stall().mean_of_near_ns() <= usual * LIKE_ALL
    }
}

/// Returns number, bytes and times of the calls in a counter record, as sums of a cell.
#[must_use]
pub fn counted_cell(of: &Counters) -> Sums {
    Sums::counted(of.segments, of.bytes, of.duration, of.max_duration)
}
