//! The options of `report`.

use crate::findings::Severity;
use crate::render::Format;
use crate::session::Inputs;
use std::path::PathBuf;

/// `report`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Page to write; report.html unless another format is asked for
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is printed: a table for people, the verdict and all findings as JSON, or as CSV
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Open the page in a browser; where there is none, say where it is
    #[arg(long)]
    pub open: bool,
    /// Replace a file that exists, whatever it is
    #[arg(long)]
    pub force: bool,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Rows of lists, those that matter most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Exit with 4 if a finding is at least this severe
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}
