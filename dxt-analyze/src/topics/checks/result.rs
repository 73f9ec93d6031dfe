//! Result of the checks: one row per check, with its verdict.

use crate::findings::{Code, Finding, Severity};
use crate::shared::completeness::Completeness;
use crate::topics::checks::gaps::Gap;
use serde::Serialize;

/// Measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub enum Amount {
    /// Ratio or share; 1 is the whole.
    Ratio(f64),
    /// Count.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// Time in ns.
    Ns(u64),
    /// Rate per second.
    PerSecond(f64),
}

/// Verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Measured, without a finding.
    Ok,
    /// Measured, with a finding.
    Finding,
    /// Not measurable, or nothing to measure.
    NotApplicable,
}

impl Verdict {
    /// Returns the name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Finding => "finding",
            Self::NotApplicable => "n/a",
        }
    }
}

/// Second condition of a check, besides its threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Name of the counted things, as in `small reads`.
    pub what: &'static str,
    /// Measured amount.
    pub measured: Amount,
    /// Minimum amount for a finding.
    pub least: Amount,
}

/// Row of one check.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Short name of the check.
    pub check: &'static str,
    /// Code of the check's finding.
    pub code: Code,
    /// Measured value; `None` if the check is not applicable.
    pub measured: Option<Amount>,
    /// Threshold of a finding.
    pub threshold: Amount,
    /// Second condition: a large share of very little is no finding.
    pub also: Option<Condition>,
    /// Data that was examined, or the reason why there was none.
    pub looked_at: String,
    /// Verdict of the check.
    pub verdict: Verdict,
}

/// Result of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Checks {
    /// Checks, in the order of the documentation.
    pub checks: Vec<Checked>,
    /// Longest times in which no process was in a call.
    pub gaps: Vec<Gap>,
    /// Sampling factor of common reads: one cell of files in this many was tracked; above 1, common reads are estimates.
    pub cells_followed_one_in: u64,
    /// Bytes whose accesses were forgotten to limit memory: bytes reread, read back or overwritten are then lower bounds.
    pub forgotten_bytes: u64,
    /// Missing parts of the trace, and why.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// Collector of rows and findings.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Rows so far.
    pub rows: Vec<Checked>,
    /// Findings so far.
    pub findings: Vec<Finding>,
}

/// Content of a finding, without its code.
#[derive(Clone, Debug)]
pub struct Said {
    /// Severity of the finding.
    pub severity: Severity,
    /// Title: one sentence.
    pub title: String,
    /// Evidence.
    pub evidence: Vec<String>,
    /// Cost, ns.
    pub cost_ns: Option<u64>,
    /// Advice.
    pub hint: String,
}

impl Verdicts {
    /// Adds a check that was measured; with `said`, it has a finding.
    pub fn add(
        &mut self,
        check: &'static str,
        code: Code,
        measured: Amount,
        threshold: Amount,
        looked_at: String,
        said: Option<Said>,
    ) {
        let verdict = if said.is_some() { Verdict::Finding } else { Verdict::Ok };
        self.rows.push(Checked { check, code, measured: Some(measured), threshold, also: None, looked_at, verdict });
        self.findings.extend(said.map(|said| Finding {
            code,
            severity: said.severity,
            title: said.title,
            evidence: crate::findings::said(said.evidence),
            cost_ns: said.cost_ns,
            saving: None,
            hint: said.hint,
        }));
    }

    /// Adds a check that was not applicable.
    pub fn skip(&mut self, check: &'static str, code: Code, threshold: Amount, why: &str) {
        let verdict = Verdict::NotApplicable;
        self.rows.push(Checked {
            check,
            code,
            measured: None,
            threshold,
            also: None,
            looked_at: why.to_owned(),
            verdict,
        });
    }

    /// Adds a second condition to the last added check: `measured` must be at least `least`.
    pub fn also(&mut self, what: &'static str, measured: Amount, least: Amount) {
        if let Some(row) = self.rows.last_mut() {
            row.also = Some(Condition { what, measured, least });
        }
    }
}
