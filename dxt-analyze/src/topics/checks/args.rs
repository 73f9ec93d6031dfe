//! The options of `checks`.

use crate::session::{Inputs, Output};

/// `checks` on the command line.
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
    /// Show also the checks that had nothing to look at, and why
    #[arg(long)]
    pub all: bool,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { all: false }
    }
}
