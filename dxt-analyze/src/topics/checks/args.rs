//! Options of `checks`.

use crate::session::{Inputs, Output};

/// Command line of `checks`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `checks`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `checks`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Also show checks that were not applicable, and why
    #[arg(long)]
    pub all: bool,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { all: false }
    }
}
