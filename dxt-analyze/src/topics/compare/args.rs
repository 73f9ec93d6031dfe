//! The options of `compare`.

use crate::session::{LayerName, Output};
use std::path::PathBuf;

/// `compare`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
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

impl Args {
    /// How to write the result.
    #[must_use]
    pub fn output(&self) -> Output {
        self.output.clone()
    }
}
