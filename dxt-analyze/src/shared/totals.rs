//! Totals per process and stream (calls with the same operation, file and caller), from which numbers by rank, node, file or operation are computed.

use crate::model::{ProcessId, Run, StreamIx};
use crate::scan::{Analysis, Block, fold_alone};
use rustc_hash::FxHashMap;
use trace_format::counters::Counters;

/// Analysis that adds up the recorded calls of each stream (one operation of a process on one file). Times are ns since the process's
/// epoch. Consecutive and sequential accesses are not counted, because blocks arrive in any order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals;

/// Adds `more` to `sum` without overflow: counters in files may hold any value.
#[inline]
pub fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// Counters of each stream, in the order of the process's streams, by process.
pub type Partial = FxHashMap<ProcessId, Vec<Counters>>;

impl Analysis for Totals {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let streams = block.process.streams.len();
        let counters = partial.entry(block.number).or_insert_with(|| vec![Counters::default(); streams]);
        for (stretch, alone) in block.summed() {
            let Some(counters) = counters.get_mut(stretch.stream.index()) else { continue };
            match alone {
                Some(alone) => counters.merge(alone),
                None => fold_alone(counters, stretch),
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (process, theirs) in other {
            match into.entry(process) {
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(theirs);
                }
                std::collections::hash_map::Entry::Occupied(mut place) => {
                    place.get_mut().iter_mut().zip(&theirs).for_each(|(mine, theirs)| mine.merge(theirs));
                }
            }
        }
    }
}

/// Totals over the calls of one stream of one process.
#[derive(Clone, Debug)]
pub struct StreamTotal {
    /// Process of the calls, as an index into [`Run::processes`].
    pub process: ProcessId,
    /// Stream of the calls (one operation on one file), as an index into [`crate::model::Process::streams`].
    pub stream: StreamIx,
    /// Totals over recorded segments and over operations that have only counters.
    pub all: Counters,
    /// Number of operations that have only counters.
    pub missing: u64,
}

/// Returns the totals of each stream with calls, sorted by process and stream; exact, since operations that have only counters are included.
#[must_use]
pub fn with_missing(run: &Run, mut partial: Partial) -> Vec<StreamTotal> {
    let mut folded = Vec::new();
    let mut out = Vec::with_capacity(run.processes.iter().map(|process| process.streams.len()).sum());
    for (number, process) in run.numbered_processes() {
        let mut sums = partial.remove(&number).unwrap_or_default();
        sums.resize(process.streams.len(), Counters::default());
        folded.clear();
        folded.resize(sums.len(), 0_u64);
        for missing in &process.missing {
            let Some(index) = process.stream_index(missing.stream) else { continue };
            if let (Some(sum), Some(folded)) = (sums.get_mut(index.index()), folded.get_mut(index.index())) {
                sum.merge(&missing.counters);
                *folded = folded.saturating_add(missing.counters.segments);
            }
        }
        for ((stream, all), missing) in sums.into_iter().enumerate().zip(folded.iter().copied()) {
            if all.segments > 0 {
                out.push(StreamTotal { process: number, stream: StreamIx::at(stream), all, missing });
            }
        }
    }
    out
}
