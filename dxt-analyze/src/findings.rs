//! Findings: what an analysis concludes. A code never changes its meaning; new meanings get new codes. `docs/analyses.md`
//! describes each.

use crate::thresholds::{HIGH_COST_SHARE, WARN_COST_SHARE};
use clap::ValueEnum;
use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
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
    pub fn of_cost(cost_ns: u64, io_ns: u64) -> Self {
        let share = if io_ns > 0 { cost_ns as f64 / io_ns as f64 } else { 0.0 };
        if share >= HIGH_COST_SHARE {
            Self::High
        } else if share >= WARN_COST_SHARE {
            Self::Warn
        } else {
            Self::Info
        }
    }
}

/// Stable codes. T: the trace itself; O: outliers; S: stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Code {
    /// A part of the trace is damaged, cut or absent.
    #[serde(rename = "DXT-T001")]
    Damaged,
    /// Segments were folded into counters.
    #[serde(rename = "DXT-T002")]
    Folded,
    /// Single operations far slower than their like.
    #[serde(rename = "DXT-O001")]
    SlowOperations,
    /// A rank slower than the others.
    #[serde(rename = "DXT-O002")]
    SlowRank,
    /// A node slower than the others.
    #[serde(rename = "DXT-O003")]
    SlowNode,
    /// A storage target slower than the others.
    #[serde(rename = "DXT-O004")]
    SlowTarget,
    /// A file slower than the others.
    #[serde(rename = "DXT-O005")]
    SlowFile,
    /// Operations that begin or end off a stripe boundary.
    #[serde(rename = "DXT-S001")]
    Unaligned,
    /// Operations that cross a boundary though they would fit in a stripe.
    #[serde(rename = "DXT-S002")]
    Crossing,
    /// Stripes written by several processes at overlapping times.
    #[serde(rename = "DXT-S003")]
    FalseSharing,
    /// Storage targets of a file that get unequal shares.
    #[serde(rename = "DXT-S004")]
    Imbalance,
}

impl Code {
    /// As it is written everywhere.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Damaged => "DXT-T001",
            Self::Folded => "DXT-T002",
            Self::SlowOperations => "DXT-O001",
            Self::SlowRank => "DXT-O002",
            Self::SlowNode => "DXT-O003",
            Self::SlowTarget => "DXT-O004",
            Self::SlowFile => "DXT-O005",
            Self::Unaligned => "DXT-S001",
            Self::Crossing => "DXT-S002",
            Self::FalseSharing => "DXT-S003",
            Self::Imbalance => "DXT-S004",
        }
    }
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
    pub evidence: Vec<String>,
    /// Time it cost, ns summed over processes, where that can be told.
    pub cost_ns: Option<u64>,
    /// What to do about it.
    pub hint: String,
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
        assert_eq!(Severity::of_cost(10, 100), Severity::High);
        assert_eq!(Severity::of_cost(1, 100), Severity::Warn);
        assert_eq!(Severity::of_cost(1, 1000), Severity::Info);
        assert_eq!(Severity::of_cost(1, 0), Severity::Info);
    }

    #[test]
    fn names_and_json_agree_and_every_code_is_documented() {
        let text = include_str!("../../docs/analyses.md");
        for code in [
            Code::Damaged,
            Code::Folded,
            Code::SlowOperations,
            Code::SlowRank,
            Code::SlowNode,
            Code::SlowTarget,
            Code::SlowFile,
            Code::Unaligned,
            Code::Crossing,
            Code::FalseSharing,
            Code::Imbalance,
        ] {
            assert_eq!(serde_json::to_string(&code).unwrap(), format!("\"{}\"", code.name()));
            assert!(text.contains(code.name()), "{} is not in docs/analyses.md", code.name());
        }
    }
}
