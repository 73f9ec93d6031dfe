//! The options of `layers`.

use crate::session::{Inputs, Output};
use std::path::PathBuf;

/// `layers` on the command line.
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
}

/// What can be asked of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Stripe layouts, which tell how many aggregators a file can use: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Rows to list per table: ranks and collective operations, the slowest; files, those with most time
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
    /// Bandwidth that the machine can reach at best, as 2500MB/s or 2.4GiB/s: adds the share of it that each bandwidth is
    #[arg(long, value_name = "RATE", value_parser = crate::text::rate::parse)]
    pub peak: Option<f64>,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { layout: None, top: 10, peak: None }
    }
}
