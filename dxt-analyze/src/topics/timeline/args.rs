//! The options of `timeline`.

use crate::session::{Inputs, Output};

/// Bins of `timeline` unless it is told another number.
pub const BINS: u32 = 1000;

/// `timeline` on the command line.
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
    /// Most bins of time; their width is 1, 2 or 5 times a power of ten
    #[arg(long, default_value_t = BINS, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub bins: u32,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { bins: BINS }
    }
}
