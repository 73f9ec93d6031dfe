//! The options of `corpus`.

use crate::render::Format;
use crate::session::{Output, PageOutput};
use clap::ValueEnum;
use std::path::PathBuf;

/// What `corpus` sorts jobs by.
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
    /// Runtime
    Runtime,
    /// Ranks
    Ranks,
    /// Files used
    Files,
    /// Start, the latest first
    Start,
    /// Where they were found
    Source,
}

/// `corpus`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directories, however deep, with *.dxt and *.darshan files of any number of jobs; or such files
    #[arg(required = true, value_name = "DIR")]
    pub places: Vec<PathBuf>,
    /// Write tables in Parquet into this directory: jobs, job_files, job_findings
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace tables that exist
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Read only what is new or changed since the last time, and keep a directory per day in --output
    #[arg(long, requires = "output", conflicts_with = "force")]
    pub incremental: bool,
    /// What comes first
    #[arg(long, value_enum, default_value_t)]
    pub sort: SortJobs,
    /// Jobs to list, and rows of users and programs to show (default: 20 on a terminal, all in JSON and CSV)
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Look for no findings: a long trace is then read many times faster
    #[arg(long)]
    pub no_findings: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Which of the report's tables to write as CSV (default: the jobs)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Other thresholds for verdicts, TOML (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Read the jobs that standard input names, for another process of this program
    #[arg(long, hide = true)]
    pub worker: bool,
    /// As a worker: answer with rows of files too
    #[arg(long, hide = true, requires = "worker")]
    pub worker_files: bool,
}

impl Args {
    /// How to write the result.
    #[must_use]
    pub fn output(&self) -> Output {
        Output { format: self.format, table: self.table.clone(), fail_on: None }
    }

    /// Where a page of it goes.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        None
    }
}
