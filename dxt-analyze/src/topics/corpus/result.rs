//! Result of `corpus`: sums over many jobs, for display and serialization.

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
    /// Number of jobs in the group (all jobs, those of a user, or those of a program).
    pub jobs: u64,
    /// Number of files used, summed over jobs: a file that several jobs used counts once per job.
    pub files: u64,
    /// Bytes read by all jobs of the group (all jobs, those of a user, or those of a program).
    pub bytes_read: u64,
    /// Bytes written by all jobs of the group (all jobs, those of a user, or those of a program).
    pub bytes_written: u64,
    /// Time in I/O calls, summed over processes and the group's jobs, ns.
    pub io_ns: u128,
    /// Available rank time of the group's jobs: ranks x run time, summed over jobs, s.
    pub ranks_s: f64,
    /// Share (0 to 1) of the available rank time spent in I/O: `io_ns` / `ranks_s`, in equal units.
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

/// Totals over the jobs of one user or of one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRow {
    /// Name of the group: user name or user id, or program name.
    pub name: String,
    /// Totals over the jobs of the user or program.
    #[serde(flatten)]
    pub sums: Whole,
    /// Share of this user's or program's jobs in the I/O time of all jobs.
    pub share_of_io: f64,
    /// Share of this user's or program's jobs in the bytes transferred by all jobs.
    pub share_of_bytes: f64,
}

/// Use of one I/O interface, summed over jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceRow {
    /// Name of the I/O interface, such as `posix`.
    pub interface: &'static str,
    /// Number of jobs in which the interface was used, by the program or by a library.
    pub jobs: u64,
    /// Share (0 to 1) of all jobs in which the interface was used.
    pub share_of_jobs: f64,
    /// Number of calls that programs made through the interface; for MPI-IO as a whole, independent plus collective calls.
    pub calls: u64,
    /// Bytes read and written by calls through the interface.
    pub bytes: u64,
    /// Time in calls through the interface, summed over processes, ns.
    pub time_ns: u128,
}

/// Totals over the files of one size class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// Name of the size class, such as `<= 4 KiB`.
    pub size: &'static str,
    /// Number of files in the size class, and bytes read from and written to these files.
    #[serde(flatten)]
    pub sums: SizeSum,
    /// Share of the size class among all files with data transfer.
    pub share: Option<f64>,
}

/// Number of jobs in one class of files per job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    /// Class of the number of files per job, such as `2 - 10`.
    pub files: &'static str,
    /// Number of jobs whose number of files is in this class.
    pub jobs: u64,
}

/// Totals over files of multi-rank jobs that one, some or all ranks used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingRow {
    /// Number of ranks that used a file: `one`, `some` or `all`.
    pub ranks: &'static str,
    /// Number of files that one, some or all ranks used, and bytes read from and written to these files.
    #[serde(flatten)]
    pub sums: SizeSum,
}

/// Number of jobs in one class of the share of run time spent in I/O.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// Class of the share of run time spent in I/O, such as `1 - 5 %`.
    pub share: &'static str,
    /// Number of jobs whose share of run time in I/O (mean over ranks) is in this class.
    pub jobs: u64,
    /// Number of jobs whose slowest rank has a share of run time in I/O in this class.
    pub jobs_by_slowest: u64,
}

/// Totals over jobs that transfer data in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    /// Direction of data transfer: `read only`, `write only`, ...
    pub direction: &'static str,
    /// Number of jobs that transfer data in this direction.
    pub jobs: u64,
    /// Bytes read by the jobs that transfer data in this direction.
    pub bytes_read: u64,
    /// Bytes written by the jobs that transfer data in this direction.
    pub bytes_written: u64,
}

/// Number and cost of the findings with one code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeRow {
    /// Code that the findings of this row have.
    pub code: Code,
    /// Meaning of the code, as text.
    pub meaning: &'static str,
    /// Number of jobs with findings of this code.
    pub jobs: u64,
    /// Number of findings with this code, over all jobs.
    pub findings: u64,
    /// Cost of the findings, summed over processes and findings with a known cost, ns.
    pub cost_ns: u128,
    /// Highest severity among the findings with this code.
    pub severity: Severity,
}

/// Result of `corpus` over all jobs read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corpus {
    /// Runs that were slow among repeated runs of the same program with the same work.
    pub slow_runs: Vec<SlowRun>,
    /// One row per job, at most as many as the user requested.
    pub jobs: Vec<JobRow>,
    /// Totals over all jobs read; `jobs` may list fewer of them.
    pub whole: Whole,
    /// Number of jobs whose data is partly missing or damaged.
    pub incomplete: u64,
    /// Totals by user, sorted by time in I/O, largest first.
    pub users: Vec<GroupRow>,
    /// Totals by program, sorted by time in I/O, largest first.
    pub programs: Vec<GroupRow>,
    /// Use of each I/O interface, summed over jobs.
    pub interfaces: Vec<InterfaceRow>,
    /// Number of files, and bytes moved, by size class of the files.
    pub file_sizes: Vec<SizeRow>,
    /// Number of files without data transfer.
    pub files_without_data: u64,
    /// Number of jobs by the number of files that they used.
    pub files_per_job: Vec<NumberRow>,
    /// Number of files, and bytes moved, by number of ranks that used the file (one, some or all), for multi-rank jobs.
    pub sharing: Vec<SharingRow>,
    /// Number of jobs by the share of their run time that is spent in I/O.
    pub io_shares: Vec<ShareRow>,
    /// Totals over jobs by direction of data transfer.
    pub directions: Vec<DirectionRow>,
    /// Findings by code, most frequent first.
    pub findings: Vec<CodeRow>,
    /// Inputs that could not be read, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// Remarks about the result for the user.
    pub remarks: Vec<String>,
}
