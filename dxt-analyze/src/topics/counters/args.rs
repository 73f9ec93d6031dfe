//! The options of `counters`.

use crate::session::{Inputs, Output};

/// `counters` on the command line.
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
    /// Files to list, those with most time first
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { top: 20 }
    }
}
