//! Replacement for the live view in a build without the feature `live`.

use crate::exit::{Exit, UsageError};
use anyhow::Result;
use std::ffi::OsString;

/// Options of `live`, which this build lacks
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    #[arg(hide = true, allow_hyphen_values = true, trailing_var_arg = true)]
    _given: Vec<OsString>,
}

/// Fails, since this build has no `live`.
///
/// # Errors
/// Always fails.
pub fn live(_args: &Args) -> Result<Exit> {
    Err(UsageError("this dxt-analyze was built without `live`: build it with --features live".into()).into())
}
