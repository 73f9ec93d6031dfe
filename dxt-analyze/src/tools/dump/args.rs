//! The options of `dump`.

use crate::session::Inputs;
use clap::ValueEnum;

/// Output forms of `dump`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// Columns for people
    #[default]
    Text,
    /// CSV with a header
    Csv,
    /// One JSON object per line
    Json,
    /// Of a Darshan log: what `darshan-dxt-parser --show-incomplete` of Darshan 3.5.0 prints, times in UTC
    DxtParser,
    /// The same with thread ids, as after Darshan 3.5.0
    DxtParserThreads,
    /// Of a Darshan log: the rows of `darshan-parser --show-incomplete`
    DarshanParser,
}

/// `dump`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: DumpFormat,
    /// Times in ns since 1970 instead of since the job's start
    #[arg(long)]
    pub absolute: bool,
}
