//! The options of `export`.

use crate::exit::UsageError;
use crate::session::Inputs;
use clap::ValueEnum;
use std::path::PathBuf;

/// Forms of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A log for PyDarshan, Drishti, DXT Explorer and Darshan's own tools
    Darshan,
    /// What darshan-dxt-parser prints of such a log: as release 3.5 does, or with `--layout 3.6` as later ones, with threads
    DxtParser,
    /// A directory of jobs and iologs with which fio makes the reads and writes again, on files of its own
    Fio,
    /// A directory of Parquet files (segments, files, ranks, findings), to which further jobs can be added
    Parquet,
    /// Chrome trace events for ui.perfetto.dev and chrome://tracing: a row per rank
    Perfetto,
    /// Segments with a header
    Csv,
    /// Segments, one JSON object per line
    Json,
}

/// `export`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Form of the output
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// File to write, - for standard output; parquet: directory, to which the job is added; fio: new or empty directory
    #[arg(short, long, value_name = "PLACE")]
    pub output: PathBuf,
    /// Replace a file that exists, or in a job's place what is no Parquet file of ours
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`; dxt-parser: also 3.5 or 3.6, whose text it is
    #[arg(long, value_name = "FILE")]
    pub layout: Vec<PathBuf>,
    /// perfetto: most slices to write; of a longer trace the longest calls are kept and the others merged
    #[arg(long, default_value_t = 500_000, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub most: u64,
    /// fio: where the files that are played lie; without it in `files`, beside the jobs
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// fio: each call at its time on record (fio 3.31 or newer), instead of one right after the other
    #[arg(long)]
    pub times: bool,
}

impl Args {
    /// Fails on options that the form does not have.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let of_fio = [("--directory", self.directory.is_some()), ("--times", self.times)];
        match of_fio.iter().find(|(_, given)| *given && self.to != ExportFormat::Fio) {
            Some((option, _)) => Err(UsageError(format!("{option} is for --to fio"))),
            None => Ok(()),
        }
    }
}
