//! Options of `counters`.

use crate::session::{Inputs, Output};

/// Command line of `counters`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `counters`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `counters`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of files to list, those with most time first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
    /// Peak bandwidth of the machine, as in 2500MB/s or 2.4GiB/s: adds the share of this peak to each bandwidth
    #[arg(long, value_name = "RATE", value_parser = crate::text::rate::parse)]
    pub peak: Option<f64>,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { top: 20, peak: None }
    }
}
