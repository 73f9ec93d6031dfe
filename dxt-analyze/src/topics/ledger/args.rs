//! The options of `ledger`.

use crate::session::{Inputs, Output};

/// `ledger` on the command line.
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
    /// Processes to list, those with most time in I/O first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { top: 10 }
    }
}
