//! Result of a corpus: sums over many jobs, as shown and serialized.

use super::files::SizeSum;
use super::job::JobRow;
use super::share::ShareOfTime;
use super::slow_run::SlowRun;
use crate::findings::{Code, Severity};
use crate::load::corpus::LeftOut;
use serde::Serialize;
/// Totals over a group of jobs: all jobs, those of one user, or those of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Whole {
    /// Number of jobs in the group.
    pub jobs: u64,
    /// Number of files used; a file that several jobs used counts once for each.
    pub files: u64,
    /// Total bytes read.
    pub bytes_read: u64,
    /// Total bytes written.
    pub bytes_written: u64,
    /// Time in I/O, summed over processes, ns.
    pub io_ns: u128,
    /// Available rank time (ranks x runtime), s.
    pub ranks_s: f64,
    /// Share of the available rank time spent in I/O: `io_ns` / `ranks_s`, in the same unit.
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

/// Row with the totals over the jobs of one user or of one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRow {
    /// Name of the group: user name or user id, or program name.
    pub name: String,
    /// Totals over the group's jobs.
    #[serde(flatten)]
    pub sums: Whole,
    /// The group's share of the I/O time of all jobs.
    pub share_of_io: f64,
    /// The group's share of the bytes transferred by all jobs.
    pub share_of_bytes: f64,
}

/// Row that describes the use of one I/O interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceRow {
    /// Name of the interface.
    pub interface: &'static str,
    /// Number of jobs in which the interface was used, by the program or by a library.
    pub jobs: u64,
    /// Share of all jobs that used the interface.
    pub share_of_jobs: f64,
    /// Number of calls that programs made; for MPI-IO as a whole, independent plus collective calls.
    pub calls: u64,
    /// Bytes read and written by these calls.
    pub bytes: u64,
    /// Time in these calls, summed over processes, ns.
    pub time_ns: u128,
}

/// Row with the totals over the files of one size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// Name of the size class.
    pub size: &'static str,
    /// Number of files, and bytes read from and written to them.
    #[serde(flatten)]
    pub sums: SizeSum,
    /// Share of this class among all files with data transfer.
    pub share: Option<f64>,
}

/// Row that counts the jobs in one class of file counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    /// Class of the number of files per job.
    pub files: &'static str,
    /// Number of jobs in this class.
    pub jobs: u64,
}

/// Row with the totals over files of multi-rank jobs, by how many ranks used them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingRow {
    /// Number of ranks that used a file: `one`, `some` or `all`.
    pub ranks: &'static str,
    /// Number of files, and bytes read from and written to them.
    #[serde(flatten)]
    pub sums: SizeSum,
}

/// Row that counts the jobs in one class of the share of runtime spent in I/O.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// Name of the class of the share of runtime spent in I/O, e.g. a range in percent.
    pub share: &'static str,
    /// Number of jobs whose mean share over ranks is in this class.
    pub jobs: u64,
    /// Number of jobs whose slowest rank has a share in this class.
    pub jobs_by_slowest: u64,
}

/// Row with the totals over jobs with one direction of data transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    /// Name of the direction: read only, write only, ...
    pub direction: &'static str,
    /// Number of jobs with this direction.
    pub jobs: u64,
    /// Total bytes read by these jobs.
    pub bytes_read: u64,
    /// Total bytes written by these jobs.
    pub bytes_written: u64,
}

/// Row that counts the findings with one code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeRow {
    /// Code of the findings.
    pub code: Code,
    /// Meaning of the code, as text.
    pub meaning: &'static str,
    /// Number of jobs with such findings.
    pub jobs: u64,
    /// Number of findings with the code, over all jobs.
    pub findings: u64,
    /// Total cost of the findings whose cost is known, ns summed over processes.
    pub cost_ns: u128,
    /// Highest severity among the findings.
    pub severity: Severity,
}

/// Result of `corpus` over all jobs read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corpus {
    /// Runs that were slow among repeated runs of the same program with the same work.
    pub slow_runs: Vec<SlowRun>,
    /// Rows of jobs, one per job.
    pub jobs: Vec<JobRow>,
    /// Totals over all jobs read; `jobs` may list fewer of them.
    pub whole: Whole,
    /// Number of jobs with missing or damaged data.
    pub incomplete: u64,
    /// Totals by user, sorted by time in I/O, largest first.
    pub users: Vec<GroupRow>,
    /// Totals by program, sorted by time in I/O, largest first.
    pub programs: Vec<GroupRow>,
    /// Use of each I/O interface.
    pub interfaces: Vec<InterfaceRow>,
    /// Files by size class.
    pub file_sizes: Vec<SizeRow>,
    /// Number of files without data transfer.
    pub files_without_data: u64,
    /// Jobs by number of files used.
    pub files_per_job: Vec<NumberRow>,
    /// Files of multi-rank jobs by how many ranks used them.
    pub sharing: Vec<SharingRow>,
    /// Jobs by share of the runtime spent in I/O.
    pub io_shares: Vec<ShareRow>,
    /// Totals over jobs by direction of data transfer.
    pub directions: Vec<DirectionRow>,
    /// Findings by code, the most frequent first.
    pub findings: Vec<CodeRow>,
    /// Inputs that could not be read, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Remarks for the user about the result.
    pub remarks: Vec<String>,
}
