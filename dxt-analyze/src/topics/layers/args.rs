//! Options of `layers`.

use crate::session::{Inputs, Output};
use std::path::PathBuf;

/// Command line of `layers`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `layers`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `layers`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Stripe layouts, which determine how many aggregators a file can use: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Number of rows per table: slowest ranks and collective operations, files with most time
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
    /// Peak bandwidth of the machine, as in 2500MB/s or 2.4GiB/s: adds the share of this peak to each bandwidth
    #[arg(long, value_name = "RATE", value_parser = crate::text::rate::parse)]
    pub peak: Option<f64>,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { layout: None, top: 10, peak: None }
    }
}
