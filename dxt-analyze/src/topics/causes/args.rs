//! The options of `causes`.

use crate::session::{Inputs, Output};
use std::path::PathBuf;

/// `causes` on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `causes`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `causes`
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8` (docs/layouts.md)
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
}
