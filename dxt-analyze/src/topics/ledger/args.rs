//! Options of `ledger`.

use crate::session::{Inputs, Output};

/// Arguments of `ledger`
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
    /// Processes to list, most time in I/O first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { top: 10 }
    }
}
