//! Findings: what an analysis concludes. A code never changes its meaning; new meanings get new codes. `docs/analyses.md`
//! describes each, and `explain` prints it.

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

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Costs time.
    Warn,
    /// Costs much time, or makes the analysis itself doubtful.
    High,
}

impl Severity {
    /// Its name, as in `--fail-on`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::High => "high",
        }
    }

    /// By the share of all time in reads and writes that `cost_ns` is.
    #[must_use]
    pub fn of_cost(cost_ns: u64, io_ns: u64, thresholds: &Thresholds) -> Self {
        Self::of_share(cost_ns, io_ns, thresholds.warn_cost_share, thresholds.high_cost_share)
    }

    /// By the share of `whole_ns` that `part_ns` is, and from where on it is a warning, and high.
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

/// The first `most` of findings that say the same of a file each; the last of them counts the rest, in the words that `count` finds for their number.
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

/// A conclusion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What kind.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence: what, where, how much.
    pub title: String,
    /// What it rests on: ranks, files, offsets, times, sample.
    pub evidence: Vec<Evidence>,
    /// Time it cost, ns summed over processes, where that can be told.
    pub cost_ns: Option<u64>,
    /// What the job's run time would be without, where that was found out.
    #[serde(flatten)]
    pub saving: Option<Saving>,
    /// What to do about it.
    pub hint: String,
}

impl Finding {
    /// What it is about: that of the first evidence that says so.
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

    /// Files of which it says the same without naming them, and what that costs on each, ns, where that can be told.
    pub fn others(&self) -> impl Iterator<Item = &(String, Option<u64>)> {
        self.evidence.iter().flat_map(Evidence::others)
    }
}

/// Orders findings: the most severe first, then the most costly, then by code and title.
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
