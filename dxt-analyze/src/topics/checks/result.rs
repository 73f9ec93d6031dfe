//! Result of `checks`: one row per check, with its verdict.

use crate::findings::{Code, Finding};
use crate::shared::completeness::Completeness;
use crate::topics::checks::gaps::Gap;
use serde::Serialize;

/// Measured value or threshold, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub enum Amount {
    /// Ratio or share; 1.0 means 100 %.
    Ratio(f64),
    /// Count of calls, files or ranks.
    Count(u64),
    /// Number of bytes, such as a request size.
    Bytes(u64),
    /// Duration in ns.
    Ns(u64),
    /// Rate: number of calls per second.
    PerSecond(f64),
}

/// Verdict of a check: finding, no finding, or not applicable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Check applied, and produced no finding.
    Ok,
    /// Check applied, and produced a finding.
    Finding,
    /// Check not applied: data is missing, or there was nothing to measure.
    NotApplicable,
}

impl Verdict {
    /// Returns the verdict's name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Finding => "finding",
            Self::NotApplicable => "n/a",
        }
    }
}

/// Second condition for a finding: a minimum amount, besides the check's threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// Name of the amount, such as `small reads`.
    pub what: &'static str,
    /// Measured value of the amount that the second condition limits.
    pub measured: Amount,
    /// Minimum of the amount for a finding (second condition).
    pub least: Amount,
}

/// Result of one check: measured value, threshold and verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Short name of the check, for tables.
    pub check: &'static str,
    /// Code of the finding that the check can have.
    pub code: Code,
    /// Measured value; `None` if the check is not applicable.
    pub measured: Option<Amount>,
    /// Value of `measured` from which the check has a finding.
    pub threshold: Amount,
    /// Second condition for a finding, if the check has one, since a large share of a tiny amount is no finding.
    pub also: Option<Condition>,
    /// Data that was examined, or the reason why the check is not applicable.
    pub looked_at: String,
    /// Verdict of the check: finding, no finding, or not applicable.
    pub verdict: Verdict,
}

/// Result of all checks: one row per check, and the findings.
#[derive(Clone, Debug, Serialize)]
pub struct Checks {
    /// Result of each check, in the order of `docs/checks.md`.
    pub checks: Vec<Checked>,
    /// Longest periods in which no process was in an I/O call.
    pub gaps: Vec<Gap>,
    /// Sampling factor of redundant reads: one file region of fixed size (cell) in this many was tracked. Above 1, redundant reads are
    /// estimates.
    pub cells_followed_one_in: u64,
    /// Number of bytes whose accesses were forgotten to limit memory. If above 0, bytes reread, read back or overwritten are lower bounds.
    pub forgotten_bytes: u64,
    /// Missing parts of the trace, with reasons.
    pub missing: Completeness,
    /// Findings of all checks.
    pub findings: Vec<Finding>,
}

/// Collects the results and findings of checks while they run.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Results of the checks so far.
    pub rows: Vec<Checked>,
    /// Findings of the checks so far.
    pub findings: Vec<Finding>,
}

impl Verdicts {
    /// Adds the result of a check that applied. `found`: its finding, if any.
    pub fn add(
        &mut self,
        check: &'static str,
        code: Code,
        measured: Amount,
        threshold: Amount,
        looked_at: String,
        found: Option<Finding>,
    ) {
        let verdict = if found.is_some() { Verdict::Finding } else { Verdict::Ok };
        self.rows.push(Checked { check, code, measured: Some(measured), threshold, also: None, looked_at, verdict });
        self.findings.extend(found);
    }

    /// Adds a check that did not apply, for the reason `why`. `code` and `threshold` are those of the finding that the check can have.
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

    /// Adds a second condition to the check added last: a finding requires that the amount with the name `what`, which is `measured`, is at
    /// least `least`.
    pub fn also(&mut self, what: &'static str, measured: Amount, least: Amount) {
        if let Some(row) = self.rows.last_mut() {
            row.also = Some(Condition { what, measured, least });
        }
    }
}
