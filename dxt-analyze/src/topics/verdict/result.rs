//! Content of the first screen.

use super::remedy::Remedy;
use crate::findings::{Code, Finding, Saving};
use crate::topics::ledger::parts::Parts;
use serde::Serialize;

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
    /// MPI processes, or processes without MPI.
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
    /// Share of the run time with nonblocking, split and other asynchronous operations in flight, summed over operations, mean over
    /// processes; 0 if it is recorded when the program waits for them.
    pub(crate) background_share: f64,
    /// True if `io_share` is large enough to report.
    pub(crate) io_matters: bool,
    /// Sentence that states the verdict.
    pub(crate) sentence: String,
    /// Code of the finding that the sentence states; `None` if nothing stands out, I/O does not matter, or calls have no times.
    pub(crate) states: Option<Code>,
    /// All findings, those that save most first.
    pub(crate) findings: Vec<Weighed>,
    /// Saving of all findings together: at most the time in I/O, and the savings of late ranks and of processors. `None` without a saving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) together: Option<Saving>,
    /// Time that no finding explains.
    pub(crate) rest: Option<Rest>,
    /// Gaps of the trace, in sentences.
    pub(crate) missing: Vec<String>,
}
