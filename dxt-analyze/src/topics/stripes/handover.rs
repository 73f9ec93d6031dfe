//! Cost of lock handovers. Compares the durations of two kinds of writes to a stripe: writes whose preceding write came from another node,
//! so that the file system passes the lock between nodes, and all others. A node keeps the lock until another node writes.

use super::overlap::Write;
use crate::cube::reading::parts::LOG_BITS;
use crate::cube::reading::sums::log;
use crate::model::FileId;
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Minimum number of writes of each kind (with and without a lock handover) for a comparison.
const FEWEST: u64 = 16;
/// Minimum ratio of geometric mean durations (with / without handover) for which the difference is attributed to handovers.
const LONGER: f64 = 1.5;

/// Totals over the writes of one kind: with a lock handover (the preceding write came from another node), or without.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    calls: u64,
    time_ns: u64,
    logs: i64,
}

impl Kind {
    fn add(&mut self, write: &Write) {
        let time_ns = write.end.saturating_sub(write.start);
        self.calls = self.calls.saturating_add(1);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.logs = self.logs.saturating_add(log(time_ns));
    }

    fn join(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.logs = self.logs.saturating_add(other.logs);
    }

    fn mean_log(&self) -> f64 {
        self.logs as f64 / f64::from(1 << LOG_BITS) / self.calls.max(1) as f64
    }
}

/// Writes of one size class to the contested stripes (partly written by several processes) of a file, with and without a lock handover
/// (preceding write from another node).
#[derive(Clone, Copy, Debug, Default)]
struct OfSize {
    passed: Kind,
    kept: Kind,
}

/// Totals over the writes to contested stripes (partly written by several processes), by file and by size class (base-2 logarithm of the
/// length).
#[derive(Debug, Default)]
pub struct Handovers(FxHashMap<FileId, BTreeMap<u8, OfSize>>);

impl Handovers {
    /// Adds the writes to one stripe, which must be sorted by start. `nodes` is the node index of each process.
    pub(super) fn add(&mut self, file: FileId, writes: &[Write], nodes: &[u32]) {
        let of = self.0.entry(file).or_default();
        let mut last = None;
        // Successive writes mostly have one size class, so it is looked up once for all of them.
        for similar in writes.chunk_by(|one, next| one.size == next.size) {
            let mut sum = OfSize::default();
            for write in similar {
                let node = nodes.get(write.process.index()).copied().unwrap_or(u32::MAX);
                let passed = last.replace(node).is_some_and(|last| last != node);
                if passed { &mut sum.passed } else { &mut sum.kept }.add(write);
            }
            if let Some(first) = similar.first() {
                let of = of.entry(first.size).or_default();
                of.passed.join(&sum.passed);
                of.kept.join(&sum.kept);
            }
        }
    }

    /// Returns the time of writes whose preceding write came from another node, in ns; `None` if they take no longer than other writes of
    /// their size.
    #[must_use]
    pub fn time_ns(&self, file: FileId) -> Option<u64> {
        let clear = |of: &&OfSize| {
            let enough = of.passed.calls.min(of.kept.calls) >= FEWEST;
            enough && of.passed.mean_log() - of.kept.mean_log() >= LONGER.ln()
        };
        let clear: Vec<&OfSize> = self.0.get(&file)?.values().filter(clear).collect();
        (!clear.is_empty()).then(|| clear.iter().map(|of| of.passed.time_ns).sum::<Sum>().get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ProcessId;

    /// Builds writes to `stripes` stripes by processes 0, 1 and 2 in turn, where 0 and 1 share a node; the writes of process 2, before
    /// which the lock is handed over, take `passed_ns`.
    fn handovers(passed_ns: u64, stripes: u64) -> Handovers {
        of_sizes(passed_ns, stripes, 20)
    }

    fn of_sizes(passed_ns: u64, stripes: u64, passed_size: u8) -> Handovers {
        let mut all = Handovers::default();
        for _ in 0..stripes {
            let write = |process: u32, start, time_ns| Write {
                slot: 0,
                start,
                end: start + time_ns,
                process: ProcessId(process),
                size: if process == 2 { passed_size } else { 20 },
            };
            all.add(FileId(1), &[write(0, 0, 100), write(1, 200, 100), write(2, 9000, passed_ns)], &[7, 7, 8]);
        }
        all
    }

    #[test]
    fn writes_that_a_stripe_is_passed_for_are_held_against_the_others() {
        assert_eq!(handovers(1000, 20).time_ns(FileId(1)), Some(20_000));
        assert_eq!(handovers(120, 20).time_ns(FileId(1)), None, "they take no longer");
        assert_eq!(handovers(1000, 9).time_ns(FileId(1)), None, "too few");
        assert_eq!(handovers(1000, 20).time_ns(FileId(2)), None);
        assert_eq!(of_sizes(1000, 20, 24).time_ns(FileId(1)), None, "longer ones");
    }
}
