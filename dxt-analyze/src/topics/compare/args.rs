//! Options of `compare`.

use crate::exit::UsageError;
use crate::session::{LayerName, Output, PageOutput};
use crate::symbols::DebugDirs;
use std::path::PathBuf;

/// Command line of `compare`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// First run and second run, each a trace, a log, or a directory with the *.dxt files of one job; or, before --, all repeats of the
    /// first run
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Repeats of the second run, as in compare A1 A2 A3 -- B1 B2 B3
    #[arg(last = true, value_name = "REPEAT")]
    pub after: Vec<PathBuf>,
    /// Use these ranks only, as in 0,4:7,12: for rank 0, ranks 4 to 7, and all from 12
    #[arg(long, value_name = "RANKS", help_heading = "Selection")]
    pub ranks: Option<String>,
    /// Use only files that match this pattern, such as '*.h5'; a pattern without a slash is compared with the last part of a path
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub files: Vec<String>,
    /// Use only calls of these I/O layers
    #[arg(long, value_enum, ignore_case = true, help_heading = "Selection")]
    pub layer: Vec<LayerName>,
    /// TOML file with thresholds for findings that replace the defaults (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
    /// HTML page to write
    #[command(flatten)]
    pub page: PageOutput,
    /// Number of ranks, of files and of places in the program to show, largest changes first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

impl Args {
    /// Returns the trace paths of the first side (before) and of the second side (after).
    ///
    /// # Errors
    /// Returns an error if the arguments can be split into two sides in several ways, or if one side is missing.
    pub fn ways(&self) -> Result<(&[PathBuf], &[PathBuf]), UsageError> {
        match (self.runs.as_slice(), self.after.as_slice()) {
            ([before, after], []) => Ok((std::slice::from_ref(before), std::slice::from_ref(after))),
            (before, after @ [_, ..]) => Ok((before, after)),
            ([_], []) => Err(UsageError("compare needs two runs: dxt-analyze compare BEFORE AFTER".into())),
            (runs, []) => Err(UsageError(format!(
                "{} runs are given: put -- between the runs before and the runs after, as in compare A1 A2 A3 -- B1 B2 B3",
                runs.len()
            ))),
        }
    }

    /// Returns the output options.
    #[must_use]
    pub fn output(&self) -> Output {
        self.output.clone()
    }

    /// Returns the options of the HTML page.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        Some(&self.page)
    }
}
