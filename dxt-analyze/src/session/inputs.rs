//! Options common to most commands: inputs, selection and output.

use crate::findings::Severity;
use crate::render::Format;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use trace_format::op::Layer;

/// Options that name the inputs and select a part of the job.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Trace files of one job, or directories with its *.dxt files; or its Darshan log; - reads standard input
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Read only the files of one job, by its key in the trace files (without this option, a message lists the keys if there are several jobs)
    #[arg(long, value_name = "KEY")]
    pub job: Option<String>,
    /// Use these ranks only, as in 0,4:7,12: for rank 0, ranks 4 to 7, and all from 12
    #[arg(long, value_name = "RANKS", help_heading = "Selection")]
    pub ranks: Option<String>,
    /// Use only files that match this pattern, such as '*.h5'; a pattern without a slash is compared with the last part of a path
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub files: Vec<String>,
    /// Use only calls of these I/O layers
    #[arg(long, value_enum, ignore_case = true, help_heading = "Selection")]
    pub layer: Vec<LayerName>,
    /// Use calls within this time window only, in seconds since the job's start, as in 1.5:3
    #[arg(long, value_name = "FROM:UNTIL", help_heading = "Selection")]
    pub time: Option<String>,
    /// TOML file with thresholds for findings that replace the defaults (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
}

/// Output options of a report.
#[derive(Clone, Debug, Args)]
pub struct Output {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Table of the report to write as CSV (default: the first)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Exit with code 4 if a finding is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}

impl Output {
    /// True if the output shows findings, or the exit code depends on them. Of the tables that CSV can contain, only the table of findings
    /// shows them.
    #[must_use]
    pub fn needs_findings(&self) -> bool {
        let shown = self.format != Format::Csv || self.table.as_deref() == Some(crate::render::FINDINGS);
        shown || self.fail_on.is_some()
    }
}

/// Options of the HTML page of a result.
#[derive(Clone, Debug, Default, Args)]
pub struct PageOutput {
    /// Also write a page with charts: one self-contained HTML file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace an existing file, even if dxt-analyze did not write it
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Names of I/O layers on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayerName {
    /// System calls (open, read, pwrite, ...)
    #[value(alias = "POSIX")]
    Posix,
    /// C streams (fopen, fread, fprintf, ...)
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

impl std::str::FromStr for LayerName {
    type Err = String;

    /// Parses a layer name as on the command line; the error lists the valid names.
    fn from_str(name: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(name, true).map_err(|_| {
            let all = Self::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            all.map(|name| name.get_name().to_owned()).collect::<Vec<String>>().join(", ")
        })
    }
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
