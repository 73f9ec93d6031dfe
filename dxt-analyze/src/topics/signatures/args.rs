//! The options of `signatures`.

use crate::session::{Inputs, Output};
use clap::ValueEnum;
use std::path::PathBuf;

/// `signatures` on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Options
    #[command(flatten)]
    pub options: Options,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Files
    #[command(flatten)]
    pub files: Files,
}

/// Whose signatures are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Of each process, thread, file and interface
    Local,
    /// Of all processes together: those with the same pattern are a line
    #[default]
    Global,
}

/// How signatures are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Notation {
    /// Loops, with all that regenerates the accesses
    #[default]
    Loops,
    /// As IOSIG writes them
    Iosig,
}

/// What can be asked of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Signatures of each process, or of all together
    #[arg(long, value_enum, default_value_t)]
    pub level: Level,
    /// How signatures are written
    #[arg(long, value_enum, default_value_t)]
    pub notation: Notation,
    /// Read the trace again and hold each read and write against what the signatures say
    #[arg(long)]
    pub verify: bool,
    /// Spread of the times between calls, standard deviation over mean, up to which they are called fixed
    #[arg(long, default_value_t = super::engine::times::FIXED_CV, value_name = "SHARE", value_parser = share)]
    pub tolerance: f64,
    /// Cache that reading ahead is simulated with, for each process
    #[arg(long, default_value = "64M", value_name = "BYTES", value_parser = size)]
    pub cache: u64,
    /// Storage targets, where the layout of a file is not known
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub targets: Option<u64>,
    /// Signatures to list, those of most bytes first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

/// What is written besides.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Files {
    /// Draw the figures of the file of most bytes into this directory: offsets, request sizes and bandwidth over time (--files chooses another file)
    #[arg(long, value_name = "DIRECTORY")]
    pub svg: Option<PathBuf>,
    /// Write the signatures as protocol buffers, by the schema that docs/signatures.md names
    #[arg(long, value_name = "FILE")]
    pub protobuf: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self {
            level: Level::default(),
            notation: Notation::default(),
            verify: false,
            tolerance: super::engine::times::FIXED_CV,
            cache: 64 << 20,
            targets: None,
            top: 20,
        }
    }
}

/// Bytes, as `64M`.
fn size(text: &str) -> Result<u64, String> {
    crate::layouts::parse_size(text).map_err(|error| format!("{error:#}"))
}

/// A share: no less than 0, and a number.
fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if share >= 0.0 { Ok(share) } else { Err("must be at least 0".into()) }
}
