//! The parts of a stripe audit's result, as they are serialised.

use super::layout_part::LayoutPart;
use super::load::LoadPart;
use super::pace::PacePart;
use super::trials::result::FileTrials;
use crate::findings::Finding;
use crate::model::LayoutOrigin;
use crate::shared::completeness::Completeness;
use serde::Serialize;

impl FilePart {
    /// Operations that have a place on stripes: what shares are shares of.
    #[must_use]
    pub fn placed(&self) -> u64 {
        (self.reads + self.writes).saturating_sub(self.not_placed).saturating_sub(self.on_metadata)
    }

    /// Time that unaligned operations took beyond aligned ones of like size, ns, and how many the estimate is of.
    #[must_use]
    pub fn misalignment(&self) -> (u64, u64) {
        self.alignment_cost.iter().filter(|part| part.is_clear).fold((0, 0), |(cost, count), part| {
            (u64::saturating_add(cost, part.cost_ns), u64::saturating_add(count, part.unaligned))
        })
    }

    /// Whether the layout is a guess.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.layout.origin == LayoutOrigin::Guess
    }
}

/// What went to one storage target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetPart {
    /// OST index; `None` where the layout does not say.
    pub ost: Option<u32>,
    /// Operations that touched it.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time, shared out by bytes, ns.
    pub time_ns: u64,
}

/// A stripe written by several processes at overlapping times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StripePart {
    /// Its number, counted from the file's start.
    pub stripe: u64,
    /// Its first byte.
    pub start: u64,
    /// Storage target, if known.
    pub ost: Option<u32>,
    /// Writes that overlap in time with one of another process.
    pub writes: u64,
    /// Their durations together, ns.
    pub time_ns: u64,
    /// Wall-clock time during which at least two processes were writing, ns.
    pub wall_ns: u64,
    /// Number of processes in conflict.
    pub process_count: u64,
    /// The first of them, as ranks; a process without a rank as `pid N`.
    pub ranks: Vec<String>,
    /// Writes that overlap in time with one from another node: those for which the file system passes the lock. 0: all are of
    /// one node.
    pub writes_between_nodes: u64,
    /// Their durations together, ns.
    pub time_between_nodes_ns: u64,
    /// Wall-clock time during which at least two nodes were writing, ns.
    pub wall_between_nodes_ns: u64,
    /// Number of nodes in conflict with another.
    pub node_count: u64,
    /// The first of them.
    pub nodes: Vec<String>,
}

/// Sums over the shared stripes of a file. Estimates if not all stripes could be followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingPart {
    /// Stripes of which several processes wrote a part, at any time.
    pub contested_stripes: u64,
    /// Those written at overlapping times.
    pub shared_stripes: u64,
    /// Writes in conflict.
    pub writes: u64,
    /// Their durations together, ns.
    pub time_ns: u64,
    /// Of the shared stripes, those written from several nodes at overlapping times.
    pub stripes_between_nodes: u64,
    /// Writes that overlap in time with one from another node.
    pub writes_between_nodes: u64,
    /// Their durations together, ns.
    pub time_between_nodes_ns: u64,
    /// Durations of the writes to contested stripes for which these were passed to another node, at whatever time it wrote before, together, ns;
    /// `None` if they take no longer than the others.
    pub time_passed_on_ns: Option<u64>,
    /// Where only a sample of the stripes was followed: all numbers above are of the sample, times this.
    pub estimated_times: u64,
    /// Contested stripes that were too many to examine.
    pub not_examined: u64,
    /// Time of the writes to those, ns.
    pub not_examined_ns: u64,
}

impl SharingPart {
    /// Shared stripes whose writers at any moment are of one node.
    #[must_use]
    pub fn stripes_on_one_node(&self) -> u64 {
        self.shared_stripes.saturating_sub(self.stripes_between_nodes)
    }

    /// Time of writes that overlap with writes of the same node only, ns.
    #[must_use]
    pub fn time_on_one_node_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.time_between_nodes_ns)
    }

    /// Time of writes that wait for another node's lock, ns.
    #[must_use]
    pub fn time_of_handovers_ns(&self) -> u64 {
        self.time_between_nodes_ns.max(self.time_passed_on_ns.unwrap_or(0))
    }

    /// From the sums over a sample of one in `times` stripes to an estimate for all.
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

/// The audit of one file.
#[derive(Clone, Debug, Serialize)]
pub struct FilePart {
    /// Path.
    pub file: String,
    /// Layout.
    pub layout: LayoutPart,
    /// Why a layout in the trace is not the one above.
    pub layout_problem: Option<String>,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// Time of both, ns.
    pub time_ns: u64,
    /// Longest operation in bytes.
    pub max_length: u64,
    /// Operations that do not begin or do not end at a stripe boundary.
    pub unaligned: u64,
    /// Their bytes.
    pub unaligned_bytes: u64,
    /// Operations that do not begin at one.
    pub unaligned_start: u64,
    /// Operations that do not end at one.
    pub unaligned_end: u64,
    /// Operations that touch more than one stripe.
    pub crossing: u64,
    /// Those of them that are no longer than a stripe.
    pub crossing_needlessly: u64,
    /// Operations that begin on the metadata target and are not audited.
    pub on_metadata: u64,
    /// Operations that have no place on the layout.
    pub not_placed: u64,
    /// Storage targets.
    pub targets: Vec<TargetPart>,
    /// Bytes of the busiest target against the mean over the layout's targets; `None` if there are none.
    pub imbalance: Option<f64>,
    /// Durations of aligned and unaligned operations of like size, where there are enough of both.
    pub alignment_cost: Vec<PacePart>,
    /// Sums over shared stripes.
    pub sharing: SharingPart,
    /// Shared stripes with most time.
    pub stripes: Vec<StripePart>,
    /// What to change.
    pub advice: Vec<String>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Stripes {
    /// Files, those with most time first.
    pub files: Vec<FilePart>,
    /// Files that were read or written and have no layout, not even a preferred size.
    pub without_layout: Vec<String>,
    /// Of the partly written stripes, one in this many was followed (1: all).
    pub followed_one_in: u64,
    /// The files with most time on other layouts; empty if that was not asked for.
    pub what_if: Vec<FileTrials>,
    /// Storage targets over time; `None` if no layout names any.
    pub ost_load: Option<LoadPart>,
    /// What is missing.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}
