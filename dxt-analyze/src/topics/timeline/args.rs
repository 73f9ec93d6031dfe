//! Options of `timeline`.

use crate::session::{Inputs, Output};

/// Default number of time bins.
pub const BINS: u32 = 1000;

/// Command line of `timeline`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `timeline`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `timeline`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Maximum number of time bins; their width is 1, 2 or 5 times a power of ten
    #[arg(long, default_value_t = BINS, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub bins: u32,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { bins: BINS }
    }
}
