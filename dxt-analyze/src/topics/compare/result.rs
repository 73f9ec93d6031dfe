//! Result of `compare`: rows for operations, ranks, files and settings, and findings.

use super::files::How;
use super::repeats::Job;
use crate::findings::Finding;
use crate::shared::completeness::Completeness;
use crate::shared::groups::Group;
use crate::symbols::Place;
use crate::topics::outliers::distribution::Metric;
use serde::Serialize;

/// Totals of one run over the calls of one operation, rank or file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totalled {
    /// Number of successful calls of the operation, rank or file in one run.
    pub calls: u64,
    /// Bytes that the calls of the operation, rank or file read and wrote in one run.
    pub bytes: u64,
    /// Time in the calls of the operation, rank or file, summed over processes, ns.
    pub time_ns: u64,
}

impl Totalled {
    /// Returns the bandwidth: bytes per second spent in calls; `None` if no bytes were moved or no time was recorded.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        (self.bytes > 0 && self.time_ns > 0).then(|| self.bytes as f64 * 1e9 / self.time_ns as f64)
    }
}

/// Statistical test of the second run's sample against the first run's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// Sizes of the samples of the first and the second run; for paired values, each is the number of pairs.
    pub sample: (u64, u64),
    /// Median of the first run's values, in ns (durations) or bytes per second (bandwidths).
    pub before: f64,
    /// Median of the second run's values, in ns (durations) or bytes per second (bandwidths).
    pub after: f64,
    /// Slowdown of the second run: ratio of medians (for pairs: median of ratios); below 1 means faster.
    pub slower: f64,
    /// Probability that a call of the second run is slower than a call of the first; for pairs, the share with a slower second run. 0.5
    /// means no difference.
    pub likelier: f64,
    /// Two-sided p-value of the statistical test, before correction for multiple tests.
    pub p: f64,
    /// False discovery rate (q-value) over all tests of this comparison (Benjamini & Hochberg).
    pub q: f64,
}

/// Verdict of comparing one operation between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// No difference that is both significant and large enough to report.
    Same,
    /// The operation is slower in the second run.
    Slower,
    /// The operation is faster in the second run.
    Faster,
    /// The operation has too few calls for a verdict.
    TooFew,
    /// Only the first run has the operation, so there is no comparison.
    Gone,
    /// Only the second run has the operation, so there is no comparison.
    New,
}

impl Judged {
    /// Returns the name of the verdict (such as slower) for tables.
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

/// Comparison of one operation between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct OperationRow {
    /// Operation that is compared (layer, call and caller).
    #[serde(flatten)]
    pub group: Group,
    /// True if the operation moves bytes.
    pub is_data: bool,
    /// Totals of the operation in the first run.
    pub before: Totalled,
    /// Totals of the operation in the second run.
    pub after: Totalled,
    /// Metric by which single calls are compared (duration or bandwidth).
    pub metric: Metric,
    /// Rank-sum test over single calls; `None` if there are too few calls, or none with segments.
    pub calls: Option<Over>,
    /// Signed-rank test over each rank's mean, paired by rank; `None` if there are too few ranks.
    pub ranks: Option<Over>,
    /// Verdict on the operation, such as same, slower or faster.
    pub verdict: Judged,
    /// Excess time of the second run, ns: its time minus the time for as many calls or bytes at the first run's mean. Negative if faster.
    pub extra_ns: i64,
}

/// Comparison of one rank or one file between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Rank number or file path (path in the first run; in the second run if the file is new).
    pub unit: String,
    /// Path of the file in the second run, if it differs from `unit` (path in the first run).
    pub other: Option<String>,
    /// Criterion by which the file was matched; `None` for ranks and unmatched files.
    pub matched_by: Option<How>,
    /// Totals of the rank or file in the first run; `None` if only the second run has it.
    pub before: Option<Totalled>,
    /// Totals of the rank or file in the second run; `None` if only the first run has it.
    pub after: Option<Totalled>,
    /// Slowdown of the rank or file: time per byte of the second run / that of the first run; `None` if unknown.
    pub slower: Option<f64>,
    /// Modified z-score of this rank's or file's log slowdown among all ranks or files, positive if slow; `None` if there are too few.
    pub z: Option<f64>,
    /// True if this rank or file slowed down significantly more than the others did.
    pub outlier: bool,
}

/// Comparison of all ranks, or of all files, between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Units {
    /// Signed-rank test over all pairs of ranks or files: time per byte in reads and writes.
    pub test: Option<Over>,
    /// One row per rank or file: outliers first, then by change of the time in calls, largest first.
    pub rows: Vec<UnitRow>,
}

/// Comparison of the calls of one operation from one place in the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRow {
    /// Function and line of the program that lead to the calls: in the second run, else in the first; no line if there are several.
    pub place: Place,
    /// Function of a library that the program called there; `None` if it made the calls itself.
    pub through: Option<String>,
    /// Names of the functions that called the place, the nearest first.
    pub callers: Vec<String>,
    /// I/O layer of the calls.
    pub layer: &'static str,
    /// Operation of the calls, such as `write`.
    pub operation: String,
    /// Totals of the calls in the first run; `None` if only the second run makes them.
    pub before: Option<Totalled>,
    /// Totals of the calls in the second run; `None` if only the first run makes them.
    pub after: Option<Totalled>,
}

/// Non-numeric property that differs between the runs, such as the MPI library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Name of the differing property, such as `ranks per node`.
    pub what: String,
    /// Value of the differing property in the first run, as text.
    pub before: String,
    /// Value of the differing property in the second run, as text.
    pub after: String,
}

/// Identity, size and completeness of one of the two runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunPart {
    /// Job key: identifier of the job.
    pub key: String,
    /// Number of MPI ranks of the run.
    pub ranks: u64,
    /// Number of processes of the run.
    pub processes: u64,
    /// Number of nodes of the run; `None` if not known.
    pub nodes: Option<u64>,
    /// Time in all I/O calls that the program itself made, summed over processes, ns.
    pub time_ns: u64,
    /// Missing parts of the trace, with reasons.
    pub missing: Completeness,
}

/// Result of comparing two runs (or two sides of repeated runs).
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Comparison of the whole jobs: run time and other measures, and interfaces.
    pub job: Job,
    /// Identity, size and completeness of the first run.
    pub before: RunPart,
    /// Identity, size and completeness of the second run.
    pub after: RunPart,
    /// Differences in program, MPI and settings.
    pub setup: Vec<Changed>,
    /// Differences in MPI-IO hints between matched files.
    pub hints: Vec<Changed>,
    /// Differences in striping between matched files.
    pub layouts: Vec<Changed>,
    /// Comparison of each operation (layer, call and caller) between the runs.
    pub operations: Vec<OperationRow>,
    /// Comparison of the ranks, matched by number.
    pub ranks: Units,
    /// Comparison of the files, matched by path.
    pub files: Units,
    /// Comparison of the places in the program that make calls, matched by their functions; empty if a run has no call sites.
    pub places: Vec<PlaceRow>,
    /// Number of statistical tests over which the false discovery rates are computed.
    pub tests: u64,
    /// Findings on the differences.
    pub findings: Vec<Finding>,
}
