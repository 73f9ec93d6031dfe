//! First pass over the rows: finds the jobs, their start times, and the file names of their records.

use super::names::Names;
use super::row::Row;
use super::rows::{Damaged, Rows};
use crate::limits::{LOG_SHARED, of_log};
use anyhow::Result;
use rustc_hash::FxHashMap;
use std::path::Path;
use trace_format::op::Layer;

/// Maximum jobs distinguished in a file: each job needs an open temporary file.
pub(super) const MOST_JOBS: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    /// Job number of the scheduler, as written in the rows.
    pub(super) id: String,
    pub(super) uid: Option<u32>,
    /// Path of the job's executable; empty if no row has it.
    pub(super) exe: Vec<u8>,
    /// Start of the job, in ns since 1970-01-01 UTC: the minimum of the start that the first row implies and of the start times of all calls.
    pub(super) start_unix_ns: i64,
    /// Highest rank of the job; -1 if no row has a rank.
    pub(super) last_rank: i32,
    /// Number of calls of the job (one per row).
    pub(super) calls: u64,
    /// Number of the job's calls whose times were rounded by a spreadsheet.
    pub(super) rounded: u64,
    /// True if the job has POSIX calls, and true if it has MPI-IO calls.
    pub(super) layers: (bool, bool),
    pub(super) has_no_rank: bool,
}

impl Job {
    fn see(&mut self, row: &Row<'_>) {
        if self.calls == 0 {
            self.last_rank = -1;
            self.start_unix_ns = row.start_unix_ns.saturating_sub(row.since_start_ns.unwrap_or(0));
        }
        self.start_unix_ns = self.start_unix_ns.min(row.start_unix_ns);
        self.last_rank = self.last_rank.max(row.rank);
        self.has_no_rank |= row.rank < 0;
        self.calls += 1;
        self.rounded += u64::from(row.is_rounded);
        self.layers.0 |= row.code.layer() == Layer::Posix;
        self.layers.1 |= row.code.layer() == Layer::Mpiio;
        self.uid = self.uid.or(row.uid);
        if self.exe.is_empty() {
            self.exe = row.exe.unwrap_or_default().to_vec();
        }
    }
}

/// Result of the first pass over the rows: jobs, names of their files, and damaged rows.
#[derive(Debug)]
pub(super) struct Survey {
    /// Jobs in the order of their first rows.
    pub(super) jobs: Vec<Job>,
    numbers: FxHashMap<Vec<u8>, usize>,
    pub(super) names: Names,
    /// First damaged row, and number of damaged rows; `None` if no row is damaged.
    pub(super) damaged: Option<(Damaged, u64)>,
    /// Number of calls left out because the file has more than [`MOST_JOBS`] jobs.
    pub(super) left_out: u64,
    pub(super) form: &'static str,
}

impl Survey {
    /// Reads the rows in the first `length` bytes of the file at `path`; fails if they are not in the connector's format.
    pub(super) fn of(path: &Path, length: u64) -> Result<Self> {
        let mut rows = Rows::open(path, length)?;
        let mut out = Self {
            jobs: Vec::new(),
            numbers: FxHashMap::default(),
            names: Names::new(of_log(LOG_SHARED, length)),
            damaged: None,
            left_out: 0,
            form: rows.form(),
        };
        while let Some(row) = rows.next()? {
            match row {
                Ok(row) => out.see(&row),
                Err(damaged) => match &mut out.damaged {
                    Some((_, count)) => *count += 1,
                    None => out.damaged = Some((damaged, 1)),
                },
            }
        }
        Ok(out)
    }

    fn see(&mut self, row: &Row<'_>) {
        let number = match self.numbers.get(row.job) {
            Some(number) => *number,
            None if self.jobs.len() < MOST_JOBS => {
                let id = String::from_utf8_lossy(row.job).into_owned();
                self.jobs.push(Job { id, ..Job::default() });
                self.numbers.insert(row.job.to_vec(), self.jobs.len() - 1);
                self.jobs.len() - 1
            }
            None => {
                self.left_out += 1;
                return;
            }
        };
        self.names.see(number, row);
        if let Some(job) = self.jobs.get_mut(number) {
            job.see(row);
        }
    }

    pub(super) fn job(&self, row: &Row<'_>) -> Option<usize> {
        self.numbers.get(row.job).copied()
    }
}
