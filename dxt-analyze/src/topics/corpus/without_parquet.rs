//! Replacement for the Parquet tables in a build without the feature `parquet`.

use super::{JobFile, JobRow};
use crate::exit::UsageError;
use crate::findings::Finding;
use anyhow::Result;
use std::convert::Infallible;
use std::path::Path;

/// Uninhabited type: this build cannot create tables.
pub(crate) struct Tables(Infallible);

impl Tables {
    /// Returns the error that this build lacks the feature `parquet`.
    pub(crate) fn new(_place: &Path, _force: bool) -> Result<Self> {
        Err(UsageError("this dxt-analyze was built without Parquet: build it with --features parquet".into()).into())
    }

    pub(crate) fn add(&mut self, _job: &JobRow, _files: &[JobFile], _findings: &[Finding]) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn finish(self, _jobs: &[JobRow]) -> Result<()> {
        match self.0 {}
    }
}
