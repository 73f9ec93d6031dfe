//! Options of `signatures`.

use crate::session::{Inputs, Output};
use clap::ValueEnum;
use std::path::PathBuf;

/// Arguments of `signatures`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `signatures`
    #[command(flatten)]
    pub options: Options,
    /// Stripe layouts of files: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Files to write
    #[command(flatten)]
    pub files: Files,
}

/// Level of the signatures listed
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// One signature per process, thread, file and interface
    Local,
    /// All processes together: those with the same pattern share a line
    #[default]
    Global,
}

/// Notation of the signatures
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Notation {
    /// Nested loops over file offsets, from which every read and write can be regenerated
    #[default]
    Loops,
    /// Notation of the paper on I/O signatures (IOSIG; docs/signatures.md cites it)
    Iosig,
}

/// Options of the analysis
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Level of the signatures: one per process, or one line for all processes with the same pattern
    #[arg(long, value_enum, default_value_t)]
    pub level: Level,
    /// Notation of signatures
    #[arg(long, value_enum, default_value_t)]
    pub notation: Notation,
    /// Read the trace again and compare each read and write with the one that the signatures regenerate
    #[arg(long)]
    pub verify: bool,
    /// Maximum spread (standard deviation / mean) at which intervals between calls count as fixed
    #[arg(long, default_value_t = iosig::FIXED_CV, value_name = "SHARE", value_parser = share)]
    pub tolerance: f64,
    /// Cache size of each process, for the simulation of prefetching and read-ahead
    #[arg(long, default_value = "64M", value_name = "BYTES", value_parser = size)]
    pub cache: u64,
    /// Number of storage targets (such as OSTs) for files whose layout is unknown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub targets: Option<u64>,
    /// Number of signatures to list, most bytes first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

/// Files to write
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Files {
    /// Draw figures of the file with most bytes (or of --files) into this directory: offsets, request sizes, bandwidth over time
    #[arg(long, value_name = "DIRECTORY")]
    pub svg: Option<PathBuf>,
    /// Write the signatures as protocol buffers (schema: see docs/signatures.md)
    #[arg(long, value_name = "FILE")]
    pub protobuf: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::default(),
            notation: Notation::default(),
            verify: false,
            tolerance: iosig::FIXED_CV,
            cache: 64 << 20,
            targets: None,
            top: 20,
        }
    }
}

/// Parses a size in bytes, such as `64M`.
fn size(text: &str) -> Result<u64, String> {
    crate::layouts::parse_size(text).map_err(|error| format!("{error:#}"))
}

/// Parses a number of at least 0.
fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if share >= 0.0 { Ok(share) } else { Err("must be at least 0".into()) }
}
