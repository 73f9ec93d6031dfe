//! What the first screen says.

use super::remedy::Remedy;
use crate::findings::{Code, Finding};
use crate::topics::ledger::parts::Parts;
use serde::Serialize;

/// Cards on the first screen.
pub(crate) const SHOWN: usize = 3;

/// A finding with what it is about, for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Weighed {
    /// The finding.
    #[serde(flatten)]
    pub(crate) finding: Finding,
    /// Other findings that say the same of the same calls.
    pub(crate) also: Vec<Finding>,
    /// What to type.
    pub(crate) commands: Vec<Remedy>,
}

/// What no finding explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Rest {
    /// Share of the time in calls.
    pub(crate) share: f64,
    /// Its largest part, in words.
    pub(crate) largest: String,
    /// Share of the time in calls that this is.
    pub(crate) largest_share: f64,
}

/// Who ran what where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JobLine {
    /// Program, with its script and arguments.
    pub(crate) command: String,
    /// User id.
    pub(crate) uid: u32,
    /// The scheduler's job id, or empty.
    pub(crate) scheduler: String,
    /// When it started, for people.
    pub(crate) start: String,
    /// How long it ran, ns.
    pub(crate) run_ns: u64,
    /// MPI processes, or processes without MPI.
    pub(crate) processes: String,
    /// Nodes, in words.
    pub(crate) nodes: String,
    /// MPI library, or empty.
    pub(crate) mpi: String,
    /// File systems that hold the files.
    pub(crate) file_systems: Vec<String>,
}

/// What the first screen says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The job.
    pub(crate) job: JobLine,
    /// From the job's start to its last end, ns.
    pub(crate) run_ns: u64,
    /// Where its time went, mean over processes.
    pub(crate) ledger: Parts,
    /// The same in a sentence.
    pub(crate) lead: String,
    /// Share of the run time in I/O: the mean over processes, or that of the slowest ones of each phase if that is more.
    pub(crate) io_share: f64,
    /// Whether calls were not timed: then nothing is known of what they cost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) untimed: bool,
    /// True if calls are on no record, so that shares are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lower_bounds: bool,
    /// Share of the run time that nonblocking, split and other asynchronous operations are in flight, added up, mean over processes: whether the program
    /// waits for them is not on record.
    pub(crate) background_share: f64,
    /// Whether that is enough to matter.
    pub(crate) io_matters: bool,
    /// The verdict in a sentence.
    pub(crate) sentence: String,
    /// Code of the finding that the sentence states; `None` if nothing stands out, I/O does not matter, or calls have no times.
    pub(crate) states: Option<Code>,
    /// All findings, those that save most first.
    pub(crate) findings: Vec<Weighed>,
    /// What they leave unexplained.
    pub(crate) rest: Option<Rest>,
    /// What the trace lacks, in sentences.
    pub(crate) missing: Vec<String>,
}
