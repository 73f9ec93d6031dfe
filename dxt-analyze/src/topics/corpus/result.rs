//! Result of a corpus: sums over many jobs, as shown and serialized.

use super::files::SizeSum;
use super::job::JobRow;
use super::share::ShareOfTime;
use super::slow_run::SlowRun;
use crate::findings::{Code, Severity};
use crate::load::corpus::LeftOut;
use serde::Serialize;
/// Sums over jobs: all jobs, those of one user, or those of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Whole {
    /// Number of jobs.
    pub jobs: u64,
    /// Files used; a file that several jobs used counts once for each.
    pub files: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time in I/O, summed over processes, ns.
    pub io_ns: u128,
    /// Available rank time (ranks x runtime), s.
    pub ranks_s: f64,
    /// `io_ns` / `ranks_s`, in the same unit.
    pub io_share: Option<f64>,
    #[serde(skip)]
    pub(super) ranks_ns: u128,
}

impl Whole {
    pub(super) fn add(&mut self, job: &JobRow) {
        self.jobs += 1;
        self.files = self.files.saturating_add(job.files);
        self.bytes_read = self.bytes_read.saturating_add(job.called.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(job.called.bytes_written);
        self.io_ns = self.io_ns.saturating_add(job.io_ns.into());
        self.ranks_ns = self.ranks_ns.saturating_add(job.time().ranks_ns);
    }

    pub(super) fn finish(mut self) -> Self {
        self.ranks_s = self.ranks_ns as f64 / 1e9;
        self.io_share = ShareOfTime { io_ns: self.io_ns, ranks_ns: self.ranks_ns }.share();
        self
    }
}

/// Jobs of one user or of one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRow {
    /// User name or uid, or program name.
    pub name: String,
    /// Sums over the group's jobs.
    #[serde(flatten)]
    pub sums: Whole,
    /// Share of the I/O time of all jobs.
    pub share_of_io: f64,
    /// Share of the bytes of all jobs.
    pub share_of_bytes: f64,
}

/// Use of one I/O interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceRow {
    /// Name.
    pub interface: &'static str,
    /// Jobs that used the interface, in any form.
    pub jobs: u64,
    /// Share of all jobs (adoption).
    pub share_of_jobs: f64,
    /// Calls made by programs; for MPI-IO as a whole, independent plus collective calls.
    pub calls: u64,
    /// Bytes read and written by these calls.
    pub bytes: u64,
    /// Time in these calls, summed over processes, ns.
    pub time_ns: u128,
}

/// Files of one size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// Size class.
    pub size: &'static str,
    /// File count and bytes read and written.
    #[serde(flatten)]
    pub sums: SizeSum,
    /// Share of the files with data transfer.
    pub share: Option<f64>,
}

/// Jobs by number of files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    /// Class of file counts.
    pub files: &'static str,
    /// Number of jobs.
    pub jobs: u64,
}

/// Files of multi-rank jobs, by number of ranks that used them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingRow {
    /// `one`, `some` or `all`.
    pub ranks: &'static str,
    /// File count and bytes read and written.
    #[serde(flatten)]
    pub sums: SizeSum,
}

/// Jobs by share of the runtime spent in I/O.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// Class of shares.
    pub share: &'static str,
    /// Jobs whose mean over ranks is in this class.
    pub jobs: u64,
    /// Jobs whose slowest rank is in this class.
    pub jobs_by_slowest: u64,
}

/// Jobs by direction of data transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    /// Name of the direction: read only, write only, ...
    pub direction: &'static str,
    /// Number of jobs.
    pub jobs: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

/// Findings with one code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeRow {
    /// Code of the findings.
    pub code: Code,
    /// Meaning of the code.
    pub meaning: &'static str,
    /// Jobs with such findings.
    pub jobs: u64,
    /// Number of findings.
    pub findings: u64,
    /// Total cost of the findings whose cost is known, ns summed over processes.
    pub cost_ns: u128,
    /// Highest severity among the findings.
    pub severity: Severity,
}

/// Result of a corpus.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corpus {
    /// Runs that were slow among repeated runs of the same program with the same work.
    pub slow_runs: Vec<SlowRun>,
    /// One row per job.
    pub jobs: Vec<JobRow>,
    /// Sums over all jobs read; `jobs` lists fewer of them if so requested.
    pub whole: Whole,
    /// Jobs with missing or damaged data.
    pub incomplete: u64,
    /// Users, by time in I/O, largest first.
    pub users: Vec<GroupRow>,
    /// Programs, by time in I/O, largest first.
    pub programs: Vec<GroupRow>,
    /// Use of each interface.
    pub interfaces: Vec<InterfaceRow>,
    /// Files by size.
    pub file_sizes: Vec<SizeRow>,
    /// Files without data transfer.
    pub files_without_data: u64,
    /// Jobs by number of files.
    pub files_per_job: Vec<NumberRow>,
    /// Files by sharing.
    pub sharing: Vec<SharingRow>,
    /// Jobs by share of time in I/O.
    pub io_shares: Vec<ShareRow>,
    /// Jobs by direction of data transfer.
    pub directions: Vec<DirectionRow>,
    /// Findings by code, most frequent first.
    pub findings: Vec<CodeRow>,
    /// Inputs that could not be read.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub remarks: Vec<String>,
}
