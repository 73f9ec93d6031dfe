//! Replacement for `serve` in a build without the feature `serve`.

#[path = "args.rs"]
mod args;

pub use args::Args;

use crate::exit::{Exit, UsageError};
use anyhow::Result;

/// Fails, since this build has no `serve`.
///
/// # Errors
/// Always fails.
pub fn serve(_args: &Args) -> Result<Exit> {
    Err(UsageError(
        "this dxt-analyze was built without `serve`: use `dxt-analyze report`, or build it with --features serve"
            .into(),
    )
    .into())
}
