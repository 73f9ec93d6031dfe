//! Findings: conclusions of analyses, each with a code. A code never changes its meaning; new meanings get new codes. `docs/analyses.md`
//! describes each code, and the command `explain` prints the description.

mod codes;
mod evidence;
mod saving;

pub(crate) use codes::codes;
pub use codes::{Code, Explanation};
pub use evidence::{About, Evidence, said};
pub use saving::{Explains, Saving};

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
    /// Returns the name, as in `--fail-on`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::High => "high",
        }
    }

    /// Returns the severity of a cost from its share of the time in reads and writes, `io_ns`.
    #[must_use]
    pub fn of_cost(cost_ns: u64, io_ns: u64, thresholds: &Thresholds) -> Self {
        Self::of_share(cost_ns, io_ns, thresholds.warn_cost_share, thresholds.high_cost_share)
    }

    /// Returns the severity of the share `part_ns` / `whole_ns`; `warn` and `high` are its minimum shares.
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

/// Keeps the first `most` of several findings that say the same about different files. If findings are dropped, appends the text that
/// `count` returns for their number to the last one kept.
#[must_use]
pub fn first_few(mut all: Vec<Finding>, most: usize, count: impl Fn(usize) -> String) -> Vec<Finding> {
    let rest = all.split_off(most.min(all.len()));
    let of = |finding: &Finding| Some((finding.about().file?, finding.cost_ns));
    let others: Vec<(String, Option<u64>)> = rest.iter().filter_map(of).collect();
    if let (Some(last), false) = (all.last_mut(), rest.is_empty()) {
        last.evidence.push(Evidence::counting(count(rest.len()), others));
    }
    all
}

/// Finding: conclusion of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Code that identifies the kind of finding.
    pub code: Code,
    /// Severity: info, warn or high.
    pub severity: Severity,
    /// One sentence that gives subject, place and amount.
    pub title: String,
    /// Evidence for the conclusion: ranks, files, offsets, times, sample size.
    pub evidence: Vec<Evidence>,
    /// Time lost, ns summed over processes; `None` if unknown.
    pub cost_ns: Option<u64>,
    /// Run time that the job would save without the cause; `None` if not computed.
    #[serde(flatten)]
    pub saving: Option<Saving>,
    /// Advice to the user.
    pub hint: String,
}

impl Finding {
    /// Returns the machine-readable subject of the finding: that of the first evidence with a subject.
    #[must_use]
    pub fn about(&self) -> About {
        let nothing = About::default();
        self.evidence
            .iter()
            .map(|evidence| &evidence.about)
            .find(|about| **about != nothing)
            .cloned()
            .unwrap_or(nothing)
    }

    /// Returns further files with the same problem, which the finding counts but does not name, each with its cost in ns, if known.
    pub fn others(&self) -> impl Iterator<Item = &(String, Option<u64>)> {
        self.evidence.iter().flat_map(Evidence::others)
    }
}

/// Sorts findings by severity, then cost (both descending), then code and title.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let rank = |f: &Finding| (std::cmp::Reverse(f.severity), std::cmp::Reverse(f.cost_ns), f.code);
        rank(a).cmp(&rank(b)).then_with(|| a.title.cmp(&b.title))
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
