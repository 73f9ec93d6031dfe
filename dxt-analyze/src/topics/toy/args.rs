//! Options of `toy`.

use crate::session::{Inputs, Output};

/// `toy` on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
}
