//! Collects operations beyond a fence (limit of the box-plot rule). The list of the slowest operations is bounded; counts and times include
//! all operations.

use super::distribution::Metric;
use crate::model::{ProcessId, Run, StreamIx};
use crate::scan::{Analysis, Block, Stretch};
use crate::shared::groups::group_of;
use std::collections::BinaryHeap;
use trace_format::frame::BlockHead;

/// Limit beyond which the operations of a group are outliers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fence {
    /// Value beyond which an operation is an outlier: below it for bandwidth, above it for duration.
    pub limit: f64,
    /// Median of the bandwidths (bytes/s) or durations (ns) of the group's operations.
    pub usual: f64,
}

/// Pass that collects the operations beyond the fences (limits of the box-plot rule).
#[derive(Clone, Debug)]
pub struct Worst<'a> {
    /// Fence (limit of the box-plot rule) of each group, indexed by [`crate::shared::groups::group_index`].
    pub fences: &'a [Option<Fence>],
    /// Value that is compared: bandwidth or duration.
    pub metric: Metric,
    /// Maximum number of outliers kept per group of operations.
    pub keep: usize,
}

/// Operation beyond the fence (limit of the box-plot rule); sorts worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slow {
    /// Bandwidth in bytes/s, or `u64::MAX` - duration in ns; lower is worse.
    pub badness: u64,
    /// Process that made the operation, as an index into [`Run::processes`].
    pub process: ProcessId,
    /// Start of the operation, ns since the process's epoch.
    pub start: u64,
    /// Offset in the file, bytes; -1 if the operation has none.
    pub offset: i64,
    /// Size of the operation, bytes.
    pub length: u64,
    /// End of the operation, ns since the process's epoch.
    pub end: u64,
    /// Stream (one operation, file and caller) of the operation, as an index into the process's streams.
    pub stream: StreamIx,
}

/// Outliers of one group of operations.
#[derive(Clone, Debug, Default)]
pub struct GroupWorst {
    /// Number of operations of the group that are outliers.
    pub count: u64,
    /// Sum of the durations of all outliers of the group, ns.
    pub time_ns: u64,
    /// Time that all outliers lost, compared with the same bytes (or calls) at the group's median, ns.
    pub extra_ns: u64,
    /// Worst outliers; the least bad one is on top of the heap and replaced first.
    pub kept: BinaryHeap<Slow>,
}

impl GroupWorst {
    fn keep(&mut self, slow: Slow, limit: usize) {
        if self.kept.len() < limit {
            self.kept.push(slow);
        } else if self.kept.peek().is_some_and(|least| slow < *least) {
            self.kept.pop();
            self.kept.push(slow);
        }
    }
}

impl Worst<'_> {
    fn beyond(&self, value: u64, fence: &Fence) -> bool {
        match self.metric {
            Metric::Bandwidth => (value as f64) < fence.limit,
            Metric::Duration => (value as f64) > fence.limit,
        }
    }
}

impl Analysis for Worst<'_> {
    type Partial = Vec<GroupWorst>;

    fn start(&self) -> Self::Partial {
        vec![GroupWorst::default(); self.fences.len()]
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        let streams = run.process(process).map_or(&[][..], |process| &process.streams);
        let in_block = streams.iter().filter(|stream| head.stream_mask & stream.mask != 0);
        in_block.into_iter().any(|stream| group_of(self.fences, stream).is_some())
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let Some(index) = group_of(self.fences, stream) else { continue };
            let (Some(Some(fence)), Some(group)) = (self.fences.get(index), partial.get_mut(index)) else { continue };
            self.of_group(fence, group, block.number, stretch);
        }
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        for (mine, theirs) in into.iter_mut().zip(other) {
            mine.count += theirs.count;
            mine.time_ns = mine.time_ns.saturating_add(theirs.time_ns);
            mine.extra_ns = mine.extra_ns.saturating_add(theirs.extra_ns);
            for slow in theirs.kept {
                mine.keep(slow, self.keep);
            }
        }
    }
}

impl Worst<'_> {
    /// Adds those calls of a stretch (consecutive calls of one operation on one file) that lie beyond the fence.
    fn of_group(&self, fence: &Fence, group: &mut GroupWorst, process: ProcessId, calls: Stretch<'_>) {
        // After a call within the fence, calls of equal length and no longer duration are also within, and need no division.
        let mut within = (u64::MAX, 0);
        for row in calls.rows() {
            let duration = row.duration_ns();
            if row.length == within.0 && duration <= within.1 {
                continue;
            }
            let Some(value) = self.metric.of(row.length, duration) else { continue };
            if !self.beyond(value, fence) {
                within = (row.length, duration);
                continue;
            }
            let (usual_ns, badness) = match self.metric {
                Metric::Bandwidth => (row.length as f64 * 1e9 / fence.usual.max(1.0), value),
                Metric::Duration => (fence.usual, u64::MAX - value),
            };
            group.count += 1;
            group.time_ns = group.time_ns.saturating_add(duration);
            group.extra_ns = group.extra_ns.saturating_add(duration.saturating_sub(usual_ns as u64));
            let slow = Slow {
                badness,
                process,
                start: row.start,
                offset: row.offset,
                length: row.length,
                end: row.end,
                stream: row.stream,
            };
            group.keep(slow, self.keep);
        }
    }
}
