//! Result of a comparison.

use super::files::How;
use super::repeats::Job;
use crate::findings::Finding;
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::topics::outliers::distribution::Metric;
use serde::Serialize;

/// Sums of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totalled {
    /// Calls that succeeded.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time in the calls, summed over processes, ns.
    pub time_ns: u64,
}

impl Totalled {
    /// Returns the bandwidth in bytes per second of time in calls.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        (self.bytes > 0 && self.time_ns > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns as f64)
    }
}

/// Test of one sample against the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// Sizes of the samples; for pairs, twice their number of pairs.
    pub sample: (u64, u64),
    /// Median of the first run, in ns or bytes per second.
    pub before: f64,
    /// Median of the second run, in ns or bytes per second.
    pub after: f64,
    /// Slowdown of the second run: ratio of medians (for pairs: median of ratios); below 1 is faster.
    pub slower: f64,
    /// Probability that a call of the second run is slower than one of the first (for pairs: share that is slower); 0.5 is no difference.
    pub likelier: f64,
    /// Two-sided p-value of the test.
    pub p: f64,
    /// False discovery rate (q-value) over all tests of this comparison (Benjamini & Hochberg).
    pub q: f64,
}

/// Verdict on two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// No difference that is both significant and large enough.
    Same,
    /// The second run is slower.
    Slower,
    /// The second run is faster.
    Faster,
    /// Too few values for a verdict.
    TooFew,
    /// Only the first run has the operation.
    Gone,
    /// Only the second run has the operation.
    New,
}

impl Judged {
    /// Returns the name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::TooFew => "too few",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// Comparison of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// Operation that is compared.
    #[serde(flatten)]
    pub group: Group,
    /// True if the operation moves bytes.
    pub is_data: bool,
    /// Sums of the first run.
    pub before: Totalled,
    /// Sums of the second run.
    pub after: Totalled,
    /// Metric by which single calls are compared.
    pub metric: Metric,
    /// Comparison of single calls (rank-sum test); `None` if there are too few or no segments.
    pub calls: Option<Over>,
    /// Comparison of each rank's mean with its mean in the other run (signed-rank test); `None` if there are too few.
    pub ranks: Option<Over>,
    /// Verdict on the operation.
    pub verdict: Judged,
    /// Time in excess of the same calls or bytes at the first run's mean, ns; negative if faster.
    pub extra_ns: i64,
}

/// Rank or file in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Rank, or path in the first run (in the second run if the file is new).
    pub unit: String,
    /// Path of the file in the second run, if different.
    pub other: Option<String>,
    /// Criterion by which files were matched.
    pub matched_by: Option<How>,
    /// Sums of the first run.
    pub before: Option<Totalled>,
    /// Sums of the second run.
    pub after: Option<Totalled>,
    /// Ratio of the times for the same bytes (or calls, if no bytes move), second run / first run.
    pub slower: Option<f64>,
    /// Modified z-score of the slowdown among all units, positive if slow; `None` if there are too few.
    pub z: Option<f64>,
    /// True if the unit got slower than the others did.
    pub outlier: bool,
}

/// Ranks, or files, of both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Units {
    /// Comparison of all pairs: time per byte in reads and writes (signed-rank test).
    pub test: Option<Over>,
    /// Units, those that changed most first.
    pub rows: Vec<UnitRow>,
}

/// Non-numeric property that differs between the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Name of the property.
    pub what: String,
    /// Value in the first run.
    pub before: String,
    /// Value in the second run.
    pub after: String,
}

/// Identity of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunPart {
    /// Job key.
    pub key: String,
    /// Number of ranks.
    pub ranks: u64,
    /// Number of processes.
    pub processes: u64,
    /// Number of nodes, if known.
    pub nodes: Option<u64>,
    /// Time in all calls of the program, ns.
    pub time_ns: u64,
    /// Missing parts of the trace, and why.
    pub missing: Completeness,
}

/// Result of the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Comparison at the level of the job.
    pub job: Job,
    /// First run.
    pub before: RunPart,
    /// Second run.
    pub after: RunPart,
    /// Program, MPI and settings that differ.
    pub setup: Vec<Changed>,
    /// Hints that differ, by file.
    pub hints: Vec<Changed>,
    /// Layouts that differ, by file.
    pub layouts: Vec<Changed>,
    /// Comparison per operation.
    pub operations: Vec<OperationRow>,
    /// Comparison per rank.
    pub ranks: Units,
    /// Comparison per file.
    pub files: Units,
    /// Number of tests in the false discovery rates.
    pub tests: u64,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// Formats a rate as in `3.1e-4`; `<1e-300` if it is 0.
#[must_use]
pub fn chance(q: f64) -> String {
    if q > 0.0 { format!("{q:.1e}") } else { "<1e-300".into() }
}
