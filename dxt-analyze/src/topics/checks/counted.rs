//! Adds calls that have only counters to the results of the pass over the segments, as precisely as counters allow; also adds Darshan's
//! counts of sequential accesses.

use super::sums::{Calls, Direction, FileSums};
use crate::model::{FileId, Run};
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use trace_format::counters::{Counters, SIZE_BOUNDS};
use trace_format::meta::Order;
use trace_format::op::{Layer, OpClass};

/// Adds calls that have only counters to the totals in `files`: sizes from the histogram of request sizes, random order from the counts of
/// sequential calls.
pub fn add_counters(run: &Run, files: &mut FxHashMap<FileId, Box<FileSums>>, least: &Thresholds) {
    for process in &run.processes {
        for missing in &process.missing {
            let Some(stream) = process.stream_with_id(missing.stream) else {
                continue;
            };
            let op = run.op(stream);
            if !stream.storage || !matches!(op.layer, Some(Layer::Posix | Layer::Mpiio)) {
                continue;
            }
            let sums = files.entry(stream.file).or_default();
            let writes = op.class == Some(OpClass::Write);
            let direction = if writes { &mut sums.writes } else { &mut sums.reads };
            let counters = &missing.counters;
            direction.all.merge(&Calls { count: counters.segments, bytes: counters.bytes, time_ns: counters.duration });
            let small = small_by_bins(counters, least.small_request_bytes);
            let share = |sum: u64, part: u64| {
                (u128::from(sum) * u128::from(part) / u128::from(counters.segments.max(1))) as u64
            };
            let sized = small == counters.segments;
            let bytes = if sized { counters.bytes } else { 0 };
            direction.small.merge(&Calls { count: small, bytes, time_ns: share(counters.duration, small) });
            direction.small_unsized = direction.small_unsized.saturating_add(if sized { 0 } else { small });
            // The stream's first call has no predecessor, though it may count as sequential.
            let placed = counters.ordered().saturating_sub(1);
            let random = placed.saturating_sub(counters.sequential);
            if placed > 0 {
                direction.placed = direction.placed.saturating_add(placed);
                direction.random.merge(&Calls { count: random, bytes: 0, time_ns: share(counters.duration, random) });
            }
        }
    }
    for process in &run.processes {
        for def in process.whole.iter().filter(|def| def.layer == Layer::Posix) {
            let (ranks, sums) =
                (run.ranks_of(process, FileId(def.file), Some(def.layer)), files.entry(FileId(def.file)).or_default());
            add_order(&mut sums.reads, &def.reads, ranks);
            add_order(&mut sums.writes, &def.writes, ranks);
        }
    }
}

/// Adds Darshan's counts of sequential accesses (`order`), which cover all accesses, to the reads or writes of a file. `ranks`: number of
/// ranks, each of whose first access has no predecessor.
fn add_order(direction: &mut Direction, order: &Order, ranks: u64) {
    let placed = order.known.saturating_sub(ranks);
    let random = placed.saturating_sub(order.sequential);
    direction.placed = direction.placed.saturating_add(placed);
    let all = direction.all;
    let time_ns = (u128::from(all.time_ns) * u128::from(random) / u128::from(all.count.max(1))) as u64;
    direction.random.merge(&Calls { count: random, bytes: 0, time_ns: time_ns.min(all.time_ns) });
}

/// Returns the number of calls in size bins whose largest size is below `limit`. The bin whose largest size equals `limit` counts only if
/// the mean size is below `limit`, since requests of exactly 1 MiB share a bin with smaller ones.
fn small_by_bins(counters: &Counters, limit: u64) -> u64 {
    let mean = counters.bytes / counters.segments.max(1);
    let bins = counters.sizes.iter().zip(SIZE_BOUNDS);
    let below = bins.take_while(|(_, bound)| bound - 1 < limit || (bound - 1 == limit && mean < limit));
    below.map(|(count, _)| *count).sum::<Sum>().get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::counters::Previous;

    #[test]
    fn requests_of_exactly_the_limit_are_not_small() {
        let folded = |length: u64| {
            let mut counters = Counters::default();
            (0..10).for_each(|_| counters.fold(&mut Previous::default(), -1, length, 0, 1));
            counters
        };
        assert_eq!(small_by_bins(&folded(1 << 20), 1 << 20), 0);
        assert_eq!(small_by_bins(&folded((1 << 20) - 1), 1 << 20), 10);
        assert_eq!(small_by_bins(&folded(100), 1 << 20), 10);
        assert_eq!(small_by_bins(&folded(200 << 10), 100 << 10), 0);
    }
}
