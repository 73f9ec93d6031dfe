//! The result of the checks: one row each, whether it found something, found nothing or could not look.

use crate::findings::{Code, Finding, Severity};
use crate::shared::completeness::Completeness;
use crate::topics::checks::gaps::Gap;
use serde::Serialize;

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "snake_case")]
pub enum Amount {
    /// Of one.
    Ratio(f64),
    /// Number of things.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// ns.
    Ns(u64),
    /// Per second.
    PerSecond(f64),
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Below the threshold.
    Ok,
    /// There is a finding.
    Finding,
    /// It could not be looked at, or there was nothing to look at.
    NotApplicable,
}

impl Verdict {
    /// As tables show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Finding => "finding",
            Self::NotApplicable => "n/a",
        }
    }
}

/// A condition of a check besides its threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// What is counted: `small reads`.
    pub what: &'static str,
    /// How much there is.
    pub measured: Amount,
    /// How much there has to be.
    pub least: Amount,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// What is checked, in a few words.
    pub check: &'static str,
    /// The code of its finding.
    pub code: Code,
    /// What was measured; `None` if it is not applicable.
    pub measured: Option<Amount>,
    /// From where on it is a finding.
    pub threshold: Amount,
    /// What has to hold besides: a large share of very little is no finding.
    pub also: Option<Condition>,
    /// What was looked at, or why nothing could be.
    pub looked_at: String,
    /// What came out.
    pub verdict: Verdict,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub struct Checks {
    /// The checks, in the order of the documentation.
    pub checks: Vec<Checked>,
    /// The longest times in which no process was in a call.
    pub gaps: Vec<Gap>,
    /// One cell of files in so many was followed for common reads; above 1 those are estimates.
    pub cells_followed_one_in: u64,
    /// Bytes whose accesses were forgotten for want of room: bytes read again, read back or written again are at least
    /// those reported.
    pub forgotten_bytes: u64,
    /// What is missing and why.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}

/// Collects rows and findings.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Rows so far.
    pub rows: Vec<Checked>,
    /// Findings so far.
    pub findings: Vec<Finding>,
}

/// What a finding says beside its code.
#[derive(Clone, Debug)]
pub struct Said {
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub title: String,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// What it cost, ns.
    pub cost_ns: Option<u64>,
    /// What to do.
    pub hint: String,
}

impl Verdicts {
    /// A check that looked; with `said`, it found something.
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

    /// A check that could not look.
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

    /// Says of the check that was added last what has to hold besides: of `measured` at least `least`.
    pub fn also(&mut self, what: &'static str, measured: Amount, least: Amount) {
        if let Some(row) = self.rows.last_mut() {
            row.also = Some(Condition { what, measured, least });
        }
    }
}
