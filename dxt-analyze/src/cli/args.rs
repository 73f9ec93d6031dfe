//! The command line: verbs and their options. What they do lives in [`crate::session`].

pub use super::forms::{ConvertArgs, DumpArgs, DumpFormat, ExportArgs, ExportFormat};

use crate::findings::Severity;
use crate::render::{ColorWhen, Format};
use crate::topics::outliers::distribution::Metric;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use trace_format::op::Layer;

/// Finds the rank, node, storage target, file or call that makes a parallel program's I/O slow.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Cli {
    /// When to colour the output; NO_COLOR is heeded
    #[arg(long, value_enum, default_value_t, global = true)]
    pub color: ColorWhen,
    /// Threads to use; 0: one per processor
    #[arg(long, default_value_t = 0, global = true, value_name = "N")]
    pub threads: usize,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 the command line makes no sense; 3 done, but the trace is incomplete (damaged, cut, \
ranks absent, or operations folded into counters); 4 done, and a finding is at or above --fail-on (goes before 3).";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Job, ranks, operations, bytes, times, and what is missing
    Summary(SummaryArgs),
    /// Operations, ranks, nodes, storage targets or files that are slower than their like
    Outliers(OutliersArgs),
    /// How accesses lie on stripes and storage targets; stripes that several ranks write at once
    Stripes(StripesArgs),
    /// How files and the job used I/O: sizes, patterns, times per process, kinds of files
    Counters(CountersArgs),
    /// What MPI-IO and HDF5 calls are made of: system calls, locks, communication; aggregators, late ranks, concurrency
    Layers(LayersArgs),
    /// Rules of thumb (Drishti's) and what only single operations prove: needless traffic, small requests, idle ranks
    Checks(ChecksArgs),
    /// What changed between two runs of a program, and what of it is more than chance
    Compare(CompareArgs),
    /// Bandwidth, request sizes and calls in flight over time; I/O phases
    Timeline(TimelineArgs),
    /// One self-contained HTML page: what costs most, timelines, heatmaps, box plots, and every table
    Report(ReportArgs),
    /// The report page from a server on this machine, which shows single calls wherever the page is zoomed in
    Serve(ServeArgs),
    /// Every segment, as text, CSV or JSON lines; text and JSON also counters and profiles of what has no segments
    Dump(DumpArgs),
    /// Makes a trace of a Darshan log; every other verb reads the log itself as well
    Convert(ConvertArgs),
    /// A trace for other programs: Darshan's log, Parquet for SQL and data frames, Perfetto for a timeline, CSV, JSON lines
    Export(ExportArgs),
    /// Many jobs: a row for each, who does most I/O and how; tables in Parquet for SQL and data frames
    Corpus(CorpusArgs),
    /// Verifies every checksum of trace files
    Check(CheckArgs),
    /// What a finding means, how it is computed, and what to do about it
    Explain(ExplainArgs),
    /// Makes a trace from the spools of processes that were killed, or that still run
    Recover(RecoverArgs),
}

/// What to read.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Trace files of one job, or directories with its *.dxt files; or its Darshan log
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Read only the files of the job with this key
    #[arg(long, value_name = "KEY")]
    pub job: Option<String>,
    /// Look at these ranks only, as in 0,4:7,12:
    #[arg(long, value_name = "RANKS", help_heading = "What to look at")]
    pub ranks: Option<String>,
    /// Look at files that match only; a pattern without a slash is compared with the last part of a path
    #[arg(long, value_name = "GLOB", help_heading = "What to look at")]
    pub files: Vec<String>,
    /// Look at these layers only
    #[arg(long, value_enum, ignore_case = true, help_heading = "What to look at")]
    pub layer: Vec<LayerName>,
    /// Look at calls within a span of time only, in seconds since the job's start, as in 1.5:3
    #[arg(long, value_name = "FROM:UNTIL", help_heading = "What to look at")]
    pub time: Option<String>,
    /// Other thresholds for verdicts, TOML (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
}

/// How to write a report.
#[derive(Clone, Debug, Args)]
pub struct Output {
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Which of the report's tables to write as CSV (default: the first)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Exit with 4 if a finding is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}

/// `summary`.
#[derive(Clone, Debug, Args)]
pub struct SummaryArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Files to list, those with most time first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
    /// Show common sizes, strides, switches and alignment also of a full trace, whose segments are then read once more
    #[arg(long)]
    pub profiles: bool,
}

/// What to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Single operations, by the box-plot rule: beyond 1.5 interquartile ranges
    #[default]
    Op,
    /// Ranks, by modified z-scores (median and MAD)
    Rank,
    /// Nodes, likewise
    Node,
    /// Storage targets (OSTs), likewise
    Ost,
    /// Files, likewise
    File,
}

/// Layers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayerName {
    /// System calls
    #[value(alias = "POSIX")]
    Posix,
    /// C streams
    #[value(alias = "STDIO")]
    Stdio,
    /// MPI-IO
    #[value(alias = "MPIIO", alias = "mpi-io")]
    Mpiio,
    /// HDF5
    #[value(alias = "HDF5")]
    Hdf5,
    /// Parallel netCDF
    #[value(alias = "PNETCDF")]
    Pnetcdf,
}

