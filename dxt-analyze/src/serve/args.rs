//! The options of `serve`.

use crate::session::Inputs;
use std::path::PathBuf;

/// `serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Port on 127.0.0.1; 0: any that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Rows of lists, those that matter most
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
}
