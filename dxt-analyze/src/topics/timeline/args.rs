//! Options of `timeline`.

use crate::session::{Inputs, Output};

/// Default number of time bins.
pub const BINS: u32 = 1000;

/// Arguments of `timeline`
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

/// Options of the analysis
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
