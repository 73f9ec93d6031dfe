//! Options of `corpus`.

use crate::render::Format;
use crate::session::{Output, PageOutput};
use clap::ValueEnum;
use std::path::PathBuf;

/// Keys by which jobs can be sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SortJobs {
    /// Time in I/O, summed over processes
    #[default]
    IoTime,
    /// Bytes read and written
    Bytes,
    /// Share of the runtime in I/O, mean over ranks
    Share,
    /// Share of the runtime in I/O of the slowest rank
    Slowest,
    /// Runtime of the job
    Runtime,
    /// Number of ranks
    Ranks,
    /// Number of files used
    Files,
    /// Start of the job, latest first
    Start,
    /// Path of the first input file
    Source,
}

/// Options of `corpus`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directories, searched recursively, with *.dxt and *.darshan files of any number of jobs; or such files
    #[arg(required = true, value_name = "DIR")]
    pub places: Vec<PathBuf>,
    /// Write Parquet tables to this directory: jobs, job_files, job_findings
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace existing tables
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Read only files that are new or changed since the last run of this command, and keep one directory per day in --output
    #[arg(long, requires = "output", conflicts_with = "force")]
    pub incremental: bool,
    /// Sort key for jobs
    #[arg(long, value_enum, default_value_t)]
    pub sort: SortJobs,
    /// Jobs to list, and rows of users and programs to show (default: 20 on a terminal, all in JSON and CSV)
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Skip findings: long traces are then read many times faster
    #[arg(long)]
    pub no_findings: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Table of the report to write as CSV (default: the jobs)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// TOML file with thresholds for findings that replace the defaults (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Read the jobs that standard input names, for another process of this program
    #[arg(long, hide = true)]
    pub worker: bool,
    /// For workers: include file rows in answers
    #[arg(long, hide = true, requires = "worker")]
    pub worker_files: bool,
}

impl Args {
    /// Returns the output settings.
    #[must_use]
    pub fn output(&self) -> Output {
        Output { format: self.format, table: self.table.clone(), fail_on: None }
    }

    /// Returns the page settings: none.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        None
    }
}
