//! Content of the verdict, the first screen of a report.

use super::remedy::Remedy;
use crate::findings::{Code, Finding, Saving, Severity};
use crate::hypotheses::Hypothesis;
use crate::limits::NAMED_EXAMPLES;
use crate::topics::ledger::parts::Parts;
use crate::topics::sites::result::CallSite;
use serde::Serialize;
use std::cmp::Reverse;

/// Number of cards (findings with their duplicates) on the first screen.
pub(crate) const SHOWN: usize = 3;

/// A finding with its duplicates and remedies, in the order of the verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Weighed {
    #[serde(flatten)]
    pub(crate) finding: Finding,
    /// Duplicates: findings that explain the same calls.
    pub(crate) also: Vec<Finding>,
    /// Remedies: commands and settings to type.
    pub(crate) commands: Vec<Remedy>,
    /// Functions and lines of the program that make the calls; empty if they are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sites: Vec<SiteShare>,
}

/// Function and line of the program that make calls of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SiteShare {
    #[serde(flatten)]
    pub(crate) site: CallSite,
    /// Share of the finding's saving in calls that has the place.
    pub(crate) share: f64,
    /// Number of calls from the place, of the operations on the files that the finding is about.
    pub(crate) calls: u64,
}

impl Weighed {
    /// Returns the duplicates that name another cause, and are above info if only they are fixed; at most one per cause.
    pub(crate) fn other_causes(&self) -> Vec<&Finding> {
        let is_same = |one: Code, other: Code| {
            let cause = Hypothesis::of(one).cause;
            one == other || cause.is_some() && cause == Hypothesis::of(other).cause
        };
        let saves = |finding: &Finding| finding.saving.map_or(0, |saving| saving.saves_ns);
        let mut all: Vec<&Finding> =
            self.also.iter().filter(|of| of.severity > Severity::Info && saves(of) > 0).collect();
        all.sort_by_key(|of| Reverse(saves(of)));
        let mut out: Vec<&Finding> = Vec::new();
        for other in all {
            let known = |of: &Finding| is_same(of.code, other.code);
            if !known(&self.finding) && !out.iter().any(|of| known(of)) {
                out.push(other);
            }
        }
        out.truncate(NAMED_EXAMPLES);
        out
    }
}

/// Time in calls that no finding explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Rest {
    /// Unexplained share of the time in calls.
    pub(crate) share: f64,
    /// Largest unexplained part, in words.
    pub(crate) largest: String,
    /// Share of the time in calls that the largest unexplained part has.
    pub(crate) largest_share: f64,
}

/// User, program, processes and place of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JobLine {
    /// Program, with its script and arguments.
    pub(crate) command: String,
    /// User id of the job's owner.
    pub(crate) uid: u32,
    /// The scheduler's job id, or empty.
    pub(crate) scheduler: String,
    /// Start time, for people.
    pub(crate) start: String,
    /// Run time of the job, ns.
    pub(crate) run_ns: u64,
    /// Number of ranks, or of processes if the job has none, in words.
    pub(crate) processes: String,
    /// Number of nodes, in words.
    pub(crate) nodes: String,
    /// MPI library, or empty.
    pub(crate) mpi: String,
    /// File systems that hold the files.
    pub(crate) file_systems: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) job: JobLine,
    /// Run time from the job's start to the last process's end, ns.
    pub(crate) run_ns: u64,
    /// Parts of the run time, mean over processes.
    pub(crate) ledger: Parts,
    /// Parts of the run time (`ledger`), as a sentence.
    pub(crate) lead: String,
    /// Share of the run time in I/O: the larger of the mean over processes and the sum of each phase's slowest process.
    pub(crate) io_share: f64,
    /// True if calls were not timed: their cost is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) untimed: bool,
    /// True if some calls were not recorded: shares are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lower_bounds: bool,
    /// Share of the run time with asynchronous operations (nonblocking, split and others) in flight: their time summed over operations,
    /// then divided by run time and number of processes. 0 if the trace has the program's waits for them.
    pub(crate) background_share: f64,
    /// True if nearly all calls are made beside a thread that is busy all the time, so that faster calls would not shorten the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) beside_computing: bool,
    /// True if `io_share` is large enough to report, and calls are not only made beside computing.
    pub(crate) io_matters: bool,
    /// Sentence that states the verdict.
    pub(crate) sentence: String,
    /// Code of the finding that the sentence states; `None` if nothing stands out, I/O does not matter, or calls have no times.
    pub(crate) states: Option<Code>,
    /// All findings, those that save most first.
    pub(crate) findings: Vec<Weighed>,
    /// Saving of all findings together. It is at most the time in I/O plus the savings of findings about late ranks and about waits for
    /// processors. `None` without a saving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) together: Option<Saving>,
    /// Time that no finding explains.
    pub(crate) rest: Option<Rest>,
    /// Gaps of the trace, in sentences.
    pub(crate) missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Explains, Words};

    #[test]
    fn other_causes_are_worth_it_and_each_is_named_once() {
        let of = |code: Code, severity: Severity, saves_ns: u64| Finding {
            severity,
            saving: Some(Saving { saves_ns, saves_low_ns: None, saves_high_ns: None, explains: Explains::default() }),
            ..Finding::new(code, Words::new("", ""))
        };
        let also = vec![
            of(Code::SMALL_WRITES, Severity::High, 9),
            of(Code::SYNC_TIME, Severity::Warn, 3),
            of(Code::ONE_RANK, Severity::High, 5),
            of(Code::SYNC_PER_WRITE, Severity::High, 4),
            of(Code::STALL, Severity::Info, 8),
        ];
        let weighed =
            Weighed { finding: of(Code::WRITE_RUNS, Severity::High, 9), also, commands: Vec::new(), sites: Vec::new() };
        let codes: Vec<Code> = weighed.other_causes().iter().map(|of| of.code).collect();
        assert_eq!(codes, [Code::ONE_RANK, Code::SYNC_PER_WRITE]);
    }
}
