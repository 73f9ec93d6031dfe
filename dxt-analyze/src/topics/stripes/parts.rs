//! Parts of the stripe audit's result, in the form for tables and JSON.

use super::layout_part::LayoutPart;
use super::load::LoadPart;
use super::pace::PacePart;
use super::trials::result::FileTrials;
use crate::findings::Finding;
use crate::model::LayoutOrigin;
use crate::shared::completeness::Completeness;
pub use crate::words::stripes::StripePart;
use serde::Serialize;

impl FilePart {
    /// Returns the number of operations whose stripes are known: the denominator of all shares of operations.
    #[must_use]
    pub fn placed(&self) -> u64 {
        (self.reads + self.writes).saturating_sub(self.not_placed).saturating_sub(self.on_metadata)
    }

    /// Returns the extra time of unaligned operations, compared with aligned ones of similar size, in ns; and the number of unaligned
    /// operations that this estimate covers.
    #[must_use]
    pub fn misalignment(&self) -> (u64, u64) {
        self.alignment_cost.iter().filter(|part| part.is_clear).fold((0, 0), |(cost, count), part| {
            (u64::saturating_add(cost, part.cost_ns), u64::saturating_add(count, part.unaligned))
        })
    }

    /// True if the stripe layout is a guess.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.layout.origin == LayoutOrigin::Guess
    }
}

/// Load of one storage target by accesses to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetPart {
    /// OST index of the storage target; `None` if the layout does not name the target.
    pub ost: Option<u32>,
    /// Number of operations on the file that accessed the target.
    pub operations: u64,
    /// Bytes that operations on the file read from and wrote to the target.
    pub bytes: u64,
    /// Time in the operations, ns; the time of an operation on several targets is divided in proportion to bytes.
    pub time_ns: u64,
}

/// Totals over the shared stripes of a file (several processes wrote a part of them at overlapping times); estimates if only a sample of
/// the stripes was tracked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharingPart {
    /// Number of contested stripes: several processes wrote a part of them, at any time.
    pub contested_stripes: u64,
    /// Number of shared stripes: several processes wrote a part of them at overlapping times.
    pub shared_stripes: u64,
    /// Number of writes to the file that overlap in time with a write of another process to the same stripe.
    pub writes: u64,
    /// Sum of the durations of the writes that overlap in time with a write of another process to the same stripe, ns.
    pub time_ns: u64,
    /// Number of shared stripes that several nodes wrote at overlapping times.
    pub stripes_between_nodes: u64,
    /// Number of writes to the file that overlap in time with a write from another node to the same stripe.
    pub writes_between_nodes: u64,
    /// Sum of the durations of the writes that overlap with a write from another node, ns.
    pub time_between_nodes_ns: u64,
    /// Sum of the durations of writes to contested stripes (partly written by several processes) whose preceding write came from another
    /// node, ns. `None` if these writes take no longer than others.
    pub time_passed_on_ns: Option<u64>,
    /// Sampling factor n: one in n stripes was tracked, and all other sums are multiplied by n.
    pub estimated_times: u64,
    /// Number of contested stripes (partly written by several processes) that were not examined, because there were too many.
    pub not_examined: u64,
    /// Time of the writes to contested stripes (partly written by several processes) that were not examined, ns.
    pub not_examined_ns: u64,
}

impl SharingPart {
    /// Returns the number of shared stripes (written at overlapping times by several processes) on which no writes from several nodes
    /// overlap.
    #[must_use]
    pub fn stripes_on_one_node(&self) -> u64 {
        self.shared_stripes.saturating_sub(self.stripes_between_nodes)
    }

    /// Returns the time of writes that overlap only with writes from their own node, in ns.
    #[must_use]
    pub fn time_on_one_node_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.time_between_nodes_ns)
    }

    /// Returns the time of writes that wait until another node gives up the stripe's lock, in ns.
    #[must_use]
    pub fn time_of_handovers_ns(&self) -> u64 {
        self.time_between_nodes_ns.max(self.time_passed_on_ns.unwrap_or(0))
    }

    /// Multiplies totals over a sample of one in `times` stripes by `times`, which estimates the totals over all stripes.
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

/// Result of the stripe audit (accesses by stripe and storage target) for one file.
#[derive(Clone, Debug, Serialize)]
pub struct FilePart {
    /// Path of the audited file.
    pub file: String,
    /// Stripe layout of the file.
    pub layout: LayoutPart,
    /// Reason why the layout in the trace could not be used and `layout` is a guess; else `None`.
    pub layout_problem: Option<String>,
    /// Number of reads of the file.
    pub reads: u64,
    /// Number of writes to the file.
    pub writes: u64,
    /// Bytes read from and written to the file.
    pub bytes: u64,
    /// Time in reads and writes of the file, summed over calls, ns.
    pub time_ns: u64,
    /// Size of the largest read or write of the file, in bytes.
    pub max_length: u64,
    /// Number of reads and writes of the file that do not begin or do not end at a stripe boundary.
    pub unaligned: u64,
    /// Bytes of the reads and writes of the file that do not begin or do not end at a stripe boundary.
    pub unaligned_bytes: u64,
    /// Number of reads and writes of the file that do not begin at a stripe boundary.
    pub unaligned_start: u64,
    /// Number of reads and writes of the file that do not end at a stripe boundary.
    pub unaligned_end: u64,
    /// Number of reads and writes of the file that touch more than one stripe.
    pub crossing: u64,
    /// Number of operations that touch more than one stripe although they are no longer than a stripe.
    pub crossing_needlessly: u64,
    /// Number of operations that begin on the metadata target; their alignment is not examined.
    pub on_metadata: u64,
    /// Number of operations whose stripes are unknown: they have no offset or bytes, or no layout component covers them.
    pub not_placed: u64,
    /// Load of each storage target by accesses to the file.
    pub targets: Vec<TargetPart>,
    /// Bytes on the busiest target / mean bytes over the layout's targets; `None` if the layout names no targets.
    pub imbalance: Option<f64>,
    /// Comparisons of aligned and unaligned operations, for each size class with enough of both.
    pub alignment_cost: Vec<PacePart>,
    /// Totals over the shared stripes of the file (several processes wrote a part of them at overlapping times).
    pub sharing: SharingPart,
    /// Shared stripes (written by several processes at overlapping times) with most write time, sorted by offset.
    pub stripes: Vec<StripePart>,
    /// Advised changes of layout, library settings or program, as sentences.
    pub advice: Vec<String>,
}

/// Result of the stripe audit: per file, and over time.
#[derive(Clone, Debug, Serialize)]
pub struct Stripes {
    /// Results for each file, sorted by I/O time, longest first.
    pub files: Vec<FilePart>,
    /// Paths of files that were read or written but have neither a stripe layout nor a preferred I/O size.
    pub without_layout: Vec<String>,
    /// Sampling factor n: one in n partly written stripes was tracked; 1 if all were tracked.
    pub followed_one_in: u64,
    /// Simulation of other layouts for the files with most I/O time; empty unless the user requested it.
    pub what_if: Vec<FileTrials>,
    /// Load of storage targets over time; `None` if no layout names any target.
    pub ost_load: Option<LoadPart>,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings on the files' stripes, layouts and alignment.
    pub findings: Vec<Finding>,
}
