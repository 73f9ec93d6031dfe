//! Options of `export`.

use crate::exit::UsageError;
use crate::session::Inputs;
use crate::symbols::DebugDirs;
use clap::ValueEnum;
use std::path::PathBuf;

/// Output formats of `export`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Darshan log for PyDarshan, Drishti, DXT Explorer and Darshan's own tools
    Darshan,
    /// Text that darshan-dxt-parser prints of a Darshan log: in the form of release 3.5, or with `--layout 3.6` of later releases, with
    /// thread ids
    DxtParser,
    /// Directory of job files and I/O logs for fio, which repeat the program's reads and writes on new files
    Fio,
    /// Directory of Parquet files (segments, files, ranks, findings), to which further jobs can be added
    Parquet,
    /// Chrome trace events for ui.perfetto.dev and chrome://tracing: one row per rank
    Perfetto,
    /// Recorded calls (segments) as CSV, with a header
    Csv,
    /// Recorded calls (segments) as JSON, one object per line
    Json,
}

impl ExportFormat {
    /// True if the format says from which place in the program a call comes.
    pub(super) fn has_sites(self) -> bool {
        matches!(self, Self::Parquet | Self::Perfetto | Self::Csv | Self::Json)
    }
}

/// Options of `export`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// Output file, - for standard output; parquet: directory, to which the job is added; fio: new or empty directory
    #[arg(short, long, value_name = "PLACE")]
    pub output: PathBuf,
    /// Replace an existing file; parquet: replace a job's directory even if it has other files than Parquet files of dxt-analyze
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`; dxt-parser: also 3.5 or 3.6, the Darshan
    /// release whose text format is written
    #[arg(long, value_name = "FILE")]
    pub layout: Vec<PathBuf>,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
    /// With --to perfetto: maximum number of slices (calls shown); of a longer trace, the longest calls are kept and the others merged
    #[arg(long, default_value_t = 500_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub most: u64,
    /// With --to fio: directory in which fio creates the files that it reads and writes (default: `files`, beside fio's job files)
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// With --to fio: repeat each call at its recorded time (needs fio 3.31 or newer), instead of back to back
    #[arg(long)]
    pub times: bool,
}

impl Args {
    /// Fails if an option was given that the output format does not support.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let of_fio = [("--directory", self.directory.is_some()), ("--times", self.times)];
        match of_fio.iter().find(|(_, given)| *given && self.to != ExportFormat::Fio) {
            Some((option, _)) => Err(UsageError(format!("{option} is for --to fio"))),
            None => Ok(()),
        }
    }
}