impl From<LayerName> for Layer {
    fn from(name: LayerName) -> Self {
        match name {
            LayerName::Posix => Self::Posix,
            LayerName::Stdio => Self::Stdio,
            LayerName::Mpiio => Self::Mpiio,
            LayerName::Hdf5 => Self::Hdf5,
            LayerName::Pnetcdf => Self::Pnetcdf,
        }
    }
}

/// `outliers`.
#[derive(Clone, Debug, Args)]
pub struct OutliersArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// What to compare
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// Compare bytes per second or seconds
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Compare ranks, nodes, OSTs or files apart in each of N equal spans of time, or in each I/O phase
    #[arg(long, value_name = "N|phases", value_parser = spans)]
    pub windows: Option<Spans>,
    /// Outliers to list per group, the slowest; all are counted
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Show times as nanoseconds since 1970 (table: wall clock) instead of since the job's start
    #[arg(long)]
    pub absolute: bool,
}

/// Bins of `timeline` unless it is told another number.
pub const BINS: u32 = 1000;

/// How `outliers --windows` cuts the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// Into so many equal parts.
    Equal(u32),
    /// At the starts of I/O phases.
    Phases,
}

fn spans(text: &str) -> Result<Spans, String> {
    if text == "phases" {
        return Ok(Spans::Phases);
    }
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.map(Spans::Equal).ok_or_else(|| "neither a number from 1 to 1000 nor `phases`".into())
}

/// `stripes`.
#[derive(Clone, Debug, Args)]
pub struct StripesArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Try another layout on the files with most time, as in size=16M,count=8 (then start=0 or osts=1,5,9 if wanted); again
    /// and again for more
    #[arg(long, value_name = "LAYOUT")]
    pub what_if: Vec<String>,
    /// Search the best stripe size and count for the files with most time
    #[arg(long)]
    pub recommend: bool,
    /// Files, and stripes per file, to list, those with most time first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

/// `counters`.
#[derive(Clone, Debug, Args)]
pub struct CountersArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Files to list, those with most time first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

/// `layers`.
#[derive(Clone, Debug, Args)]
pub struct LayersArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Rows to list per table: ranks and collective operations, the slowest; files, those with most time
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

/// `checks`.
#[derive(Clone, Debug, Args)]
pub struct ChecksArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Show also the checks that had nothing to look at, and why
    #[arg(long)]
    pub all: bool,
}

/// `compare`.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// Trace of the first run: a file, or a directory with its *.dxt files
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// Trace of the second run, likewise
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Look at these ranks only, as in 0,4:7,12:
    #[arg(long, value_name = "RANKS", help_heading = "What to look at")]
    pub ranks: Option<String>,
    /// Look at files that match only; a pattern without a slash is compared with the last part of a path
    #[arg(long, value_name = "GLOB", help_heading = "What to look at")]
    pub files: Vec<String>,
    /// Look at these layers only
    #[arg(long, value_enum, ignore_case = true, help_heading = "What to look at")]
    pub layer: Vec<LayerName>,
    /// Other thresholds for verdicts, TOML (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Ranks and files to show, those that changed most first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

/// `timeline`.
#[derive(Clone, Debug, Args)]
pub struct TimelineArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Most bins of time; their width is 1, 2 or 5 times a power of ten
    #[arg(long, default_value_t = BINS, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub bins: u32,
}

/// `report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Page to write
    #[arg(short, long, default_value = "report.html", value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that exists, whatever it is
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Rows of lists, those that matter most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Exit with 4 if a finding is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}

/// `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Port on 127.0.0.1; 0: any that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Rows of lists, those that matter most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
}

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
#[derive(Clone, Debug, Args)]
pub struct CorpusArgs {
    /// Directories, however deep, with *.dxt and *.darshan files of any number of jobs; or such files
    #[arg(required = true, value_name = "DIR")]
    pub places: Vec<PathBuf>,
    /// Write tables in Parquet into this directory: jobs, job_files, job_findings
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace tables that exist
    #[arg(long, requires = "output")]
    pub force: bool,
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

/// `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Trace files, or directories with *.dxt files; of any number of jobs
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Which of the report's tables to write as CSV (default: the first)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
}

/// `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// Code of a finding, as DXT-O001 or o001; without one, all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `recover`.
#[derive(Clone, Debug, Args)]
pub struct RecoverArgs {
    /// Spools (*.spool), or directories with them
    #[arg(required = true, value_name = "SPOOL")]
    pub spools: Vec<PathBuf>,
    /// Trace to write (*.dxt), or a directory for traces named after their programs, made if absent
    #[arg(short, long, default_value = ".", value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that exists, whatever it is
    #[arg(long)]
    pub force: bool,
    /// Remove spools of ended processes once their trace is written
    #[arg(long)]
    pub remove: bool,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
