//! `serve` in a build without the feature `serve`.

#[path = "args.rs"]
mod args;

pub use args::Args;

use crate::exit::{Exit, UsageError};
use anyhow::Result;

/// Reports that this build has no `serve`.
///
/// # Errors
/// Always.
pub fn serve(_args: &Args) -> Result<Exit> {
    Err(UsageError(
        "this dxt-analyze was built without `serve`: use `report`, or build it with --features serve".into(),
    )
    .into())
}
