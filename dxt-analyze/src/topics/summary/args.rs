//! Options of `summary`.

use crate::session::{Inputs, Output};

/// Command line of `summary`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `summary`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `summary`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of files to list, those with most I/O time first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
    /// Read all calls of a full trace once more, to show common sizes, strides, switches between reading and writing, and alignment
    #[arg(long)]
    pub profiles: bool,
    /// Peak bandwidth of the machine, as in 2500MB/s or 2.4GiB/s: adds the share of this peak to each bandwidth
    #[arg(long, value_name = "RATE", value_parser = crate::text::rate::parse)]
    pub peak: Option<f64>,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { top: 10, profiles: false, peak: None }
    }
}
