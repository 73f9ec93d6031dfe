//! Single stalled calls in counter records, which only have the duration of the longest call.

use crate::cube::reading::sums::Sums;
use crate::model::Run;
use crate::shared::stats::median;
use std::collections::BTreeMap;
use trace_format::counters::Counters;

/// Most counter records with one call far longer than the rest, for these to be single stalls: with more, a unit is slow.
const FEW_STALLS: usize = 3;
/// Largest mean of the record's other calls, relative to the operation's usual mean: above, all calls are slow.
const LIKE_ALL: f64 = 3.0;

/// Single stalled calls of a run's counter records.
pub struct Stalls {
    /// By operation: median over records of the mean duration without the longest call, ns.
    usual: BTreeMap<u16, f64>,
    few: bool,
}

impl Stalls {
    /// Finds stalled calls of a run's counter records.
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

    /// True if the longest call of a counter record stalled.
    #[must_use]
    pub fn has(&self, op: u16, sums: &Sums) -> bool {
        let usual = self.usual.get(&op).copied().unwrap_or_default();
        self.few && sums.has_stalled() && sums.with_stall().mean_of_near_ns() <= usual * LIKE_ALL
    }
}

/// Makes a cell of calls with counters only.
#[must_use]
pub fn counted_cell(of: &Counters) -> Sums {
    Sums::counted(of.segments, of.bytes, of.duration, of.max_duration)
}
