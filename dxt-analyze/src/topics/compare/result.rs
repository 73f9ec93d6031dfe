//! The result of a comparison.

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
    /// Time in them, ns summed over processes.
    pub time_ns: u64,
}

impl Totalled {
    /// Bytes per second of time in calls.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        (self.bytes > 0 && self.time_ns > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns as f64)
    }
}

/// A test of one sample against the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// Sizes of the samples; of pairs, their number twice.
    pub sample: (u64, u64),
    /// Median of the first run: ns or bytes per second.
    pub before: f64,
    /// Median of the second run.
    pub after: f64,
    /// How many times slower the second is, by medians (of pairs: the median of their ratios); below 1 is faster.
    pub slower: f64,
    /// How likely one of the second run is slower than one of the first (of pairs: share that is slower); 0.5 is no difference.
    pub likelier: f64,
    /// Two-sided p of the test.
    pub p: f64,
    /// The same as a false discovery rate over all tests of this comparison (Benjamini & Hochberg).
    pub q: f64,
}

/// What can be said of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// No difference that is both significant and large enough.
    Same,
    /// The second run is slower.
    Slower,
    /// The second run is faster.
    Faster,
    /// Too few to say.
    TooFew,
    /// Only the first run has it.
    Gone,
    /// Only the second run has it.
    New,
}

impl Judged {
    /// As tables show it.
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

/// One operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// Which.
    #[serde(flatten)]
    pub group: Group,
    /// Whether it moves bytes.
    pub is_data: bool,
    /// The first run.
    pub before: Totalled,
    /// The second run.
    pub after: Totalled,
    /// What of single calls is compared.
    pub metric: Metric,
    /// Single calls against single calls (rank-sum test); `None` with too few or without segments.
    pub calls: Option<Over>,
    /// Each rank's mean against the same rank's (signed-rank test); `None` with too few.
    pub ranks: Option<Over>,
    /// What can be said.
    pub verdict: Judged,
    /// Time beyond that of the same calls or bytes at the first run's mean, ns; negative if faster.
    pub extra_ns: i64,
}

/// A rank or file in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Rank, or path in the first run (in the second if it is new).
    pub unit: String,
    /// A file's path in the second run, if it is another one.
    pub other: Option<String>,
    /// How a file was found to be the same.
    pub matched_by: Option<How>,
    /// The first run.
    pub before: Option<Totalled>,
    /// The second run.
    pub after: Option<Totalled>,
    /// Time for the same bytes (or calls, if none move) over that of the first run.
    pub slower: Option<f64>,
    /// Modified z-score of that among all, towards slow; `None` if there are too few.
    pub z: Option<f64>,
    /// Whether it got slower against the others.
    pub outlier: bool,
}

/// Ranks, or files, of both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Units {
    /// Pairs together: reads and writes, time per byte (signed-rank test).
    pub test: Option<Over>,
    /// Those that changed most first.
    pub rows: Vec<UnitRow>,
}

/// Something that is no number and differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// What.
    pub what: String,
    /// In the first run.
    pub before: String,
    /// In the second run.
    pub after: String,
}

/// Names of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunPart {
    /// Job key.
    pub key: String,
    /// Ranks.
    pub ranks: u64,
    /// Processes.
    pub processes: u64,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Time in all calls of the program, ns.
    pub time_ns: u64,
    /// What is missing and why.
    pub missing: Completeness,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Both ways at the level of the job.
    pub job: Job,
    /// The first run.
    pub before: RunPart,
    /// The second run.
    pub after: RunPart,
    /// Program, MPI, settings that differ.
    pub setup: Vec<Changed>,
    /// Hints that differ, by file.
    pub hints: Vec<Changed>,
    /// Layouts that differ, by file.
    pub layouts: Vec<Changed>,
    /// Per operation.
    pub operations: Vec<OperationRow>,
    /// Per rank.
    pub ranks: Units,
    /// Per file.
    pub files: Units,
    /// Number of tests that the false discovery rates are over.
    pub tests: u64,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// A rate in words: `3.1e-4`, or below what a number can hold.
#[must_use]
pub fn chance(q: f64) -> String {
    if q > 0.0 { format!("{q:.1e}") } else { "<1e-300".into() }
}
