//! Options of `ledger`.

use crate::session::{Inputs, Output};

/// Command line of `ledger`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `ledger`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `ledger`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of processes to list, those with most time in I/O first
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub top: usize,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { top: 10 }
    }
}
