//! Parts of a stripe audit's result, as serialized.

use super::layout_part::LayoutPart;
use super::load::LoadPart;
use super::pace::PacePart;
use super::trials::result::FileTrials;
use crate::findings::Finding;
use crate::model::LayoutOrigin;
use crate::shared::completeness::Completeness;
use serde::Serialize;

impl FilePart {
    /// Returns the number of operations that lie on stripes, the base of all shares.
    #[must_use]
    pub fn placed(&self) -> u64 {
        (self.reads + self.writes).saturating_sub(self.not_placed).saturating_sub(self.on_metadata)
    }

    /// Returns the excess time of unaligned over aligned operations of similar size (ns), and the number of operations in this estimate.
    #[must_use]
    pub fn misalignment(&self) -> (u64, u64) {
        self.alignment_cost.iter().filter(|part| part.is_clear).fold((0, 0), |(cost, count), part| {
            (u64::saturating_add(cost, part.cost_ns), u64::saturating_add(count, part.unaligned))
        })
    }

    /// True if the layout is a guess.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.layout.origin == LayoutOrigin::Guess
    }
}

/// Load of one storage target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetPart {
    /// OST index; `None` if the layout does not name it.
    pub ost: Option<u32>,
    /// Number of operations that touched the target.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in ns; an operation on several targets is divided by bytes.
    pub time_ns: u64,
}

/// Stripe written by several processes at overlapping times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StripePart {
    /// Number of the stripe, from the file's start.
    pub stripe: u64,
    /// First byte of the stripe.
    pub start: u64,
    /// Storage target, if known.
    pub ost: Option<u32>,
    /// Number of writes that overlap in time with a write of another process.
    pub writes: u64,
    /// Sum of the durations of these writes, ns.
    pub time_ns: u64,
    /// Wall-clock time during which at least two processes were writing, ns.
    pub wall_ns: u64,
    /// Number of processes in conflict.
    pub process_count: u64,
    /// First few processes in conflict, as ranks; a process without a rank as `pid N`.
    pub ranks: Vec<String>,
    /// Number of writes that overlap in time with a write from another node, so that the lock is passed; 0 if all are of one node.
    pub writes_between_nodes: u64,
    /// Sum of the durations of these writes between nodes, ns.
    pub time_between_nodes_ns: u64,
    /// Wall-clock time during which at least two nodes were writing, ns.
    pub wall_between_nodes_ns: u64,
    /// Number of nodes in conflict with another.
    pub node_count: u64,
    /// First few nodes in conflict.
    pub nodes: Vec<String>,
}

/// Sums over the shared stripes of a file. Estimates if not all stripes could be tracked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingPart {
    /// Stripes that several processes wrote in part, at any time.
    pub contested_stripes: u64,
    /// Contested stripes written at overlapping times.
    pub shared_stripes: u64,
    /// Number of writes in conflict.
    pub writes: u64,
    /// Sum of the durations of these writes, ns.
    pub time_ns: u64,
    /// Shared stripes written from several nodes at overlapping times.
    pub stripes_between_nodes: u64,
    /// Number of writes that overlap in time with a write from another node.
    pub writes_between_nodes: u64,
    /// Sum of the durations of these writes between nodes, ns.
    pub time_between_nodes_ns: u64,
    /// Sum of the durations of writes to contested stripes that were last written by another node, at any earlier time, ns; `None` if such
    /// writes take no longer than others.
    pub time_passed_on_ns: Option<u64>,
    /// Sampling factor: one stripe in this many was tracked, and all numbers above are multiplied by it.
    pub estimated_times: u64,
    /// Contested stripes left out because there were too many.
    pub not_examined: u64,
    /// Time of the writes to the stripes left out, ns.
    pub not_examined_ns: u64,
}

impl SharingPart {
    /// Returns the number of shared stripes without overlapping writes from several nodes.
    #[must_use]
    pub fn stripes_on_one_node(&self) -> u64 {
        self.shared_stripes.saturating_sub(self.stripes_between_nodes)
    }

    /// Returns the time of writes that overlap only with writes of the same node, in ns.
    #[must_use]
    pub fn time_on_one_node_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.time_between_nodes_ns)
    }

    /// Returns the time of writes that wait for another node's lock, in ns.
    #[must_use]
    pub fn time_of_handovers_ns(&self) -> u64 {
        self.time_between_nodes_ns.max(self.time_passed_on_ns.unwrap_or(0))
    }

    /// Scales sums over a sample of one in `times` stripes to estimates for all.
    pub(super) fn scale(&mut self, times: u64) {
        self.estimated_times = times;
        for sum in [
            &mut self.contested_stripes,
            &mut self.shared_stripes,
            &mut self.writes,
            &mut self.time_ns,
            &mut self.stripes_between_nodes,
            &mut self.writes_between_nodes,
            &mut self.time_between_nodes_ns,
            &mut self.not_examined,
            &mut self.not_examined_ns,
        ] {
            *sum = sum.saturating_mul(times);
        }
        self.time_passed_on_ns = self.time_passed_on_ns.map(|time| time.saturating_mul(times));
    }
}

/// Audit of one file.
#[derive(Clone, Debug, Serialize)]
pub struct FilePart {
    /// Path of the file.
    pub file: String,
    /// Stripe layout.
    pub layout: LayoutPart,
    /// Reason why a layout in the trace was not used; `None` if it was, or if there is none.
    pub layout_problem: Option<String>,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time in reads and writes, ns.
    pub time_ns: u64,
    /// Longest operation, in bytes.
    pub max_length: u64,
    /// Operations that do not begin or do not end at a stripe boundary.
    pub unaligned: u64,
    /// Bytes of the unaligned operations.
    pub unaligned_bytes: u64,
    /// Operations that do not begin at a stripe boundary.
    pub unaligned_start: u64,
    /// Operations that do not end at a stripe boundary.
    pub unaligned_end: u64,
    /// Operations that touch more than one stripe.
    pub crossing: u64,
    /// Crossing operations no longer than a stripe.
    pub crossing_needlessly: u64,
    /// Operations that begin on the metadata target; they are not audited.
    pub on_metadata: u64,
    /// Operations without a place on the layout.
    pub not_placed: u64,
    /// Load per storage target.
    pub targets: Vec<TargetPart>,
    /// Bytes on the busiest target / mean over the layout's targets; `None` if there are none.
    pub imbalance: Option<f64>,
    /// Comparisons of aligned and unaligned operations of similar size, if there are enough of both.
    pub alignment_cost: Vec<PacePart>,
    /// Sums over shared stripes.
    pub sharing: SharingPart,
    /// Shared stripes with most time, in order of offset.
    pub stripes: Vec<StripePart>,
    /// Proposed changes.
    pub advice: Vec<String>,
}

/// Result of the audit.
#[derive(Clone, Debug, Serialize)]
pub struct Stripes {
    /// Files, those with most time first.
    pub files: Vec<FilePart>,
    /// Files that were read or written but have no layout, not even a preferred I/O size.
    pub without_layout: Vec<String>,
    /// Sampling factor: one partly written stripe in this many was tracked; 1 for all.
    pub followed_one_in: u64,
    /// Files with most time on other layouts; empty if not requested.
    pub what_if: Vec<FileTrials>,
    /// Load of storage targets over time; `None` if no layout names any.
    pub ost_load: Option<LoadPart>,
    /// Missing parts of the trace.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}
