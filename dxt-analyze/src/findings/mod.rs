//! Findings: conclusions of analyses, each with a code. A code never changes its meaning; new meanings get new codes. `docs/analyses.md`
//! describes each code, and the command `explain` prints the description.

mod codes;
mod evidence;
pub mod pattern;
mod saving;
mod title;
mod words;

pub(crate) use codes::codes;
pub use codes::{Code, Explanation};
pub use evidence::{About, Evidence, Reason, said};
pub use saving::{Explains, Saving};
pub use title::Title;
pub(crate) use words::Words;

use crate::thresholds::Thresholds;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing
    Info,
    /// Costs time
    Warn,
    /// Costs much time, or makes the analysis itself doubtful
    High,
}

impl Severity {
    /// Returns the name of the severity, as in `--fail-on`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::High => "high",
        }
    }

    /// Returns the severity of a cost of `cost_ns`, by its share of the time in reads and writes, `io_ns`.
    #[must_use]
    pub fn of_cost(cost_ns: u64, io_ns: u64, thresholds: &Thresholds) -> Self {
        Self::of_share(cost_ns, io_ns, thresholds.warn_cost_share, thresholds.high_cost_share)
    }

    /// Returns the severity of the share `part_ns` / `whole_ns`; `warn` and `high` are the minimum shares for these severities.
    fn of_share(part_ns: u64, whole_ns: u64, warn: f64, high: f64) -> Self {
        let share = if whole_ns > 0 { part_ns as f64 / whole_ns as f64 } else { 0.0 };
        if share >= high {
            Self::High
        } else if share >= warn {
            Self::Warn
        } else {
            Self::Info
        }
    }
}

/// Keeps the first `most` of several findings that differ only in their files. If findings are dropped, appends to the last kept finding
/// the text that `count` returns for the number of dropped ones.
#[must_use]
pub fn first_few(mut all: Vec<Finding>, most: usize, count: impl Fn(usize) -> String) -> Vec<Finding> {
    let rest = all.split_off(most.min(all.len()));
    let of = |finding: &Finding| Some((finding.about.file.clone()?, finding.cost_ns));
    let others: Vec<(String, Option<u64>)> = rest.iter().filter_map(of).collect();
    if let (Some(last), false) = (all.last_mut(), rest.is_empty()) {
        last.evidence.push(Evidence::counting(count(rest.len()), others));
    }
    all
}

/// Finding: conclusion of an analysis. Two findings are equal if their codes, facts, severities, costs and savings are; sentences are ignored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Code that identifies the kind of finding.
    pub code: Code,
    /// Machine-readable facts of the finding: rank, node, file, number of calls, time.
    pub about: About,
    /// Severity: info, warn or high.
    pub severity: Severity,
    /// Sentence that gives the finding's subject, place and amount.
    pub title: Title,
    /// Evidence for the conclusion: ranks, files, offsets, times, sample size.
    pub evidence: Vec<Evidence>,
    /// Time lost to the cause, ns summed over processes; `None` if unknown.
    pub cost_ns: Option<u64>,
    /// Run time that the job would save without the cause; `None` if not computed, or if the finding was deserialized.
    #[serde(flatten, skip_deserializing)]
    pub saving: Option<Saving>,
    /// Advice to the user on the finding's cause.
    pub hint: String,
}

impl Finding {
    /// Returns true if both findings have the same code and facts, regardless of their cost.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.code == other.code && self.accused() == other.accused() && self.others().eq(other.others())
    }

    /// Creates a finding of unknown cost; its facts are those of the first evidence that has any.
    pub(crate) fn new(code: Code, words: Words) -> Self {
        Self {
            code,
            about: About::of_first(&words.evidence),
            severity: Severity::Info,
            title: words.title,
            evidence: words.evidence,
            cost_ns: None,
            saving: None,
            hint: words.hint,
        }
    }

    /// Replaces the facts of the finding (rank, file, calls, time) by `about`.
    pub(crate) fn with(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// Returns the facts of the finding. Rank, node and storage target are omitted if findings of this code name them only as examples.
    pub(crate) fn accused(&self) -> About {
        let about = self.about.clone();
        if ABOUT_A_UNIT.contains(&self.code) {
            about
        } else {
            About { rank: None, ranks: Vec::new(), node: None, ost: None, ..about }
        }
    }

    /// Returns the files with the same problem that the finding counts but does not name, each with its cost in ns if known.
    pub fn others(&self) -> impl Iterator<Item = &(String, Option<u64>)> {
        self.evidence.iter().flat_map(Evidence::others)
    }
}

/// Codes whose findings are about a rank, node or storage target; other findings name a rank, node or target only as an example.
const ABOUT_A_UNIT: [Code; 14] = [
    Code::CPU_WAIT,
    Code::SLOW_RANK,
    Code::SLOW_NODE,
    Code::SLOW_TARGET,
    Code::STALL,
    Code::LATE_RANKS,
    Code::LATE_TO_MEET,
    Code::ONE_RANK,
    Code::BYTE_IMBALANCE,
    Code::TIME_IMBALANCE,
    Code::SHARED_READ_IMBALANCE,
    Code::SHARED_WRITE_IMBALANCE,
    Code::FEW_TARGETS,
    Code::IMBALANCE,
];

impl PartialEq for Finding {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
            && (self.severity, self.cost_ns, self.saving) == (other.severity, other.cost_ns, other.saving)
    }
}

/// Sorts findings by severity, then cost (both descending), then code and subject.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let rank = |f: &Finding| (std::cmp::Reverse(f.severity), std::cmp::Reverse(f.cost_ns), f.code);
        rank(a).cmp(&rank(b)).then_with(|| a.about.cmp(&b.about))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_follows_the_share_of_time() {
        assert_eq!(Severity::of_cost(10, 100, &Thresholds::default()), Severity::High);
        assert_eq!(Severity::of_cost(1, 100, &Thresholds::default()), Severity::Warn);
        assert_eq!(Severity::of_cost(1, 1000, &Thresholds::default()), Severity::Info);
        assert_eq!(Severity::of_cost(1, 0, &Thresholds::default()), Severity::Info);
    }
}
