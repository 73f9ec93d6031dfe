//! Options of `report`.

use crate::findings::Severity;
use crate::render::Format;
use crate::session::Inputs;
use crate::symbols::DebugDirs;
use std::path::PathBuf;

/// Options of `report`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job.
    #[command(flatten)]
    pub inputs: Inputs,
    /// HTML page to write (default: report.html with --format table, else none)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format: table for people, JSON with the verdict and all findings, or CSV
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Open the page in a browser; if there is none, print its path
    #[arg(long)]
    pub open: bool,
    /// Replace an existing file, even if dxt-analyze did not write it
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
    /// Maximum number of rows in each table; the most important rows are kept
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Exit with code 4 if a finding is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}
