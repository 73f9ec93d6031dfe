//! The options of `compare`.

use crate::exit::UsageError;
use crate::session::{LayerName, Output, PageOutput};
use std::path::PathBuf;

/// `compare`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The first run and the second: a trace or log, or a directory with the *.dxt files of one job; with --, repeats of the first
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Repeats of the second: compare A1 A2 A3 -- B1 B2 B3
    #[arg(last = true, value_name = "REPEAT")]
    pub after: Vec<PathBuf>,
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
    /// Page
    #[command(flatten)]
    pub page: PageOutput,
    /// Ranks and files to show, those that changed most first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

impl Args {
    /// Runs of the first way and of the second.
    ///
    /// # Errors
    /// If it is not clear which is which.
    pub fn ways(&self) -> Result<(&[PathBuf], &[PathBuf]), UsageError> {
        match (self.runs.as_slice(), self.after.as_slice()) {
            ([before, after], []) => Ok((std::slice::from_ref(before), std::slice::from_ref(after))),
            (before, after @ [_, ..]) => Ok((before, after)),
            ([_], []) => Err(UsageError("compare needs two runs: compare BEFORE AFTER".into())),
            (runs, []) => Err(UsageError(format!(
                "{} runs are named: put -- between those before and those after, as in compare A1 A2 A3 -- B1 B2 B3",
                runs.len()
            ))),
        }
    }

    /// How to write the result.
    #[must_use]
    pub fn output(&self) -> Output {
        self.output.clone()
    }

    /// Where a page of it goes.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        Some(&self.page)
    }
}
