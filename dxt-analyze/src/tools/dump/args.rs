//! Options of `dump`.

use crate::session::Inputs;
use crate::symbols::DebugDirs;
use clap::ValueEnum;

/// Output formats of `dump`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// Columns for people
    #[default]
    Text,
    /// CSV with a header
    Csv,
    /// One JSON object per line
    Json,
    /// For a Darshan log: the output of `darshan-dxt-parser --show-incomplete` of Darshan 3.5.0, times in UTC
    DxtParser,
    /// Like dxt-parser, with thread ids: the output of `darshan-dxt-parser` in releases after Darshan 3.5.0
    DxtParserThreads,
    /// For a Darshan log: the rows of `darshan-parser --show-incomplete`
    DarshanParser,
}

/// Options of `dump`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: DumpFormat,
    /// Times in ns since 1970 instead of since the job's start
    #[arg(long)]
    pub absolute: bool,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
}
