//! Replacement for the Parquet export in a build without the feature `parquet`.

use super::Job;
use crate::exit::UsageError;
use crate::scan::Lost;
use anyhow::Result;

/// Fails, since this build has no Parquet.
pub(crate) fn write(_job: &Job<'_>) -> Result<Lost> {
    Err(UsageError("this dxt-analyze was built without Parquet: build it with --features parquet".into()).into())
}
