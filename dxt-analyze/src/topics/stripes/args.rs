//! Options of `stripes`.

use crate::session::{Inputs, Output};
use std::path::PathBuf;

/// Command line of `stripes`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `stripes`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `stripes`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Simulate another stripe layout on the files with most I/O time, as in size=16M,count=8 (optionally with the first OST, start=0, or
    /// all OSTs, osts=1,5,9); may be given again
    #[arg(long, value_name = "LAYOUT")]
    pub what_if: Vec<String>,
    /// Search the best stripe size and count for the files with most I/O time, by simulation
    #[arg(long)]
    pub recommend: bool,
    /// Maximum number of files, and of stripes per file, to list, those with most time first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { layout: None, what_if: Vec::new(), recommend: false, top: 20 }
    }
}
