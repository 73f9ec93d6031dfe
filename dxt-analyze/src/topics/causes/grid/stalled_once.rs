//! Single calls that stalled in records of counters, which have no more of them than how long the longest took.

use crate::model::Run;
use crate::shared::stats::median;
use crate::topics::causes::reading::cell::Cell;
use std::collections::BTreeMap;
use trace_format::counters::Counters;

/// Records of counters with one call far longer than the others up to which each is an event: where there are more, who they are of is slow.
const FEW_STALLS: usize = 3;
/// Times the usual mean of an operation that the other calls of such a record take at most: else they are slow, and the longest is one of them.
const LIKE_ALL: f64 = 3.0;

/// Single calls that stalled, of records of counters.
pub struct Stalls {
    /// By operation: the median of the means of records, ns, the longest call of each left out.
    usual: BTreeMap<u16, f64>,
    /// Whether there are few.
    few: bool,
}

impl Stalls {
    /// Of a run's records of counters.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut means: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
        let mut cells: Vec<(u16, Cell)> = Vec::new();
        for process in &run.processes {
            for missing in &process.missing {
                let stream = process.stream_index(missing.stream).and_then(|index| process.stream(index));
                let cell = counted_cell(&missing.counters);
                if let Some(stream) = stream.filter(|_| cell.calls > 0) {
                    means.entry(stream.op).or_default().push(cell.with_stall().mean_of_near_ns());
                    cells.push((stream.op, cell));
                }
            }
        }
        let usual = means.into_iter().filter_map(|(op, mut all)| Some((op, median(&mut all)?))).collect();
        let mut out = Self { usual, few: true };
        out.few = cells.iter().filter(|(op, cell)| out.has(*op, cell)).count() <= FEW_STALLS;
        out
    }

    /// Whether the longest call of such a record stalled.
    #[must_use]
    pub fn has(&self, op: u16, cell: &Cell) -> bool {
        let usual = self.usual.get(&op).copied().unwrap_or_default();
        self.few && cell.has_stalled() && cell.with_stall().mean_of_near_ns() <= usual * LIKE_ALL
    }
}

/// Calls that have only counters.
#[must_use]
pub fn counted_cell(of: &Counters) -> Cell {
    Cell::counted(of.segments, of.bytes, of.duration, of.max_duration)
}
