//! What many jobs are together, as it is written and shown.

use super::files::SizeSum;
use super::job::JobRow;
use super::share::ShareOfTime;
use super::slow_run::SlowRun;
use crate::findings::{Code, Severity};
use crate::load::corpus::LeftOut;
use serde::Serialize;
/// Sums over jobs: of all, of a user, of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Whole {
    /// Jobs.
    pub jobs: u64,
    /// Files that they used; a file that several jobs used counts in each.
    pub files: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time in I/O, summed over processes, ns.
    pub io_ns: u128,
    /// Time that the ranks had (ranks x runtime), s.
    pub ranks_s: f64,
    /// The former's share of the latter.
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
    /// User's name or number, or the program's name.
    pub name: String,
    /// Their sums.
    #[serde(flatten)]
    pub sums: Whole,
    /// Share of the I/O time of all jobs.
    pub share_of_io: f64,
    /// Share of the bytes of all jobs.
    pub share_of_bytes: f64,
}

/// How much an interface is used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterfaceRow {
    /// Its name.
    pub interface: &'static str,
    /// Jobs that used it, in whichever way.
    pub jobs: u64,
    /// Their share of all jobs: its adoption.
    pub share_of_jobs: f64,
    /// Calls that programs made; of MPI-IO as a whole the sum of both forms.
    pub calls: u64,
    /// Bytes read and written by them.
    pub bytes: u64,
    /// Time in them, summed over processes, ns.
    pub time_ns: u128,
}

/// Files of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// The sizes.
    pub size: &'static str,
    /// Files, and bytes that were read from and written to them.
    #[serde(flatten)]
    pub sums: SizeSum,
    /// Share of the files through which data moved.
    pub share: Option<f64>,
}

/// Jobs by number of files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberRow {
    /// The numbers.
    pub files: &'static str,
    /// Jobs.
    pub jobs: u64,
}

/// Files of jobs of several ranks by how many of them used it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingRow {
    /// `one`, `some` or `all`.
    pub ranks: &'static str,
    /// Files, and bytes that were read from and written to them.
    #[serde(flatten)]
    pub sums: SizeSum,
}

/// Jobs by share of the runtime that went into I/O.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareRow {
    /// The shares.
    pub share: &'static str,
    /// Jobs of which the mean over ranks lies there.
    pub jobs: u64,
    /// Jobs of which the slowest rank does.
    pub jobs_by_slowest: u64,
}

/// Jobs by what they did with data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionRow {
    /// What.
    pub direction: &'static str,
    /// Jobs.
    pub jobs: u64,
    /// Bytes that they read.
    pub bytes_read: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
}

/// Findings of one code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeRow {
    /// The code.
    pub code: Code,
    /// What it means.
    pub meaning: &'static str,
    /// Jobs that have it.
    pub jobs: u64,
    /// Findings.
    pub findings: u64,
    /// What they cost together, where that can be told; ns summed over processes.
    pub cost_ns: u128,
    /// The most severe of them.
    pub severity: Severity,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Corpus {
    /// Runs that were slow among others of the same program that did the same.
    pub slow_runs: Vec<SlowRun>,
    /// The jobs.
    pub jobs: Vec<JobRow>,
    /// Jobs that were read: `jobs` lists fewer of them if so many were asked for.
    pub whole: Whole,
    /// Jobs of which something is missing or damaged.
    pub incomplete: u64,
    /// Users, those with most time in I/O first.
    pub users: Vec<GroupRow>,
    /// Programs, likewise.
    pub programs: Vec<GroupRow>,
    /// Interfaces.
    pub interfaces: Vec<InterfaceRow>,
    /// Files by size.
    pub file_sizes: Vec<SizeRow>,
    /// Files through which no data moved.
    pub files_without_data: u64,
    /// Jobs by number of files.
    pub files_per_job: Vec<NumberRow>,
    /// Files by sharing.
    pub sharing: Vec<SharingRow>,
    /// Jobs by share of time in I/O.
    pub io_shares: Vec<ShareRow>,
    /// Jobs by what they did with data.
    pub directions: Vec<DirectionRow>,
    /// Findings by code, the most frequent first.
    pub findings: Vec<CodeRow>,
    /// What could not be read.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub remarks: Vec<String>,
}
